/* Values on a command line: a byte for the type, then the text. If the text parses, its value can
 * be printed. If that print parses as well, it prints the same again. */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "tensor/value_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_and_print(const char *text, enum dtype dtype, struct arena *arena,
                           struct buffer *out)
{
    struct tensor tensor;
    if (!status_is_ok(value_from_json(text, dtype, arena, &tensor)))
        return false;
    value_to_text(&tensor, out);
    buffer_append_char(out, '\0');
    tensor_release(&tensor);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum dtype dtypes[] = {
        DT_FLOAT, DT_DOUBLE, DT_HALF,   DT_BFLOAT16, DT_INT8,   DT_INT16, DT_INT32,    DT_INT64,
        DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64,   DT_STRING, DT_BOOL,  DT_COMPLEX64
    };
    if (size == 0)
        return 0;
    struct arena *arena = arena_create(0);
    struct buffer first = { 0 }, second = { 0 };
    enum dtype dtype = dtypes[data[0] % COUNT(dtypes)];
    const char *text = arena_memdup(arena, data + 1, size - 1);
    if (read_and_print(text, dtype, arena, &first) &&
        read_and_print(first.data, dtype, arena, &second) && strcmp(first.data, second.data) != 0)
        __builtin_trap();
    buffer_finish(&first);
    buffer_finish(&second);
    arena_destroy(arena);
    return 0;
}
