#include "trainer/ps/row_work.h"

#include <stdlib.h>

#include "base/parallel.h"

/* Row numbers to collect before processing: 1 MiB. The last slice may exceed this. */
#define NUMBERS_MAX ((size_t)1 << 18)

/* Approximate cost if the rows and slots are in memory and not in a cache. */
#define ROW_NS  4.0
#define BYTE_NS 0.15

void row_work_finish(struct row_work *work)
{
    assert(work->count == 0);
    free(work->numbers.rows);
    free(work->items);
}

struct row_item *row_work_add(struct row_work *work, struct slice *slice,
                              struct row_ids_reader *reader)
{
    if (work->numbers.count >= NUMBERS_MAX)
        row_work_run(work);
    if (work->count == work->capacity) {
        work->capacity = work->capacity * 2 + 16;
        work->items = xrealloc(work->items, work->capacity * sizeof *work->items);
    }
    struct row_item *item = &work->items[work->count++];
    *item = (struct row_item){ .slice = slice, .first = work->numbers.count };
    item->count = slice_rows_append(&work->numbers, slice, reader);
    return item;
}

static double cost_of(const struct row_work *work)
{
    double cost_ns = 0;

    for (size_t i = 0; i < work->count; i++) {
        const struct row_item *item = &work->items[i];
        size_t bytes = item->slice->row_bytes * (size_t)work->parts;
        cost_ns += (double)item->count * (ROW_NS + BYTE_NS * (double)bytes);
    }
    return cost_ns;
}

static void run_items(void *context, int64_t first, int64_t end)
{
    const struct row_work *work = context;

    for (int64_t i = first; i < end; i++)
        work->body(work->context, &work->items[i], work->numbers.rows + work->items[i].first);
}

void row_work_run(struct row_work *work)
{
    parallel_enter();
    parallel_for((int64_t)work->count, cost_of(work), run_items, work);
    parallel_leave();
    work->count = work->numbers.count = 0;
}
