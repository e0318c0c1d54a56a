#include "trainer/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "exporter/export.h"
#include "trainer/learning_rate.h"

#define DESCRIPTION_BYTES_MAX ((size_t)64 << 20)
#define STEPS_DEFAULT         1000

static struct flag_values values;

static char optimizer_help[512]; /* made of the optimizers' table before the flags are read */

#define STEPS    .min = 0, .max = 9e15
#define LIMIT_S  .min = 1, .max = 1e6 /* a time that cannot be 0 */
#define PERIOD_S .min = 0, .max = 1e9
#define CLIP     .min = 0, .max = 1e30
#define TASKS    .min = 1, .max = 256

/* One flag after the other. */
/* clang-format off */
static const struct flag rows[] = {
    { "model", FLAG_TEXT, &values.model, "softmax", .group = "what is trained",
      .help = "softmax, mlp, convnet, linear, logistic, or a file that Keras' to_json() wrote" },
    { "train_dir", FLAG_TEXT, &values.train_dir, "",
      .help = "directory of IDX files with MNIST's names, plain or .gz; the t10k files are needed "
              "only for tests. Without it, the program draws digits itself" },
    { "train_files", FLAG_TEXT, &values.train_files, "",
      .help = "files of records to train on, such as 'data/part-*.csv,more.csv'. Excludes "
              "--train_dir" },
    { "validation_files", FLAG_TEXT, &values.validation_files, "",
      .help = "files of rows for the evaluation that is called validation" },
    { "test_files", FLAG_TEXT, &values.test_files, "", .help = "files of test rows" },
    { "data_format", FLAG_TEXT, &values.data_format, "",
      .help = "csv, tsv, libsvm, libffm, criteo, tfrecord (of tf.Examples) or npz; the default is "
              "what a file's name or first bytes tell" },
    { "schema", FLAG_TEXT, &values.schema, "",
      .help = "JSON file that describes the columns; `pstrain schema FILE` prints one. The default "
              "is guessed from the first training file" },
    { "label_column", FLAG_TEXT, &values.label_column, "",
      .help = "column that the model learns to predict; the default is `label`" },
    { "feature_columns", FLAG_TEXT, &values.feature_columns, "",
      .help = "columns that the model's input is made of, side by side, such as x1,x2; the default "
              "is all columns of the schema but the label" },
    { "column_names", FLAG_TEXT, &values.column_names, "",
      .help = "names of the columns of CSV and TSV files without a header" },
    { "shuffle_buffer", FLAG_INT32, &values.shuffle_buffer, "10000",
      .help = "rows of the training files that are read at a time and put in random order; 0: "
              "rows and files stay in order",
      .min = 0, .max = 1e9 },
    { "max_bad_records", FLAG_INT64, &values.max_bad_records, "0",
      .help = "records of the files that may be bad in each task; each is reported and passed, and "
              "one more ends the job",
      STEPS },
    { "training_iteration", FLAG_INT64, &values.training_iteration, "0",
      .help = "number of steps; overrides --epochs; 0: as the model says", STEPS },
    { "stop_at_step", FLAG_INT64, &values.stop_at_step, "0",
      .help = "global step to stop at, counted over all restarts; overrides "
              "--training_iteration, which applies if this is 0",
      STEPS },
    { "epochs", FLAG_INT32, &values.epochs, "0",
      .help = "number of passes over the training rows; 0: as the model says", .min = 0,
      .max = 1e9 },
    { "batch_size", FLAG_INT32, &values.batch_size, "100", .help = "rows in each worker's step",
      .min = 1, .max = 1e6 },
    { "optimizer", FLAG_TEXT, &values.optimizer, "", .help = optimizer_help },
    { "learning_rate", FLAG_DOUBLE, &values.learning_rate, "0",
      .help = "0: the model's, or else the optimizer's default", .min = 0, .max = 1e9 },
    { "learning_rate_schedule", FLAG_TEXT, &values.learning_rate_schedule, "",
      .help = "changes the learning rate by step as Keras' class of that name does, such as "
              "'CosineDecay(decay_steps=1000)', 'ExponentialDecay(decay_steps=100, "
              "decay_rate=0.96)' or 'PiecewiseConstantDecay(boundaries=[900], values=[0.1, "
              "0.01])'. It begins with --learning_rate unless it has an initial_learning_rate. The "
              "default is the model's" },
    { "clipvalue", FLAG_DOUBLE, &values.clipvalue, "0",
      .help = "clip each element of the gradients to this size; 0: as the model says", CLIP },
    { "clipnorm", FLAG_DOUBLE, &values.clipnorm, "0",
      .help = "clip the gradient of each variable to this norm", CLIP },
    { "global_clipnorm", FLAG_DOUBLE, &values.global_clipnorm, "0",
      .help = "clip all gradients together to this norm. At most one of the three can be given",
      CLIP },
    { "loss_reduction", FLAG_TEXT, &values.reduction, "",
      .help = "mean or sum of the losses in a batch; the default is the model's. For TensorFlow "
              "1's MNIST tutorial, use --loss_reduction=sum --learning_rate=0.01",
      .choices = "mean sum" },
    { "class_weight", FLAG_TEXT, &values.class_weight, "",
      .help = "factors of the losses of training rows by class, such as 0:1,7:2.5; other classes "
              "have 1" },
    { "seed", FLAG_INT64, &values.seed, "1",
      .help = "decides the first values, the order of the rows, and dropout", STEPS },
    { "sync", FLAG_BOOL, &values.sync, "false",
      .help = "train synchronously: each step waits for all workers. For a seed, the result then "
              "has the same bits for any number of ps tasks" },
    { "placement", FLAG_TEXT, &values.placement, "bytes",
      .help = "how variables are spread over the ps tasks: balanced by bytes, or in turn",
      .choices = "bytes round_robin" },
    { "export_dir", FLAG_TEXT, &values.export_dir, "", .group = "the export",
      .help = "directory to create, such as model/1. If it holds numbered versions, the export "
              "becomes the next version in it. Overrides --work_dir" },
    { "work_dir", FLAG_TEXT, &values.work_dir, "./model",
      .help = "without --export_dir and DIR, export to work_dir/model_version" },
    { "model_version", FLAG_INT64, &values.model_version, "-1",
      .help = "number of the version in DIR or --work_dir; -1: one more than the largest there",
      .min = -1, .max = 9e15 },
    { "export_format", FLAG_TEXT, &values.export_format, "saved_model",
      .help = "session_bundle: TensorFlow's format before SavedModel, whose versions have eight "
              "digits (DIR/00000001/export.meta)",
      .choices = SAVEDMODEL_FORMAT_NAMES },
    { "export", FLAG_BOOL, &values.export, "true",
      .help = "export the trained model; with --noexport, the job only trains and tests" },
    { "checkpoint_dir", FLAG_TEXT, &values.checkpoint_dir, "", .group = "checkpoints",
      .help = "directory on the chief's disk for checkpoints in TensorFlow's format; training "
              "continues from the last one in it" },
    { "save_checkpoint_secs", FLAG_DOUBLE, &values.save_checkpoint_secs, "600",
      .help = "seconds between checkpoints; 0, or only --save_checkpoint_steps given: not by time",
      PERIOD_S },
    { "save_checkpoint_steps", FLAG_INT64, &values.save_checkpoint_steps, "0",
      .help = "make checkpoints at multiples of this many steps; 0: not by steps. If both are "
              "given, whichever comes first",
      STEPS },
    { "max_to_keep", FLAG_INT32, &values.max_to_keep, "5",
      .help = "number of checkpoints to keep; 0: all", .min = 0, .max = 1e6 },
    { "log_dir", FLAG_TEXT, &values.log_dir, "", .group = "the course of the training",
      .help = "directory on the chief's disk for event files, which TensorBoard reads: loss, "
              "learning_rate and global_step/sec; evaluations in its sub-directories" },
    { "metrics_file", FLAG_TEXT, &values.metrics_file, "",
      .help = "file on the chief's disk to which the same is appended as JSON lines" },
    { "save_summary_steps", FLAG_INT64, &values.save_summary_steps, "100",
      .help = "write to both at the multiples of this many steps", .min = 1, .max = 9e15 },
    { "ps", FLAG_INT32, &values.ps, "2", .group = "a job in one process",
      .help = "number of parameter servers", TASKS },
    { "workers", FLAG_INT32, &values.workers, "2",
      .help = "number of workers; the first is the chief", TASKS },
    { "ps_hosts", FLAG_TEXT, &values.ps_hosts, "", .group = "a task of a cluster",
      .help = "addresses of the ps tasks, such as a:2222,b:2222; the same for all tasks. TF_CONFIG "
              "can describe the cluster instead" },
    { "worker_hosts", FLAG_TEXT, &values.worker_hosts, "",
      .help = "addresses of the workers; without --chief_hosts, the first one is the chief" },
    { "chief_hosts", FLAG_TEXT, &values.chief_hosts, "", .help = "address of the chief" },
    { "job_name", FLAG_TEXT, &values.job_name, "",
      .help = "what this task is: ps, worker, chief, master (the chief's old name), or evaluator, "
              "which is in no list" },
    { "task_index", FLAG_INT64, &values.task_index, "-1",
      .help = "this task's place in its list, from 0", .min = -1, .max = JOB_TASKS_MAX },
    { "cluster_id", FLAG_TEXT, &values.cluster_id, "default",
      .help = "name of the job; tasks of a job with another name are refused" },
    { "start_timeout", FLAG_INT32, &values.start_timeout, "300",
      .help = "seconds to wait for the other tasks at the start; with --sync, also for each "
              "worker",
      LIMIT_S },
    { "recovery_timeout", FLAG_DOUBLE, &values.recovery_timeout, "300",
      .help = "seconds that the chief and the workers wait for a lost ps to come back", PERIOD_S },
    { "linger_timeout", FLAG_INT32, &values.linger_timeout, "300",
      .help = "seconds after which a ps ends the job if it has not heard from the chief, from any "
              "worker, or, with --sync, from one of the workers",
      LIMIT_S },
    { "finish_timeout", FLAG_INT32, &values.finish_timeout, "300",
      .help = "seconds that the chief waits for the workers after the last step", LIMIT_S },
    { "memory_budget_bytes", FLAG_INT64, &values.memory_budget_bytes, "0",
      .help = "limit for the variables, slots and requests of a ps together; 0: three quarters of "
              "the memory of the host or its control group",
      .min = 0, .max = 9e18 },
    { "tls_cert", FLAG_TEXT, &values.tls_cert, "",
      .help = "PEM file of this task's certificate. With --tls_key and --tls_ca, the tasks use TLS "
              "and accept only each other" },
    { "tls_key", FLAG_TEXT, &values.tls_key, "", .help = "PEM file of its key" },
    { "tls_ca", FLAG_TEXT, &values.tls_ca, "",
      .help = "PEM file of the CA that signed the certificates of all tasks" },
    { "eval_start_delay_secs", FLAG_DOUBLE, &values.eval_start_delay_secs, "120",
      .group = "an evaluator", .help = "seconds from the evaluator's start to its first evaluation",
      PERIOD_S },
    { "eval_throttle_secs", FLAG_DOUBLE, &values.eval_throttle_secs, "600",
      .help = "seconds from the start of one evaluation to the start of the next", PERIOD_S },
    { "log_level", FLAG_TEXT, &values.log_level, "info", .group = "the program",
      .help = "at warning and above, no progress is printed", .choices = LOG_LEVEL_NAMES },
    { "plot", FLAG_BOOL, &values.plot, "true",
      .help = "after training, draw the loss by step if stdout is a terminal; --noplot does not" },
    { "version", FLAG_BOOL, &values.version, "false", .help = "print the version and exit" },
    { "help", FLAG_BOOL, &values.help, "false", .help = "print this text and exit" },
};

