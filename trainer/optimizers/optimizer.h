/*
 * optimizer: updates a variable with a gradient. Each optimizer is one row of a table (table.c),
 * with its settings, its slots and a plain loop over a run of elements (formulas.c), so that any
 * part of a variable can be updated by itself. Values that change once per update, such as Adam's
 * powers of β, are scalars: `apply` only reads them, and `advance` changes them after all runs of
 * the update.
 *
 * Semantics are those of TensorFlow's TF1 classes (its training_ops.cc). In formulas, w is the
 * variable, g the gradient, η the learning rate. Settings have Keras' names; with the values of
 * optimizer_keras_defaults, the optimizers are Keras' classes.
 */
#ifndef TRAINER_OPTIMIZERS_OPTIMIZER_H
#define TRAINER_OPTIMIZERS_OPTIMIZER_H

#include "base/bytes.h"
#include "tensor/shape.h"

#define OPTIMIZERS_MAX             8 /* of a job: its main one, and those of some variables */
/* Limits of a row of the table, and with a moving average (average.h) in addition. */
#define OPTIMIZER_OWN_SETTINGS_MAX 14
#define OPTIMIZER_OWN_SLOTS_MAX    3
#define OPTIMIZER_OWN_SCALARS_MAX  2
#define AVERAGE_SETTINGS           3 /* momentum, momentum before, overwrite frequency */
#define OPTIMIZER_SETTINGS_MAX     (OPTIMIZER_OWN_SETTINGS_MAX + AVERAGE_SETTINGS)
#define OPTIMIZER_SLOTS_MAX        (OPTIMIZER_OWN_SLOTS_MAX + 1)
#define OPTIMIZER_SCALARS_MAX      (OPTIMIZER_OWN_SCALARS_MAX + 1)
#define JOB_SCALARS_MAX            (OPTIMIZERS_MAX * OPTIMIZER_SCALARS_MAX)

/* `initial_setting` of a slot or scalar that starts at 0. */
#define OPTIMIZER_STARTS_AT_0 (-1)

struct optimizer_setting {
    const char *name;
    float initial;
};

struct setting_value {
    const char *name;
    float value;
};

/* An optimizer of a job, for all variables or some. */
struct optimizer_choice {
    const char *name;
    float learning_rate; /* constant, or the initial rate of a schedule */
    float rate_ratio;    /* above 0: a multiple of the job's rate, which replaces its own */
    const struct setting_value *settings; /* [settings_count] */
    int settings_count;
    bool all_rows; /* a gradient of some rows also changes the others, as if theirs were 0 */
};

/* One update of `count` elements. `out` may be `w`; slots are changed in place. */
struct optimizer_step {
    float rate;
    float ratio;           /* for an optimizer that measures: see optimizer_ratio */
    const float *settings; /* [settings_count], in the table's order */
    const float *scalars; /* [scalars_count]: state beside the slots, such as Adam's powers of β */
    float *slots[OPTIMIZER_SLOTS_MAX];
    const float *w;
    const float *g;
    float *out;
    size_t count;
};

/* Sums of squares over the pieces of a variable that have been measured so far. */
struct optimizer_norms {
    double variable, update;
};

struct optimizer_slot {
    const char *name;    /* "momentum" */
    const char *suffix;  /* follows the variable's name in a checkpoint: "Adam_1" */
    int initial_setting; /* index of the setting with its initial value, or OPTIMIZER_STARTS_AT_0 */
    /* The suffix if the optimizer's last setting is on, for which TensorFlow creates other
     * slots; NULL: the same suffix. A slot without a suffix is not in checkpoints. */
    const char *suffix_then;
};

struct optimizer_scalar {
    const char *name;    /* in a checkpoint, "beta1_power"; NULL: it is the global step */
    int initial_setting; /* as for a slot */
};

