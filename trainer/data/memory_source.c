/* memory_source: reads memory_rows as a batch_source. */
#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trainer/data/memory_rows.h"
#include "trainer/data/row_order.h"

enum { COLUMN_X, COLUMN_LABELS, COLUMNS_COUNT };

struct memory_source {
    struct batch_source source; /* first */
    const struct memory_rows *data;
    struct row_order order;
    uint32_t capacity; /* rows for which memory is allocated: */
    uint32_t *rows;
    float *features;
    void *answers; /* int32 classes or float targets */
    struct batch_column columns[COLUMNS_COUNT];
};

static void *aligned_array(size_t bytes)
{
    void *data;

    if (posix_memalign(&data, TENSOR_ALIGNMENT, bytes > 0 ? bytes : 1) != 0)
        abort();
    return data;
}

static void free_arrays(struct memory_source *source)
{
    free(source->rows);
    free(source->features);
    free(source->answers);
}

static void make_room(struct memory_source *source, uint32_t rows)
{
    const struct memory_rows *data = source->data;

    if (rows <= source->capacity)
        return;
    free_arrays(source);
    source->capacity = rows;
    source->rows = zalloc(rows * sizeof *source->rows);
    source->features = aligned_array((size_t)rows * data->width * sizeof(float));
    source->answers = aligned_array((size_t)rows * data->target_width * sizeof(float));
}

static struct tensor answers_tensor(const struct memory_source *source, uint32_t rows)
{
    const struct memory_rows *data = source->data;
    const struct shape classes = shape_of(rows), targets = shape_of(rows, data->target_width);

    return data->classes != NULL ? tensor_borrow(DT_INT32, &classes, source->answers)
                                 : tensor_borrow(DT_FLOAT, &targets, source->answers);
}

static struct status next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct memory_source *source = (struct memory_source *)base;
    const struct memory_rows *data = source->data;

    assert(rows_max > 0 && rows_max <= UINT32_MAX);
    if (!source->order.how.repeat && rows_max > data->rows)
        rows_max = data->rows;
    make_room(source, (uint32_t)rows_max);
    uint32_t rows = row_order_next(&source->order, source->rows, (uint32_t)rows_max);
    const struct shape shape = shape_of(rows, data->width);
    memory_rows_gather(data, source->rows, rows, source->features, source->answers,
                       source->answers);
    source->columns[COLUMN_X].values = tensor_borrow(DT_FLOAT, &shape, source->features);
    source->columns[COLUMN_LABELS].values = answers_tensor(source, rows);
    *out = (struct batch){ .rows = rows, .columns = source->columns };
    return status_ok();
}

static struct status seek(struct batch_source *base, uint64_t rows)
{
    row_order_seek(&((struct memory_source *)base)->order, rows);
    return status_ok();
}

static void destroy(struct batch_source *base)
{
    struct memory_source *source = (struct memory_source *)base;

    row_order_finish(&source->order);
    free_arrays(source);
    free(source);
}

static struct status open_source(const struct data_split *base, const struct batch_order *order,
                                 struct batch_source **out)
{
    const struct memory_split *split = (const struct memory_split *)base;
    struct memory_source *source = zalloc(sizeof *source);

    source->source = (struct batch_source){ .next = next, .seek = seek, .destroy = destroy };
    source->data = &split->rows;
    row_order_init(&source->order, order, split->rows.rows);
    *out = &source->source;
    return status_ok();
}

static struct status identify(const struct data_split *base, struct buffer *out)
{
    const struct memory_split *split = (const struct memory_split *)base;

    buffer_printf(out, "crc32c=%08x", memory_rows_checksum(&split->rows));
    return status_ok();
}

void memory_split_init(struct memory_split *out, const struct memory_rows *rows)
{
    bool classes = rows->classes != NULL;

    assert(rows->rows > 0);
    *out = (struct memory_split){
        .split = { .columns = out->columns,
                   .columns_count = COLUMNS_COUNT,
                   .rows = rows->rows,
                   .open = open_source,
                   .identify = identify },
        .rows = *rows,
        .columns = { [COLUMN_X].spec = { .name = "x",
                                         .dtype = DT_FLOAT,
                                         .shape = shape_of(-1, rows->width) },
                     [COLUMN_LABELS] = { .spec = { .name = "labels",
                                                   .dtype = classes ? DT_INT32 : DT_FLOAT,
                                                   .shape =
                                                       classes ? shape_of(-1)
                                                               : shape_of(-1, rows->target_width) },
                                         .classes = rows->class_count } },
    };
}
