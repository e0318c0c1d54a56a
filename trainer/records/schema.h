/*
 * schema: the contents of the columns of a file of records, and their conversion to numbers.
 *
 *     {"columns": [
 *       {"name": "x", "kind": "dense", "dtype": "float32", "shape": [1],
 *        "default": 0, "log": true, "mean": 12.5, "stddev": 3},
 *       {"name": "label", "dtype": "string", "classes": ["no", "yes"]},
 *       {"name": "features", "kind": "sparse", "index": "index", "value": "value",
 *        "first_index": 1, "width": 123},
 *       {"name": "words", "kind": "ragged", "dtype": "string", "separator": " ",
 *        "hash_buckets": 1000},
 *       {"name": "age", "boundaries": [18, 30, 65]}],
 *      "inputs": {"ids": ["C*"], "numbers": ["age", "x"]}, "separator": ";"}
 *
 * A dense column has the same number of values in each row, a ragged one any number. A sparse
 * column is two columns of the file: the indices of the values that are not 0, and these values.
 *
 * "inputs" lists the columns of each input of the model, by names or patterns.
 *
 * A schema is written by hand or guessed from the first rows of a file.
 */
#ifndef TRAINER_RECORDS_SCHEMA_H
#define TRAINER_RECORDS_SCHEMA_H

#include "trainer/records/record_reader.h"

enum schema_kind { SCHEMA_DENSE, SCHEMA_SPARSE, SCHEMA_RAGGED };

struct schema_column {
    const char *name; /* of a dense or ragged column: its name in the file */
    enum schema_kind kind;
    enum column_kind dtype; /* in the file; of a sparse column: COLUMN_FLOAT */
    /* When guessed: why the first non-numeric text of the column is not a number; NULL: none, or
     * unknown */
    const char *no_number;
    bool is_whole_so_far;      /* when guessed: int64 because the texts seen are whole numbers */
    size_t missing_rows;       /* when guessed, dense numbers: the rows that have none */
    int64_t width;             /* values in a row; sparse: 0 if the model decides; ragged: 0 */
    struct shape shape;        /* dense: of these values; rank 0: unknown */
    const char *index, *value; /* sparse: names in the file */
    int64_t first_index;       /* sparse: the index of the first value, 0 or 1 */
    bool has_default;          /* dense: for rows without a value */
    double default_value;
    struct bytes default_text; /* for texts, instead of default_value; .data NULL: none */
    char separator;            /* between the values of a field; 0: a single value */
    bool log;                  /* dense: a value becomes log(1 + value); negative values become 0 */
    double mean, stddev;       /* then (value - mean) / stddev; 0 and 1 if not given */
    /* > 0: each value, as text, is hashed to this many buckets (fingerprint modulo buckets); 0:
     * not hashed */
    int64_t hash_buckets;
    const struct bytes *classes; /* a value becomes its index in this list; NULL: no list */
    int classes_count;
    /* Dense: a value becomes the number of these ascending boundaries that are not above it;
     * NULL: no boundaries */
    const float *boundaries;
    int boundaries_count;
};

/* The columns of an input of the model. */
struct schema_input {
    const char *name;
    const char **columns; /* [columns_count], of the schema */
    int columns_count;
};

struct schema {
    const struct schema_column *columns;
    int count;
    const struct schema_input *inputs; /* inputs that are not simply the column of their name */
    int inputs_count;
    char separator;   /* between the fields of csv and tsv files; 0: the format's, or detected */
    size_t seen_rows; /* of a guess: the rows that it is made from */
    bool has_header;  /* of a guess: the first line of the file names the columns */
    const char *path; /* of the file that it was read or guessed from; NULL: none */
};

/**
 * Reads a schema.
 *
 * Owner   out lives in `arena`
 * Errors  INVALID_ARGUMENT not JSON; an unknown key or a wrong value, by name
 */
struct status schema_read(struct bytes json, struct arena *arena, struct schema *out);

/* The same from a file. Errors of reading come on top; all name the path. */
struct status schema_read_file(const char *path, struct arena *arena, struct schema *out);

/* What a guess reads from the first rows besides names and types. */
struct schema_hints {
    /* the column whose texts are listed as classes, in ascending order; "": none */
    const char *label;
    const char *weight;   /* the column of the rows' weights, which stay; NULL: none */
    bool normalize;       /* the other dense columns of numbers get their mean and stddev */
    int64_t hash_buckets; /* the other columns of texts get this many; 0: none */
    bool lists;           /* a field such as "3|7" has several numbers */
};

/**
 * Guesses from the first 1000 rows of a file. A column whose number of values varies is ragged. Two
 * columns with names such as "ids" and "values", integers and floats, that have equally many values
 * in each row become the sparse column "features". A text column whose number of values varies is
 * left out, like anything that the format cannot read; `notes` has a line for each.
 *
 * Owner   out lives in `arena`
 * Errors  those of reading the file; bad records are skipped. INVALID_ARGUMENT no such label
 */
struct status schema_guess(const char *path, const struct record_format *format,
                           const struct record_options *options, const struct schema_hints *hints,
                           struct arena *arena, struct buffer *notes, struct schema *out);

/* Appends the schema as JSON. */
void schema_print(const struct schema *schema, struct buffer *out);

/* Do log, mean or stddev change the values? */
bool schema_is_normalised(const struct schema_column *column);

/* The number of categories of a column: buckets, or the ranges between boundaries. 0: its values
 * stay numbers or texts. */
int64_t schema_categories(const struct schema_column *column);

/* Finds a column by name; NULL: none. */
const struct schema_column *schema_find(const struct schema *schema, const char *name);
/* The same for one name after the other, which are mostly in the schema's order: begins after the
 * one found before. A file may have 100 000 columns. *next is 0 at first. */
const struct schema_column *schema_find_next(const struct schema *schema, const char *name,
                                             int *next);
/* Adds a column, whose texts outlive the schema, or replaces the one of its name. In `arena`. */
void schema_put_column(struct schema *schema, struct arena *arena, struct schema_column column);
const struct schema_input *schema_find_input(const struct schema *schema, const char *name);

/* Sets the reader's separators between fields, and between the values of a field. In `arena`. */
void schema_separators(const struct schema *schema, struct arena *arena,
                       struct record_options *out);

#endif
