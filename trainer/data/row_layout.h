/*
 * row_layout: converts rows of columns to the tensors that a model is fed.
 *
 *     TRY(row_layout_make(&schema, requests, count, arena, &layout));
 *     columns_init(&columns, layout.specs, layout.specs_count);      the columns to read
 *     …read a row…
 *     row_layout_complete(&layout, &columns);
 *     bad = row_layout_check(&layout, &columns, row);                before the row is accepted
 *     row_layout_gather(&layout, tensor, &columns, rows, count, out);             a dense tensor
 *     row_layout_append(&layout, tensor, &columns, rows, count, &lists);          any other tensor
 *
 * A dense or sparse tensor is made of one or several columns, side by side: dense ones, normalised,
 * and sparse ones. In a dense tensor, the zeros of sparse columns are written out. A sparse tensor
 * has the values of a sparse column in the file's order, each with its id, the non-zero values of a
 * dense column, and a 1 for the category of each value of a column with categories (hash_buckets,
 * boundaries); like a missing value, the empty text has no bucket. A ragged tensor is made of one
 * ragged or dense column. A class is a whole number; with two classes, -1 means the first, as in
 * libsvm's files. A class may also be one-hot: as many columns, or values of a column, as there are
 * classes, with 1 in one of them and 0 in the others. A row may have a class for each of several
 * steps, one after the other. A dense tensor of integers, such as the ids of an embedding, takes
 * whole numbers from dense columns; a tensor of bools takes 0 and 1; and a tensor of texts takes
 * them verbatim. A double has the value of a float; a half or bfloat16 is a rounded float.
 */
#ifndef TRAINER_DATA_ROW_LAYOUT_H
#define TRAINER_DATA_ROW_LAYOUT_H

#include "base/map.h"
#include "trainer/data/batch_source.h"
#include "trainer/records/schema.h"

/* A requested tensor. */
struct row_request {
    /* dense: floats or integers of any size, bool or string; sparse: float; ragged: float, int64 or
     * string. Dimension 0 is -1 */
    struct tensor_spec spec;
    int64_t step_size;            /* of a ragged tensor: a row has a multiple of this many values;
                                   * 0: any number */
    int64_t classes;              /* for class numbers; 0: not class numbers */
    const int64_t *ignored_class; /* one more class number that may occur; NULL: none */
    bool is_binary;               /* float: 0 or 1, or a probability; -1 means 0 */
    bool truncates;               /* integers: made from numbers that need not be whole, such as
                                   * pixels */
    bool any_width;               /* the schema may say another width than `spec`'s, for errors */
    enum raw_values raw;          /* the parts of the schema that do not apply */
    const char *flag;             /* that names the columns, for errors; NULL: none does */
    const char *const *names;     /* the columns of the schema from which it is made */
    int names_count;
};

/* The part of a tensor that comes from one column. */
struct row_part {
    const struct schema_column *from;
    int value, index;     /* indices into row_layout.specs; index: for a sparse column */
    int64_t width;        /* of a ragged column: 0 */
    int64_t first;        /* the sum of the widths of the previous parts */
    bool is_hashed_later; /* texts that the graph hashes: a row may have fewer than `width` */
};

struct row_tensor {
    struct data_column column;
    const int64_t *ignored_class;
    bool is_binary, truncates, any_width;
    bool is_one_hot;   /* class numbers, from one value per class */
    int64_t width;     /* values in a row; for a ragged tensor: 0 */
    int64_t step_size; /* as requested */
    struct row_part *parts;
    int parts_count;
};

struct row_layout {
    struct row_tensor *tensors;
    int count;
    struct column_spec *specs; /* what is read of a file */
    /* [specs_count]: the columns with a default text; NULL: none */
    const struct schema_column **texts;
    int specs_count;
    struct map places; /* name -> its element of `specs` */
};

/**
 * Owner   out lives in `arena`; schema and requests outlive it
 * Errors  INVALID_ARGUMENT the schema has no such column; a text that is not a class; columns
 *         whose total number of values differs from the tensor's
 */
struct status row_layout_make(const struct schema *schema, const struct row_request *requests,
                              int count, struct arena *arena, struct row_layout *out);

/* Adds the default texts of columns to the last row, which was just read, where it has no value. */
void row_layout_complete(const struct row_layout *layout, struct columns *columns);

/* Can row `row` be gathered? INVALID_ARGUMENT names the column: no value or a wrong number of
 * values, an index beyond the width, not a class. */
struct status row_layout_check(const struct row_layout *layout, const struct columns *columns,
                               size_t row);

/* Writes the values of the rows of a dense tensor contiguously, in the tensor's dtype: [count,
 * width]. The rows were checked. Texts point into the columns. */
void row_layout_gather(const struct row_layout *layout, int tensor, const struct columns *columns,
                       const uint32_t *rows, size_t count, void *out);

/* The rows of a sparse or ragged tensor, see tensor_spec.h. The memory grows and is reused. */
struct row_lists {
    union {
        void *values; /* [count] */
        float *floats;
        int64_t *ints;
        struct bytes *texts; /* point into the columns */
    };
    int64_t *ids;        /* [count], for a sparse tensor */
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
