#include "trainer/data/unit_source.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

struct unit_reader {
    struct batch_source *rows; /* NULL: not opened yet */
    uint64_t place;            /* number of rows that it has returned */
    bool placed;               /* place is known */
};

struct unit_source {
    struct batch_source source; /* first */
    const struct data_split *split;
    struct batch_order order;
    int64_t batch_rows;
    struct unit_reader *readers; /* [readers_count] */
    uint32_t readers_count;
    uint64_t rows; /* number that each had returned before units were counted */
    uint64_t unit; /* the next one */
};

static void close_readers(struct unit_source *source)
{
    for (uint32_t i = 0; i < source->readers_count; i++)
        if (source->readers[i].rows != NULL)
            source->readers[i].rows->destroy(source->readers[i].rows);
    free(source->readers);
    source->readers = NULL;
    source->readers_count = 0;
}

/* A worker that alternates between readers seeks before each batch, so a prefetched batch would
 * be dropped. */
static struct status open_reader(struct unit_source *source, uint32_t number)
{
    struct batch_order order = source->order;
    struct unit_reader *reader = &source->readers[number];

    if (reader->rows != NULL)
        return status_ok();
    order.worker = number;
    order.workers = source->readers_count;
    order.ahead = source->source.keep_max > 0 ? order.ahead : 0;
    order.ahead_rows = source->batch_rows;
    reader->placed = false;
    return source->split->open(source->split, &order, &reader->rows);
}

static struct status go_to(struct unit_reader *reader, uint64_t place)
{
    if (reader->placed && reader->place == place)
        return status_ok();
    reader->placed = false;
    TRY(reader->rows->seek(reader->rows, place));
    reader->place = place;
    reader->placed = true;
    return status_ok();
}

static struct status next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct unit_source *source = (struct unit_source *)base;
    uint64_t readers = source->readers_count, batch = (uint64_t)source->batch_rows;

    assert(readers > 0 && rows_max == source->batch_rows);
    uint32_t number = (uint32_t)(source->unit % readers);
    struct unit_reader *reader = &source->readers[number];
    TRY(open_reader(source, number));
    TRY(go_to(reader, source->rows + source->unit / readers * batch));
    if (base->keep_max > 0)
        reader->rows->keep = base->keep;
    struct status status = reader->rows->next(reader->rows, rows_max, out);
    reader->placed = status_is_ok(status);
    reader->place += batch;
    source->unit += source->order.workers;
    return status;
}

/* The batches of a single reader stay valid as long as it promises; those of several do not. */
static struct status begin_readers(struct unit_source *source, uint32_t readers)
{
    uint32_t own = (uint32_t)(source->unit % readers);

    close_readers(source);
    source->readers = zalloc(readers * sizeof *source->readers);
    source->readers_count = readers;
    source->source.keep = source->source.keep_max = 0;
    if (readers != source->order.workers)
        return status_ok();
    source->source.keep_max = 1; /* for open_reader */
    TRY(open_reader(source, own));
    source->source.keep_max = source->readers[own].rows->keep_max;
    return status_ok();
}

struct status unit_source_go_to(struct batch_source *base, uint32_t readers, uint64_t rows,
                                uint64_t unit)
{
    struct unit_source *source = (struct unit_source *)base;

    assert(readers > 0);
    source->rows = rows;
    source->unit = unit;
    if (readers == source->readers_count)
        return status_ok();
    struct status status = begin_readers(source, readers);
    if (!status_is_ok(status))
        close_readers(source);
    return status;
}

/* Only unit_source_go_to sets the position. */
static struct status seek(struct batch_source *base, uint64_t rows)
{
    (void)base;
    (void)rows;
    return status_error(STATUS_UNIMPLEMENTED, "units of rows cannot be sought by rows");
}

static void destroy(struct batch_source *base)
{
    struct unit_source *source = (struct unit_source *)base;

    close_readers(source);
    free(source);
}

struct batch_source *unit_source(const struct data_split *split, const struct batch_order *order,
                                 int64_t batch_rows)
{
    struct unit_source *source = zalloc(sizeof *source);

    source->source = (struct batch_source){ .next = next, .seek = seek, .destroy = destroy };
    source->split = split;
    source->order = *order;
    source->batch_rows = batch_rows;
    return &source->source;
}
