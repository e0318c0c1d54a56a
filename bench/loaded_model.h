/*
 * loaded_model: a SavedModel whose signature can be run again and again on one made-up batch. A
 * failure ends the program.
 */
#ifndef BENCH_LOADED_MODEL_H
#define BENCH_LOADED_MODEL_H

#include "savedmodel/load.h"

struct loaded_model {
    struct savedmodel *model;
    const struct signature *signature;
    const struct plan *plan;
    struct tensor *feeds, *fetches; /* of the signature's inputs and outputs */
    struct run *run;
};

/* Unknown dimensions are 1, except the first of each input: rows. */
void loaded_model_open(const char *directory, const char *signature, int64_t rows,
                       struct loaded_model *out);
void loaded_model_run(struct loaded_model *loaded);
void loaded_model_close(struct loaded_model *loaded);

#endif
