#include "trainer/options/options.h"

#include <math.h>

#include "base/file.h"
#include "trainer/options/cluster.h"
#include "trainer/options/compile_config.h"
#include "trainer/options/export_target.h"
#include "trainer/options/finetune.h"
#include "trainer/options/main_optimizer.h"

#define DESCRIPTION_BYTES_MAX ((size_t)64 << 20)
#define STEPS_DEFAULT         1000

/* People also give the files that Keras' save() and save_weights() write: zip archives and HDF5. */
static struct status check_description(struct bytes file)
{
    if (file.size < 4 ||
        (memcmp(file.data, "PK\3\4", 4) != 0 && memcmp(file.data, "\x89HDF", 4) != 0))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "expected the JSON that to_json() of a Keras model prints, not a saved "
                        "model; a .keras file holds it: unzip -p FILE config.json");
}

/* Reads a built-in description or a file. */
static struct status read_model(const struct flag_values *flags, struct arena *arena,
                                struct layers_model **out)
{
    const char *name = flags->model;
    struct bytes json = layers_builtin(name);
    struct buffer file = { 0 }, config = { 0 };
    struct status status;

    if (json.data == NULL) {
        if (strchr(name, '/') == NULL && strchr(name, '.') == NULL && !file_exists(name))
            return status_error(STATUS_NOT_FOUND, "--model=%s is neither one of %s nor a file",
                                name, layers_builtin_names());
        TRY(status_in(file_read(name, DESCRIPTION_BYTES_MAX, &file), "--model"));
        json = (struct bytes){ file.data, file.size };
    }
    TRY_OR(done, compile_config_read(flags, &config));
    status = check_description(json);
    if (status_is_ok(status))
        status = layers_parse_compiled(json, (struct bytes){ config.data, config.size },
                                       compile_config_is_flags(flags), arena, out);
    status = status_in(status, "--model=%s", name);
done:
    buffer_finish(&config);
    buffer_finish(&file);
    return status;
}

/* Refuses these flags if the flag `needed` is missing, without which they have no effect. */
static struct status refuse_without(const char *needed, const char *const *names, size_t count)
{
    const char *given = option_flags_first_given(names, count);

    return given == NULL ? status_ok()
                         : status_error(STATUS_INVALID_ARGUMENT, "--%s needs --%s", given, needed);
}

/* Refuses flags that have no effect without --from_savedmodel, or with it. */
static struct status check_finetune(const struct flag_values *flags)
{
    static const char *const others[] = { "signature", "output", "freeze", "sparse_width" };
    bool given = *flags->from_savedmodel != '\0';

    if (!given)
        TRY(refuse_without("from_savedmodel", others, COUNT(others)));
    if (given && !flag_is_default(flags_find(&train_flags, "model")))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--model and --from_savedmodel: give one of them");
    if (given && strcmp(flags->export_format, "saved_model") != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--export_format=%s: the export of --from_savedmodel has the format of "
                            "the original",
                            flags->export_format);
    return status_ok();
}

static struct status choose_model(struct arena *arena, struct options *out)
{
    TRY(check_finetune(&out->flags));
    if (*out->flags.from_savedmodel != '\0')
        return finetune_open(&out->flags, arena, &out->finetune, &out->model);
    return read_model(&out->flags, arena, &out->model);
}

static void choose_the_rest(struct options *out)
{
    const struct layers_training *training = &out->model->training;
    const struct flag *batch = flags_find(&train_flags, "batch_size");

    out->batch_size = (uint32_t)out->flags.batch_size;
    if (flag_is_default(batch) && training->batch_size > 0)
        out->batch_size = (uint32_t)training->batch_size;
    out->reduction = training->has_reduction ? training->reduction : LAYERS_MEAN;
    if (*out->flags.reduction != '\0')
        layers_find_reduction(out->flags.reduction, &out->reduction);
    bool in_turn = strcmp(out->flags.placement, "round_robin") == 0;
    out->placement = in_turn ? PLACE_IN_TURN : PLACE_BY_BYTES;
    out->job.workers = job_map_is_local(&out->map) ? (uint32_t)out->flags.workers
                       : out->map.sparse           ? 1 /* unknown */
                                                   : job_map_trainers(&out->map);
    out->job.sync = out->flags.sync;
    out->job.backup_workers = (uint32_t)out->flags.backup_workers;
    out->job.lead_max = (uint32_t)(out->flags.max_staleness + 1);
    bool by_time = out->flags.save_checkpoint_steps == 0 ||
                   !flag_is_default(flags_find(&train_flags, "save_checkpoint_secs"));
    out->save_checkpoint_ms = by_time ? (int64_t)ceil(out->flags.save_checkpoint_secs * 1000) : 0;
}

