/*
 * schema: what the columns of a file of records hold, and how they become numbers.
 *
 *     {"columns": [
 *       {"name": "x", "kind": "dense", "dtype": "float32", "shape": [1],
 *        "default": 0, "mean": 12.5, "stddev": 3},
 *       {"name": "label", "dtype": "string", "classes": ["no", "yes"]},
 *       {"name": "features", "kind": "sparse", "index": "index", "value": "value",
 *        "first_index": 1, "width": 123}]}
 *
 * A dense column has the same number of values in each row. A sparse column is two columns of the
 * file: the indices of the values that are not 0, and these values.
 *
 * A person writes a schema, or the first rows of a file give a guess.
 */
#ifndef TRAINER_DATA_SCHEMA_H
#define TRAINER_DATA_SCHEMA_H

#include "trainer/data/record_reader.h"

enum schema_kind { SCHEMA_DENSE, SCHEMA_SPARSE };

struct schema_column {
    const char *name; /* of a dense column: its name in the file */
    enum schema_kind kind;
    enum column_kind dtype;    /* in the file; of a sparse column: COLUMN_FLOAT */
    int64_t width;             /* values in a row; sparse: 0 if the model decides */
    const char *index, *value; /* sparse: names in the file */
    int64_t first_index;       /* sparse: the index of the first value, 0 or 1 */
    bool has_default;          /* dense: for rows without a value */
    double default_value;
    double mean, stddev;         /* a value becomes (value - mean) / stddev; 0 and 1 if not given */
    const struct bytes *classes; /* a value becomes its place in this list; NULL: it does not */
    int classes_count;
};

struct schema {
    const struct schema_column *columns;
    int count;
};

/**
 * Reads a schema.
 *
 * Owner   out lives in `arena`
 * Errors  INVALID_ARGUMENT not JSON; an unknown key or a wrong value, by name
 */
struct status schema_read(struct bytes json, struct arena *arena, struct schema *out);

/**
 * Guesses from the first 1000 rows of a file. Columns whose number of values varies are left out;
 * `notes` names them, one line each.
 *
 * Owner   out lives in `arena`
 * Errors  those of reading the file; bad records are passed
 */
struct status schema_guess(const char *path, const struct record_format *format,
                           const struct record_options *options, struct arena *arena,
                           struct buffer *notes, struct schema *out);

/* Appends the schema as JSON. */
void schema_print(const struct schema *schema, struct buffer *out);

/* By name; NULL: there is none. */
const struct schema_column *schema_find(const struct schema *schema, const char *name);

#endif