struct optimizer {
    const char *name;
    float rate;       /* the default */
    float keras_rate; /* the default of Keras' class */
    /* A gradient of some rows changes only these rows and their slots, as in TensorFlow.
     * Otherwise it changes all rows, as if the gradient of the others were 0. */
    bool row_local;
    bool keras_row_local; /* Keras' class of this name is row-local too, without a weight decay;
                           * its SGD only without a momentum */
    /* Computes a row from its slots alone: without a gradient, a row that started at 0 stays
     * unchanged, as long as the learning rate does not change and no setting decays it. */
    bool rests;
    int settings_count;
    struct optimizer_setting settings[OPTIMIZER_SETTINGS_MAX];
    int slots_count;
    struct optimizer_slot slots[OPTIMIZER_SLOTS_MAX];
    int scalars_count;
    struct optimizer_scalar scalars[OPTIMIZER_SCALARS_MAX];
    void (*apply)(const struct optimizer_step *step);
    /* Changes the scalars at the end of an update; NULL: no scalars. */
    void (*advance)(const float *settings, float *scalars);
    /* For an update that depends on norms over the whole variable: runs before `apply`, changes
     * the slots, and adds to the norms. `apply` then only reads the slots and the ratio of the
     * norms, and no gradient. All pieces of a variable must be on one ps. NULL: only `apply`. */
    void (*measure)(const struct optimizer_step *step, struct optimizer_norms *norms);
    /* For an update of a whole variable of this shape: computes the new values and slots of all
     * elements. `apply` then gets the new values instead of a gradient, piece by piece. All
     * pieces must be on one ps. NULL: only `apply`. */
    void (*whole)(const struct optimizer_step *step, const struct shape *shape);
    bool averages; /* also keeps a moving average of the variable: average.h */
    /* The settings in the table are Keras' defaults, because TensorFlow has no such optimizer,
     * and optimizer_keras_defaults does not apply. */
    bool has_keras_defaults;
};

/* Not in the table: a moving average, w = μ w + (1 - μ) g. Settings: μ, 1 - μ. It has no slots. */
extern const struct optimizer optimizer_average;

/* Changes the scalars at the end of an update. */
void optimizer_advance(const struct optimizer *optimizer, const float *settings, float *scalars);

/* Must all pieces of a variable be on one ps? */
static inline bool optimizer_joins_pieces(const struct optimizer *optimizer)
{
    return optimizer->measure != NULL || optimizer->whole != NULL;
}

/* LAMB's "trust ratio" of a variable: ‖w‖ / ‖update‖, or 1 if one of them is 0. */
float optimizer_ratio(const struct optimizer_norms *norms);

/* Finds an optimizer by its name, ignoring case; NULL: none. */
const struct optimizer *optimizer_find(const char *name);
/* May it train some variables besides the job's optimizer? UNIMPLEMENTED: it keeps an average,
 * or it is muon, which needs further optimizers itself. */
struct status optimizer_can_be_another(const struct optimizer *optimizer);

/* The optimizer with the same formulas that leaves rows without a gradient unchanged, such as
 * "lazy_adam"; NULL: none. */
const struct optimizer *optimizer_lazy(const struct optimizer *optimizer);
const char *optimizer_names(void); /* "adadelta adagrad …": the choices of a flag */

/* Keras' defaults of the settings for which TensorFlow's TF1 classes have different ones, such
 * as "epsilon" 1e-7. An optimizer need not have all of them. Ends with a NULL name. */
extern const struct optimizer_setting optimizer_keras_defaults[];

/**
 * Finds an optimizer of a job, and its settings: the table's, overridden by the job's.
 *
 * Shapes  settings [out->settings_count]
 * Errors  INVALID_ARGUMENT no such optimizer or setting
 */
struct status optimizer_choose(const struct optimizer_choice *choice, float *settings,
                               const struct optimizer **out);

/* The error that there is no such setting: it lists those that there are. */
struct status optimizer_no_setting(const struct optimizer *optimizer, const char *name);

/* Index of a setting; -1: no such setting. */
int optimizer_setting_index(const struct optimizer *optimizer, const char *name);

/* The suffix of a slot in a TensorFlow checkpoint, "Adam_1"; NULL: TensorFlow has no such slot
 * with these settings. */
const char *optimizer_slot_suffix(const struct optimizer *optimizer, const float *settings,
                                  int slot);

/* The initial value of a slot or scalar: the value of its `initial_setting`. */
float optimizer_initial(const float *settings, int initial_setting);

/* out = (gradients[0] + gradients[1] + …) / count, summed in that order. There are two or more;
 * `out` is not one of them. */
void optimizer_mean(const float *const *gradients, int gradients_count, float *out, size_t count);

#endif
