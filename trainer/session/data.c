/* Loads the rows that a session trains and evaluates on. */
#include "base/log.h"
#include "trainer/data/class_weights.h"
#include "trainer/data/memory_data.h"
#include "trainer/inputs/feeder.h"
#include "trainer/inputs/file_data.h"
#include "trainer/session/prepare.h"

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

static struct status load_rows(struct session *session)
{
    const struct options *options = &session->options;
    const struct file_data_request files = { .flags = &options->flags,
                                             .files_flag = "train_files",
                                             .count_rows = options_are_epochs(options),
                                             .reads_again = options_read_again(options),
                                             .needs_rows = true,
                                             .needs_labels = true,
                                             .any_width = options->model->training.any_width,
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

/* The files decide the widths of inputs that take any. The first feeds are the inputs. */
static struct status fit_widths(struct session *session)
{
    const struct data_split *train = session->data->train;
    struct layers_model *model = session->options.model;
    int64_t *widths = ARENA_ARRAY(session->arena, int64_t, model->inputs_count);
    bool differ = false;

    if (!model->training.any_width || *session->options.flags.train_files == '\0')
        return status_ok();
    for (int i = 0; i < model->inputs_count; i++) {
        int column = data_split_column(train, session->graph.feeds[i].spec.name);
        widths[i] = train->columns[column].spec.shape.dims[1];
        differ |= widths[i] != model->inputs[i].shape.dims[1];
    }
    if (!differ)
        return status_ok();
    TRY(layers_set_widths(model, widths));
    return session_remake_graph(session);
}

/* The files decide if labels are classes or shares of them. */
static struct status fit_labels(struct session *session)
{
    const struct data_split *train = session->data->train;
    const struct training_graph *graph = &session->graph;
    bool any = false;

    for (int f = 0; f < graph->feeds_count; f++) {
        const struct training_feed *feed = &graph->feeds[f];
        int column = feed->takes_shares ? data_split_column(train, feed->spec.name) : -1;
        if (column < 0 || train->columns[column].spec.dtype != DT_FLOAT)
            continue;
        TRY(layers_take_shares(session->options.model, feed->spec.name));
        any = true;
    }
    return any ? session_remake_graph(session) : status_ok();
}

/* Nobody has asked for the data that do not fit the model. */
static struct status explain_drawn(const struct session *session, struct status status)
{
    const struct flag_values *flags = &session->options.flags;

    if (status_is_ok(status) || *flags->train_files != '\0' || *flags->train_dir != '\0')
        return status;
    return status_error(status.code,
                        "%s: without --train_files or --train_dir, these are data that pstrain "
                        "draws itself",
                        status.message);
}

/* Checks that the data match the model. */
static struct status check_data(const struct session *session)
{
    const struct options *options = &session->options;
    const struct data *data = session->data;
    const struct training_graph *graph = &session->graph;

    TRY(explain_drawn(session, feeder_check(graph, &graph->step, data->train)));
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

struct status session_load_data(struct session *session)
{
    TRY(load_rows(session));
    TRY(fit_widths(session));
    TRY(fit_labels(session));
    TRY(load_candidates(session));
    return check_data(session);
}
