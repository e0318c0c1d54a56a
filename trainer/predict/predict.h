/*
 * predict: runs the rows of files through a signature of a SavedModel, batch by batch, and writes a
 * prediction for each row. Memory depends on the batch size, not on the number of rows.
 */
#ifndef TRAINER_PREDICT_PREDICT_H
#define TRAINER_PREDICT_PREDICT_H

#include "trainer/flags/option_flags.h"
#include "trainer/predict/prediction_text.h"

struct prediction_request {
    const char *directory; /* of the SavedModel */
    const char *signature; /* "": the default signature */
    /* train_files names the files of rows, and other flags describe them. batch_size rows run
     * together. For evaluation: loss, metrics and compile_config */
    const struct flag_values *files;
    const char *id_column; /* written at the front of each row; "": none */
    const char *output;    /* a file, created when it is complete; "": the standard output */
    bool evaluate;         /* prints the loss and the metrics; predictions are written only to a
                            * file */
    enum prediction_format format;
};

/**
 * Runs all rows. Bad records are reported to stderr and skipped, as in training.
 *
 * Errors  marked as command-line errors (command.h): no such signature, an input without a matching
 *         column; others of the files, the model and the output
 */
struct status predict(const struct prediction_request *request, struct arena *arena);

#endif
