#include "trainer/options.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "exporter/export.h"

#define DESCRIPTION_BYTES_MAX ((size_t)64 << 20)
#define STEPS_DEFAULT         1000

static struct flag_values values;

/* clang-format off: a table, one flag after the other */
static const struct flag rows[] = {
    { "model", FLAG_TEXT, &values.model, "softmax", .group = "what is trained",
      .help = "softmax, mlp, convnet, linear, or a file of what Keras' to_json() prints" },
    { "train_dir", FLAG_TEXT, &values.train_dir, "",
      .help = "directory of IDX files of MNIST's names, plain or .gz, those of t10k only if it is "
              "to test; without it the program draws digits itself" },
    { "training_iteration", FLAG_INT64, &values.training_iteration, "0",
      .help = "steps; wins over --epochs; 0: what the model says", .min = 0, .max = 9e15 },
    { "stop_at_step", FLAG_INT64, &values.stop_at_step, "0",
      .help = "the global step to stop at, counted on over restarts; wins over "
              "--training_iteration; 0: as that says",
      .min = 0, .max = 9e15 },
    { "epochs", FLAG_INT32, &values.epochs, "0",
      .help = "how often every row counts; 0: what the model says", .min = 0, .max = 1e9 },
    { "batch_size", FLAG_INT32, &values.batch_size, "100", .help = "rows of a worker's step",
      .min = 1, .max = 1e6 },
    { "optimizer", FLAG_TEXT, &values.optimizer, "",
      .help = "sgd, momentum, adagrad, adam, … as TensorFlow 1 defines them; else the model's, as "
              "Keras defines it" },
    { "learning_rate", FLAG_DOUBLE, &values.learning_rate, "0",
      .help = "0: the model's, else the optimizer's default", .min = 0, .max = 1e9 },
    { "loss_reduction", FLAG_TEXT, &values.reduction, "",
      .help = "mean or sum of the losses of a batch; else the model's. The MNIST tutorial of "
              "TensorFlow 1 is --loss_reduction=sum --learning_rate=0.01",
      .choices = "mean sum" },
    { "seed", FLAG_INT64, &values.seed, "1", .help = "of first values, order of rows and dropout",
      .min = 0, .max = 9e15 },
    { "sync", FLAG_BOOL, &values.sync, "false",
      .help = "each step waits for all workers; with a seed the result is the same bits for any "
              "number of ps" },
    { "placement", FLAG_TEXT, &values.placement, "bytes",
      .help = "which ps holds what: balanced by bytes, or in turn",
      .choices = "bytes round_robin" },
    { "export_dir", FLAG_TEXT, &values.export_dir, "", .group = "the export",
      .help = "the directory to make, such as model/1; one that holds numbered versions gets the "
              "next one; wins over --work_dir" },
    { "work_dir", FLAG_TEXT, &values.work_dir, "./model",
      .help = "exports to work_dir/model_version when neither --export_dir nor DIR is given" },
    { "model_version", FLAG_INT64, &values.model_version, "-1",
      .help = "the version's number in DIR or --work_dir; -1: the one behind the largest there is",
      .min = -1, .max = 9e15 },
    { "export", FLAG_BOOL, &values.export, "true",
      .help = "export what was learnt; with --noexport the job trains and tests only" },
    { "checkpoint_dir", FLAG_TEXT, &values.checkpoint_dir, "", .group = "checkpoints",
      .help = "a directory on the chief's disk: keeps checkpoints there, as TensorFlow does, and "
              "goes on from the last one" },
    { "save_checkpoint_secs", FLAG_DOUBLE, &values.save_checkpoint_secs, "600",
      .help =
          "seconds between checkpoints; 0: not by time, as when only --save_checkpoint_steps is "
          "given",
      .min = 0, .max = 1e9 },
    { "save_checkpoint_steps", FLAG_INT64, &values.save_checkpoint_steps, "0",
      .help =
          "checkpoints at the multiples of so many steps; 0: not by steps. With both, whichever "
          "comes first",
      .min = 0, .max = 9e15 },
    { "max_to_keep", FLAG_INT32, &values.max_to_keep, "5", .help = "checkpoints to keep; 0: all",
      .min = 0, .max = 1e6 },
    { "ps", FLAG_INT32, &values.ps, "2", .group = "a job in one process",
      .help = "parameter servers", .min = 1, .max = 256 },
    { "workers", FLAG_INT32, &values.workers, "2", .help = "workers; the first is the chief",
      .min = 1, .max = 256 },
    { "ps_hosts", FLAG_TEXT, &values.ps_hosts, "", .group = "a task of a cluster",
      .help =
          "a:2222,b:2222: the ps tasks of a cluster, the same for all its tasks; TF_CONFIG says "
          "it too" },
    { "worker_hosts", FLAG_TEXT, &values.worker_hosts, "",
      .help = "the workers; without --chief_hosts the first is the chief" },
    { "chief_hosts", FLAG_TEXT, &values.chief_hosts, "", .help = "the chief, one" },
    { "job_name", FLAG_TEXT, &values.job_name, "",
      .help = "what this task is: ps, worker, chief or master; or evaluator, which is in no list" },
    { "task_index", FLAG_INT64, &values.task_index, "-1", .help = "its place in its list, from 0",
      .min = -1, .max = JOB_TASKS_MAX },
    { "cluster_id", FLAG_TEXT, &values.cluster_id, "default",
      .help = "a name of the job: tasks of another are refused" },
    { "start_timeout", FLAG_INT32, &values.start_timeout, "300",
      .help = "seconds to wait for the other tasks at the start; with --sync also for each worker",
      .min = 1, .max = 1e6 },
    { "recovery_timeout", FLAG_DOUBLE, &values.recovery_timeout, "300",
      .help = "seconds that the chief and the workers wait for a lost ps to come back", .min = 0,
      .max = 1e9 },
    { "linger_timeout", FLAG_INT32, &values.linger_timeout, "300",
      .help = "seconds without a word of the chief, of all workers, or, with --sync, of one of "
              "them, until a ps ends the job",
      .min = 1, .max = 1e6 },
    { "finish_timeout", FLAG_INT32, &values.finish_timeout, "300",
      .help = "seconds that the chief waits for the workers after the last step", .min = 1,
      .max = 1e6 },
    { "memory_budget_bytes", FLAG_INT64, &values.memory_budget_bytes, "0",
      .help =
          "of a ps: what its variables, slots and requests may hold together; 0: three quarters "
          "of the memory of the host or its control group",
      .min = 0, .max = 9e18 },
    { "tls_cert", FLAG_TEXT, &values.tls_cert, "",
      .help = "PEM file of this task's certificate; with --tls_key and --tls_ca the tasks talk TLS "
              "and believe only each other" },
    { "tls_key", FLAG_TEXT, &values.tls_key, "", .help = "PEM file of the key to it" },
    { "tls_ca", FLAG_TEXT, &values.tls_ca, "",
      .help = "PEM file of the CA that signed all tasks' certificates" },
    { "eval_start_delay_secs", FLAG_DOUBLE, &values.eval_start_delay_secs, "120",
      .group = "an evaluator",
      .help = "seconds from an evaluator's start until its first evaluation", .min = 0,
      .max = 1e9 },
    { "eval_throttle_secs", FLAG_DOUBLE, &values.eval_throttle_secs, "600",
      .help = "seconds from the start of one evaluation until the next", .min = 0, .max = 1e9 },
    { "log_level", FLAG_TEXT, &values.log_level, "info", .group = "the program",
      .help = "warning and above print no progress", .choices = LOG_LEVEL_NAMES },
    { "version", FLAG_BOOL, &values.version, "false", .help = "print the version and exit" },
    { "help", FLAG_BOOL, &values.help, "false", .help = "print this text and exit" },
};
/* clang-format on */

