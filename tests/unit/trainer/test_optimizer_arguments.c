/*
 * Every argument of Keras' optimizers has an effect, or is refused: a description is read with an
 * optimizer and with one that differs in the argument, as Keras prints them
 * (tests/golden/arguments/objects.py). What counts is the job that it becomes, and the values of a
 * variable after some updates by its optimizers. Layers, losses and the like:
 * tests/unit/layers/test_arguments.c, test_object_arguments.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/argument_changes.h"
#include "trainer/optimizers/average.h"
#include "trainer/options/options.h"
#include "trainer/options/other_optimizers.h"

#define ROWS    4
#define COLUMNS 3
#define COUNTED (ROWS * COLUMNS)
#define UPDATES 12

/* ---- updates of a matrix ---- */

struct variable {
    const struct optimizer *optimizer;
    float settings[OPTIMIZER_SETTINGS_MAX], scalars[OPTIMIZER_SCALARS_MAX];
    float slots[OPTIMIZER_SLOTS_MAX][COUNTED], w[COUNTED];
};

static void variable_init(struct variable *variable, const struct optimizer_choice *from)
{
    const struct optimizer *optimizer = optimizer_find(from->name);

    assert_non_null(optimizer);
    *variable = (struct variable){ .optimizer = optimizer };
    for (int i = 0; i < optimizer->settings_count; i++)
        variable->settings[i] = optimizer->settings[i].initial;
    for (int i = 0; i < from->settings_count; i++)
        variable->settings[optimizer_setting_index(optimizer, from->settings[i].name)] =
            from->settings[i].value;
    for (int s = 0; s < optimizer->slots_count; s++)
        for (int i = 0; i < COUNTED; i++)
            variable->slots[s][i] =
                optimizer_initial(variable->settings, optimizer->slots[s].initial_setting);
    for (int s = 0; s < optimizer->scalars_count; s++)
        variable->scalars[s] =
            optimizer_initial(variable->settings, optimizer->scalars[s].initial_setting);
    for (int i = 0; i < COUNTED; i++)
        variable->w[i] = (float)(i - 5) * .25f;
}

static void update(struct variable *variable, float rate, int t)
{
    const struct shape shape = shape_of(ROWS, COLUMNS);
    float g[COUNTED];
    struct optimizer_step step = { .rate = rate,
                                   .settings = variable->settings,
                                   .scalars = variable->scalars,
                                   .w = variable->w,
                                   .out = variable->w,
                                   .g = g,
                                   .count = COUNTED };
    struct optimizer_norms norms = { 0 };

    for (int i = 0; i < COUNTED; i++)
        g[i] = (float)((i * 7 + t * 5) % 11 - 4) * .3f;
    for (int s = 0; s < OPTIMIZER_SLOTS_MAX; s++)
        step.slots[s] = variable->slots[s];
    if (variable->optimizer->whole != NULL) {
        variable->optimizer->whole(&step, &shape);
    } else {
        if (variable->optimizer->measure != NULL)
            variable->optimizer->measure(&step, &norms);
        step.ratio = optimizer_ratio(&norms);
        variable->optimizer->apply(&step);
    }
    optimizer_keep_average(variable->optimizer, &step);
    optimizer_advance(variable->optimizer, variable->settings, variable->scalars);
}

/* The values after each update, and the slots: an average is one of them. */
static uint64_t hash_updates(uint64_t hash, const struct optimizer_choice *optimizer)
{
    struct variable variable;

    variable_init(&variable, optimizer);
    for (int t = 0; t < UPDATES; t++) {
        update(&variable, optimizer->learning_rate, t);
        hash = mix(hash, variable.w, sizeof variable.w);
        hash = mix(hash, variable.slots, sizeof variable.slots);
    }
    return hash;
}

/* ---- what a description becomes ---- */

static const struct muon_variable variables[] = { { "dense/kernel", true },
                                                  { "dense/bias", false },
                                                  { "embedding/embeddings", true } };

