/*
 * summary: the statistics from which the state of a preprocessing layer is computed. Each task
 * summarizes the values that the layer gets from its share of the rows; merged, the summaries cover
 * all rows. The result is the same for any number of tasks and any order of the rows.
 *
 *     struct summary *summary = summary_create(&adapting);
 *     TRY(summary_add(summary, &values));                        for each batch
 *     summary_write(summary, &builder);                          features of a tf.Example
 *     TRY(summary_merge(other, example));                        in another task
 *     TRY(summary_finish(summary, arena, &state));
 *
 * Memory  moments: 320 bytes for each mean; quantiles: 12 bytes for each distinct value, at most
 *         QUANTILES_MAX; tokens: their characters and about 100 bytes each, at most
 *         TOKENS_BYTES_MAX together
 * Threads not safe
 */
#ifndef TRAINER_ADAPT_SUMMARY_H
#define TRAINER_ADAPT_SUMMARY_H

#include "layers/layers.h"
#include "storage/example.h"

#define QUANTILES_MAX    ((size_t)4 << 20)
#define TOKENS_BYTES_MAX ((size_t)512 << 20)
#define FIELDS_MAX       3

/* A feature of the tf.Example, "<layer>/<name>". */
struct summary_field {
    const char *name;
    enum dtype dtype; /* DT_INVALID: the layer's type of tokens */
};

struct summary {
    const struct summary_kind *kind;
    struct layers_adapting how;
};

/* A kind of state: a row of the table in summary.c. */
struct summary_kind {
    struct summary_field fields[FIELDS_MAX]; /* of the summary */
    int fields_count;
    const char *state[2]; /* names of the state's tensors; NULL: none */
    struct summary *(*create)(const struct layers_adapting *how);
    void (*destroy)(struct summary *summary);
    struct status (*add)(struct summary *summary, const struct tensor *values);
    /* The fields' values as vectors, valid until the summary changes. */
    void (*get)(struct summary *summary, struct tensor fields[FIELDS_MAX]);
    struct status (*merge)(struct summary *summary, const struct tensor fields[FIELDS_MAX]);
    struct status (*finish)(struct summary *summary, struct arena *arena, struct layers_state *out);
};

extern const struct summary_kind summary_moments, summary_quantiles, summary_tokens;

struct summary *summary_create(const struct layers_adapting *how);
void summary_destroy(struct summary *summary); /* accepts NULL */

/* INVALID_ARGUMENT a number that is not finite; RESOURCE_EXHAUSTED too many tokens. */
struct status summary_add(struct summary *summary, const struct tensor *values);
void summary_write(struct summary *summary, struct example_builder *builder);
/* `example` is a serialized tf.Example that holds this layer's features. DATA_LOSS: they are
 * inconsistent. */
struct status summary_merge(struct summary *summary, struct bytes example);
/* INVALID_ARGUMENT: there were no values. Owner: out lives in `arena`. */
struct status summary_finish(struct summary *summary, struct arena *arena,
                             struct layers_state *out);

/* Writes the state as features "<layer>/mean", …, and reads it. DATA_LOSS: it is missing. */
void state_write(const struct layers_adapting *how, const struct layers_state *state,
                 struct example_builder *builder);
struct status state_read(const struct layers_adapting *how, struct bytes example,
                         struct arena *arena, struct layers_state *out);

#endif
