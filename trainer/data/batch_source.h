/*
 * batch_source: rows of named columns, batch by batch. A data_split is a set of rows that may be
 * read any number of times (the training rows, the test rows); data_split.open makes a
 * batch_source, one reader's pass over them.
 *
 *     struct batch_order order = { .shuffle = true, .repeat = true, .seed = 1, .workers = 1 };
 *     struct batch_source *source;
 *     TRY(split->open(split, &order, &source));
 *     for (;;) {
 *         struct batch batch;
 *         TRY(source->next(source, 100, &batch));
 *         if (batch.rows == 0)
 *             break;                                         not with `repeat`
 *         …batch.columns[i].values, see split->columns[i]…
 *     }
 *     source->destroy(source);
 *
 * The rows may be in memory, in files, or come as a stream. A new format only needs a function that
 * makes a data_split.
 *
 * Threads: `open` and `identify` may be called at any time in any thread; each batch_source belongs
 * to one thread at a time.
 */
#ifndef TRAINER_DATA_BATCH_SOURCE_H
#define TRAINER_DATA_BATCH_SOURCE_H

#include "base/bytes.h"
#include "tensor/raw_column.h"

#define ROWS_UNKNOWN (-1)

/* The values of a column in a batch, as its tensor_spec says. */
struct batch_column {
    struct tensor values;     /* DENSE: [rows, …]; RAGGED: [values, …]; SPARSE: [values] */
    struct tensor ids;        /* SPARSE: int64 [values]; otherwise zeroed */
    struct tensor row_splits; /* RAGGED, SPARSE: int64 [rows + 1], from 0; otherwise zeroed */
};

struct batch {
    int64_t rows;
    const struct batch_column *columns; /* [columns_count], in the split's order */
};

struct batch_source {
    /**
     * Returns the next rows: exactly rows_max, or fewer at the end of the input, then 0. With
     * `repeat` there is no end: a batch may contain the end of an epoch and the beginning of the
     * next.
     *
     * Owner   the source owns the batch and its tensors, which are valid until `keep` further calls
     *         of next, or one of seek or destroy. They may be in memory that all readers
     *         share: do not write to them. tensor_acquire does not extend their lifetime
     * Errors  those of the input: DATA_LOSS names file and place, …
     */
    struct status (*next)(struct batch_source *source, int64_t rows_max, struct batch *out);

    /* Moves to the position after the first `rows` rows of this reader, as if it had just read
     * them; 0 rewinds. With `repeat`, `rows` may be in any epoch. UNIMPLEMENTED: the input
     * cannot go back, or forward. */
    struct status (*seek)(struct batch_source *source, uint64_t rows);

    void (*destroy)(struct batch_source *source);

    /* The number of latest batches that stay valid; 0 counts as 1. A source sets keep_max. Its
     * owner may raise `keep` to that before the first `next`, and lower it after the first
     * batch. */
    int keep, keep_max;

    /* The memory that the source keeps for each valid batch besides its columns, as of the latest
     * batch. */
    size_t more_bytes;
};

/* The order in which a reader reads the rows. */
struct batch_order {
    bool shuffle;             /* each epoch has its own order, drawn from `seed` */
    bool repeat;              /* begins the next epoch after the last row */
    uint64_t seed;            /* the same for all readers that share the rows */
    uint32_t worker, workers; /* this is reader `worker` of `workers` (1: alone); together they
                               * read every row once per epoch */
    /* The number of batches to prefetch in a thread of the source; each `next` then requests
     * ahead_rows. Cheap sources have no such thread. */
    int ahead;
    int64_t ahead_rows;
};

struct data_column {
    struct tensor_spec spec; /* dimension 0 of the shape is -1 */
    int64_t classes; /* for class numbers: the largest + 1. 0: not class numbers, or unknown */
    /* Each value of a row is (raw value - mean) / stddev. NULL: the values are raw */
    const double *mean, *stddev;
    /* [raw_count]: the columns of the file from which the values were computed, side by side.
     * NULL: unknown */
    const struct raw_column *raw;
    int raw_count;
};

struct data_split {
    const struct data_column *columns;
    int columns_count;
    int64_t rows; /* per epoch, > 0; ROWS_UNKNOWN until all are read */

    /**
     * Opens a source for one reader. The split outlives it.
     *
     * Errors  UNIMPLEMENTED the input cannot be read in this order; errors of opening files
     */
    struct status (*open)(const struct data_split *split, const struct batch_order *order,
                          struct batch_source **out);

    /* Appends "name=value", which identifies the rows: two tasks with equal texts have the same
     * rows in the same order. May read all rows. */
    struct status (*identify)(const struct data_split *split, struct buffer *out);

    /* Appends the place of the row whose column of that index has a NaN or an infinite value: ":
     * 'rows.csv' line 7: column 'age'". `row`: its values as in a batch; of size 0: any such
     * row. Appends nothing if the row is not found. NULL: rows have no place. */
    void (*locate)(const struct data_split *split, int column, struct bytes row,
                   struct buffer *out);

    int64_t share_rows; /* a reader wastes little if it reads this many consecutive rows; 0: any
                         * number */
};

/* Conventional names of columns, equal to the names of a graph's feeds. */
#define LABELS_COLUMN        "labels"
#define SAMPLE_WEIGHT_COLUMN "sample_weight" /* float [?]: a factor of each row's loss */

int data_split_column(const struct data_split *split, const char *name); /* -1: none */

/* The data of a job. */
struct data {
    const struct data_split *train;
    const struct data_split *validation, *test; /* NULL: there is none */
    char *origin; /* "60000 + 10000 images from '/data'", for people */
    void (*destroy)(struct data *data);
};

void data_destroy(struct data *data); /* accepts NULL */

#endif