const struct flag_set train_flags = {
    "usage: pstrain [flags] [DIR]\n\n"
    "Trains a model on parameter servers and exports it as a TensorFlow SavedModel, to the next\n"
    "version in DIR or to --export_dir. If no cluster is configured, the whole job runs in this\n"
    "process.\n\n"
    "       pstrain doctor [flags]\n\n"
    "Dials every task of the cluster that the flags or TF_CONFIG describe, and prints who is "
    "there.\n\n"
    "       pstrain schema [--data_format=FORMAT] [--column_names=NAME,...] FILE...\n\n"
    "Prints a --schema that the first rows of the files suggest.",
    rows, COUNT(rows)
};
/* clang-format on */

/* --help and --version leave nothing else to read. */
static struct status parse_flags(int argc, char **argv, int *positional_count, struct options *out)
{
    snprintf(optimizer_help, sizeof optimizer_help,
             "%s; as TensorFlow 1 defines them. The default is the model's, as Keras defines it",
             optimizer_names());
    *out = (struct options){ 0 };
    TRY(flags_parse(&train_flags, argc, argv, positional_count));
    out->flags = values;
    return status_ok();
}

/* Reads a description that is compiled in, or a file. */
static struct status read_model(const char *name, struct arena *arena, struct layers_model **out)
{
    struct bytes json = layers_builtin(name);
    struct buffer file = { 0 };

