/*
 * trainable_reads: replaces reads of variables by their values, in the graph of a signature and in
 * the functions of its loops and branches. Internal to trainable_graph.c.
 *
 *     struct variable_reads reads = { .trainable = …, .builder = …, .values = placeholders };
 *     variable_reads_begin(&reads, handles_max);
 *     variable_reads_add(&reads, handle, variable);                 for each handle
 *     TRY(variable_reads_replace(&reads));
 *     output = variable_reads_image(&reads, output);
 *     …remove unused nodes…
 *     TRY(variable_reads_check(&reads));
 */
#ifndef SAVEDMODEL_TRAINABLE_READS_H
#define SAVEDMODEL_TRAINABLE_READS_H

#include "graph/build.h"
#include "savedmodel/trainable/trainable_internal.h"

/* A node whose output 0 is the handle of a variable. */
struct variable_handle {
    const struct node *node;
    int variable;
};

/* One graph: that of the signature, or the body of a function. */
struct variable_reads {
    struct variable_reads *caller; /* NULL: this is the graph of the signature */
    const char *function;          /* whose body it is */
    int functions_written;         /* in the graph of the signature: of all bodies */
    const struct trainable *trainable;
    struct builder builder;
    struct endpoint *values; /* by variable: its value in this graph; a null node: it has none */
    int count;               /* nodes of the graph before the replacement */
    struct endpoint *images; /* [count]: the replacement of output 0; a null node: none */
    struct variable_handle *handles;
    int handles_count;
};

/* Makes room for the nodes of the graph and for handles. */
void variable_reads_begin(struct variable_reads *reads, int handles_max);
void variable_reads_add(struct variable_reads *reads, const struct node *handle, int variable);

/* The variable whose handle an endpoint is, with Identity nodes skipped; -1: not a handle. */
int variable_reads_find(const struct variable_reads *reads, struct endpoint endpoint);

/**
 * Replaces the reads. A loop or a branch that takes a handle takes the variable's value instead:
 * its functions are rewritten under new names, with all calls inlined.
 *
 * Errors  UNIMPLEMENTED names a node of a function that does something to a variable other than
 *         read it, or a function that calls itself; RESOURCE_EXHAUSTED too many functions, one
 *         inside the other or altogether; those of graph_flatten
 */
struct status variable_reads_replace(struct variable_reads *reads);

/* The replacement of an endpoint of the graph. */
struct endpoint variable_reads_image(const struct variable_reads *reads, struct endpoint endpoint);

/* UNIMPLEMENTED names a node that still uses a handle. */
struct status variable_reads_check(const struct variable_reads *reads);

/* ---- trainable_rows.c ---- */

/* For each variable: does the graph only look up rows of it, by ids that depend on no variable? To
 * be called before the replacement, in the graph of a signature. */
bool *variable_rows_choose(const struct variable_reads *reads, const struct endpoint *outputs);

/* Replaces the reads of variables in out->by_rows; reads->values has placeholders for their
 * rows. Sets out->lookups. */
void variable_rows_replace(struct variable_reads *reads, struct trainable_graph *out);

#endif
