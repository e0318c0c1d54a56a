/* Chooses the inputs and class names of the export. */
#include "trainer/session/prepare.h"

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

/* The columns of the inputs, if the schema has more than normalisation and a request can carry
 * the columns of all inputs; NULL: a request carries the inputs. */
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

/* Do all values of a row have the same scale, which then suits rows of any size? */
static bool is_one_scale(const struct data_column *column)
{
    int64_t size = tensor_spec_row_size(&column->spec);
    bool same = size > 0;

    for (int64_t i = 1; i < size; i++)
        same = same && column->mean[i] == column->mean[0] && column->stddev[i] == column->stddev[0];
    return same;
}

static struct status list_scales(const struct session *session, const struct layers_scale **out)
{
    const struct data_split *rows = session->data->train;
    int count = session->options.model->inputs_count;
    struct layers_scale *scales = ARENA_ARRAY(session->arena, struct layers_scale, count);

    for (int i = 0; i < count; i++) {
        int c = data_split_column(rows, session->graph.feeds[i].spec.name);
        if (c < 0)
            continue;
        if (rows->columns[c].mean != NULL &&
            tensor_spec_row_size(&session->graph.feeds[i].spec) == 0 &&
            !is_one_scale(&rows->columns[c]))
            return status_error(
                STATUS_UNIMPLEMENTED,
                "the schema has several 'mean' or 'stddev' for the model's '%s', which is %s: give "
                "it a known size, or normalise in the model",
                session->graph.feeds[i].spec.name, tensor_spec_text(&session->graph.feeds[i].spec));
        scales[i] = (struct layers_scale){ rows->columns[c].mean, rows->columns[c].stddev };
    }
    *out = scales;
    return status_ok();
}

/* The number of classes of the only output. */
static int64_t classes_count(const struct layers_model *model)
{
    const struct shape *shape = &model->outputs[0].shape;

    return model->targets[0].kind == LAYERS_BINARY ? 2 : shape->dims[shape->rank - 1];
}

/* Sets the names of the classes, if the only output's labels are a column that lists all of
 * them. */
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

struct status session_choose_serving(struct session *session)
{
    struct layers_serving_options *serving =
        ARENA_NEW(session->arena, struct layers_serving_options);

    serving->columns = raw_columns(session);
    if (serving->columns == NULL)
        TRY(list_scales(session, &serving->scales));
    name_classes(session, serving);
    session->serving = serving;
    session->graph.recipe = layers_export_recipe(session->options.model, serving, session->arena);
    return status_in(layers_check_requests(session->options.model, serving, session->arena),
                     "the export");
}
