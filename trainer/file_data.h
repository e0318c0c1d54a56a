/*
 * file_data: the data of a job from files of records, as --train_files, --validation_files and
 * --test_files name them.
 */
#ifndef TRAINER_FILE_DATA_H
#define TRAINER_FILE_DATA_H

#include "graph/training_graph.h"
#include "trainer/options.h"

struct file_data_request {
    const struct options *options; /* with --train_files */
    const struct training_graph *graph;
    /* Reports a bad record or a column that is left out; any thread. */
    void (*warn)(void *context, const char *text);
    void *context;
};

/**
 * Matches the columns of the files with the graph's feeds: the only label is --label_column, the
 * only input all other columns or --feature_columns. If there are several inputs or labels, each is
 * the column of its name. If the job's length is given in epochs, reads the training files to count
 * their rows.
 *
 * Owner   *out: data_destroy; it uses `arena`, the options and the graph, which outlive it
 * Errors  name the flag, the file or the column
 */
struct status file_data_open(const struct file_data_request *request, struct arena *arena,
                             struct data **out);

/* `pstrain schema FILE…`: prints the schema that the files' first rows suggest. INVALID_ARGUMENT:
 * the files differ. */
struct status file_data_print_schema(const struct flag_values *flags, const char *const *paths,
                                     int count, struct arena *arena);

#endif
