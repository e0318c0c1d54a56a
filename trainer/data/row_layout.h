/*
 * row_layout: how rows of columns become the tensors that a model is fed.
 *
 *     TRY(row_layout_make(&schema, requests, count, arena, &layout));
 *     columns_init(&columns, layout.specs, layout.specs_count);      what is read of the files
 *     …read a row…
 *     row_layout_complete(&layout, &columns);
 *     bad = row_layout_check(&layout, &columns, row);                before the row counts as one
 *     row_layout_gather(&layout, tensor, &columns, rows, count, out);             a dense tensor
 *     row_layout_append(&layout, tensor, &columns, rows, count, &lists);          another one
 *
 * A dense or sparse tensor is made of one or several columns, side by side: dense ones, normalised,
 * and sparse ones. A dense tensor has the zeros of the sparse ones written out. A sparse tensor has
 * the values of the file in the file's order, each with its id, of the dense columns those that are
 * not 0, and of columns with categories (hash_buckets, boundaries) a 1 for that of each value; the
 * empty text has no bucket, as a value that is missing. A ragged tensor is made of one ragged
 * or dense column. A class is a whole number; of two classes, -1 means the first, as in libsvm's
 * files. A class may also be given by as many columns, or values of a column, as there are classes:
 * 1 in one of them and 0 in the others. A row may have a class for each of several steps, one
 * behind the other. A dense tensor of integers, such as the ids of an embedding, takes whole
 * numbers of dense columns, one of bools takes 0 and 1, and one of texts takes them as they stand
 * in the file. A double has the value of a float; a half or bfloat16 is a rounded one.
 */
#ifndef TRAINER_DATA_ROW_LAYOUT_H
#define TRAINER_DATA_ROW_LAYOUT_H

#include "trainer/data/batch_source.h"
#include "trainer/records/schema.h"

/* One tensor that is wanted. */
struct row_request {
    /* dense: floats or integers of any size, bool or string; sparse: float; ragged: float, int64 or
     * string. Dimension 0 is -1 */
    struct tensor_spec spec;
    int64_t classes;              /* of class numbers; 0: they are none */
    const int64_t *ignored_class; /* one more number that may stand there; NULL: none */
    bool is_binary;               /* float: 0 or 1, or a probability; -1 means 0 */
    bool truncates;               /* integers: of numbers that need not be whole, such as pixels */
    enum raw_values raw;          /* what of the schema does not apply */
    const char *const *names;     /* the columns of the schema that it is made of */
    int names_count;
};

/* A column's share of a tensor. */
struct row_part {
    const struct schema_column *from;
    int value, index;     /* places in row_layout.specs; index: of a sparse column */
    int64_t width;        /* of a ragged column: 0 */
    int64_t first;        /* the sum of the widths of the parts before it */
    bool is_hashed_later; /* texts that the graph hashes: a row may have fewer than `width` */
};

struct row_tensor {
    struct data_column column;
    const int64_t *ignored_class;
    bool is_binary, truncates;
    bool is_one_hot; /* class numbers, made of a value for each class */
    int64_t width;   /* values in a row; of a ragged tensor: 0 */
    struct row_part *parts;
    int parts_count;
};

struct row_layout {
    struct row_tensor *tensors;
    int count;
    struct column_spec *specs; /* what is read of a file */
    const struct schema_column *
        *texts; /* [specs_count]: what has a text as default; NULL: nothing */
    int specs_count;
};

/**
 * Owner   out lives in `arena`; schema and requests outlive it
 * Errors  INVALID_ARGUMENT the schema has no such column; a text that is no class; columns with
 *         another number of values together than the tensor
 */
struct status row_layout_make(const struct schema *schema, const struct row_request *requests,
                              int count, struct arena *arena, struct row_layout *out);

/* Adds the default texts of columns to the last row, which was just read and has none there. */
void row_layout_complete(const struct row_layout *layout, struct columns *columns);

/* Can row `row` be gathered? INVALID_ARGUMENT names the column: no value or another number of them,
 * an index beyond the width, not a class. */
struct status row_layout_check(const struct row_layout *layout, const struct columns *columns,
                               size_t row);

/* Writes the values of the rows of a dense tensor behind each other, of the tensor's dtype: [count,
 * width]. The rows were checked. Texts point into the columns. */
void row_layout_gather(const struct row_layout *layout, int tensor, const struct columns *columns,
                       const uint32_t *rows, size_t count, void *out);

/* The rows of a sparse or ragged tensor, as tensor_spec.h describes them. The memory grows and is
 * kept. */
struct row_lists {
    union {
        void *values; /* [count] */
        float *floats;
        int64_t *ints;
        struct bytes *texts; /* point into the columns */
    };
    int64_t *ids;        /* [count], of a sparse tensor */
    int64_t *row_splits; /* [rows + 1] */
    size_t count, capacity;
    size_t rows, rows_capacity;
};

void row_lists_clear(struct row_lists *lists);
void row_lists_finish(struct row_lists *lists); /* accepts a zeroed one */

/* Appends rows of a sparse or ragged tensor. The rows were checked. */
void row_layout_append(const struct row_layout *layout, int tensor, const struct columns *columns,
                       const uint32_t *rows, size_t count, struct row_lists *out);

#endif
