#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trainer/options/options.h"
#include "support/test_group.h"

static char directory[] = "/tmp/slipway-options-XXXXXX";

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", directory);
    return chdir("/") != 0 || system(command) != 0;
}

static const struct command command_rows[] = { { "doctor", NULL, "" } };
static const struct command_set commands = { .program = "pstrain",
                                             .rows = command_rows,
                                             .count = COUNT(command_rows) };

static struct status read_line(const char *line, struct arena *arena, struct options *out)
{
    char *copy = arena_strdup(arena, line), *argv[16] = { "pstrain" };
    int argc = 1;

    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    return options_read(argc, argv, &commands, arena, out);
}

static const struct refusal {
    const char *line;
    const char *words; /* in the message */
} refusals[] = {
    { "--sink", "--sink" },
    { "--model=linear --loss=none", "--loss: 'none' is not a loss" },
    { "--model=linear --metrics=none", "--metrics: " },
    { "--batch_size=0", "--batch_size=0" },
    { "--learning_rate=-1", "--learning_rate=-1" },
    { "--optimizer=magic", "magic" },
    { "--use_ema --ema_overwrite_frequency=3 --gradient_accumulation_steps=2",
      "ema_overwrite_frequency with gradient_accumulation_steps" },
    { "--optimizer=adam+ema", "--optimizer=adam+ema is none of: " },
    { "--clipnorm=-1", "--clipnorm=-1" },
    { "--clipnorm=1 --clipvalue=2",
      "clipnorm: only one of clipvalue, clipnorm and global_clipnorm can be given" },
    { "--initial_scale=8 --loss_scale_factor=2",
      "only one of --loss_scale_factor and --initial_scale can be given" },
    { "--dynamic_growth_steps=5", "--dynamic_growth_steps needs --initial_scale" },
    { "--learning_rate_schedule=CosineDecay()",
      "--learning_rate_schedule: CosineDecay: decay_steps is missing" },
    { "--model=resnet",
      "click, convnet, dcn_v2, deepfm, fm, linear, logistic, mlp, retrieval, softmax, "
      "sparse_dcn_v2, sparse_deepfm, sparse_fm, sparse_logistic, sparse_wide_deep, two_tower, "
      "wide_deep" },
    { "--model=./none.json", "none.json" },
    { "--placement=anywhere", "anywhere" },
    { "--log_level=loud", "loud" },
    { "--export_dir=a/1 ./b", "give one of them" },
    { "b", "none of the commands doctor" },
    { "doctr ./b", "none of the commands doctor" },
    { "./b doctor", "'doctor' comes first" },
    { "./a ./b", "only one directory" },
    { "--ps_hosts=a:1 --worker_hosts=b:1", "--job_name is missing" },
    { "--ps_hosts=a:1 --worker_hosts=b:1 --job_name=worker --task_index=1", "(0 to 0)" },
    { "--ps_hosts=a:1 --worker_hosts=b:1 --job_name=ps --task_index=0 --workers=3",
      "--workers applies to a job in one process" },
    { "--ps_hosts=a:1 --worker_hosts=b:1 --job_name=evaluator --task_index=1",
      "evaluator 1: a job has one" },
    { "--eval_throttle_secs=-1", "--eval_throttle_secs=-1" },
    { "--ps_hosts=a:1 --worker_hosts=b:1 --job_name=ps --task_index=0 --tls_cert=c",
      "--tls_key is missing" },
    { "--tls_ca=c", "--tls_cert is missing" },
    { "--start_timeout=0", "--start_timeout=0" },
    { "--train_dir=", "--train_dir: its value is empty" },
    { "--from_savedmodel=", "--from_savedmodel: its value is empty" },
    { "--memory_budget_bytes=1", "--memory_budget_bytes applies to a cluster, and none is given" },
    { "--cluster_id=", "--cluster_id applies to a cluster" },
    { "--eval_throttle_secs=1", "--eval_throttle_secs applies to a cluster" },
    { "--num_ps=2", "--num_ps applies to a cluster" },
    { "--first_port=7", "--first_port applies to a cluster" },
    { "--noexport --model_version=5", "--noexport and --model_version: give one of them" },
    { "--noexport --work_dir=w", "--noexport and --work_dir: give one of them" },
    { "--model_version=5 --export_dir=x/1", "--model_version=5 and --export_dir=x/1, which names" },
};

