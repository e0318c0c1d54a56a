#include "runtime/kernels/plain/scripts.h"

#include <stddef.h>

#define CODE_POINT_MAX 0x10ffff

/* Code points from `first` to the next row's have this script. */
struct script_range {
    int32_t first;
    int16_t script;
};

static const struct script_range ranges[] = {
#define SCRIPT(first, script) { first, script },
#include "runtime/kernels/plain/script_ranges.def"
#undef SCRIPT
};

int32_t script_of(int32_t code_point)
{
    size_t low = 0, high = sizeof ranges / sizeof *ranges;
    if (code_point < 0 || code_point > CODE_POINT_MAX)
        return -1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].first <= code_point)
            low = middle;
        else
            high = middle;
    }
    return ranges[low].script;
}
