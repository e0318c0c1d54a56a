#include "trainer/session/session.h"

#include <math.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/memory.h"
#include "trainer/client/shares.h"
#include "trainer/client/totals.h"
#include "trainer/job/accumulate.h"
#include "trainer/job/local_job.h"
#include "trainer/options/finetune.h"
#include "trainer/session/adapt.h"
#include "trainer/session/output.h"

#define MS_PER_S 1000

bool session_is_local(const struct session *session)
{
    return job_map_is_local(&session->options.map);
}

bool session_is_ps(const struct session *session)
{
    return !session_is_local(session) && session->options.map.kind == JOB_PS;
}

bool session_is_chief(const struct session *session)
{
    return session_is_local(session) || job_map_is_chief(&session->options.map);
}

/* ---- callbacks of the job ---- */

static struct status give_turn(void *client, bool *found, uint64_t *turn)
{
    return client_next_turn(client, found, turn);
}

static void begin_turns(void *client)
{
    client_shares_begin(client);
}

static struct status make_source(void *context, struct ps_client *client,
                                 struct gradient_source **out)
{
    struct session *session = context;
    const struct client_job *job = &session->options.job;
    uint32_t index = client->options.index;
    struct batch_order order = { .shuffle = true,
                                 .repeat = true,
                                 .seed = (uint64_t)session->options.flags.seed,
                                 .worker = index,
                                 .workers = index < job->workers ? job->workers : index + 1,
                                 .ahead = session->options.flags.prefetch_batches };
    const struct turn_source turns = { give_turn, begin_turns, client };
    struct gradient_source *source;

    TRY(model_source(session->model, session->data->train, &order, job->sync,
                     session->options.accumulation, job->sync ? NULL : &turns, &source));
    if (job->totals_count > 0)
        model_source_keep_totals(source, client_keep_totals(client, job->totals_count));
    if (job->loss_scale.scale > 0) {
        model_source_take_scale(source, &client->scaling.scale);
        source = scaled_source(source, session->options.accumulation, &client->scaling,
                               &session->placement);
    } else {
        source = accumulate_source(source, session->options.accumulation,
                                   session->options.loss_scale, &session->placement);
    }
    *out = clip_source(source, &session->options.clip, &session->placement);
    return status_ok();
}

static struct status initial_values(void *context, struct arena *arena, const void *const **out)
{
    struct session *session = context;

    return model_initial_values(session->model, (uint64_t)session->options.flags.seed, arena, out);
}

static void fill_rows(void *context, int variable, int64_t first_row, int64_t rows_count, void *out)
{
    struct session *session = context;

    model_fill_rows(session->model, (uint64_t)session->options.flags.seed, variable, first_row,
                    rows_count, out);
}

/* Is it a variable by rows of a SavedModel that is trained further? */
static bool is_in_savedmodel(const struct session *session, int variable)
{
    return session->options.finetune != NULL && session->graph.variables[variable].by_rows;
}

/* --init_from takes precedence over --from_savedmodel. */
static struct status taken_begin(void *context, int variable, bool *has)
{
    struct session *session = context;

    *has = false;
    if (session->init != NULL)
        TRY(init_from_begin(session->init, variable, has));
    session->takes_from_savedmodel = !*has && is_in_savedmodel(session, variable);
    if (!session->takes_from_savedmodel)
        return status_ok();
    *has = true;
    return finetune_begin(session->options.finetune, session->graph.variables[variable].name);
}

static struct status taken_next(void *context, struct bytes *chunk)
{
    struct session *session = context;

    return session->takes_from_savedmodel ? finetune_next(session->options.finetune, chunk)
                                          : init_from_next(session->init, chunk);
}

/* A restarted ps has lost the notes that other tasks may still ask for. */
static void recovered(void *context)
{
    session_post_states(context);
}

static struct status begun(void *context, uint64_t step)
{
    ((struct session *)context)->histogram_step = step;
    return session_check_begin(context, step);
}

/* ---- the job ---- */

static struct chief_options chief_options(struct session *session)
{
    const struct flag_values *flags = &session->options.flags;

    return (struct chief_options){
        .job = session->options.job,
        .initial_values = initial_values,
        .fill_rows = fill_rows,
        .taken_begin = taken_begin,
        .taken_next = taken_next,
        .checkpoints = { .dir = session->checkpoints,
                         .every_ms = session->options.save_checkpoint_ms,
                         .every_steps = (uint64_t)flags->save_checkpoint_steps },
        .monitor = session_monitor_options(session),
        .recovery_timeout_ms = (int64_t)(flags->recovery_timeout * MS_PER_S),
        .start_timeout_ms = (int64_t)flags->start_timeout * MS_PER_S,
        .finish_timeout_ms = (int64_t)flags->finish_timeout * MS_PER_S,
        .begun = begun,
        .recovered = recovered,
        .stepped = session_stepped,
        .conclude = session_conclude,
        .context = session,
        .warn = output_warn
    };
}

static struct evaluator_options evaluator_options(struct session *session)
{
    const struct flag_values *flags = &session->options.flags;

    return (struct evaluator_options){
        .start_timeout_ms = (int64_t)flags->start_timeout * MS_PER_S,
        .start_delay_ms = (int64_t)(flags->eval_start_delay_secs * MS_PER_S),
        .throttle_ms = (int64_t)(flags->eval_throttle_secs * MS_PER_S),
        .evaluate = session_evaluate,
        .context = session,
    };
}

/* The rest is for the system, and for other processes of the host. */
int64_t session_memory_budget(const struct session *session)
{
    const struct flag_values *flags = &session->options.flags;

    return flags->memory_budget_bytes > 0 ? flags->memory_budget_bytes
                                          : (int64_t)(memory_of_machine() / 4 * 3);
}

