/*
 * file_data: the data of a job from files of records, as --train_files, --validation_files and
 * --test_files name them.
 */
#ifndef TRAINER_INPUTS_FILE_DATA_H
#define TRAINER_INPUTS_FILE_DATA_H

#include "graph/training_graph.h"
#include "trainer/data/batch_source.h"
#include "trainer/flags/option_flags.h"

struct file_data_request {
    const struct flag_values *flags; /* train_files and what describes them */
    const char *files_flag;          /* that names train_files, for errors: "train_files" */
    const char *id_column; /* kept beside the feeds under its own name; NULL or "": none */
    bool count_rows;       /* of the training files */
    bool needs_rows;       /* files without records are refused */
    bool needs_labels;     /* --label_column does not only tell what is no feature */
    const struct training_feed *feeds;
    int feeds_count;
    /* What the rows are for: the files have the feeds that it uses. NULL: all feeds */
    const struct training_pass *pass;
    /* Reports a bad record or a column that is left out; any thread. */
    void (*warn)(void *context, const char *text);
    void *context;
};

/**
 * Matches the columns of the files with the feeds: the only label is --label_column, the only input
 * all other columns or --feature_columns. If there are several inputs or labels, each is the column
 * of its name.
 *
 * Owner   *out: data_destroy; it uses `arena`, the flags and the feeds, which outlive it
 * Errors  name the flag, the file or the column
 */
struct status file_data_open(const struct file_data_request *request, struct arena *arena,
                             struct data **out);

/* Do the files, or the schema's inputs, have such a column? Errors as file_data_open. */
struct status file_data_has_column(const struct file_data_request *request, const char *name,
                                   bool *out);

/* The bad records that were passed so far. */
int64_t file_data_bad_records(const struct data *data);

/* `pstrain schema FILE…`: prints the schema that the files' first rows suggest. INVALID_ARGUMENT:
 * the files differ. */
struct status file_data_print_schema(const struct flag_values *flags, const char *const *paths,
                                     int count, struct arena *arena);

#endif