    if (json.data == NULL) {
        if (strchr(name, '/') == NULL && strchr(name, '.') == NULL && !file_exists(name))
            return status_error(STATUS_NOT_FOUND, "--model=%s is neither one of %s nor a file",
                                name, layers_builtin_names());
        TRY(status_in(file_read(name, DESCRIPTION_BYTES_MAX, &file), "--model"));
        json = (struct bytes){ file.data, file.size };
    }
    struct status status = status_in(layers_parse(json, arena, out), "--model=%s", name);
    buffer_finish(&file);
    return status;
}

static char *without_slashes(const char *directory, struct arena *arena)
{
    size_t size = strlen(directory);

    while (size > 1 && directory[size - 1] == '/')
        size--;
    return arena_memdup(arena, directory, size);
}

/* Is this a server's base path: a directory of numbered versions, and not itself a model? */
static bool is_base(const char *directory)
{
    return export_next_version(directory) > 1 && savedmodel_find_file(directory) == NULL;
}

static struct status choose_directory(const struct flag_values *flags, const char *positional,
                                      struct arena *arena, struct options *out)
{
    const char *base = positional != NULL ? positional : flags->work_dir;
    bool given = *flags->export_dir != '\0';

    if (given && positional != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' and --export_dir=%s: give one of them",
                            positional, flags->export_dir);
    if (given)
        base = without_slashes(flags->export_dir, arena);
    savedmodel_format_find(flags->export_format, &out->export_format); /* one of the choices */
    if (given ? is_base(base) : flags->model_version < 0)
        out->export_base = base;
    out->export_directory =
        out->export_base != NULL
            ? export_version_path(base, export_next_version(base), out->export_format, arena)
        : given ? arena_strdup(arena, base)
                : export_version_path(base, flags->model_version, out->export_format, arena);
    return status_ok();
}

