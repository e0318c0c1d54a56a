/* --monitoring_config_file: any text gives an error, no path, or one that a request can have. */
#include <stddef.h>
#include <stdint.h>

#include "server/metrics/monitoring_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create(0);
    const char *path = NULL;
    struct bytes text = { (const char *)data, size };
    if (status_is_ok(monitoring_config_read(text, arena, &path)) && path != NULL &&
        (path[0] != '/' || strpbrk(path, " ?#\n") != NULL))
        __builtin_trap();
    arena_destroy(arena);
    return 0;
}
