/*
 * row_layout: how rows of columns become the tensors that a model is fed.
 *
 *     TRY(row_layout_make(&schema, requests, count, arena, &layout));
 *     columns_init(&columns, layout.specs, layout.specs_count);      what is read of the files
 *     …read a row…
 *     bad = row_layout_check(&layout, &columns, row);                before the row counts as one
 *     row_layout_gather(&layout, tensor, &columns, rows, count, out);
 *
 * A tensor is made of one or several columns, side by side: dense ones, normalised, and sparse
 * ones, written out with their zeros. A class is a whole number; of two classes, -1 means the
 * first, as in libsvm's files.
 */
#ifndef TRAINER_DATA_ROW_LAYOUT_H
#define TRAINER_DATA_ROW_LAYOUT_H

#include "trainer/data/batch_source.h"
#include "trainer/data/schema.h"

/* One tensor that is wanted. */
struct row_request {
    struct tensor_spec spec;  /* dense; float, or int32 for classes; dimension 0 is -1 */
    int64_t classes;          /* of class numbers; 0: they are none */
    bool is_binary;           /* float: 0 or 1, or a probability; -1 means 0 */
    const char *const *names; /* the columns of the schema that it is made of */
    int names_count;
};

/* A column's share of a tensor. */
struct row_part {
    const struct schema_column *from;
    int value, index; /* places in row_layout.specs; index: of a sparse column */
    int64_t width;
};

struct row_tensor {
    struct data_column column;
    bool is_binary;
    int64_t width; /* values in a row */
    struct row_part *parts;
    int parts_count;
};

struct row_layout {
    struct row_tensor *tensors;
    int count;
    struct column_spec *specs; /* what is read of a file */
    int specs_count;
};

/**
 * Owner   out lives in `arena`; schema and requests outlive it
 * Errors  INVALID_ARGUMENT the schema has no such column; a text that is no class; columns with
 *         another number of values together than the tensor
 */
struct status row_layout_make(const struct schema *schema, const struct row_request *requests,
                              int count, struct arena *arena, struct row_layout *out);

/* Can row `row` be gathered? INVALID_ARGUMENT names the column: no value or another number of them,
 * an index beyond the width, not a class. */
struct status row_layout_check(const struct row_layout *layout, const struct columns *columns,
                               size_t row);

/* Writes the values of the rows behind each other: float or int32 [count, width]. The rows were
 * checked. */
void row_layout_gather(const struct row_layout *layout, int tensor, const struct columns *columns,
                       const uint32_t *rows, size_t count, void *out);

#endif
