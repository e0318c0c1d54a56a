/* input_read: the inputs of a model, dense, sparse and ragged, as an InputLayer declares them. */
#include "layers/read_model.h"

static struct status read_list(const struct json_value *value, struct arena *arena,
                               const struct json_value **out)
{
    *out = list_items(value);
    if (json_value_is_null(*out))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the input's shape is not given: begin with an "
                            "InputLayer, or build the model before printing it");
    if ((*out)->kind != JSON_VALUE_LIST || (*out)->count < 1 || (*out)->count > SHAPE_RANK_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "the input's shape is %s",
                            json_value_show(value, arena));
    return status_ok();
}

/* Reads [null, 784]: the batch, then the dimensions. One that is null becomes -1. */
static struct status read_shape(const struct json_value *value, struct arena *arena,
                                struct shape *out)
{
    const struct json_value *list;

    TRY(read_list(value, arena, &list));
    *out = (struct shape){ .rank = list->count };
    out->dims[0] = -1;
    int64_t size = 1;
    for (int i = 1; i < list->count; i++) {
        const struct json_value *dim = &list->members[i];
        bool open = json_value_is_null(dim);
        if (!open && (dim->kind != JSON_VALUE_INT || dim->integer < 1 || dim->integer > INT32_MAX ||
                      (size *= dim->integer) > INT32_MAX))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "dimension %d of the input's shape is %s; expected a number, and "
                                "the whole less than 2^31",
                                i, json_value_show(dim, arena));
        out->dims[i] = open ? -1 : dim->integer;
    }
    return status_ok();
}

/* Reads [null, null]: any number of values in each row. */
static struct status read_ragged_shape(const struct json_value *value, struct arena *arena,
                                       struct shape *out)
{
    const struct json_value *list;

    TRY(read_list(value, arena, &list));
    if (list->count != 2 || !json_value_is_null(&list->members[1]))
        return status_error(STATUS_UNIMPLEMENTED,
                            "a ragged input whose batch_shape is not [null, null]");
    *out = shape_of(-1, -1);
    return status_ok();
}

/* Reads a boolean argument that may be null. */
static struct status read_flag(const struct layer *layer, const char *name, struct arena *arena,
                               bool *out)
{
    const struct json_value *value = layer_arg(layer, name)->value;

    *out = !json_value_is_null(value) && value->kind == JSON_VALUE_BOOL && value->boolean;
    if (!json_value_is_null(value) && value->kind != JSON_VALUE_BOOL)
        return status_error(STATUS_INVALID_ARGUMENT, "argument '%s' is %s, expected true or false",
                            name, json_value_show(value, arena));
    return status_ok();
}

static struct status read_layout(const struct layer *layer, struct arena *arena,
                                 enum tensor_layout *out)
{
    bool sparse, ragged;

    TRY(read_flag(layer, "sparse", arena, &sparse));
    TRY(read_flag(layer, "ragged", arena, &ragged));
    *out = sparse ? TENSOR_SPARSE : ragged ? TENSOR_RAGGED : TENSOR_DENSE;
    if (sparse && ragged)
        return status_error(STATUS_INVALID_ARGUMENT, "the input is both sparse and ragged");
    return status_ok();
}

static struct status check_port(const struct layers_port *port)
{
    if (port->layout == TENSOR_SPARSE && (port->dtype != DT_FLOAT || port->shape.rank != 2))
        return status_error(STATUS_UNIMPLEMENTED,
                            "a sparse input of %s %s; only float [?,n] is implemented",
                            dtype_name(port->dtype), shape_text(&port->shape));
    if (port->layout == TENSOR_RAGGED && port->dtype != DT_FLOAT && port->dtype != DT_INT64)
        return status_error(STATUS_UNIMPLEMENTED,
                            "a ragged input of %s; only float and int64 are implemented",
                            dtype_name(port->dtype));
    return status_ok();
}

struct status input_port_read(const struct layer *layer, const struct json_value *shape,
                              struct arena *arena, struct layers_port *out)
{
    out->dtype = layer != NULL ? layer->dtype : DT_FLOAT;
    out->layout = TENSOR_DENSE;
    if (layer != NULL)
        TRY(read_layout(layer, arena, &out->layout));
    if (out->layout == TENSOR_RAGGED)
        TRY(read_ragged_shape(shape, arena, &out->shape));
    else
        TRY(read_shape(shape, arena, &out->shape));
    return check_port(out);
}

/* Is `name` the input's name plus a suffix that a part of it has in a signature or an Example? */
static bool is_part_name(const struct layers_port *port, const char *name)
{
    static const char *const suffixes[] = { "_1", "_2", "_ids", "_values" };
    size_t size = strlen(port->name);

    if (port->layout == TENSOR_DENSE || strncmp(port->name, name, size) != 0)
        return false;
    for (size_t i = 0; i < COUNT(suffixes); i++)
        if (strcmp(name + size, suffixes[i]) == 0)
            return true;
    return false;
}

struct status input_names_check(const struct layers_model *model)
{
    for (int i = 0; i < model->inputs_count; i++)
        for (int k = 0; k < model->inputs_count; k++)
            if (is_part_name(&model->inputs[i], model->inputs[k].name))
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "an input '%s' beside '%s': a sparse or ragged input has parts "
                                    "of such names",
                                    model->inputs[k].name, model->inputs[i].name);
    return status_ok();
}
