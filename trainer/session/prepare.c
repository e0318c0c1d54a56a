/* Prepares a session: data, model, directories. */
#include "trainer/session/prepare.h"

#include "base/file.h"
#include "base/log.h"
#include "runtime/resources.h"
#include "trainer/adapt/adapt.h"
#include "trainer/model/evaluation_sums.h"
#include "trainer/options/finetune.h"
#include "trainer/protocol/protocol.h"
#include "trainer/session/adapt.h"

static struct status make_graph(struct session *session)
{
    const struct options *options = &session->options;
    const struct layers_training_options training = {
        .reduction = options->reduction,
        .batch = options->batch_size,
        .weighted = *options->flags.class_weight != '\0' || *options->flags.weight_column != '\0',
        .evaluation_weighted = *options->flags.weight_column != '\0',
        .loss_scale = options->loss_scale != 1 ? options->loss_scale : 0,
        .feeds_loss_scale = options->job.loss_scale.scale > 0,
        .metrics = options->flags.train_metrics,
    };

    TRY(layers_training_graph(options->model, &training, session->arena, &session->graph));
    if (options->finetune != NULL)
        finetune_take_values(options->finetune, &session->graph);
    return status_ok();
}

struct status session_remake_graph(struct session *session)
{
    training_graph_finish(&session->graph);
    session->graph = (struct training_graph){ 0 };
    return make_graph(session);
}

static struct status make_model(struct session *session)
{
    const struct finetune *finetune = session->options.finetune;
    struct resources *resources = finetune != NULL ? resources_create() : NULL;
    struct status status = status_ok();

    if (finetune != NULL)
        status = trainable_initialise(finetune_trainable(finetune), resources);
    if (status_is_ok(status))
        return model_create(&session->graph, resources, &session->model);
    resources_destroy(resources);
    return status_in(status, "--from_savedmodel");
}

/* The first graph determines which data the model takes; the states may change its shapes. */
static struct status adapt(struct session *session)
{
    if (!adapt_needed(session->options.model))
        return status_ok();
    TRY(session_adapt(session));
    return session_remake_graph(session);
}

static enum placement_strategy placement_strategy(const struct options *options)
{
    bool whole = false, in_turn = options->placement == PLACE_IN_TURN;

    for (int i = 0; i <= options->job.others_count; i++)
        whole |=
            optimizer_joins_pieces(optimizer_find(client_job_optimizer(&options->job, i).name));
    if (!whole)
        return options->placement;
    return in_turn ? PLACE_WHOLE_IN_TURN : PLACE_WHOLE_BY_BYTES;
}

static void place(struct session *session)
{
    const struct options *options = &session->options;
    int ps_count = options_ps_count(options);

    model_seed_keys(session->model, (uint64_t)options->flags.seed);
    placement_create(session->model->variables, session->model->variables_count, ps_count,
                     PLACEMENT_PIECE_BYTES, placement_strategy(options), &session->placement);
    /* Models may have equal variables and differ in activations, dropout or regularizers. */
    session->placement.hash ^= session->graph.hash;
}

static struct status open_checkpoints(struct session *session)
{
    const struct flag_values *flags = &session->options.flags;

    if (*flags->checkpoint_dir == '\0' || !session_is_chief(session))
        return status_ok();
    TRY(status_in(
        checkpoint_dir_open(flags->checkpoint_dir, flags->max_to_keep, &session->checkpoints),
        "--checkpoint_dir"));
    const char *note = checkpoint_dir_note(session->checkpoints);
    if (*note != '\0')
        log_warning("%s", note);
    return status_ok();
}

/* Checks that the disk has room for the export and a checkpoint. */
static struct status check_space(const struct session *session)
{
    const struct options *options = &session->options;
    int slots = 0;
    uint64_t values_bytes = 0;

    for (int i = 0; i <= options->job.others_count; i++) {
        const char *name = client_job_optimizer(&options->job, i).name;
        int count = optimizer_find(name)->slots_count;
        slots = count > slots ? count : slots;
    }

