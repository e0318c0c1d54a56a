#include "tensor/input_flag.h"

#include <string.h>

#include "base/arena.h"
#include "tensor/npy.h"
#include "tensor/value_json.h"

struct status input_flag_parse(const char *text, struct arena *arena, struct input_flag *out)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--input '%s': want name=file.npy or name=JSON", text);
    out->name = arena_memdup(arena, text, (size_t)(equals - text));
    out->value = equals + 1;
    return status_ok();
}

bool input_flag_is_file(const struct input_flag *input)
{
    size_t size = strlen(input->value);
    return size > 4 && strcmp(input->value + size - 4, ".npy") == 0;
}

struct status input_flag_read(const struct input_flag *input, enum dtype dtype, size_t max_bytes,
                              struct arena *arena, struct tensor *out)
{
    struct status status = input_flag_is_file(input)
                               ? npy_read_file(input->value, max_bytes, arena, out)
                               : value_from_json(input->value, dtype, arena, out);
    return status_in(status, "--input %s", input->name);
}