static void refuses_with_the_words(void **state)
{
    const struct refusal *refusal = *state;
    struct arena *arena = arena_create(0);
    struct options options;

    struct status status = read_line(refusal->line, arena, &options);
    assert_false(status_is_ok(status));
    assert_non_null(strstr(status.message, refusal->words));
    arena_destroy(arena);
}

static const struct choice {
    const char *line;
    const char *directory, *optimizer;
    double rate;
    uint64_t steps; /* for a data set of 55000 rows */
} choices[] = {
    { "", "./model/1", "sgd", .3, 1000 },
    { "./out", "./out/1", "sgd", .3, 1000 },
    { "--model_version=7 ./out", "./out/7", "sgd", .3, 1000 },
    { "--export_dir=x/12/", "x/12", "sgd", .3, 1000 },
    { "--work_dir w", "w/1", "sgd", .3, 1000 },
    { "--num_ps=0 --first_port=7", "./model/1", "sgd", .3, 1000 }, /* ranks that train alone */
    { "--model=mlp", "./model/1", "adam", .0002, 5500 },
    { "--model=mlp --optimizer=sgd", "./model/1", "sgd", .01, 5500 },
    { "--model=mlp --learning_rate=0.02", "./model/1", "adam", .02, 5500 },
    { "--model=convnet", "./model/1", "adam", .0005, 2750 },
    { "--training_iteration=5 --epochs=3", "./model/1", "sgd", .3, 5 },
    { "--epochs=1 --sync --workers=3", "./model/1", "sgd", .3,
      184 }, /* 300 rows a step, rounded up */
    { "--epochs=1 --batch_size=64", "./model/1", "sgd", .3, 860 },
};

static void chooses_by_flag_then_model_then_default(void **state)
{
    const struct choice *choice = *state;
    struct arena *arena = arena_create(0);
    struct options options;

    struct status status = read_line(choice->line, arena, &options);
    assert_string_equal(status.message, "");
    assert_string_equal(options.export_directory, choice->directory);
    assert_string_equal(options.job.optimizer, choice->optimizer);
    assert_true(fabs(options.job.learning_rate - choice->rate) < 1e-6);
    uint64_t steps;
    assert_string_equal(options_steps(&options, 55000, (struct taken_rows){ 0 }, &steps).message,
                        "");
    assert_int_equal(steps, choice->steps);
    arena_destroy(arena);
}

static void epochs_count_the_rows_that_were_taken(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct options options;
    uint64_t steps;

    assert_string_equal(read_line("--epochs=2 --sync --workers=3", arena, &options).message, "");
    uint64_t per_step = options_rows_per_step(&options);
    /* with two workers before */
    struct taken_rows taken = { 30, 20 * per_step + 5 };
    assert_string_equal(options_steps(&options, 55000, taken, &steps).message, "");
    assert_int_equal(steps, 30 + (110000 - taken.rows + per_step - 1) / per_step);
    taken.rows = 200000; /* fewer epochs than before */
    assert_string_equal(options_steps(&options, 55000, taken, &steps).message, "");
    assert_int_equal(steps, (110000 + per_step - 1) / per_step);
    arena_destroy(arena);
}

static void paths_may_be_uris(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct options options;
    char line[sizeof directory + 64];

    snprintf(line, sizeof line, "--export_dir=file://%s/uri/1", directory);
    assert_true(status_is_ok(read_line(line, arena, &options)));
    assert_string_equal(options.export_directory, line + strlen("--export_dir=file://"));
    snprintf(line, sizeof line, "file://%s/uri", directory);
    assert_true(status_is_ok(read_line(line, arena, &options)));
    assert_string_equal(options.export_base, line + strlen("file://"));
    arena_destroy(arena);
}

static void epochs_need_a_known_number_of_rows(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct options options;
    uint64_t steps = 0;

    assert_string_equal(read_line("--epochs=2", arena, &options).message, "");
    struct status status = options_steps(&options, ROWS_UNKNOWN, (struct taken_rows){ 0 }, &steps);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "--training_iteration"));
    assert_string_equal(read_line("--training_iteration=7", arena, &options).message, "");
    assert_string_equal(
        options_steps(&options, ROWS_UNKNOWN, (struct taken_rows){ 0 }, &steps).message, "");
    assert_int_equal(steps, 7);
    arena_destroy(arena);
}

static void the_founding_report_is_two_flags(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct options options;

    struct status status = read_line("--loss_reduction=sum --learning_rate=0.01", arena, &options);
    assert_string_equal(status.message, "");
    assert_int_equal(options.reduction, LAYERS_SUM);
    arena_destroy(arena);
}