/* A directory that is taken may hold the export of this very job, made before the chief was killed.
 * A job that continues from a checkpoint, or has ps tasks that hold its values, can tell. */
static struct status check_target(struct options *out)
{
    struct status status = export_check_target(out->export_directory);
    bool goes_on = *out->flags.checkpoint_dir != '\0' || !job_map_is_local(&out->map);

    out->export_taken = status.code == STATUS_ALREADY_EXISTS && goes_on &&
                        savedmodel_find_file(out->export_directory) != NULL;
    return out->export_taken ? status_ok() : status;
}

static struct status choose_export(const char *positional, struct arena *arena, struct options *out)
{
    const struct flag_values *flags = &out->flags;

    if (flags->export) {
        TRY(choose_directory(flags, positional, arena, out));
        return check_target(out);
    }
    if (*flags->export_dir != '\0' || positional != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "--noexport and '%s': give one of them",
                            positional != NULL ? positional : flags->export_dir);
    return status_ok();
}

/* Keras' SGD with a momentum is TensorFlow's momentum optimizer. */
static const char *optimizer_of_keras(const struct layers_training *training)
{
    if (strcmp(training->optimizer, "sgd") == 0)
        for (int i = 0; i < training->settings_count; i++)
            if (strcmp(training->settings[i].name, "momentum") == 0 &&
                training->settings[i].value != 0)
                return "momentum";
    return training->optimizer;
}

/* Is this a setting of Keras that is off, and that TensorFlow's optimizers do not have? */
static bool is_off(const struct layers_setting *setting)
{
    static const char *const off[] = { "amsgrad", "momentum", "nesterov", "weight_decay" };

    for (size_t i = 0; i < COUNT(off) && setting->value == 0; i++)
        if (strcmp(setting->name, off[i]) == 0)
            return true;
    return false;
}

/* Overrides an earlier value. */
static void set_setting(struct options *out, const char *name, double value)
{
    int i = 0;

    while (i < out->job.settings_count && strcmp(out->settings[i].name, name) != 0)
        i++;
    out->settings[i] = (struct client_setting){ name, (float)value };
    out->job.settings_count += i == out->job.settings_count;
}

