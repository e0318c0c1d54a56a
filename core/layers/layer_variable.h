/*
 * layer_variable: the variables of a layer, with their penalties and averages, and tables that are
 * read by rows. Internal to layers/.
 */
#ifndef LAYERS_LAYER_VARIABLE_H
#define LAYERS_LAYER_VARIABLE_H

#include "layers/layer.h"

/* The value of the variable "<layer>/<name>". Its initializer, regularizer and constraint are
 * the arguments "<name>_initializer", "<name>_regularizer" and "<name>_constraint". Every call
 * of the layer shares the variable. */
struct endpoint layer_variable(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape);

/* Like layer_variable, with the arguments "<prefix>_initializer" and so on. */
struct endpoint layer_variable_of(struct layer_context *context, const struct layer *layer,
                                  const char *name, const char *prefix, struct shape shape);

/* Like layer_variable, with a given initializer and regularizer (NULL: none) instead of
 * arguments. */
struct endpoint layer_variable_with(struct layer_context *context, const struct layer *layer,
                                    const char *name, struct shape shape,
                                    const struct initializer *initializer,
                                    const struct regularizer *regularizer, bool trainable);

/* Sets the constraint of a trained variable from the argument "<prefix>_constraint". */
void layer_constrain(struct layer_context *context, const struct layer *layer,
                     struct endpoint variable, const char *prefix);

/* Lets the elements [begin, end) of a variable start at 1, as Keras' unit_forget_bias does with the
 * bias of the forget gate. */
void layer_set_ones(struct layer_context *context, struct endpoint variable, int64_t begin,
                    int64_t end);

/* TRAIN: makes each step move a non-trainable variable towards `update`, by this momentum. */
void layer_move_average(struct layer_context *context, struct endpoint variable,
                        struct endpoint update, double momentum);
/* Gives each variable its update: its updates by layer_move_average, one after the other. */
void layers_join_averages(struct layer_context *context);

/* The values of a table, or only the rows that are needed, and the position of each id's row in
 * them. */
struct layer_table {
    struct endpoint values, places;
};

/* A variable "<layer>/<name>" of `shape`, whose rows are looked up by `ids` (int64). Its
 * initializer, regularizer and constraint are arguments, as for layer_variable. Training and
 * evaluation read only the looked-up rows, except when the whole table is needed: for a
 * regularizer's penalty, for a constraint, or if the initializer fills all rows together. */
struct layer_table layer_table(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape, struct endpoint ids);

/* The looked-up rows: [ids…, row…]. */
struct endpoint layer_rows(struct layer_context *context, const struct layer *layer,
                           const char *name, struct shape shape, struct endpoint ids);

/* A hash table "<layer>/<name>" with rows of `width` numbers, looked up by `keys` (int64). Its
 * initializer is the argument "<name>_initializer"; `rules` has the other rules. In serving, a
 * key without a row gets row 0, which holds the mean of the initial distribution. */
struct layer_table layer_key_table(struct layer_context *context, const struct layer *layer,
                                   const char *name, int64_t width,
                                   const struct row_keys_spec *rules, struct endpoint keys);

/* Gathers rows of a table: [places…, row…]. */
struct endpoint layer_gather(struct layer_context *context, struct layer_table table);

/* Adds the regularizer's term to the penalty of the loss. */
void layer_penalise_variable(struct layer_context *context, const struct regularizer *regularizer,
                             struct endpoint value);

/* Adds λ1 Σ|x| + λ2 Σx² per row, averaged over the batch, to the penalty of the loss. */
void layer_penalise_activity(struct layer_context *context, const struct layer *layer,
                             const struct regularizer *regularizer, struct endpoint x);

#endif
