#include "trainer/data/batch_buffer.h"

#include <stdlib.h>

#include "base/arena.h"

static bool is_dense(const struct row_layout *layout, int tensor)
{
    return layout->tensors[tensor].column.spec.layout == TENSOR_DENSE;
}

static size_t row_bytes(const struct row_tensor *tensor)
{
    return (size_t)tensor->width * dtype_size(tensor->column.spec.dtype);
}

/* The size follows from --batch_size and the files' schema. */
static struct status allocate_rows(const struct row_tensor *tensor, int64_t rows, void **out)
{
    free(*out);
    if (posix_memalign(out, TENSOR_ALIGNMENT, (size_t)rows * row_bytes(tensor)) == 0)
        return status_ok();
    *out = NULL;
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "no memory for a batch of %lld rows of '%s', %zu bytes each: take a "
                        "smaller --batch_size",
                        (long long)rows, tensor->column.spec.name, row_bytes(tensor));
}

struct status batch_buffer_begin(struct batch_buffer *batch, const struct row_layout *layout,
                                 int64_t rows_max)
{
    int64_t capacity = batch->capacity;

    if (batch->columns == NULL) {
        batch->columns = zalloc((size_t)layout->count * sizeof *batch->columns);
        batch->values = zalloc((size_t)layout->count * sizeof *batch->values);
        batch->lists = zalloc((size_t)layout->count * sizeof *batch->lists);
        batch->texts = zalloc((size_t)layout->count * sizeof *batch->texts);
    }
    batch->rows = 0;
    for (int t = 0; t < layout->count; t++) {
        row_lists_clear(&batch->lists[t]);
        batch->texts[t].size = 0;
        if (rows_max <= capacity || !is_dense(layout, t))
            continue;
        batch->capacity = 0; /* until all tensors have memory */
        TRY(allocate_rows(&layout->tensors[t], rows_max, &batch->values[t]));
    }
    batch->capacity = rows_max > capacity ? rows_max : capacity;
    return status_ok();
}

void batch_buffer_finish(struct batch_buffer *batch, const struct row_layout *layout)
{
    for (int t = 0; t < layout->count && batch->columns != NULL; t++) {
        free(batch->values[t]);
        row_lists_finish(&batch->lists[t]);
        buffer_finish(&batch->texts[t]);
    }
    free(batch->texts);
    free(batch->values);
    free(batch->lists);
    free(batch->columns);
}

/* Copies texts, because a batch may outlive the columns that they come from. They are pointed at
 * their characters once the batch is complete. */
static void keep_texts(struct buffer *out, const struct bytes *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer_append(out, texts[i].data, texts[i].size);
}

static void append_rows(struct batch_buffer *batch, const struct row_layout *layout,
                        const struct columns *columns, const uint32_t *rows, size_t count)
{
    for (int t = 0; t < layout->count; t++) {
        bool is_text = layout->tensors[t].column.spec.dtype == DT_STRING;
        char *out = batch->values[t];
        if (!is_dense(layout, t)) {
            struct row_lists *lists = &batch->lists[t];
            size_t before = lists->count;
            row_layout_append(layout, t, columns, rows, count, lists);
            if (is_text)
                keep_texts(&batch->texts[t], lists->texts + before, lists->count - before);
            continue;
        }
        out += (size_t)batch->rows * row_bytes(&layout->tensors[t]);
        row_layout_gather(layout, t, columns, rows, count, out);
        if (is_text)
            keep_texts(&batch->texts[t], (const struct bytes *)(void *)out,
                       count * (size_t)layout->tensors[t].width);
    }
    batch->rows += (int64_t)count;
}

#define ROWS_AT_ONCE 8

/* Shuffled rows are scattered over a block that the L1 and L2 caches do not hold, so the next
 * ones are prefetched while some are copied. */
void batch_buffer_append(struct batch_buffer *batch, const struct row_layout *layout,
                         const struct columns *columns, const uint32_t *rows, size_t count)
{
    for (size_t i = 0, some; i < count; i += some) {
        some = count - i < ROWS_AT_ONCE ? count - i : ROWS_AT_ONCE;
        for (size_t next = i + some; next < count && next < i + some + ROWS_AT_ONCE; next++)
            columns_prefetch(columns, rows[next]);
        append_rows(batch, layout, columns, rows + i, some);
    }
}

static void place_texts(struct batch_buffer *batch, const struct row_layout *layout)
{
    for (int t = 0; t < layout->count; t++) {
        const struct row_lists *lists = &batch->lists[t];
        bool dense = is_dense(layout, t);
        const char *at = batch->texts[t].data;
        struct bytes *texts = dense ? batch->values[t] : lists->texts;
        int64_t count = dense ? batch->rows * layout->tensors[t].width : (int64_t)lists->count;
        if (layout->tensors[t].column.spec.dtype != DT_STRING)
            continue;
        for (int64_t i = 0; i < count; i++) {
            texts[i].data = texts[i].size > 0 ? at : "";
            at += texts[i].size;
        }
    }
}

static struct tensor list_tensor(enum dtype dtype, size_t count, const void *values)
{
    const struct shape shape = shape_of((int64_t)count);

    return tensor_borrow(dtype, &shape, values);
}

static struct batch_column column_of_lists(const struct tensor_spec *spec,
                                           const struct row_lists *lists)
{
    struct batch_column column = {
        .values = list_tensor(spec->dtype, lists->count, lists->values),
        .row_splits = list_tensor(DT_INT64, lists->rows + 1, lists->row_splits),
    };

    if (spec->layout == TENSOR_SPARSE)
        column.ids = list_tensor(DT_INT64, lists->count, lists->ids);
    return column;
}

static struct batch_column column_of_rows(const struct tensor_spec *spec, int64_t rows,
                                          const void *values)
{
    struct shape shape = spec->shape;

    shape.dims[0] = rows;
    return (struct batch_column){ .values = tensor_borrow(spec->dtype, &shape, values) };
}

void batch_buffer_end(struct batch_buffer *batch, const struct row_layout *layout,
                      struct batch *out)
{
    place_texts(batch, layout);
    for (int t = 0; t < layout->count; t++) {
        const struct tensor_spec *spec = &layout->tensors[t].column.spec;
        batch->columns[t] = is_dense(layout, t)
                                ? column_of_rows(spec, batch->rows, batch->values[t])
                                : column_of_lists(spec, &batch->lists[t]);
    }
    *out = (struct batch){ .rows = batch->rows, .columns = batch->columns };
}
