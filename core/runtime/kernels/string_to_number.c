#include "runtime/kernels/string_to_number.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"

enum { SHORT_TEXT = 64 };

/* strtoull takes a minus sign, and negates. */
static bool read_unsigned(const char *text, char **end, struct tensor *out, int64_t i)
{
    const char *sign = text;
    while (is_white_space(*sign))
        sign++;
    unsigned long long value = strtoull(text, end, 10);
    if (*sign == '-' || errno == ERANGE || (out->dtype == DT_UINT32 && value > UINT32_MAX))
        return false;
    if (out->dtype == DT_UINT32)
        ((uint32_t *)out->data)[i] = (uint32_t)value;
    else
        ((uint64_t *)out->data)[i] = value;
    return true;
}

/* `text` ends with a NUL at text[size]. */
static bool read_ended(const char *text, size_t size, struct tensor *out, int64_t i)
{
    char *end;
    errno = 0;
    if (out->dtype == DT_INT32 || out->dtype == DT_INT64) {
        long long value = strtoll(text, &end, 10);
        if (errno == ERANGE || (out->dtype == DT_INT32 && (value < INT32_MIN || value > INT32_MAX)))
            return false;
        tensor_set_index(out, i, value);
    } else if (out->dtype == DT_UINT32 || out->dtype == DT_UINT64) {
        if (!read_unsigned(text, &end, out, i))
            return false;
    } else if (out->dtype == DT_FLOAT) {
        tensor_floats_mut(out)[i] = strtof(text, &end);
    } else {
        tensor_doubles_mut(out)[i] = strtod(text, &end);
    }
    if (end == text)
        return false;
    while (is_white_space(*end))
        end++;
    return end == text + size;
}

struct status string_to_number(struct kernel_context *k, struct bytes text, struct tensor *out,
                               int64_t i, bool *valid)
{
    char small[SHORT_TEXT];
    void *copy = small;
    if (text.size >= sizeof small)
        TRY(arena_reserve(kernel_arena(k), text.size + 1, &copy));
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    ((char *)copy)[text.size] = '\0';
    *valid = read_ended(copy, text.size, out, i);
    return status_ok();
}
