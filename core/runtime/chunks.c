/* Runs a batch in chunks of rows (plan/chunk.c), and concatenates their results. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "runtime/steps.h"

/* Rows without elements do not fill a cache, and a client may send any number of them. */
bool run_takes_chunks(const struct plan *plan, const struct tensor *feeds)
{
    return plan->chunk_rows > 0 && plan->main->results_count > 0 && plan_rows_fit(plan, feeds) &&
           feeds[0].size > 0 && feeds[0].shape.dims[0] > plan->chunk_rows &&
           feeds[0].shape.dims[0] <= INT_MAX;
}

struct rows_range {
    int64_t first, end, all;
};

/* The rows of a feed, borrowed. */
static struct tensor slice_rows(const struct tensor *feed, const struct rows_range *range)
{
    struct shape shape = feed->shape;
    size_t row_bytes = tensor_bytes(feed) / (size_t)range->all;
    shape.dims[0] = range->end - range->first;
    return tensor_borrow(feed->dtype, &shape,
                         (const char *)feed->data + (size_t)range->first * row_bytes);
}

/* Copies the rows of a chunk into the result; the first chunk allocates the whole result. */
static struct status place_rows(struct run *run, const struct tensor *rows,
                                const struct rows_range *range, struct tensor *whole)
{
    struct shape shape = rows->shape;
    if (shape.rank < 1 || shape.dims[0] != range->end - range->first)
        return status_error(STATUS_INTERNAL, "a result of %lld rows has shape %s",
                            (long long)(range->end - range->first), shape_text(&shape));
    shape.dims[0] = range->all;
    if (range->first == 0) {
        TRY(shape_check(shape.rank, shape.dims, &shape));
        TRY(tensor_create_pooled(run->pool, rows->dtype, &shape, whole));
    }
    if (!shape_equal(&shape, &whole->shape) || rows->dtype != whole->dtype)
        return status_error(STATUS_INTERNAL, "results of two chunks have shapes %s and %s",
                            shape_text(&whole->shape), shape_text(&shape));
    size_t row_bytes = tensor_bytes(whole) / (size_t)range->all;
    if (rows->size > 0)
        memcpy((char *)whole->data + (size_t)range->first * row_bytes, rows->data,
               tensor_bytes(rows));
    return status_ok();
}

static struct status run_chunk(const struct plan *plan, struct run *run, const struct tensor *feeds,
                               const struct rows_range *range, struct tensor *parts,
                               struct tensor *fetches)
{
    int count = plan->main->results_count;
    struct tensor *got = parts + plan->feeds_count;
    struct status status = status_ok();
    for (int i = 0; i < plan->feeds_count; i++)
        parts[i] = slice_rows(&feeds[i], range);
    TRY(run_whole(plan, run, parts, got));
    for (int i = 0; i < count; i++) {
        if (status_is_ok(status))
            status = place_rows(run, &got[i], range, &fetches[i]);
        tensor_release(&got[i]);
    }
    return status;
}

struct status run_in_chunks(const struct plan *plan, struct run *run, const struct tensor *feeds,
                            struct tensor *fetches)
{
    int count = plan->main->results_count;
    int64_t rows = feeds[0].shape.dims[0];
    int64_t chunks = (rows + plan->chunk_rows - 1) / plan->chunk_rows;
    struct tensor *parts = zalloc((size_t)(plan->feeds_count + count) * sizeof *parts);
    struct status status = status_ok();
    memset(fetches, 0, (size_t)count * sizeof *fetches);
    for (int64_t i = 0; i < chunks && status_is_ok(status); i++) {
        struct rows_range range = { .first = parallel_part_begin(rows, (int)chunks, (int)i),
                                    .end = parallel_part_begin(rows, (int)chunks, (int)i + 1),
                                    .all = rows };
        status = run_check(run);
        if (status_is_ok(status))
            status = run_chunk(plan, run, feeds, &range, parts, fetches);
    }
    if (!status_is_ok(status))
        tensors_release(count, fetches);
    free(parts);
    return status;
}
