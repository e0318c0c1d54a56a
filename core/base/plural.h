/*
 * plural: the ending of a regular noun after a number.
 *
 *     log_info("%d file%s", count, plural(count));
 */
#ifndef BASE_PLURAL_H
#define BASE_PLURAL_H

#include <stdint.h>

static inline const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
