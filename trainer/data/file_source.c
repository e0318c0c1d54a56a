#include "trainer/data/file_source_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trainer/data/prefetch.h"

/* Returns the memory of the oldest batch, which need no longer stay valid. */
static struct batch_buffer *next_memory(struct file_source *source)
{
    int kept = source->source.keep > 1 ? source->source.keep : 1;

    source->current = (source->current + 1) % kept;
    return &source->batches[source->current];
}

static struct status take_rows(struct file_source *source, int64_t rows_max, struct batch *out)
{
    const struct row_layout *layout = &source->split->options.layout;
    bool found = true;

    assert(rows_max > 0 && rows_max <= UINT32_MAX);
    struct batch_buffer *batch = next_memory(source);
    TRY(batch_buffer_begin(batch, layout, rows_max));
    while (batch->rows < rows_max) {
        TRY(file_source_find_row(source, &found));
        if (!found)
            break;
        size_t left = source->block_rows - source->place, wanted = (size_t)(rows_max - batch->rows);
        size_t count = left < wanted ? left : wanted;
        batch_buffer_append(batch, layout, source->rows, source->order + source->place, count);
        source->place += count;
    }
    batch_buffer_end(batch, layout, out);
    return status_ok();
}

static struct status file_source_next(struct batch_source *base, int64_t rows_max,
                                      struct batch *out)
{
    struct file_source *source = (struct file_source *)base;
    struct status status = take_rows(source, rows_max, out);

    source->astray |= !status_is_ok(status);
    return status;
}

/* The number of rows read since the beginning. */
static uint64_t rows_taken(const struct file_source *source)
{
    return file_source_rows_before(source, source->epoch) + source->epoch_taken + source->place;
}

/* Moves forward to the position after `rows` rows. *passed is false if a block could not be
 * skipped: then the position is undefined. */
static struct status go_on(struct file_source *source, uint64_t rows, bool passes, bool *passed)
{
    bool found = true, knows;

    *passed = true;
    while (rows_taken(source) < rows && found) {
        knows = source->epoch_records > 0 && source->epoch_rows > 0 && source->how.repeat;
        if (knows && file_source_epoch_of(source, rows) > source->epoch) {
            file_source_begin_epoch(source, file_source_epoch_of(source, rows));
            continue;
        }
        uint64_t left = rows - rows_taken(source);
        if (passes && source->place == source->block_rows &&
            left >= file_source_rows_wanted(source)) {
            TRY(file_source_pass_block(source, passed));
            if (!*passed)
                return status_ok();
            if (source->block_rows > 0)
                continue;
        }
        bool knew = source->epoch_records > 0;
        TRY(file_source_find_row(source, &found));
        if (!knew && source->epoch_records > 0)
            continue; /* the length of an epoch has just become known */
        size_t here = source->block_rows - source->place;
        left = rows - rows_taken(source);
        source->place += here < left ? here : (size_t)left;
    }
    return status_ok();
}

/* Moves there from the current position, or from the beginning if that is past it. */
static struct status go_to(struct file_source *source, uint64_t rows, bool passes, bool *passed)
{
    if (source->astray || rows < rows_taken(source))
        file_source_begin_epoch(source, 0);
    source->astray = true;
    TRY(go_on(source, rows, passes, passed));
    source->astray = !*passed;
    return status_ok();
}

/* Every epoch has the same rows in another order. Once one was read to its end, others need not
 * be read to be skipped. Blocks before the position are skipped without reading their values, if
 * no record may be bad. */
static struct status file_source_seek(struct batch_source *base, uint64_t rows)
{
    struct file_source *source = (struct file_source *)base;
    bool passed = false;

    if (file_source_can_count_records(source->split) && !source->reads_blocks)
        TRY(go_to(source, rows, true, &passed));
    source->reads_blocks = !passed;
    return passed ? status_ok() : go_to(source, rows, false, &passed);
}

static void file_source_destroy(struct batch_source *base)
{
    struct file_source *source = (struct file_source *)base;

    record_reader_close(source->open);
    columns_finish(&source->block);
    for (int i = 0; i < KEPT_MAX; i++)
        batch_buffer_finish(&source->batches[i], &source->split->options.layout);
    free(source->order);
    free(source->files);
    free(source);
}

struct status file_source_open(const struct data_split *base, const struct batch_order *order,
                               struct batch_source **out)
{
    struct file_split *split = (struct file_split *)(uintptr_t)base;
    const struct row_layout *layout = &split->options.layout;
    struct file_source *source = zalloc(sizeof *source);

    source->source = (struct batch_source){ .keep_max = KEPT_MAX,
                                            .next = file_source_next,
                                            .seek = file_source_seek,
                                            .destroy = file_source_destroy };
    source->split = split;
    source->how = *order;
    source->files = zalloc((size_t)split->options.paths_count * sizeof *source->files);
    columns_init(&source->block, layout->specs, layout->specs_count);
    file_source_begin_epoch(source, 0);
    const struct prefetch_options ahead = { .rows = order->ahead_rows,
                                            .batches_max = order->ahead };
    *out = prefetch_source(&source->source, layout->count, &ahead);
    return status_ok();
}

struct status file_source_open_quietly(const struct data_split *split, struct file_source **out)
{
    const struct batch_order order = { .workers = 1 };
    struct batch_source *base;

    TRY(file_source_open(split, &order, &base));
    *out = (struct file_source *)base;
    (*out)->quiet = true;
    return status_ok();
}