int options_ps_count(const struct options *options)
{
    return job_map_is_local(&options->map) ? options->flags.ps : options->map.lists[JOB_PS].count;
}

/* Each worker normalizes with the moments of its own batch. In a step of one worker, and of an
 * asynchronous job, that is the whole batch. */
static struct status check_moments(const struct options *options)
{
    const char *layer = layers_synchronized(options->model);

    if (layer == NULL || !options->job.sync || options->job.workers == 1)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "layer '%s': 'synchronized' with --sync and %u workers: each worker "
                        "normalizes with the moments of its own batch. Set it to false, or take "
                        "one worker",
                        layer, options->job.workers);
}

/* Checks how the workers wait for each other. */
static struct status check_waiting(const struct options *options)
{
    const struct client_job *job = &options->job;

    if (job->backup_workers > 0 && !job->sync)
        return status_error(STATUS_INVALID_ARGUMENT, "--backup_workers needs --sync");
    if (job->backup_workers >= job->workers && job->backup_workers > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--backup_workers=%u: the job has %u workers, and at least one must be "
                            "left",
                            job->backup_workers, job->workers);
    if (job->lead_max > 0 && job->sync)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--max_staleness with --sync, in which no worker is ahead");
    return status_ok();
}

/* Chooses the task that evaluates, and what an evaluation may cause. */
static struct status choose_stopping(struct options *out)
{
    const struct flag_values *flags = &out->flags;
    static const char *const others[] = { "early_stopping_min_delta", "early_stopping_baseline",
                                          "early_stopping_start", "early_stopping_task" };
    bool by_evaluator = strcmp(flags->early_stopping_task, "evaluator") == 0;
    bool stops = flags->early_stopping_patience >= 0;

    out->stopping = (struct early_stopping_options){ .monitor = flags->monitor,
                                                     .mode = flags->monitor_mode,
                                                     .patience = flags->early_stopping_patience,
                                                     .min_delta = flags->early_stopping_min_delta,
                                                     .baseline = flags->early_stopping_baseline,
                                                     .start_from = flags->early_stopping_start };
    out->keeps_best = flags->save_best || flags->restore_best_weights;
    out->chief_stops = stops && !by_evaluator;
    if (by_evaluator && job_map_is_local(&out->map))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--early_stopping_task=evaluator: a job in one process has none");
    if (!stops && !out->keeps_best)
        TRY(refuse_without("early_stopping_patience", others, COUNT(others)));
    if (!out->chief_stops) /* the chief's evaluations then only find the best values */
        out->stopping.patience = out->map.kind == JOB_EVALUATOR ? out->stopping.patience : -1;
    return status_ok();
}

/* Refuses flags that have no effect without --checkpoint_dir. */
static struct status check_checkpoints(const struct flag_values *flags)
{
    static const char *const others[] = { "save_checkpoint_secs", "save_checkpoint_steps",
                                          "max_to_keep", "save_best", "restore_best_weights" };

    return *flags->checkpoint_dir == '\0' ? refuse_without("checkpoint_dir", others, COUNT(others))
                                          : status_ok();
}

/* Refuses flags that have no effect without --train_files. */
static struct status check_files(const struct flag_values *flags)
{
    static const char *const others[] = {
        "validation_files", "test_files",     "candidate_files",  "data_format",  "schema",
        "label_column",     "weight_column",  "feature_columns",  "column_names", "skip_lines",
        "na_value",         "shuffle_buffer", "prefetch_batches", "cache_mb",     "max_bad_records"
    };

    if (*flags->train_files != '\0' && *flags->train_dir != '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--train_files and --train_dir: give one of them");
    return *flags->train_files == '\0' ? refuse_without("train_files", others, COUNT(others))
                                       : status_ok();
}

/* Refuses --save_summary_steps and --histogram_steps if there is no file to write to. */
static struct status check_summaries(const struct flag_values *flags)
{
    if (flags->histogram_steps > 0 && *flags->log_dir == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "--histogram_steps needs --log_dir");
    if (*flags->metrics_file != '\0' || *flags->log_dir != '\0' ||
        flag_is_default(flags_find(&train_flags, "save_summary_steps")))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "--save_summary_steps needs --log_dir or --metrics_file");
}