/* Keras' names of the ways to clip, which are also our flags'. */
static enum clip_kind find_clip(const char *name)
{
    return strcmp(name, "clipvalue") == 0         ? CLIP_VALUE
           : strcmp(name, "clipnorm") == 0        ? CLIP_NORM
           : strcmp(name, "global_clipnorm") == 0 ? CLIP_GLOBAL_NORM
                                                  : CLIP_NOTHING;
}

/* limit: 0 for not given. */
static struct status set_clip(const char *name, double limit, struct clip *out)
{
    if (limit == 0)
        return status_ok();
    if (out->kind != CLIP_NOTHING)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s: only one of clipvalue, clipnorm and global_clipnorm can be given",
                            name);
    *out = (struct clip){ find_clip(name), (float)limit };
    if (!(out->limit > 0) || isinf(out->limit))
        return status_error(STATUS_INVALID_ARGUMENT, "%s is %g, expected a number above 0", name,
                            limit);
    return status_ok();
}

static struct status take_clip_flags(const struct flag_values *flags, struct clip *out)
{
    TRY(set_clip("clipvalue", flags->clipvalue, out));
    TRY(set_clip("clipnorm", flags->clipnorm, out));
    return set_clip("global_clipnorm", flags->global_clipnorm, out);
}

/* The flags', or else the description's if its optimizer counts. */
static struct status choose_clip(const struct flag_values *flags,
                                 const struct layers_training *described, struct clip *out)
{
    *out = (struct clip){ 0 };
    TRY(status_in(take_clip_flags(flags, out), "the flags"));
    if (out->kind != CLIP_NOTHING || described == NULL)
        return status_ok();
    for (int i = 0; i < described->settings_count; i++) {
        const struct layers_setting *setting = &described->settings[i];
        if (find_clip(setting->name) != CLIP_NOTHING)
            TRY(status_in(set_clip(setting->name, setting->value, out), "the model's optimizer"));
    }
    return status_ok();
}

static struct status take_settings(const struct layers_training *training,
                                   const struct optimizer *optimizer, struct options *out)
{
    for (const struct optimizer_setting *row = optimizer_keras_defaults; row->name != NULL; row++)
        if (optimizer_setting_index(optimizer, row->name) >= 0)
            set_setting(out, row->name, row->initial);
    for (int i = 0; i < training->settings_count; i++) {
        const struct layers_setting *setting = &training->settings[i];
        if (optimizer_setting_index(optimizer, setting->name) >= 0)
            set_setting(out, setting->name, setting->value);
        else if (!is_off(setting) && find_clip(setting->name) == CLIP_NOTHING)
            return status_error(STATUS_UNIMPLEMENTED,
                                "the model's optimizer '%s': setting '%s' is not implemented",
                                optimizer->name, setting->name);
    }
    out->job.settings = out->settings;
    return status_ok();
}

static struct status choose_optimizer(struct arena *arena, struct options *out)
{
    const struct layers_training *training = &out->model->training;
    const char *described = training->optimizer != NULL ? optimizer_of_keras(training) : NULL;
    const char *name = *out->flags.optimizer != '\0' ? out->flags.optimizer
                       : described != NULL           ? described
                                                     : "sgd";
    const struct optimizer *optimizer = optimizer_find(name);
    bool same = described != NULL && optimizer == optimizer_find(described);

    if (optimizer == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "--optimizer=%s is none of: %s", name,
                            optimizer_names());
    if (same)
        TRY(take_settings(training, optimizer, out));
    struct learning_rate_sources sources = {
        .flag = out->flags.learning_rate,
        .flag_schedule = out->flags.learning_rate_schedule,
        .described = same ? training : NULL,
        .otherwise = same ? optimizer_keras_rate(optimizer) : optimizer->rate,
    };
    TRY(learning_rate_choose(&sources, arena, &out->job.learning_rate, &out->job.schedule));
    TRY(choose_clip(&out->flags, same ? training : NULL, &out->clip));
    out->job.optimizer = optimizer->name;
    if (same && out->job.schedule.kind != NULL &&
        optimizer_setting_index(optimizer, "rate_in_momentum") >= 0)
        set_setting(out, "rate_in_momentum", 1); /* as Keras' SGD */
    return status_ok();
}

