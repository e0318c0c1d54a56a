/*
 * init_from: initial values of a job's variables from a checkpoint, an export or a SavedModel,
 * under the same or mapped names. Values are read chunk by chunk when they are sent to a ps.
 *
 *     TRY(init_from_open(&options, &placement, &init));
 *     report_line(…, "%s", init_from_report(init));
 *     for each variable   init_from_begin(init, variable, &has), and if it has: init_from_next …
 *     init_from_close(init);
 */
#ifndef TRAINER_MODEL_INIT_FROM_H
#define TRAINER_MODEL_INIT_FROM_H

#include "trainer/protocol/placement.h"

struct init_from_options {
    /* A checkpoint's prefix, a directory of checkpoints (the latest one), a SavedModel or a
     * session_bundle. */
    const char *path;
    /* "old=new,…": the model's variable `new` gets the value of `old`. A * in both matches any
     * text; an empty `old` initializes `new` afresh. Other variables keep their names. */
    const char *map;
    bool partial; /* variables that are missing there are initialized afresh */
    /* The name of the model, which may prefix the names there; NULL: it has none. */
    const char *model;
};

struct init_from;

/**
 * Opens the files and finds the value of each variable.
 *
 * Owner   *out: init_from_close. The placement is borrowed
 * Errors  NOT_FOUND no such files; a variable is missing, unless `partial`; all are;
 *         INVALID_ARGUMENT another shape or type, a map that does not parse, or an entry of it that
 *         matches no variable of the model
 */
struct status init_from_open(const struct init_from_options *options,
                             const struct placement *placement, struct init_from **out);
void init_from_close(struct init_from *init); /* accepts NULL */

/* A readable report of the source of each value. */
const char *init_from_report(const struct init_from *init);

/* Begins the value of a variable. *has false: it is initialized afresh. */
struct status init_from_begin(struct init_from *init, int variable, bool *has);
/* The next bytes, valid until the next call; size 0: the end. OUT_OF_RANGE: a value is NaN or
 * infinite. */
struct status init_from_next(struct init_from *init, struct bytes *chunk);

#endif
