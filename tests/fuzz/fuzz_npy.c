/* NumPy files. If one parses, its tensor has at most one element per byte and can be printed. */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "tensor/npy.h"
#include "tensor/value_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create(0);
    struct tensor tensor;
    if (status_is_ok(npy_read((struct bytes){ (const char *)data, size }, arena, &tensor))) {
        struct buffer text = { 0 };
        if ((size_t)tensor.size > size)
            __builtin_trap();
        value_to_text(&tensor, &text);
        buffer_finish(&text);
        tensor_release(&tensor);
    }
    arena_destroy(arena);
    return 0;
}
