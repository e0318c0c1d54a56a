#include "runtime/kernels/shape_walk.h"

int64_t shape_broadcast_index(const struct shape *out, int64_t i, const struct shape *operand)
{
    int64_t index = 0, step = 1;
    for (int behind = 1; behind <= operand->rank; behind++) {
        int64_t size = operand->dims[operand->rank - behind];
        int64_t whole = out->dims[out->rank - behind];
        if (size > 1)
            index += i % whole * step;
        step *= size;
        i /= whole;
    }
    return index;
}
