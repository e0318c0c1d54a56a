#include "runtime/kernels/ragged/ragged_splits.h"

#include <inttypes.h>

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, "Invalid ragged splits: " __VA_ARGS__)

struct status ragged_splits_check(const struct tensor *splits, int64_t values)
{
    int64_t last = splits->size - 1;
    if (splits->shape.rank != 1)
        return INVALID("ragged splits must be rank 1 but is rank %d", splits->shape.rank);
    if (splits->size == 0)
        return INVALID("ragged splits must have at least one splits, but is empty");
    if (tensor_index(splits, 0) != 0)
        return INVALID("first element of ragged splits  must be 0 but is %" PRId64,
                       tensor_index(splits, 0));
    for (int64_t i = 1; i <= last; i++)
        if (tensor_index(splits, i) < tensor_index(splits, i - 1))
            return INVALID(
                "ragged splits must be monotonically increasing, but ragged_splits[%" PRId64
                "]=%" PRId64 " is smaller than row_splits[%" PRId64 "]=%" PRId64,
                i, tensor_index(splits, i), i - 1, tensor_index(splits, i - 1));
    if (values >= 0 && tensor_index(splits, last) != values)
        return INVALID("last element of ragged splits must be the number of ragged values(%" PRId64
                       ") but is %" PRId64,
                       values, tensor_index(splits, last));
    return status_ok();
}