/* A model description as Keras writes it, with an optimizer of this class. */
#define KERAS(optimizer)                                                                           \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": \"InputLayer\", " \
    "\"config\": {\"batch_shape\": [null, 1]}}, {\"class_name\": \"Dense\", \"config\": "          \
    "{\"units\": 1}}]}, \"compile_config\": {\"loss\": \"mse\", \"optimizer\": {\"class_name\": "  \
    "\"" optimizer "\", \"config\": {\"rho\": 0.8, \"momentum\": 0.0, \"centered\": false}}}}"

static double setting_of(const struct options *options, const char *name)
{
    for (int i = 0; i < options->job.settings_count; i++)
        if (strcmp(options->job.settings[i].name, name) == 0)
            return (double)options->job.settings[i].value;
    return NAN;
}

static void an_optimizer_of_a_description_is_keras_and_one_of_a_flag_tensorflows(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    const char *json = KERAS("RMSprop");
    struct options options;

    FILE *file = fopen("rms.json", "w");
    assert_non_null(file);
    fputs(json, file);
    fclose(file);
    assert_string_equal(read_line("--model=rms.json", arena, &options).message, "");
    assert_true(fabs(setting_of(&options, "epsilon") - 1e-7) < 1e-12);
    assert_true(setting_of(&options, "initial_rms") == 0);
    assert_true(fabs(setting_of(&options, "rho") - .8) < 1e-6);
    assert_true(fabs((double)options.job.learning_rate - .001) < 1e-9);
    assert_string_equal(read_line("--model=rms.json --optimizer=RMSProp", arena, &options).message,
                        "");
    assert_true(setting_of(&options, "initial_rms") == 0);
    assert_string_equal(read_line("--model=linear --optimizer=RMSprop", arena, &options).message,
                        "");
    assert_string_equal(options.job.optimizer, "rmsprop");
    assert_int_equal(options.job.settings_count, 0);
    arena_destroy(arena);
}

static void write_optimizer(const char *json)
{
    FILE *file = fopen("compiled.json", "w");

    assert_non_null(file);
    fprintf(file, "{\"optimizer\": %s}", json);
    fclose(file);
}

static void a_setting_that_chooses_another_optimizer_keeps_the_defaults_of_its_class(void **state)
{
    (void)state;
    static const char line[] = "--model=linear --compile_config=compiled.json";
    struct arena *arena = arena_create(0);
    struct options options;

    write_optimizer("{\"class_name\": \"AdamW\", \"config\": {\"amsgrad\": true}}");
    assert_string_equal(read_line(line, arena, &options).message, "");
    assert_string_equal(options.job.optimizer, "amsgrad");
    assert_true(fabs(setting_of(&options, "weight_decay") - .004) < 1e-9);
    assert_true(fabs(setting_of(&options, "epsilon") - 1e-7) < 1e-12);
    write_optimizer("{\"class_name\": \"Adam\", \"config\": {\"adam\": 1}}");
    assert_string_equal(read_line(line, arena, &options).message,
                        "the model's optimizer 'adam': setting 'adam' is not implemented");
    arena_destroy(arena);
}

