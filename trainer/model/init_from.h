/*
 * init_from: first values of a job's variables from a checkpoint, an export or a SavedModel, under
 * the same names or mapped ones. Values are read chunk by chunk when a ps gets them.
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
    /* "old=new,…": the variable `new` of the model takes the value of `old`. One * in both stands
     * for any text; an empty `old`: `new` begins anew. Other variables take their own names'. */
    const char *map;
    bool partial; /* variables that are not there begin anew */
};

struct init_from;

/**
 * Opens the files and decides what each variable takes.
 *
 * Owner   *out: init_from_close. The placement is borrowed
 * Errors  NOT_FOUND no such files; a variable is not there, unless `partial`; none is;
 *         INVALID_ARGUMENT another shape or type, a map that cannot be read, or an entry of it that
 *         fits no variable of the model
 */
struct status init_from_open(const struct init_from_options *options,
                             const struct placement *placement, struct init_from **out);
void init_from_close(struct init_from *init); /* accepts NULL */

/* What is taken from where, for people. */
const char *init_from_report(const struct init_from *init);

/* Begins the value of a variable. *has false: it begins anew. */
struct status init_from_begin(struct init_from *init, int variable, bool *has);
/* The next bytes, valid until the next call; size 0: the end. OUT_OF_RANGE: a value is NaN or
 * infinite. */
struct status init_from_next(struct init_from *init, struct bytes *chunk);

#endif