const struct flag_set train_flags = {
    "usage: pstrain [flags] [DIR]\n\n"
    "Trains a model on parameter servers and exports it as a TensorFlow SavedModel, to the next "
    "version in DIR\n"
    "or to --export_dir. With no cluster configured, the whole cluster runs inside this "
    "process.\n\n"
    "       pstrain doctor [flags]\n\n"
    "Dials every task of the cluster that --ps_hosts and the like or TF_CONFIG describe, and says "
    "who "
    "is there.",
    rows, COUNT(rows)
};

/* The description's text: one that is compiled in, or a file. */
static struct status read_model(const char *name, struct arena *arena, struct layers_model **out)
{
    struct bytes json = layers_builtin(name);
    struct buffer file = { 0 };

    if (json.data == NULL) {
        if (strchr(name, '/') == NULL && strchr(name, '.') == NULL && !file_exists(name))
            return status_error(STATUS_NOT_FOUND, "--model=%s: none of %s, nor a file", name,
                                layers_builtin_names());
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

/* A server's base path: numbered versions, and no model of its own. */
static bool is_base(const char *directory, struct arena *arena)
{
    return export_next_version(directory) > 1 &&
           !file_exists(file_join(arena, directory, "saved_model.pb"));
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
    if (given ? is_base(base, arena) : flags->model_version < 0)
        out->export_base = base;
    out->export_directory = out->export_base != NULL
                                ? export_version_path(base, export_next_version(base), arena)
                            : given ? arena_strdup(arena, base)
                                    : export_version_path(base, flags->model_version, arena);
    return status_ok();
}

/* A directory that is taken may hold what this very job has exported before it was killed: one that
 * goes on from a checkpoint, or with ps tasks that hold its values, finds out. */
static struct status check_target(struct options *out, struct arena *arena)
{
    struct status status = export_check_target(out->export_directory);
    bool goes_on = *out->flags.checkpoint_dir != '\0' || !job_map_is_local(&out->map);

    out->export_taken = status.code == STATUS_ALREADY_EXISTS && goes_on &&
                        file_exists(file_join(arena, out->export_directory, "saved_model.pb"));
    return out->export_taken ? status_ok() : status;
}

static struct status choose_export(const char *positional, struct arena *arena, struct options *out)
{
    const struct flag_values *flags = &out->flags;

    if (flags->export) {
        TRY(choose_directory(flags, positional, arena, out));
        return check_target(out, arena);
    }
    if (*flags->export_dir != '\0' || positional != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "--noexport and '%s': give one of them",
                            positional != NULL ? positional : flags->export_dir);
    return status_ok();
}

/* Keras says with other settings what are other optimizers here, and has some that mean nothing to
 * TensorFlow's. */
static const char *optimizer_of_keras(const struct layers_training *training)
{
    if (strcmp(training->optimizer, "sgd") == 0)
        for (int i = 0; i < training->settings_count; i++)
            if (strcmp(training->settings[i].name, "momentum") == 0 &&
                training->settings[i].value != 0)
                return "momentum";
    return training->optimizer;
}

static bool means_nothing(const struct layers_setting *setting)
{
    static const char *const off[] = { "amsgrad", "momentum", "nesterov", "weight_decay" };

    for (size_t i = 0; i < COUNT(off) && setting->value == 0; i++)
        if (strcmp(setting->name, off[i]) == 0)
            return true;
    return false;
}

/* The later one counts. */
static void set_setting(struct options *out, const char *name, double value)
{
    int i = 0;

    while (i < out->job.settings_count && strcmp(out->settings[i].name, name) != 0)
        i++;
    out->settings[i] = (struct client_setting){ name, (float)value };
    out->job.settings_count += i == out->job.settings_count;
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
        else if (!means_nothing(setting))
            return status_error(STATUS_UNIMPLEMENTED,
                                "the model's optimizer '%s': setting '%s' is not implemented",
                                optimizer->name, setting->name);
    }
    out->job.settings = out->settings;
    return status_ok();
}

static struct status choose_optimizer(struct options *out)
{
    const struct layers_training *training = &out->model->training;
    const char *described = training->optimizer != NULL ? optimizer_of_keras(training) : NULL;
    const char *name = *out->flags.optimizer != '\0' ? out->flags.optimizer
                       : described != NULL           ? described
                                                     : "sgd";
    const struct optimizer *optimizer = optimizer_find(name);
    bool same = described != NULL && optimizer == optimizer_find(described);

