/*
 * file_data: a job's data from files of records, as given by --train_files, --validation_files and
 * --test_files.
 */
#ifndef TRAINER_INPUTS_FILE_DATA_H
#define TRAINER_INPUTS_FILE_DATA_H

#include "graph/training_graph.h"
#include "trainer/data/batch_source.h"
#include "trainer/flags/option_flags.h"
#include "trainer/records/schema.h"

struct file_data_request {
    const struct flag_values *flags; /* train_files and the flags that describe them */
    const char *files_flag;          /* the flag to name in errors: "train_files" */
    const char *id_column; /* kept beside the feeds under its own name; NULL or "": none */
    bool count_rows;       /* of the training files */
    bool reads_again;      /* their rows are taken more than once: --cache_mb */
    bool needs_rows;       /* files without records are refused */
    bool needs_labels;     /* --label_column is a label, not only excluded from the features */
    bool any_width;        /* the columns decide the widths of the inputs, [-1, n] */
    const struct training_feed *feeds;
    int feeds_count;
    /* The pass that uses the rows: the files must have its feeds. NULL: all feeds */
    const struct training_pass *pass;
    /* Reports a bad record or an unused column; any thread. */
    void (*warn)(void *context, const char *text);
    void *context;
};

/**
 * Matches the columns of the files with the feeds. A single label is --label_column; a single input
 * is all other columns, or --feature_columns. Several inputs or labels are matched by name.
 *
 * Owner   *out: data_destroy; it uses `arena`, the flags and the feeds, which outlive it
 * Errors  name the flag, the file or the column
 */
struct status file_data_open(const struct file_data_request *request, struct arena *arena,
                             struct data **out);

/* Do the files, or the schema's inputs, have this column? Errors: as file_data_open. */
struct status file_data_has_column(const struct file_data_request *request, const char *name,
                                   bool *out);

/* The number of bad records skipped so far. */
int64_t file_data_bad_records(const struct data *data);

/* `pstrain schema FILE…`: prints the schema guessed from the files' first rows.
 * INVALID_ARGUMENT: the files differ. */
struct status file_data_print_schema(const struct flag_values *flags,
                                     const struct schema_hints *hints, const char *const *paths,
                                     int count, struct arena *arena);

#endif