static void choose_the_rest(struct options *out)
{
    const struct layers_training *training = &out->model->training;
    const struct flag *batch = flags_find(&train_flags, "batch_size");

    out->batch_size = (uint32_t)out->flags.batch_size;
    if (flag_is_default(batch) && training->batch_size > 0)
        out->batch_size = (uint32_t)training->batch_size;
    out->reduction = *out->flags.reduction != '\0'
                         ? strcmp(out->flags.reduction, "sum") == 0 ? LAYERS_SUM : LAYERS_MEAN
                     : training->has_reduction ? training->reduction
                                               : LAYERS_MEAN;
    out->placement =
        strcmp(out->flags.placement, "round_robin") == 0 ? PLACE_IN_TURN : PLACE_BY_BYTES;
    out->job.workers = job_map_is_local(&out->map) ? (uint32_t)out->flags.workers
                       : out->map.sparse           ? 1 /* unknown */
                                                   : job_map_trainers(&out->map);
    out->job.sync = out->flags.sync;
    bool by_time = out->flags.save_checkpoint_steps == 0 ||
                   !flag_is_default(flags_find(&train_flags, "save_checkpoint_secs"));
    out->save_checkpoint_ms = by_time ? (int64_t)ceil(out->flags.save_checkpoint_secs * 1000) : 0;
}

static struct status check_tls(const struct flag_values *flags)
{
    bool cert = *flags->tls_cert != '\0', key = *flags->tls_key != '\0',
         ca = *flags->tls_ca != '\0';

    if (cert == key && key == ca)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "--%s is missing: --tls_cert, --tls_key and "
                        "--tls_ca belong together",
                        !cert  ? "tls_cert"
                        : !key ? "tls_key"
                               : "tls_ca");
}

/* Refuses flags that have no effect without --checkpoint_dir. */
static struct status check_checkpoints(const struct flag_values *flags)
{
    static const char *const others[] = { "save_checkpoint_secs", "save_checkpoint_steps",
                                          "max_to_keep" };

    for (size_t i = 0; i < COUNT(others) && *flags->checkpoint_dir == '\0'; i++)
        if (!flag_is_default(flags_find(&train_flags, others[i])))
            return status_error(STATUS_INVALID_ARGUMENT, "--%s without --checkpoint_dir",
                                others[i]);
    return status_ok();
}

/* Refuses flags that have no effect without --train_files. */
static struct status check_files(const struct flag_values *flags)
{
    static const char *const others[] = { "validation_files", "test_files",     "data_format",
                                          "schema",           "label_column",   "feature_columns",
                                          "column_names",     "shuffle_buffer", "max_bad_records" };

    if (*flags->train_files != '\0' && *flags->train_dir != '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--train_files and --train_dir: give one of them");
    for (size_t i = 0; i < COUNT(others) && *flags->train_files == '\0'; i++)
        if (!flag_is_default(flags_find(&train_flags, others[i])))
            return status_error(STATUS_INVALID_ARGUMENT, "--%s without --train_files", others[i]);
    return status_ok();
}

/* Refuses --save_summary_steps if there is no file to write to. */
static struct status check_summaries(const struct flag_values *flags)
{
    if (*flags->metrics_file != '\0' || *flags->log_dir != '\0' ||
        flag_is_default(flags_find(&train_flags, "save_summary_steps")))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "--save_summary_steps without --log_dir and --metrics_file");
}

/* Refuses URLs such as gs://…, which would become local directories with a colon in their names. */
static struct status check_paths(const struct flag_values *flags, const char *positional)
{
    TRY(status_in(file_check_local(flags->export_dir), "--export_dir"));
    TRY(status_in(file_check_local(positional != NULL ? positional : ""), "DIR"));
    TRY(status_in(file_check_local(flags->work_dir), "--work_dir"));
    TRY(status_in(file_check_local(flags->train_dir), "--train_dir"));
    TRY(status_in(file_check_local(flags->checkpoint_dir), "--checkpoint_dir"));
    TRY(status_in(file_check_local(flags->log_dir), "--log_dir"));
    return status_in(file_check_local(flags->metrics_file), "--metrics_file");
}

/* In a cluster, the lists of hosts decide the numbers of tasks. */
static struct status check_counts(const struct options *options)
{
    static const char *const counts[] = { "ps", "workers" };

    for (size_t i = 0; i < COUNT(counts) && !job_map_is_local(&options->map); i++)
        if (!flag_is_default(flags_find(&train_flags, counts[i])))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--%s applies to a job in one process, and a cluster is given",
                                counts[i]);
    return status_ok();
}

