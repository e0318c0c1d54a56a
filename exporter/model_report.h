/*
 * model_report: the output of `savedmodel show`: a model's signatures, its variables, and the ops
 * of its signatures, each with a note if this build cannot run it.
 */
#ifndef EXPORTER_MODEL_REPORT_H
#define EXPORTER_MODEL_REPORT_H

#include "savedmodel/load.h"

/* An op of the signatures' graphs. */
struct op_use {
    const char *name;
    int nodes; /* in all signatures. A function that a branch or loop calls counts once in each */
    bool missing; /* a node of it has no kernel */
};

struct model_report {
    const struct savedmodel *model;
    struct op_use *ops; /* sorted by name; in the arena */
    int ops_count;
    int64_t variables_bytes;
};

/* Counts. The model outlives the report. */
void model_report_make(const struct savedmodel *model, struct arena *arena,
                       struct model_report *out);

void model_report_to_text(const struct model_report *report, struct buffer *out);
void model_report_to_json(const struct model_report *report, struct buffer *out);

#endif
