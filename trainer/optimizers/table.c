#include "trainer/optimizers/table.h"

#include "trainer/optimizers/adafactor.h"
#include "trainer/optimizers/formulas.h"
#include "trainer/optimizers/muon.h"

/* The number of elements. Does not compile if there are more than `max`. */
#define COUNT_UP_TO(max, type, ...)            \
    (COUNT(((struct type[]){ __VA_ARGS__ })) + \
     0 * sizeof(char[(max) < COUNT(((struct type[]){ __VA_ARGS__ })) ? -1 : 1]))

/* The lists of a row with their counts. */
#define SETTINGS(...)                                                                          \
    .settings_count = COUNT_UP_TO(OPTIMIZER_OWN_SETTINGS_MAX, optimizer_setting, __VA_ARGS__), \
    .settings = { __VA_ARGS__ }
#define SLOTS(...)                                                                    \
    .slots_count = COUNT_UP_TO(OPTIMIZER_OWN_SLOTS_MAX, optimizer_slot, __VA_ARGS__), \
    .slots = { __VA_ARGS__ }
#define SCALARS(...)                                                                        \
    .scalars_count = COUNT_UP_TO(OPTIMIZER_OWN_SCALARS_MAX, optimizer_scalar, __VA_ARGS__), \
    .scalars = { __VA_ARGS__ }

/* Initial values of slots and scalars. */
#define ZERO           OPTIMIZER_STARTS_AT_0
#define SETTING(index) (index)

/* clang-format off */
#define ACCUMULATOR { "initial_accumulator_value", .1f }
#define DECAY { "weight_decay", 0 }
#define L1 { "l1_regularization_strength", 0 }
#define L2 { "l2_regularization_strength", 0 }

#define ADAM(decay)                                                                            \
    SETTINGS({ "beta_1", .9f }, { "beta_2", .999f }, { "epsilon", 1e-8f }, { "nesterov", 0 },  \
             { "weight_decay", decay }),                                                       \
    SLOTS({ "m", "Adam", ZERO, NULL }, { "v", "Adam_1", ZERO, NULL }),                         \
    SCALARS({ "beta1_power", SETTING(0) }, { "beta2_power", SETTING(1) }),                     \
    .apply = apply_adam, .advance = advance_powers

#define AMSGRAD                                                                                    \
    SETTINGS({ "beta_1", .9f }, { "beta_2", .999f }, { "epsilon", 1e-8f }, { "weight_decay", 0 }), \
    SLOTS({ "m", "AMSGrad", ZERO, NULL }, { "v", "AMSGrad_1", ZERO, NULL },                        \
          { "v_hat", "AMSGrad_2", ZERO, NULL }),                                                   \
    SCALARS({ "beta1_power", SETTING(0) }, { "beta2_power", SETTING(1) }),                         \
    .apply = apply_amsgrad, .advance = advance_powers

#define ADAMAX                                                                                     \
    SETTINGS({ "beta_1", .9f }, { "beta_2", .999f }, { "epsilon", 1e-8f }, { "weight_decay", 0 }), \
    SLOTS({ "m", "AdaMax", ZERO, NULL }, { "v", "AdaMax_1", ZERO, NULL }),                         \
    SCALARS({ "beta1_power", SETTING(0) }),                                                        \
    .apply = apply_adamax, .advance = advance_power

#define LION                                                                                   \
    SETTINGS({ "beta_1", .9f }, { "beta_2", .99f }, { "weight_decay", 0 }),                    \
    SLOTS({ "momentum", "Lion", ZERO, NULL }),                                                 \
    .apply = apply_lion

#define NADAM                                                                                  \
    SETTINGS({ "beta_1", .9f }, { "beta_2", .999f }, { "epsilon", 1e-8f },                     \
             { "initial_momentum_cache", 1 }, { "weight_decay", 0 }),                          \
    SLOTS({ "m", "Nadam", ZERO, NULL }, { "v", "Nadam_1", ZERO, NULL }),                       \
    SCALARS({ "iterations", ZERO }, { "momentum_cache", SETTING(3) }),                         \
    .apply = apply_nadam, .advance = advance_nadam

