/* Prepares a session: data, model, directories. */
#include "base/file.h"
#include "base/log.h"
#include "runtime/resources.h"
#include "trainer/adapt/adapt.h"
#include "trainer/data/class_weights.h"
#include "trainer/data/memory_data.h"
#include "trainer/model/evaluation_sums.h"
#include "trainer/inputs/feeder.h"
#include "trainer/options/finetune.h"
#include "trainer/inputs/file_data.h"
#include "trainer/options/other_optimizers.h"
#include "trainer/session/session.h"
#include "trainer/protocol/protocol.h"

/* Bad records are reported by several threads. */
static void warn_of_data(void *context, const char *text)
{
    (void)context;
    log_warning("%s", text);
}

/* Only the training rows get weights, as in Keras' fit. */
static struct status weigh_classes(struct session *session)
{
    const char *text = session->options.flags.class_weight;
    struct class_weights *weights = ARENA_NEW(session->arena, struct class_weights);

    if (*text == '\0')
        return status_ok();
    TRY(class_weights_read(text, session->arena, weights));
    return class_weights_apply(weights, session->data->train, session->arena,
                               &session->data->train);
}

static struct status load_candidates(struct session *session)
{
    struct flag_values *flags = ARENA_NEW(session->arena, struct flag_values);
    const struct training_graph *graph = &session->graph;
    const struct file_data_request files = { .flags = flags,
                                             .files_flag = "candidate_files",
                                             .needs_rows = true,
                                             .feeds = graph->feeds,
                                             .feeds_count = graph->feeds_count,
                                             .pass = &graph->ranking,
                                             .warn = warn_of_data };
    bool given = *session->options.flags.candidate_files != '\0';

    if (given && graph->ranking.graph == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--candidate_files: no metric of the model ranks the candidates; "
                            "FactorizedTopK does, of an output with a Retrieval loss");
    if (!given && graph->ranking.graph != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--candidate_files is missing: the metric '%s' ranks among all "
                            "candidates",
                            graph->ranking_metric);
    if (!given)
        return status_ok();
    *flags = session->options.flags;
    flags->train_files = flags->candidate_files;
    flags->validation_files = flags->test_files = "";
    return file_data_open(&files, session->arena, &session->candidates);
}

static struct status load_data(struct session *session)
{
    const struct options *options = &session->options;
    const struct file_data_request files = { .flags = &options->flags,
                                             .files_flag = "train_files",
                                             .count_rows = options_are_epochs(options),
                                             .needs_rows = true,
                                             .needs_labels = true,
                                             .feeds = session->graph.feeds,
                                             .feeds_count = session->graph.feeds_count,
                                             .warn = warn_of_data };
    bool regression = options->model->targets[0].kind == LAYERS_REGRESSION;

    if (*options->flags.train_files != '\0')
        TRY(file_data_open(&files, session->arena, &session->data));
    else if (*options->flags.train_dir != '\0')
        TRY(status_in(data_read_images(options->flags.train_dir, &session->data), "--train_dir"));
    else
        session->data =
            regression ? data_draw_linear((uint64_t)options->flags.seed) : data_draw_digits();
    return status_in(weigh_classes(session), "--class_weight");
}

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

/* What Keras' Muon does not train itself. */
static struct status complete_muon(struct session *session)
{
    const struct model *model = session->model;
    struct muon_variable *variables =
        ARENA_ARRAY(session->arena, struct muon_variable, model->variables_count);

    for (int v = 0; v < model->variables_count; v++)
        variables[v] =
            (struct muon_variable){ model->variables[v].name, model->variables[v].shape.rank == 2 };
    return other_optimizers_beside_muon(variables, model->variables_count, session->arena,
                                        &session->options.job);
}

static struct status choose_other_optimizers(struct session *session)
{
    const struct model *model = session->model;
    struct client_job *job = &session->options.job;
    const char **names = ARENA_ARRAY(session->arena, const char *, model->variables_count);

    const struct layers_other_optimizer *described = session->options.described_others;

    if (*session->options.flags.optimizer_for == '\0' && described == NULL)
        return status_ok();
    if (optimizer_find(job->optimizer)->averages)
        return status_error(STATUS_UNIMPLEMENTED, "%s with --use_ema",
                            described != NULL ? "MultiOptimizer" : "--optimizer_for");
    for (int v = 0; v < model->variables_count; v++)
        names[v] = model->variables[v].name;
    if (described != NULL)
        return status_in(other_optimizers_match(described, session->options.model->name, names,
                                                model->variables_count, session->arena, job),
                         "MultiOptimizer");
    return status_in(other_optimizers_read(session->options.flags.optimizer_for, names,
                                           model->variables_count, session->arena, job),
                     "--optimizer_for");
}

static bool has_setting(const struct client_job *job, const char *name)
{
    for (int i = 0; i < job->settings_count; i++)
        if (strcmp(job->settings[i].name, name) == 0)
            return job->settings[i].value != 0;
    return false;
}