    if (optimizer == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "--optimizer=%s: none of %s", name,
                            optimizer_names());
    if (same)
        TRY(take_settings(training, optimizer, out));
    double rate = out->flags.learning_rate > 0          ? out->flags.learning_rate
                  : same && training->learning_rate > 0 ? training->learning_rate
                  : same                                ? optimizer_keras_rate(optimizer)
                                                        : optimizer->rate;
    out->job.optimizer = optimizer->name;
    out->job.learning_rate = (float)rate;
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
                       : out->map.sparse           ? 1 /* it does not tell */
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

/* What would do nothing without --checkpoint_dir. */
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

/* Paths of a file system that this program does not know would be made here, with a colon. */
static struct status check_paths(const struct flag_values *flags, const char *positional)
{
    TRY(status_in(file_check_local(flags->export_dir), "--export_dir"));
    TRY(status_in(file_check_local(positional != NULL ? positional : ""), "DIR"));
    TRY(status_in(file_check_local(flags->work_dir), "--work_dir"));
    TRY(status_in(file_check_local(flags->train_dir), "--train_dir"));
    return status_in(file_check_local(flags->checkpoint_dir), "--checkpoint_dir");
}

/* The numbers of tasks are the cluster's, where there is one. */
static struct status check_counts(const struct options *options)
{
    static const char *const counts[] = { "ps", "workers" };