static uint64_t hash_job(const struct options *options)
{
    const double numbers[] = { options->accumulation, options->loss_scale, options->clip.kind,
                               options->clip.limit };
    uint64_t hash = mix(0, numbers, sizeof numbers);

    for (int i = 0; i <= options->job.others_count; i++) {
        const struct optimizer_choice optimizer = client_job_optimizer(&options->job, i);
        hash = hash_updates(hash, &optimizer);
    }
    for (int v = 0; v < (int)COUNT(variables); v++) {
        int number = client_job_number(&options->job, v);
        hash = mix(hash, &number, sizeof number);
    }
    return hash;
}

static char directory[] = "/tmp/slipway-optimizers-XXXXXX";

static struct outcome try_optimizer(const char *json)
{
    static const struct command_set none = { .program = "pstrain" };
    char *argv[] = { "pstrain", "--model=described.json", "--noexport" };
    struct arena *arena = arena_create(0);
    struct outcome outcome = { 0 };
    struct options options;
    FILE *file = fopen("described.json", "w");

    assert_non_null(file);
    fprintf(file,
            "{\"class_name\":\"Sequential\",\"keras_version\":\"3.15.1\",\"config\":{\"layers\":[{"
            "\"class_name\":\"InputLayer\",\"config\":{\"batch_shape\":[null,4],\"name\":\"x\"}},{"
            "\"class_name\":\"Dense\",\"config\":{\"units\":1}}]},\"compile_config\":{"
            "\"optimizer\":%s}}",
            json);
    fclose(file);
    struct status status = options_read((int)COUNT(argv), argv, &none, arena, &options);
    if (status_is_ok(status))
        status =
            other_optimizers_beside_muon(variables, (int)COUNT(variables), arena, &options.job);
    outcome.refused = !status_is_ok(status);
    if (outcome.refused)
        snprintf(outcome.message, sizeof outcome.message, "%s", status.message);
    else
        outcome.hash = hash_job(&options);
    arena_destroy(arena);
    return outcome;
}

/* ---- the changes of the file ---- */

/* What may be anything, with the reason. */
static bool is_idle_by_design(const struct change *change)
{
    bool of_average = strncmp(change->argument, "ema_", 4) == 0;

    return strcmp(change->argument, "relative_step") == 0 ||   /* Keras reads and forgets it */
           (of_average && strcmp(change->class, "Muon") == 0); /* use_ema is refused */
}

static bool has_effect(const struct change *change)
{
    struct outcome plain = try_optimizer(change->object), other = try_optimizer(change->other);

    if (plain.refused)
        print_message("%s: %s\n", change->class, plain.message);
    if (other.refused && strstr(other.message, change->argument) == NULL)
        print_message("%s.%s: '%s' does not name the argument\n", change->class, change->argument,
                      other.message);
    else if (!plain.refused && (other.refused || other.hash != plain.hash))
        return true;
    return false;
}

static bool counts(const struct change *change)
{
    if (is_idle_by_design(change) || has_effect(change))
        return true;
    print_message("%s.%s: no effect\n", change->class, change->argument);
    return false;
}

static void every_argument_has_an_effect(void **state)
{
    (void)state;
    int changes, idle = count_idle("optimizers.txt", counts, &changes);

    assert_true(changes > 150);
    assert_int_equal(idle, 0);
}

/* Models are read from the working directory. */
static int make_directory(void **state)
{
    char *own = realpath("tests/golden/arguments/optimizers.txt", NULL);

    (void)state;
    int failed = own == NULL || mkdtemp(directory) == NULL || chdir(directory) != 0 ||
                 symlink(own, "optimizers.txt") != 0;
    free(own);
    return failed;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink("described.json");
    unlink("optimizers.txt");
    return chdir("/") != 0 || rmdir(directory) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_argument_has_an_effect),
    };

    return cmocka_run_group_tests_name("arguments of optimizers", tests, make_directory,
                                       remove_directory);
}