/* Rows that would stay as they are need not be updated, however large the table is. */
static void spare_resting_rows(struct session *session)
{
    struct client_job *job = &session->options.job;
    bool rests = optimizer_find(job->optimizer)->rests && job->schedule.kind == NULL &&
                 *session->options.flags.init_from == '\0' &&
                 !has_setting(job, "l2_shrinkage_regularization_strength");

    for (int v = 0; v < session->graph.variables_count; v++)
        rests &= client_job_number(job, v) > 0 || session->graph.variables[v].starts_at_zero ||
                 !training_variable_is_sparse(&session->graph.variables[v]);
    job->all_rows &= !rests;
}

/* Checked again by each ps; here, before there is any. */
static struct status check_tables(const struct session *session)
{
    const struct client_job *job = &session->options.job;

    for (int v = 0; v < session->model->variables_count; v++) {
        const struct placed_variable *variable = &session->model->variables[v];
        int number = client_job_number(job, v);
        const struct client_optimizer own = client_job_optimizer(job, number);
        const struct optimizer *optimizer = optimizer_find(own.name);
        if (!variable->by_keys)
            continue;
        TRY(status_in(row_keys_can_train(&variable->keys, placement_row_bytes(variable), optimizer),
                      "variable '%s'", variable->name));
        if (own.all_rows)
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s': Keras' '%s' changes every row with each update, "
                                "and a hash table has no end of rows: take --lazy_rows",
                                variable->name, optimizer->name);
    }
    return status_ok();
}

/* The first graph tells which data the model takes; the states may change its shapes. */
static struct status adapt(struct session *session)
{
    if (!adapt_needed(session->options.model))
        return status_ok();
    TRY(session_adapt(session));
    training_graph_finish(&session->graph);
    session->graph = (struct training_graph){ 0 };
    return make_graph(session);
}

/* Do the data fit the model? */
static struct status check_data(const struct session *session)
{
    const struct options *options = &session->options;
    const struct data *data = session->data;
    const struct training_graph *graph = &session->graph;

    TRY(feeder_check(graph, &graph->step, data->train));
    if (session->candidates != NULL)
        TRY(status_in(feeder_check(graph, &graph->ranking, session->candidates->train),
                      "--candidate_files"));
    if (data->validation != NULL)
        TRY(feeder_check(graph, &graph->evaluation, data->validation));
    if (data->test != NULL)
        TRY(feeder_check(graph, &graph->evaluation, data->test));
    if (data->test != NULL)
        return status_ok();
    if (options->map.kind != JOB_EVALUATOR || session_is_local(session))
        return status_ok();
    if (*options->flags.train_files != '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--test_files is missing, and an evaluator needs it");
    return status_error(STATUS_NOT_FOUND,
                        "--train_dir: '%s' has no t10k-images-idx3-ubyte and "
                        "t10k-labels-idx1-ubyte, and an evaluator needs them",
                        options->flags.train_dir);
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

/* The pieces of a variable whose rows are cut do not tell a ps where the rows end. */
static struct status check_whole_variables(const struct session *session)
{
    const struct client_job *job = &session->options.job;

    for (int v = 0; v < session->model->variables_count; v++) {
        const struct placed_variable *variable = &session->model->variables[v];
        const char *name = client_job_optimizer(job, client_job_number(job, v)).name;
        if (variable->trainable && !variable->by_keys && optimizer_find(name)->whole != NULL &&
            placement_row_bytes(variable) > PLACEMENT_PIECE_MAX)
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s': the optimizer '%s' does not take rows of more than "
                                "%zu bytes",
                                variable->name, name, (size_t)PLACEMENT_PIECE_MAX);
    }
    return status_ok();
}

/* Of a variable that SpectralNormalization divides before each update. */
static struct status check_divided_variables(const struct session *session)
{
    const struct client_job *job = &session->options.job;

    for (int v = 0; v < session->model->variables_count; v++) {
        const struct placed_variable *variable = &session->model->variables[v];
        const char *name = client_job_optimizer(job, client_job_number(job, v)).name;
        if (variable->power_iterations == 0)
            continue;
        if (optimizer_joins_pieces(optimizer_find(name)))
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s': SpectralNormalization with the optimizer '%s'",
                                variable->name, name);
        if (session->options.accumulation > 1)
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s': SpectralNormalization with "
                                "gradient_accumulation_steps, in which each batch would divide it",
                                variable->name);
    }
    return status_ok();
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

/* Has the disk room for the export and a checkpoint? */
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

/* A job that goes on from a checkpoint of its own takes nothing from elsewhere. */
static struct status open_init(struct session *session)
{
    const struct flag_values *flags = &session->options.flags;
    const struct init_from_options options = { .path = flags->init_from,
                                               .map = flags->init_map,
                                               .partial = flags->init_partial };