    for (size_t i = 0; i < COUNT(counts) && !job_map_is_local(&options->map); i++)
        if (!flag_is_default(flags_find(&train_flags, counts[i])))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--%s is of a job in one process, and a cluster is given",
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

/* What a cluster cannot do. */
static struct status check_role(const struct options *options)
{
    if (job_map_is_local(&options->map))
        return status_ok();
    if (options->map.sparse && options->flags.sync)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--sync: a sparseCluster does not tell the number of workers");
    return status_ok();
}

struct status options_read(int argc, char **argv, struct arena *arena, struct options *out)
{
    int positional_count;

    *out = (struct options){ 0 };
    TRY(flags_parse(&train_flags, argc, argv, &positional_count));
    out->flags = values;
    if (values.help || values.version)
        return status_ok();
    if (positional_count > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s': one directory, please ('%s' is given already)", argv[2],
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
        return status_ok(); /* the rest is the chief's to say */
    TRY(read_model(values.model, arena, &out->model));
    TRY(choose_optimizer(out));
    choose_the_rest(out);
    if (!job_map_is_local(&out->map) && !job_map_is_chief(&out->map))
        return status_ok();
    TRY(check_checkpoints(&values));
    return choose_export(positional_count == 1 ? argv[1] : NULL, arena, out);
}

struct status options_read_doctor(int argc, char **argv, struct arena *arena, struct options *out)
{
    int positional_count;

    *out = (struct options){ 0 };
    TRY(flags_parse(&train_flags, argc, argv, &positional_count));
    out->flags = values;
    if (values.help || values.version)
        return status_ok();
    if (positional_count > 0)
        return status_error(STATUS_INVALID_ARGUMENT, "doctor: '%s' is no flag", argv[1]);
    TRY(read_map(false, arena, out));
    if (job_map_is_local(&out->map))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "doctor: no cluster is given, by --ps_hosts or TF_CONFIG");
    return status_ok();
}

uint64_t options_steps(const struct options *options, uint32_t row_count)
{
    const struct layers_training *training = &options->model->training;
    uint64_t per_step =
        (uint64_t)options->batch_size * (options->job.sync ? options->job.workers : 1);
    uint64_t steps = (uint64_t)options->flags.training_iteration,
             epochs = (uint64_t)options->flags.epochs;

    if (options->flags.stop_at_step > 0)
        return (uint64_t)options->flags.stop_at_step;
    if (steps == 0 && epochs == 0) {
        steps = (uint64_t)training->training_iteration;
        epochs = (uint64_t)training->epochs;
    }
    if (steps > 0)
        return steps;
    return epochs > 0 ? (epochs * row_count + per_step - 1) / per_step : STEPS_DEFAULT;
}
