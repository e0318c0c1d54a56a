/*
 * predict: runs the rows of files through a signature of a SavedModel, batch by batch, and writes
 * what it answers for each row. Memory depends on the batch size, not on the number of rows.
 */
#ifndef TRAINER_PREDICT_PREDICT_H
#define TRAINER_PREDICT_PREDICT_H

#include "trainer/flags/option_flags.h"
#include "trainer/predict/prediction_text.h"

struct prediction_request {
    const char *directory; /* of the SavedModel */
    const char *signature; /* "": the one that one would expect */
    /* train_files: the files of rows; and what describes them. batch_size rows run at a time. To
     * evaluate: loss, metrics and compile_config */
    const struct flag_values *files;
    const char *id_column; /* is written in front of each row; "": none */
    const char *output;    /* a file, which appears when it is complete; "": the standard output */
    bool evaluate;         /* prints the loss and the metrics; the predictions only go to a file */
    enum prediction_format format;
};

/**
 * Runs all rows. Bad records are reported to stderr and passed, as in training.
 *
 * Errors  of the command line are marked so (command.h): no such signature, an input that no column
 *         fits; others of the files, the model and the output
 */
struct status predict(const struct prediction_request *request, struct arena *arena);

#endif