    if (*flags->init_from == '\0' || !session_is_chief(session))
        return status_ok();
    if (session->checkpoints != NULL && checkpoint_dir_count(session->checkpoints) > 0) {
        log_info("--init_from=%s is not read: the job goes on from a checkpoint of its own",
                 flags->init_from);
        return status_ok();
    }
    return init_from_open(&options, &session->placement, &session->init);
}

/* Do all columns of that name take the same values? A dense column may feed a ragged input too. */
static bool is_same_everywhere(const struct layers_columns *columns, int count,
                               const struct tensor_spec *spec)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < columns[i].count; k++) {
            const struct tensor_spec *other = &columns[i].list[k].spec;
            if (strcmp(other->name, spec->name) == 0 &&
                (other->layout != spec->layout || other->dtype != spec->dtype))
                return false;
        }
    return true;
}

/* The columns of the inputs, if the schema says more of one than how it is normalised, and all
 * inputs are made of columns that a request can carry; NULL: it carries the inputs. */
static const struct layers_columns *raw_columns(const struct session *session)
{
    const struct data_split *rows = session->data->train;
    int count = session->options.model->inputs_count;
    struct layers_columns *columns = ARENA_ARRAY(session->arena, struct layers_columns, count);
    bool prepared = false;

    for (int i = 0; i < count; i++) {
        int c = data_split_column(rows, session->graph.feeds[i].spec.name);
        if (c < 0 || rows->columns[c].raw == NULL)
            return NULL;
        columns[i] = (struct layers_columns){ rows->columns[c].raw, rows->columns[c].raw_count };
        for (int k = 0; k < columns[i].count; k++) {
            const struct raw_column *column = &columns[i].list[k];
            prepared |= column->log || column->default_text.data != NULL ||
                        column->classes != NULL || raw_column_categories(column) > 0;
            if (!is_same_everywhere(columns, i, &column->spec))
                return NULL;
        }
    }
    return prepared ? columns : NULL;
}

static const struct layers_scale *scales_of(const struct session *session)
{
    const struct data_split *rows = session->data->train;
    int count = session->options.model->inputs_count;
    struct layers_scale *scales = ARENA_ARRAY(session->arena, struct layers_scale, count);

    for (int i = 0; i < count; i++) {
        int c = data_split_column(rows, session->graph.feeds[i].spec.name);
        if (c >= 0)
            scales[i] = (struct layers_scale){ rows->columns[c].mean, rows->columns[c].stddev };
    }
    return scales;
}

/* Of the only output. */
static int64_t classes_count(const struct layers_model *model)
{
    const struct shape *shape = &model->outputs[0].shape;

    return model->targets[0].kind == LAYERS_BINARY ? 2 : shape->dims[shape->rank - 1];
}

/* The names of the classes, if the only output's labels are a column that lists all of them. */
static void name_classes(const struct session *session, struct layers_serving_options *out)
{
    const struct layers_model *model = session->options.model;
    const struct data_split *rows = session->data->train;

    if (model->outputs_count > 1)
        return;
    for (int f = 0; f < session->graph.feeds_count; f++) {
        int c = data_split_column(rows, session->graph.feeds[f].spec.name);
        if (session->graph.feeds[f].role != FEED_LABEL || c < 0 ||
            rows->columns[c].raw_count != 1 ||
            rows->columns[c].raw->classes_count != classes_count(model))
            continue;
        out->classes = rows->columns[c].raw->classes;
        out->classes_count = rows->columns[c].raw->classes_count;
    }
}

/* The export takes raw values, which it prepares as the schema says, and gives the classes'
 * names. */
static struct status choose_serving(struct session *session)
{
    struct layers_serving_options *serving =
        ARENA_NEW(session->arena, struct layers_serving_options);

    serving->columns = raw_columns(session);
    serving->scales = serving->columns == NULL ? scales_of(session) : NULL;
    name_classes(session, serving);
    session->serving = serving;
    session->graph.recipe = layers_export_recipe(session->options.model, serving, session->arena);
    return status_in(layers_check_requests(session->options.model, serving, session->arena),
                     "the export");
}

#define SHARE_ROWS 4096 /* takes many steps, so that a task seldom asks ps 0 for rows */

/* How the rows of an asynchronous job are given out. Those of a synchronous one follow from its
 * step. */
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

/* By the last checkpoint. Other tasks learn the last step from the chief. */
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

/* What each push carries for --train_metrics. */
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
    TRY(load_data(session));
    TRY(load_candidates(session));
    TRY(check_data(session));
    TRY(adapt(session));
    TRY(choose_serving(session));
    TRY(make_model(session));
    TRY(choose_other_optimizers(session));
    TRY(complete_muon(session));
    spare_resting_rows(session);
    TRY(check_tables(session));
    TRY(options_steps(options, session->data->train->rows, taken_rows(session),
                      &options->job.stop_step));
    choose_shares(session);
    TRY(choose_totals(session));
    TRY(check_whole_variables(session));
    TRY(check_divided_variables(session));
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
