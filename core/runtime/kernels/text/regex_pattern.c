#include "runtime/kernels/text/regex_pattern.h"

/* RE2 limits the compiled program, but it parses a pattern of any length first: 256 KiB of "\\pL"
 * took 2.7 GiB and 37 s, outside of the run's limits. 16 KiB take at most about 220 MiB and 1 s. */
#define PATTERN_SIZE_MAX ((size_t)16 << 10)

struct status regex_compile(struct bytes pattern, struct regex **out)
{
    char error[200];

    if (pattern.size > PATTERN_SIZE_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Invalid pattern: it has %zu bytes, at most %zu are allowed",
                            pattern.size, PATTERN_SIZE_MAX);
    *out = regex_create(pattern.data, pattern.size, error, sizeof error);
    if (*out != NULL)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "Invalid pattern: %.*s, error: %s",
                        (int)(pattern.size < 1000 ? pattern.size : 1000), pattern.data, error);
}

/* Bytes that are searched between two checks of the deadline. */
#define SEARCH_SIZE ((size_t)1 << 20)

struct status regex_count(const struct kernel_context *k, size_t size, size_t *searched)
{
    *searched += size;
    if (*searched < SEARCH_SIZE)
        return status_ok();
    *searched = 0;
    return kernel_check(k);
}

struct status regex_matched(enum regex_result result, bool *out)
{
    *out = result == REGEX_MATCH;
    return result != REGEX_NO_MEMORY
               ? status_ok()
               : status_error(STATUS_RESOURCE_EXHAUSTED, "no memory to search a text by a pattern");
}
