/* Schemas. One that is read is printed, and what is printed is read again. */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "trainer/records/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create(0);
    struct schema schema, again;
    struct buffer text = { 0 };

    if (status_is_ok(schema_read((struct bytes){ (const char *)data, size }, arena, &schema))) {
        schema_print(&schema, &text);
        if (!status_is_ok(schema_read((struct bytes){ text.data, text.size }, arena, &again)) ||
            again.count != schema.count)
            __builtin_trap();
    }
    buffer_finish(&text);
    arena_destroy(arena);
    return 0;
}