    for (int ps = 0; ps < session->placement.ps_count; ps++)
        values_bytes += placement_bytes(&session->placement, ps);
    if (options->export_directory != NULL)
        TRY(status_in(file_check_space(options->export_directory, values_bytes), "the export"));
    if (session->checkpoints == NULL)
        return status_ok();
    return status_in(
        file_check_space(options->flags.checkpoint_dir,
                         values_bytes * (uint64_t)((1 + slots) * (1 + (session->best != NULL)))),
        "a checkpoint");
}

/* A job that resumes from its own checkpoint takes nothing from another model. */
static struct status open_init(struct session *session)
{
    const struct flag_values *flags = &session->options.flags;
    const struct layers_model *model = session->options.model;
    const struct init_from_options options = { .path = flags->init_from,
                                               .map = flags->init_map,
                                               .partial = flags->init_partial,
                                               .model = model != NULL ? model->name : NULL };

    if (*flags->init_from == '\0' || !session_is_chief(session))
        return status_ok();
    if (session->checkpoints != NULL && checkpoint_dir_count(session->checkpoints) > 0) {
        log_info("--init_from=%s is not read: the job continues from its own checkpoint",
                 flags->init_from);
        return status_ok();
    }
    return init_from_open(&options, &session->placement, &session->init);
}

#define SHARE_ROWS 4096 /* takes many steps, so that a task seldom asks ps 0 for rows */

/* Chooses how the rows of an asynchronous job are assigned. Those of a synchronous one follow
 * from its step. */
static void choose_shares(struct session *session)
{
    const struct data_split *train = session->data->train;
    struct client_job *job = &session->options.job;
    uint64_t rows = train->share_rows > SHARE_ROWS ? (uint64_t)train->share_rows : SHARE_ROWS;

    if (job->sync) {
        job->rows_per_unit = session->options.batch_size;
        job->units_per_step = (uint64_t)job->workers * session->options.accumulation;
        return;
    }
    job->rows_per_turn = options_rows_per_step(&session->options);
    job->turns_per_share = rows > job->rows_per_turn ? rows / job->rows_per_turn : 1;
}

/* The rows used up to the last checkpoint. Other tasks learn the last step from the chief. */
static struct taken_rows taken_rows(struct session *session)
{
    struct taken_rows taken = { 0 };

    if (session->checkpoints == NULL || checkpoint_dir_count(session->checkpoints) == 0)
        return taken;
    const char *prefix = checkpoint_dir_at(session->checkpoints, 0, session->arena);
    if (!checkpoint_read_place(prefix, &taken.step, &taken.rows))
        return (struct taken_rows){ 0 };
    return taken;
}

/* Chooses the totals that each push carries for --train_metrics. */
static struct status choose_totals(struct session *session)
{
    size_t count = evaluation_sums_count(&session->graph);

    if (!session->options.flags.train_metrics)
        return status_ok();
    if (count > TOTALS_MAX)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "--train_metrics: the metrics of the model have %zu totals, at most %d: "
            "give them fewer thresholds",
            count, TOTALS_MAX);
    session->options.job.totals_count = (uint32_t)count;
    return status_ok();
}

struct status session_prepare(struct session *session)
{
    struct options *options = &session->options;
    struct task_options task = session_task_options(session);

    TRY(task_check(&task));
    if (session_is_ps(session))
        return status_ok();
    TRY(open_checkpoints(session));
    TRY(make_graph(session));
    TRY(session_load_data(session));
    TRY(adapt(session));
    TRY(session_choose_serving(session));
    TRY(make_model(session));
    TRY(session_choose_optimizers(session));
    TRY(options_steps(options, session->data->train->rows, taken_rows(session),
                      &options->job.stop_step));
    choose_shares(session);
    TRY(choose_totals(session));
    place(session);
    TRY(session_prepare_evaluation(session));
    TRY(open_init(session));
    report_init(&session->report, clock_monotonic(), options->log_level, !session_is_local(session),
                options->job.stop_step, (uint32_t)options_rows_per_step(options));
    if (!session_is_chief(session))
        return session_open_metrics(session);
    uint64_t step = 0;
    if (session->checkpoints != NULL) {
        checkpoint_dir_last_step(session->checkpoints, &step);
        TRY(session_check_begin(session, step));
    }
    if (!session_is_local(session))
        session_check_finished(session);
    TRY(check_space(session));
    return session_open_metrics(session);
}