const struct optimizer optimizer_rows[] = {
    { .name = "adafactor", .rate = .001f, .keras_rate = .001f,
      SETTINGS({ "beta_2_decay", -.8f }, { "epsilon_1", 1e-30f }, { "epsilon_2", 1e-3f },
               { "clip_threshold", 1 }, { "relative_step", 1 }, { "weight_decay", 0 }),
      SLOTS({ "velocity", "Adafactor", ZERO, NULL }),
      SCALARS({ "iterations", ZERO }),
      .apply = apply_made, .advance = advance_count, .whole = adafactor_update },
    { .name = "adadelta", .rate = .001f, .keras_rate = .001f, .row_local = true,
      SETTINGS({ "rho", .95f }, { "epsilon", 1e-8f }, DECAY),
      SLOTS({ "accum", "Adadelta", ZERO, NULL }, { "accum_update", "Adadelta_1", ZERO, NULL }),
      .apply = apply_adadelta },
    { .name = "adagrad", .rate = .01f, .keras_rate = .001f, .row_local = true,
      .keras_row_local = true,
      SETTINGS(ACCUMULATOR, { "epsilon", 0 }, DECAY),
      SLOTS({ "accumulator", "Adagrad", SETTING(0), NULL }),
      .apply = apply_adagrad },
    { .name = "adagrad_da", .rate = .01f, .keras_rate = .001f, .row_local = true,
      SETTINGS({ "initial_gradient_squared_accumulator_value", .1f }, L1, L2),
      SLOTS({ "gradient_accumulator", "AdagradDA", ZERO, NULL },
            { "gradient_squared_accumulator", "AdagradDA_1", SETTING(0), NULL }),
      SCALARS({ NULL, ZERO }),
      .apply = apply_adagrad_da, .advance = advance_count },
    { .name = "adam", .rate = .001f, .keras_rate = .001f, ADAM(0) },
    { .name = "adamax", .rate = .001f, .keras_rate = .001f, ADAMAX },
    { .name = "adamw", .rate = .001f, .keras_rate = .001f, ADAM(.004f) },
    { .name = "amsgrad", .rate = .001f, .keras_rate = .001f, AMSGRAD },
    { .name = "ftrl", .rate = .01f, .keras_rate = .001f, .row_local = true,
      SETTINGS({ "learning_rate_power", -.5f }, ACCUMULATOR, L1, L2,
               { "l2_shrinkage_regularization_strength", 0 }, { "beta", 0 }, DECAY),
      SLOTS({ "accum", "Ftrl", SETTING(1), NULL }, { "linear", "Ftrl_1", ZERO, NULL }),
      .apply = apply_ftrl, .rests = true },
    { .name = "lamb", .rate = .001f, .keras_rate = .001f,
      SETTINGS({ "beta_1", .9f }, { "beta_2", .999f }, { "epsilon", 1e-6f }, { "weight_decay", 0 }),
      SLOTS({ "m", "LAMB", ZERO, NULL }, { "v", "LAMB_1", ZERO, NULL }),
      SCALARS({ "beta1_power", SETTING(0) }, { "beta2_power", SETTING(1) }),
      .apply = apply_lamb, .advance = advance_powers, .measure = measure_lamb },
    { .name = "lazy_adam", .rate = .001f, .keras_rate = .001f, .row_local = true, ADAM(0) },
    { .name = "lazy_adamax", .rate = .001f, .keras_rate = .001f, .row_local = true, ADAMAX },
    { .name = "lazy_adamw", .rate = .001f, .keras_rate = .001f, .row_local = true, ADAM(.004f) },
    { .name = "lazy_lion", .rate = .001f, .keras_rate = .001f, .row_local = true, LION },
    { .name = "lazy_nadam", .rate = .001f, .keras_rate = .001f, .row_local = true, NADAM },
    { .name = "lion", .rate = .001f, .keras_rate = .001f, LION },
    { .name = "momentum", .rate = .01f, .keras_rate = .01f, .row_local = true,
      SETTINGS({ "momentum", .9f }, { "nesterov", 0 }, { "rate_in_momentum", 0 }, DECAY),
      SLOTS({ "momentum", "Momentum", ZERO, NULL }),
      .apply = apply_momentum },
    { .name = "muon", .rate = .001f, .keras_rate = .001f,
      SETTINGS({ "momentum", .95f }, { "nesterov", 1 }, { "ns_steps", 5 }, { "rms_rate", .2f },
               { "muon_a", 3.4445f }, { "muon_b", -4.775f }, { "muon_c", 2.0315f },
               { "weight_decay", .004f },
               /* for AdamW, which trains the variables that are not matrices */
               { "adam_beta_1", .9f }, { "adam_beta_2", .999f }, { "epsilon", 1e-7f },
               { "adam_weight_decay", .004f }, { "adam_lr_ratio", 1 },
               { "exclude_embeddings", 1 }),
      SLOTS({ "momentum", "Muon", ZERO, NULL }),
      .apply = apply_made, .whole = muon_update },
    { .name = "nadam", .rate = .001f, .keras_rate = .001f, NADAM },
    { .name = "proximal_adagrad", .rate = .01f, .keras_rate = .001f, .row_local = true,
      SETTINGS(ACCUMULATOR, L1, L2),
      SLOTS({ "accumulator", "ProximalAdagrad", SETTING(0), NULL }),
      .apply = apply_proximal_adagrad },
    { .name = "proximal_gradient_descent", .rate = .01f, .keras_rate = .001f, .row_local = true,
      SETTINGS(L1, L2),
      .apply = apply_proximal_gradient_descent },
    { .name = "rmsprop", .rate = .001f, .keras_rate = .001f, .row_local = true,
      SETTINGS({ "rho", .9f }, { "momentum", 0 }, { "epsilon", 1e-10f }, { "initial_rms", 1 },
               DECAY, { "centered", 0 }),
      SLOTS({ "rms", "RMSProp", SETTING(3), NULL },
            { "momentum", "RMSProp_1", ZERO, "RMSProp_2" },
            { "mg", NULL, ZERO, "RMSProp_1" }),
      .apply = apply_rmsprop },
    { .name = "schedulefreeadamw", .rate = .0025f, .keras_rate = .0025f,
      SETTINGS({ "beta_1", .9f }, { "beta_2", .999f }, { "epsilon", 1e-8f }, { "warmup_steps", 0 },
               { "weight_decay", 0 }),
      SLOTS({ "momentum", "ScheduleFreeAdamW", ZERO, NULL },
            { "velocity", "ScheduleFreeAdamW_1", ZERO, NULL }),
      SCALARS({ "iterations", ZERO }, { "beta2_power", SETTING(1) }),
      .apply = apply_schedule_free, .advance = advance_schedule_free, .has_keras_defaults = true },
    { .name = "sgd", .rate = .01f, .keras_rate = .01f, .row_local = true,
      .keras_row_local = true, SETTINGS(DECAY), .apply = apply_sgd },
};
/* clang-format on */
const size_t optimizer_rows_count = COUNT(optimizer_rows);

/* Not in the table: no flag names it. */
const struct optimizer optimizer_average = {
    .name = "average",
    SETTINGS({ "momentum", .99f }, { "rest", .01f }),
    .apply = apply_average,
};