static void a_loss_scale_is_the_flags_or_the_descriptions(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        float scale, factor;
        uint64_t growth;
    } cases[] = {
        { "--model=scaled.json", 32768, 1, 7 },
        { "--model=scaled.json --initial_scale=8", 8, 1, 7 },
        { "--model=scaled.json --dynamic_growth_steps=9", 32768, 1, 9 },
        { "--model=scaled.json --loss_scale_factor=4", 0, 4, 0 },
        { "--model=scaled.json --optimizer=adam", 0, 1, 0 },
        { "--model=linear --initial_scale=8", 8, 1, 2000 },
        { "--model=linear", 0, 1, 0 },
        /* Keras adds a LossScaleOptimizer to a model of the policy mixed_float16. */
        { "--model=half.json", 32768, 1, 2000 },
        { "--model=tower.json", 32768, 1, 2000 },
        { "--model=half.json --optimizer=adam", 32768, 1, 2000 },
        { "--model=half.json --initial_scale=8 --dynamic_growth_steps=3", 8, 1, 3 },
        { "--model=half.json --dynamic_growth_steps=3", 32768, 1, 3 },
        { "--model=half.json --loss_scale_factor=4", 0, 4, 0 },
        { "--model=half.json --compile_config=unscaled.json", 0, 1, 0 },
        { "--model=linear --initial_scale=8 --sync --workers=2 --ps=2 --backup_workers=1", 8, 1,
          2000 },
    };
    struct arena *arena = arena_create(0);

    FILE *file = fopen("scaled.json", "w");
    assert_non_null(file);
    fputs("{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": "
          "\"InputLayer\", \"config\": {\"batch_shape\": [null, 1]}}, {\"class_name\": \"Dense\", "
          "\"config\": {\"units\": 1}}]}, \"compile_config\": {\"loss\": \"mse\", \"optimizer\": "
          "{\"class_name\": \"LossScaleOptimizer\", \"config\": {\"inner_optimizer\": "
          "{\"class_name\": \"SGD\", \"config\": {\"loss_scale_factor\": 16.0}}, "
          "\"dynamic_growth_steps\": 7, \"clipnorm\": null}}}}",
          file);
    fclose(file);
    file = fopen("half.json", "w");
    assert_non_null(file);
    fputs("{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": "
          "\"InputLayer\", \"config\": {\"batch_shape\": [null, 1]}}, {\"class_name\": \"Dense\", "
          "\"config\": {\"units\": 1, \"dtype\": \"mixed_float16\"}}]}}",
          file);
    fclose(file);
    file = fopen("tower.json", "w");
    assert_non_null(file);
    fputs("{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": "
          "\"InputLayer\", \"config\": {\"batch_shape\": [null, 1]}}, {\"class_name\": "
          "\"Sequential\", \"config\": {\"name\": \"tower\", \"layers\": [{\"class_name\": "
          "\"Dense\", "
          "\"config\": {\"units\": 1, \"dtype\": \"mixed_float16\"}}]}}]}}",
          file);
    fclose(file);
    file = fopen("unscaled.json", "w");
    assert_non_null(file);
    fputs("{\"auto_scale_loss\": false}", file);
    fclose(file);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct options options;
        assert_string_equal(read_line(cases[i].line, arena, &options).message, "");
        assert_true(options.job.loss_scale.scale == cases[i].scale);
        assert_int_equal(options.job.loss_scale.growth_steps, cases[i].growth);
        assert_true(options.loss_scale == cases[i].factor);
    }
    arena_destroy(arena);
}

static void moments_of_all_workers_are_those_of_one_batch(void **state)
{
    (void)state;
    static const struct {
        const char *flags, *message;
    } cases[] = {
        { "--workers=1 --sync", "" },
        { "--workers=3", "" },
        { "--workers=3 --sync",
          "layer 'tower/norm': 'synchronized' with --sync and 3 workers: each worker normalizes "
          "with the moments of its own batch. Set it to false, or take one worker" },
    };
    struct arena *arena = arena_create(0);

    FILE *file = fopen("norm.json", "w");
    assert_non_null(file);
    fputs("{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": "
          "\"InputLayer\", \"config\": {\"batch_shape\": [null, 2]}}, {\"class_name\": "
          "\"Sequential\", \"config\": {\"name\": \"tower\", \"layers\": [{\"class_name\": "
          "\"BatchNormalization\", \"config\": {\"name\": \"norm\", \"synchronized\": "
          "true}}]}}]}, \"compile_config\": {\"loss\": \"mse\"}}",
          file);
    fclose(file);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct options options;
        const char *line = arena_printf(arena, "--model=norm.json %s", cases[i].flags);
        assert_string_equal(read_line(line, arena, &options).message, cases[i].message);
    }
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(moments_of_all_workers_are_those_of_one_batch),
        cmocka_unit_test(a_loss_scale_is_the_flags_or_the_descriptions),
        cmocka_unit_test(a_setting_that_chooses_another_optimizer_keeps_the_defaults_of_its_class),
        cmocka_unit_test(the_founding_report_is_two_flags),
        cmocka_unit_test(paths_may_be_uris),
        cmocka_unit_test(epochs_need_a_known_number_of_rows),
        cmocka_unit_test(epochs_count_the_rows_that_were_taken),
        cmocka_unit_test(an_optimizer_of_a_description_is_keras_and_one_of_a_flag_tensorflows),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, refusals, line, refuses_with_the_words);
    ADD_ROWS(&group, choices, line, chooses_by_flag_then_model_then_default);
    return test_group_run(&group, "options", make_directory, remove_directory);
}