static struct status read_map(bool need_self, struct arena *arena, struct options *out)
{
    struct job_flags flags = { values.ps_hosts, values.worker_hosts, values.chief_hosts,
                               values.job_name, values.task_index };

    TRY(job_map_read(&flags, getenv("TF_CONFIG"), need_self, arena, &out->map));
    TRY(check_tls(&values));
    if (*values.tls_cert != '\0' && job_map_is_local(&out->map))
        return status_error(STATUS_INVALID_ARGUMENT, "--tls_cert without --ps_hosts");
    return check_counts(out);
}

/* Refuses what a cluster cannot do. */
static struct status check_role(const struct options *options)
{
    if (job_map_is_local(&options->map))
        return status_ok();
    if (options->map.sparse && options->flags.sync)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--sync: the number of workers is unknown in a sparseCluster");
    return status_ok();
}

struct status options_read(int argc, char **argv, struct arena *arena, struct options *out)
{
    int positional_count;

    TRY(parse_flags(argc, argv, &positional_count, out));
    if (values.help || values.version)
        return status_ok();
    if (positional_count > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s': only one directory can be given ('%s' already is)", argv[2],
                            argv[1]);
    if (positional_count == 1 && strcmp(argv[1], "doctor") == 0)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "'doctor' comes first: pstrain doctor [flags] (./doctor is a directory)");
    TRY(check_paths(&values, positional_count == 1 ? argv[1] : NULL));
    log_level_parse(values.log_level, &out->log_level);
    TRY(read_map(true, arena, out));
    TRY(check_role(out));
    if (!job_map_is_local(&out->map) && out->map.kind == JOB_PS)
        return status_ok(); /* the chief decides the rest */
    TRY(check_files(&values));
    TRY(read_model(values.model, arena, &out->model));
    TRY(choose_optimizer(arena, out));
    choose_the_rest(out);
    if (!job_map_is_local(&out->map) && !job_map_is_chief(&out->map))
        return status_ok();
    TRY(check_checkpoints(&values));
    TRY(check_summaries(&values));
    return choose_export(positional_count == 1 ? argv[1] : NULL, arena, out);
}

struct status options_read_doctor(int argc, char **argv, struct arena *arena, struct options *out)
{
    int positional_count;

    TRY(parse_flags(argc, argv, &positional_count, out));
    if (values.help || values.version)
        return status_ok();
    if (positional_count > 0)
        return status_error(STATUS_INVALID_ARGUMENT, "doctor: '%s' is not a flag", argv[1]);
    TRY(read_map(false, arena, out));
    if (job_map_is_local(&out->map))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "doctor: no cluster is given, by --ps_hosts or TF_CONFIG");
    return status_ok();
}

struct status options_read_schema(int argc, char **argv, int *files_count, struct options *out)
{
    TRY(parse_flags(argc, argv, files_count, out));
    if (values.help || values.version || *files_count > 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "schema: give at least one file");
}

bool options_are_epochs(const struct options *options)
{
    const struct layers_training *training = &options->model->training;
    const struct flag_values *flags = &options->flags;

    if (flags->stop_at_step > 0 || flags->training_iteration > 0)
        return false;
    return flags->epochs > 0 || (training->training_iteration == 0 && training->epochs > 0);
}

struct status options_steps(const struct options *options, int64_t row_count, uint64_t *out)
{
    const struct layers_training *training = &options->model->training;
    uint64_t per_step =
        (uint64_t)options->batch_size * (options->job.sync ? options->job.workers : 1);
    uint64_t steps = (uint64_t)options->flags.training_iteration,
             epochs = (uint64_t)options->flags.epochs;

    *out = (uint64_t)options->flags.stop_at_step;
    if (*out > 0)
        return status_ok();
    if (steps == 0 && epochs == 0) {
        steps = (uint64_t)training->training_iteration;
        epochs = (uint64_t)training->epochs;
    }
    *out = steps > 0 ? steps : STEPS_DEFAULT;
    if (steps > 0 || epochs == 0)
        return status_ok();
    if (row_count == ROWS_UNKNOWN)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%llu epochs of data whose number of rows is not known; give "
                            "--training_iteration or --stop_at_step instead",
                            (unsigned long long)epochs);
    *out = (epochs * (uint64_t)row_count + per_step - 1) / per_step;
    return status_ok();
}