/* Refuses URLs such as gs://…, which would become local directories with a colon in their names. */
static struct status check_paths(const struct flag_values *flags, const char *directory)
{
    TRY(status_in(file_check_local(flags->export_dir), "--export_dir"));
    TRY(status_in(file_check_local(directory != NULL ? directory : ""), "DIR"));
    TRY(status_in(file_check_local(flags->work_dir), "--work_dir"));
    TRY(status_in(file_check_local(flags->train_dir), "--train_dir"));
    TRY(status_in(file_check_local(flags->from_savedmodel), "--from_savedmodel"));
    TRY(status_in(file_check_local(flags->checkpoint_dir), "--checkpoint_dir"));
    TRY(status_in(file_check_local(flags->log_dir), "--log_dir"));
    return status_in(file_check_local(flags->metrics_file), "--metrics_file");
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

static struct status read_flags(int argc, char **argv, int *positional_count, struct options *out)
{
    *out = (struct options){ 0 };
    return option_flags_parse(argc, argv, positional_count, &out->flags);
}

static struct status read_cluster(struct arena *arena, struct options *out)
{
    struct status status = options_read_cluster(true, arena, out);

    out->knows_tasks = status_is_ok(status);
    return status;
}

static struct status read_options(int argc, char **argv, const struct command_set *commands,
                                  struct arena *arena, struct options *out)
{
    int positional_count;

    TRY(read_flags(argc, argv, &positional_count, out));
    if (out->flags.help || out->flags.version)
        return status_ok();
    for (int i = 1; i <= positional_count; i++)
        TRY(command_check_directory(commands, argv[i]));
    if (positional_count > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s': only one directory can be given ('%s' already is)", argv[2],
                            argv[1]);
    const char *directory = positional_count == 1 ? file_path_of_uri(argv[1]) : NULL;
    TRY(check_paths(&out->flags, directory));
    log_level_parse(out->flags.log_level, &out->log_level);
    TRY(read_cluster(arena, out));
    TRY(check_role(out));
    if (!job_map_is_local(&out->map) && out->map.kind == JOB_PS)
        return status_ok(); /* the chief decides the rest */
    TRY(check_files(&out->flags));
    TRY(choose_model(arena, out));
    TRY(options_choose_optimizer(arena, out));
    choose_the_rest(out);
    TRY(check_waiting(out));
    TRY(check_moments(out));
    if (*out->flags.init_from == '\0' && (*out->flags.init_map != '\0' || out->flags.init_partial))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--init_map and --init_partial need --init_from");
    TRY(choose_stopping(out));
    if (!job_map_is_local(&out->map) && !job_map_is_chief(&out->map))
        return status_ok();
    TRY(check_checkpoints(&out->flags));
    TRY(check_summaries(&out->flags));
    return options_choose_export(directory, arena, out);
}

struct status options_read(int argc, char **argv, const struct command_set *commands,
                           struct arena *arena, struct options *out)
{
    struct status status = read_options(argc, argv, commands, arena, out);

    if (status_is_ok(status) || out->knows_tasks)
        return status;
    struct status held = status_hold(status);
    status_ignore(read_cluster(arena, out)); /* the other flags may say whom to tell of this */
    return status_resume(held);
}

void options_read_tasks(int argc, char **argv, struct arena *arena, struct options *out)
{
    int positional_count;

    /* The caller has another failure to report. */
    status_ignore(read_flags(argc, argv, &positional_count, out));
    status_ignore(read_cluster(arena, out));
}

struct status options_read_doctor(int argc, char **argv, struct arena *arena, struct options *out)
{
    int positional_count;

    TRY(read_flags(argc, argv, &positional_count, out));
    if (out->flags.help || out->flags.version)
        return status_ok();
    if (positional_count > 0)
        return status_error(STATUS_INVALID_ARGUMENT, "doctor: '%s' is not a flag", argv[1]);
    TRY(options_read_cluster(false, arena, out));
    if (job_map_is_local(&out->map))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "doctor: no cluster is given, by --ps_hosts or TF_CONFIG");
    return status_ok();
}

bool options_are_epochs(const struct options *options)
{
    const struct layers_training *training = &options->model->training;
    const struct flag_values *flags = &options->flags;

    if (flags->stop_at_step > 0 || flags->training_iteration > 0)
        return false;
    return flags->epochs > 0 || (training->training_iteration == 0 && training->epochs > 0);
}

bool options_read_again(const struct options *options)
{
    int32_t given = options->flags.epochs;
    int64_t epochs = given > 0 ? given : options->model->training.epochs;

    return !options_are_epochs(options) || epochs > 1;
}

uint64_t options_rows_per_step(const struct options *options)
{
    return (uint64_t)options->batch_size * options->accumulation *
           (options->job.sync ? options->job.workers : 1);
}

struct status options_steps(const struct options *options, int64_t row_count,
                            struct taken_rows taken, uint64_t *out)
{
    const struct layers_training *training = &options->model->training;
    uint64_t per_step = options_rows_per_step(options);
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
    uint64_t rows = epochs * (uint64_t)row_count;
    if (taken.rows >= rows)
        taken = (struct taken_rows){ 0 };
    *out = taken.step + (rows - taken.rows + per_step - 1) / per_step;
    return status_ok();
}