struct task_options session_task_options(struct session *session)
{
    const struct flag_values *flags = &session->options.flags;

    return (struct task_options){ .map = &session->options.map,
                                  .cluster = flags->cluster_id,
                                  .version = SLIPWAY_VERSION,
                                  .start_timeout_ms = (int64_t)flags->start_timeout * MS_PER_S,
                                  .linger_timeout_ms = (int64_t)flags->linger_timeout * MS_PER_S,
                                  .memory_budget_bytes = session_memory_budget(session),
                                  .token = session->options.token,
                                  .tls_cert = flags->tls_cert,
                                  .tls_key = flags->tls_key,
                                  .tls_ca = flags->tls_ca,
                                  .watch = output_watch_task,
                                  .print = output_print,
                                  .context = session };
}

static struct status run_here(struct session *session)
{
    const struct options *options = &session->options;
    struct local_job_options cluster = {
        .placement = &session->placement,
        .workers = options->job.workers,
        .chief = chief_options(session),
        .make_source = make_source,
        .context = session,
        .watch = output_watch,
        .lost = output_lost_worker,
    };

    return local_job_run(&cluster, &session->progress);
}

#define SHOWN_WEIGHTS_MAX 200 /* bytes: the settings are part of every call that joins */

/* --class_weight, or a checksum of it if it is long. */
static const char *describe_weights(const struct session *session)
{
    const char *text = session->options.flags.class_weight;
    size_t size = strlen(text);

    if (size > SHOWN_WEIGHTS_MAX)
        return arena_printf(session->arena, "crc32c:%08x", crc32c(0, text, size));
    return size > 0 ? text : "none";
}

/* Lists the settings, apart from the model, that determine a task's batches and gradients. All
 * training tasks must share them. Each task reads its positions in the same order of all rows,
 * so the rows are included. In a sparse cluster the number of workers is unknown. */
static struct status describe_agreed(const struct session *session, const char **out)
{
    const struct options *options = &session->options;
    const struct data_split *rows = session->data->train;
    static const char *const clips[] = { [CLIP_NOTHING] = "nothing",
                                         [CLIP_VALUE] = "value",
                                         [CLIP_NORM] = "norm",
                                         [CLIP_GLOBAL_NORM] = "global_norm" };
    static const char *const reductions[] = {
        [LAYERS_MEAN] = "mean",
        [LAYERS_SUM] = "sum",
        [LAYERS_WEIGHTED_MEAN] = "mean_with_sample_weight",
        [LAYERS_EACH] = "each",
    };
    struct buffer identity = { 0 };

    struct status status = rows->identify(rows, &identity);
    if (status_is_ok(status))
        *out = arena_printf(
            session->arena,
            "sync=%s backup_workers=%u max_staleness=%d seed=%lld batch_size=%u "
            "loss_reduction=%s class_weight=%s "
            "clip=%s:%g gradient_accumulation_steps=%u loss_scale_factor=%g%s "
            "train_metrics=%s workers=%u training_rows=%lld training_data_%.*s",
            options->job.sync ? "true" : "false", options->job.backup_workers,
            options->flags.max_staleness, (long long)options->flags.seed, options->batch_size,
            reductions[options->reduction], describe_weights(session), clips[options->clip.kind],
            (double)options->clip.limit, options->accumulation, (double)options->loss_scale,
            options->job.loss_scale.scale > 0 ? " dynamic" : "",
            options->flags.train_metrics ? "true" : "false", options->job.workers,
            (long long)rows->rows, (int)identity.size, identity.data);
    buffer_finish(&identity);
    return status;
}

static struct status run_task(struct session *session)
{
    struct task_options task = session_task_options(session);

    if (session_is_ps(session))
        return task_serve(&task);
    const char *agreed;
    TRY(describe_agreed(session, &agreed));
    struct task_training training = { .placement = &session->placement,
                                      .agreed = agreed,
                                      .chief = chief_options(session),
                                      .evaluator = evaluator_options(session),
                                      .alone_timeout_ms = session->finished ? FINISHED_WAIT_MS : -1,
                                      .make_source = make_source };
    struct status status = task_train(&task, &training, &session->progress);
    if (status.code != STATUS_UNAVAILABLE)
        return status;
    if (session->finished) {
        log_info("%s: an earlier run has finished the job", status.message);
        return status_ok();
    }
    return session->progress.alone ? session_explain_alone(session, status) : status;
}

struct status session_run(struct session *session)
{
    session->progress.loss = NAN; /* this task has not made a step yet */
    session->progress.say = output_say;
    session->progress.say_context = session;
    if (!session_is_local(session)) {
        const struct job_map *map = &session->options.map;
        log_set_name(job_task_name(map, map->kind, map->index, session->arena));
        log_info("the tasks are those of %s", map->source);
    }
    if (session->options.map.lacks_task)
        log_warning("TF_CONFIG has a 'cluster', but no 'task': this process trains alone, as "
                    "TensorFlow's does, and so does each one with this TF_CONFIG");
    if (session_is_chief(session))
        output_announce(session);
    struct status status = session_is_local(session) ? run_here(session) : run_task(session);
    if (!status_is_ok(status))
        report_break(&session->report);
    struct status held = status_hold(status);
    metrics_log_close(session->metrics);
    session->metrics = NULL;
    return status_resume(held);
}

void session_finish(struct session *session)
{
    metrics_log_close(session->metrics);
    init_from_close(session->init);
    checkpoint_dir_close(session->best);
    checkpoint_dir_close(session->checkpoints);
    placement_finish(&session->placement);
    model_destroy(session->model);
    buffer_finish(&session->states);
    training_graph_finish(&session->graph);
    data_destroy(session->data);
    data_destroy(session->candidates);
    finetune_close(session->options.finetune);
    arena_destroy(session->arena);
}
