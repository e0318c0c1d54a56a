/*
 * optimizer: updates a variable by a gradient. Each optimizer is one row of a table, with its
 * settings, its slots and a plain loop over a run of elements, so that any part of a variable can
 * be updated by itself. What changes once per update, such as Adam's powers of β, are the scalars:
 * `apply` only reads them, and `advance` changes them after all runs of the update.
 *
 * Semantics are those of TensorFlow's TF1 classes (its training_ops.cc). In formulas, w is the
 * variable, g the gradient, η the learning rate. Settings have Keras' names; with the values of
 * optimizer_keras_defaults, the optimizers are Keras' classes.
 */
#ifndef TRAINER_SHARED_OPTIMIZER_H
#define TRAINER_SHARED_OPTIMIZER_H

#include "base/bytes.h"

#define OPTIMIZER_SETTINGS_MAX 6
#define OPTIMIZER_SLOTS_MAX    3
#define OPTIMIZER_SCALARS_MAX  2

struct optimizer_setting {
    const char *name;
    float initial;
};

/* One update of `count` elements. `out` may be `w`; slots are changed in place. */
struct optimizer_step {
    float rate;
    const float *settings; /* [settings_count], in the table's order */
    const float *scalars; /* [scalars_count]: state beside the slots, such as Adam's powers of β */
    float *slots[OPTIMIZER_SLOTS_MAX];
    const float *w;
    const float *g;
    float *out;
    size_t count;
};

struct optimizer_slot {
    const char *name;    /* "momentum" */
    const char *suffix;  /* behind the variable's name in a checkpoint: "Adam_1" */
    int initial_setting; /* the setting that it starts at; -1: 0 */
    /* The suffix if the optimizer's last setting is on, for which TensorFlow makes other slots;
     * NULL: the same suffix. A slot without a suffix is in no checkpoint. */
    const char *suffix_then;
};

struct optimizer_scalar {
    const char *name;    /* in a checkpoint, "beta1_power"; NULL: it is the global step */
    int initial_setting; /* as for a slot */
};

struct optimizer {
    const char *name;
    float rate; /* the default; 0: must be given */
    /* A gradient of some rows changes only these rows and their slots, as in TensorFlow. If not, it
     * changes all rows: those without a gradient as if theirs were 0. */
    bool row_local;
    int settings_count;
    struct optimizer_setting settings[OPTIMIZER_SETTINGS_MAX];
    int slots_count;
    struct optimizer_slot slots[OPTIMIZER_SLOTS_MAX];
    int scalars_count;
    struct optimizer_scalar scalars[OPTIMIZER_SCALARS_MAX];
    void (*apply)(const struct optimizer_step *step);
    /* Changes the scalars at the end of an update; NULL: it has none. */
    void (*advance)(const float *settings, float *scalars);
};

/* By its name in any case; NULL: no such optimizer. */
const struct optimizer *optimizer_find(const char *name);
const char *optimizer_names(void); /* "adadelta adagrad …": as choices of a flag */

/* Keras' defaults of the settings for which TensorFlow's TF1 classes have other defaults, such as
 * "epsilon" 1e-7. An optimizer need not have all of them. Ends with a name of NULL. */
extern const struct optimizer_setting optimizer_keras_defaults[];
/* Keras' default of the learning rate. */
float optimizer_keras_rate(const struct optimizer *optimizer);

/* Index of a setting; -1: it has none of that name. */
int optimizer_setting_index(const struct optimizer *optimizer, const char *name);

/* The suffix of a slot in a checkpoint of TensorFlow, "Adam_1"; NULL: with these settings it has no
 * such slot there. */
const char *optimizer_slot_suffix(const struct optimizer *optimizer, const float *settings,
                                  int slot);

/* The initial value of a slot or scalar: the value of its `initial_setting`. */
float optimizer_initial(const float *settings, int initial_setting);

/* out = (gradients[0] + gradients[1] + …) / count, summed in that order. Two or more; out is none
 * of them. */
void optimizer_mean(const float *const *gradients, int gradients_count, float *out, size_t count);

#endif
