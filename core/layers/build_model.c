#include "layers/build_model.h"

#include "graph/gradient.h"
#include "layers/build_state.h"
#include "layers/classes/preprocessing.h"
#include "layers/classes/spectral.h"
#include "layers/layer_variable.h"
#include "layers/metrics/ranking.h"

struct layer_context layer_context_init(const struct layers_model *model, enum layers_mode mode,
                                        struct arena *arena, struct layers_graph *out)
{
    *out = (struct layers_graph){ .graph = graph_create(arena) };
    out->inputs = ARENA_ARRAY(arena, struct endpoint, model->inputs_count);
    out->lists = ARENA_ARRAY(arena, struct input_lists, model->inputs_count);
    out->heads = ARENA_ARRAY(arena, struct layers_head, model->outputs_count);
    out->adapting = ARENA_ARRAY(arena, struct layers_adapting, model->calls_total);
    struct build_state *build = ARENA_NEW(arena, struct build_state);
    build->out = out;
    build->lists = ARENA_ARRAY(arena, const struct layer_lists *, model->inputs_count);
    return (struct layer_context){
        .builder = builder_init(out->graph),
        .arena = arena,
        .mode = mode,
        .keras2 = model->keras2,
        .build = build,
    };
}

/* The size of a row must fit into an int32, in which kernels count. */
static void check_size(struct layer_context *context, const struct layer *layer, struct endpoint y)
{
    if (!status_is_ok(context->builder.status))
        return;
    const struct shape *shape = endpoint_shape(y);
    int64_t size = 1;
    for (int i = 1; i < shape->rank && size > 0 && size <= INT32_MAX; i++)
        size = shape->dims[i] > INT32_MAX ? INT64_MAX : size * shape->dims[i];
    if (size > INT32_MAX)
        layer_fail(context, layer, "the output has shape %s, a row of 2^31 numbers or more",
                   shape_text(shape));
}

/* Adds the penalty of "activity_regularizer". */
static void penalise_output(struct layer_context *context, const struct layer *layer,
                            struct endpoint y)
{
    const struct regularizer *regularizer = layer_activity_regularizer(layer);

    if (regularizer != NULL)
        layer_penalise_activity(context, layer, regularizer, y);
}

/* The entry of a tensor whose mask a call has taken. NULL: none has. */
static struct endpoint *find_unmasked(const struct layer_context *context, struct endpoint value)
{
    struct build_state *build = context->build;

    for (int i = 0; i < build->unmasked_count; i++)
        if (build->unmasked[i].node == value.node && build->unmasked[i].index == value.index)
            return &build->unmasked[i];
    return NULL;
}

static void add_unmasked(struct layer_context *context, struct endpoint value)
{
    struct build_state *build = context->build;

    if (find_unmasked(context, value) != NULL)
        return;
    build->unmasked = ARENA_ROOM(context->arena, build->unmasked, build->unmasked_count);
    build->unmasked[build->unmasked_count++] = value;
}

void give_mask_back(struct layer_context *context, struct endpoint value)
{
    struct endpoint *taken = find_unmasked(context, value);

    if (taken != NULL)
        *taken = (struct endpoint){ 0 };
}

/* A value with the mask that calls see from now on. */
static struct layer_value with_mask_left(const struct layer_context *context,
                                         struct layer_value value)
{
    if (value.mask.node != NULL && find_unmasked(context, value.value) != NULL)
        value.mask = (struct endpoint){ 0 };
    return value;
}

/* Returns the output that a call takes; it must exist. */
static struct layer_value take_value(struct layer_context *context, const struct layer_call *call,
                                     const struct call_input *input, const struct layer_io *ios)
{
    if (input->call == NO_CALL)
        return (struct layer_value){ 0 };
    if (input->output < ios[input->call].outputs_count)
        return with_mask_left(context, ios[input->call].outputs[input->output]);
    layer_fail(context, call->layer, "it takes output %d of layer '%s', which has %d",
               input->output, ios[input->call].call->layer->name, ios[input->call].outputs_count);
    return ios[input->call].outputs[0];
}

/* Casts the inputs to the types that the layer computes with. */
static void convert_inputs(struct layer_context *context, const struct layer *layer, int count,
                           struct endpoint *inputs)
{
    enum layer_inputs takes = layer->class->inputs;
    bool alike = true;

    if (takes == LAYER_TAKES_ANYTHING || !status_is_ok(context->builder.status))
        return;
    for (int i = 1; i < count; i++)
        alike = alike && endpoint_dtype(inputs[i]) == endpoint_dtype(inputs[0]);
    if (takes == LAYER_TAKES_ALIKE && alike)
        return;
    for (int i = 0; i < count; i++) {
        enum dtype dtype = endpoint_dtype(inputs[i]);
        if (dtype == DT_STRING) {
            layer_fail(context, layer, "input %d is text; expected numbers%s", i,
                       takes == LAYER_TAKES_ALIKE ? ", as another input is" : "");
            return;
        }
        if (takes != LAYER_TAKES_NUMBERS && dtype != DT_FLOAT)
            inputs[i] = cast_to(context, inputs[i], DT_FLOAT);
    }
}

void layers_add_table(struct layer_context *context, struct node *fill)
{
    struct layers_graph *out = context->build->out;

    if (fill == NULL)
        return;
    out->tables = ARENA_ROOM(context->arena, out->tables, out->tables_count);
    out->tables[out->tables_count++] = fill;
}

struct node *layers_build_init(struct layer_context *context)
{
    struct layers_graph *out = context->build->out;

    if (out->tables_count == 0)
        return NULL;
    return build_node(&context->builder, "NoOp", "init_all_tables", 0, NULL, out->tables_count,
                      out->tables, NULL);
}

/* Builds a layer with a list of inputs. */
static struct endpoint build_merged(struct layer_context *context, const struct layer *layer,
                                    const struct layer_io *io, int count,
                                    const struct endpoint *inputs)
{
    struct endpoint *masks = ARENA_ARRAY(context->arena, struct endpoint, count);
    bool any = false;

    for (int i = 0, k = 0; i < io->call->inputs_count; i++)
        if (io->call->inputs[i].argument == NULL) {
            any = any || io->inputs[i].mask.node != NULL;
            masks[k++] = io->inputs[i].mask;
        }
    if (any && layer->class->merge_masked != NULL && !context->keras2)
        return layer->class->merge_masked(context, layer, count, inputs, masks);
    return layer->class->merge(context, layer, count, inputs);
}

/* Builds a layer with one output and no call arguments except its inputs. */
static void build_plain(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    const struct layer_class *class = layer->class;
    struct endpoint *inputs = ARENA_ARRAY(context->arena, struct endpoint, io->call->inputs_count);
    int count = 0;

    for (int i = 0; i < io->call->inputs_count; i++)
        if (io->call->inputs[i].argument == NULL)
            inputs[count++] = io->inputs[i].value;
    if (io->inputs[0].lists == NULL)
        convert_inputs(context, layer, count, inputs);
    if (io->inputs[0].lists != NULL && class->build_lists != NULL)
        io->outputs[0].value = class->build_lists(context, layer, &io->inputs[0]);
    else if (class->build_masked != NULL)
        io->outputs[0].value = class->build_masked(context, layer, io, inputs[0]);
    else
        io->outputs[0].value = class->merge != NULL
                                   ? build_merged(context, layer, io, count, inputs)
                                   : layer_build(context, layer, inputs[0]);
    if (class->mask != NULL && status_is_ok(context->builder.status))
        io->outputs[0].mask = class->mask(context, layer, io);
    io->outputs_count = 1;
}

/* Refuses sparse and ragged inputs, which only few layers take. */
static void refuse_lists(struct layer_context *context, const struct layer *layer,
                         const struct layer_io *io)
{
    if (layer->class->takes_lists || layer->class->build_lists != NULL)
        return;
    for (int i = 0; i < io->call->inputs_count; i++)
        if (io->inputs[i].lists != NULL)
            layer_refuse(context, layer, "a %s input; it takes dense ones",
                         io->inputs[i].lists->layout == TENSOR_SPARSE ? "sparse" : "ragged");
}

void layer_run_call(struct layer_context *context, const struct layer_call *call,
                    const struct layer_value *inputs, struct layer_io *io)
{
    struct builder *b = &context->builder;
    const struct layer *layer = call->layer;
    const char *scope = b->scope;

    *io = (struct layer_io){ .call = call, .inputs = inputs };
    refuse_lists(context, layer, io);
    if (!status_is_ok(b->status))
        return;
    b->scope = arena_printf(context->arena, "%s/", layer->name);
    if (layer->class->call != NULL)
        layer->class->call(context, layer, io);
    else
        build_plain(context, layer, io);
    for (int i = 0; i < io->outputs_count && status_is_ok(b->status); i++)
        penalise_output(context, layer, io->outputs[i].value);
    b->scope = scope;
}

struct endpoint layer_call_inner(struct layer_context *context, const struct layer *inner,
                                 struct layer_value input)
{
    const char *const *arguments = inner->class->call_args;
    struct call_input taken = { .argument = arguments != NULL ? arguments[0] : NULL };
    const struct layer_call call = { .layer = inner, .inputs = &taken, .inputs_count = 1 };
    struct layer_io *io = ARENA_NEW(context->arena, struct layer_io);

    layer_run_call(context, &call, &input, io);
    if (status_is_ok(context->builder.status) && io->outputs_count != 1)
        layer_fail(context, inner, "%d outputs, expected 1 of a layer inside another one",
                   io->outputs_count);
    return io->outputs[0].value;
}

/* Takes away the masks of a call's inputs: no later call sees them, also not through a layer that
 * passes such a tensor on, or outside of a nested model that gets it. */
static void take_masks(struct layer_context *context, const struct layer_call *call,
                       const struct layer_value *inputs)
{
    if (!status_is_ok(context->builder.status) || context->keras2 ||
        !call->layer->class->takes_masks)
        return;
    for (int i = 0; i < call->inputs_count; i++)
        if (inputs[i].mask.node != NULL)
            add_unmasked(context, inputs[i].value);
}

static void build_call(struct layer_context *context, const struct layer_call *call,
                       const struct layer_io *ios, struct layer_io *io)
{
    struct layer_value *inputs =
        ARENA_ARRAY(context->arena, struct layer_value, call->inputs_count);

    for (int i = 0; i < call->inputs_count; i++)
        inputs[i] = take_value(context, call, &call->inputs[i], ios);
    layer_run_call(context, call, inputs, io);
    take_masks(context, call, inputs);
    for (int i = 0; i < io->outputs_count; i++)
        check_size(context, call->layer, io->outputs[i].value);
}

struct layer_value output_of(struct layer_context *context, const struct layers_model *model,
                             const struct layers_port *port, const struct layer_io *ios)
{
    const struct layer_io *io = &ios[port->call];

    if (port->output < io->outputs_count)
        return with_mask_left(context, io->outputs[port->output]);
    layer_fail(context, model->calls[port->call].layer,
               "the model's output '%s' is its output %d, it has %d", port->name, port->output,
               io->outputs_count);
    return io->outputs[0];
}

static void place_outputs(struct layer_context *context, const struct layers_model *model,
                          const struct layer_io *ios)
{
    for (int i = 0; i < model->outputs_count; i++) {
        struct layer_value value = output_of(context, model, &model->outputs[i], ios);
        context->build->out->heads[i].output = value.value;
        context->build->out->heads[i].mask = value.mask;
    }
}

/* The variables that a call created: those of its layer, unless an earlier call created them. */
struct created {
    int begin, end;
};

/* Moves the variables of the list from `begin` on to other places: to[i] is the new one of i. */
static void move_variables(struct layer_context *context, int begin, const int *to)
{
    struct layers_graph *out = context->build->out;
    int count = out->variables_count;
    struct layers_variable *moved = ARENA_ARRAY(context->arena, struct layers_variable, count);

    for (int i = begin; i < count; i++)
        moved[to[i]] = out->variables[i];
    memcpy(&out->variables[begin], &moved[begin], (size_t)(count - begin) * sizeof *moved);
    for (int i = 0; i < out->lookups_count; i++)
        if (out->lookups[i].variable >= begin)
            out->lookups[i].variable = to[out->lookups[i].variable];
}

/* Lists the variables from `begin` on in the order of the description's layers, as Keras does. */
static void order_variables(struct layer_context *context, const struct layers_model *model,
                            const struct created *created, int begin)
{
    struct created *of_layer = ARENA_ARRAY(context->arena, struct created, model->layers_count);
    int count = context->build->out->variables_count, next = begin;
    int *to = ARENA_ARRAY(context->arena, int, count + 1);

    for (int i = 0; i < model->calls_count; i++)
        if (created[i].end > created[i].begin)
            of_layer[model->calls[i].layer - model->layers] = created[i];
    for (int i = 0; i < model->layers_count; i++)
        for (int v = of_layer[i].begin; v < of_layer[i].end; v++)
            to[v] = next++;
    if (next > begin)
        move_variables(context, begin, to);
}

/* Calls run in Keras' order, which decides what masks they see and which of several calls moves an
 * average first. */
void build_calls(struct layer_context *context, const struct layers_model *model,
                 struct layer_io *ios)
{
    struct builder *b = &context->builder;
    struct created *created = ARENA_ARRAY(context->arena, struct created, model->calls_count);
    int begin = context->build->out->variables_count;

    for (int i = 0; i < model->calls_count && status_is_ok(b->status); i++) {
        int at = model->turns != NULL ? model->turns[i] : i;
        const struct layer_call *call = &model->calls[at];
        if (call->inputs_count == 0)
            continue;
        created[at].begin = context->build->out->variables_count;
        build_call(context, call, ios, &ios[at]);
        created[at].end = context->build->out->variables_count;
        if (!status_is_ok(b->status))
            b->status = status_keep(context->arena,
                                    status_in(b->status, "layer %d of '%s'",
                                              (int)(call->layer - model->layers), model->name));
    }
    if (model->turns != NULL && status_is_ok(b->status))
        order_variables(context, model, created, begin);
}

void place_input(struct layer_io *ios, const struct layers_port *port, struct layer_value value)
{
    ios[port->call].outputs[0] = value;
    ios[port->call].outputs_count = 1;
}

void build_layers(struct layer_context *context, const struct layers_model *model)
{
    struct layer_io *ios = ARENA_ARRAY(context->arena, struct layer_io, model->calls_count);

    for (int i = 0; i < model->inputs_count; i++)
        place_input(ios, &model->inputs[i],
                    (struct layer_value){ .value = context->build->out->inputs[i],
                                          .lists = context->build->lists[i] });
    build_calls(context, model, ios);
    spectral_penalise(context);
    layers_join_averages(context);
    if (status_is_ok(context->builder.status))
        place_outputs(context, model, ios);
}

/* The scaled loss, of which the gradients are taken. */
static struct endpoint scale_loss(struct layer_context *context,
                                  const struct layers_options *options)
{
    struct layers_graph *out = context->build->out;
    struct builder *b = &context->builder;

    if (options->feeds_loss_scale)
        out->loss_scale = build_placeholder(b, "loss_scale", DT_FLOAT, shape_scalar());
    else if (options->loss_scale == 0)
        return out->loss;
    struct endpoint factor =
        options->feeds_loss_scale ? out->loss_scale : build_const_float(b, options->loss_scale);
    return build_binary(b, "Mul", "scaled_loss", out->loss, factor);
}

/* Lists the values of a trained variable that have gradients: one, or one for each division. */
static int list_trained(struct layers_variable *variable, const struct endpoint **out)
{
    bool is_divided = variable->divided_count > 0;

    *out = is_divided ? variable->divided : &variable->value;
    return !variable->trainable ? 0 : is_divided ? variable->divided_count : 1;
}

static struct endpoint sum_gradients(struct builder *b, int count, const struct endpoint *gradients)
{
    struct endpoint sum = gradients[0];

    for (int i = 1; i < count; i++)
        sum = build_binary(b, "AddV2", NULL, sum, gradients[i]);
    return sum;
}

/* Adds the gradient of the loss for each trainable variable. */
static void build_gradients(struct layer_context *context, const struct layers_options *options)
{
    struct layers_graph *out = context->build->out;
    struct builder *b = &context->builder;
    const struct endpoint *listed;
    int total = 0, count = 0;

    for (int i = 0; i < out->variables_count; i++)
        total += list_trained(&out->variables[i], &listed);
    struct endpoint *values = ARENA_ARRAY(context->arena, struct endpoint, total);
    struct endpoint *gradients = ARENA_ARRAY(context->arena, struct endpoint, total);
    for (int i = 0; i < out->variables_count; i++) {
        int own = list_trained(&out->variables[i], &listed);
        memcpy(values + count, listed, (size_t)own * sizeof *values);
        count += own;
    }
    b->scope = "gradients/";
    struct endpoint loss = scale_loss(context, options);
    struct status status = graph_gradients(b, loss, count, values, gradients);
    if (status_is_ok(b->status))
        b->status = status_keep(context->arena, status);
    for (int i = 0, k = 0; i < out->variables_count && status_is_ok(b->status); i++) {
        int own = list_trained(&out->variables[i], &listed);
        if (own > 0)
            out->variables[i].gradient = sum_gradients(b, own, gradients + k);
        k += own;
    }
    b->scope = "";
}

static void build_metrics(struct layer_context *context, const struct layers_model *model)
{
    struct layers_graph *out = context->build->out;
    struct endpoint all = { 0 };

    ranking_build(context, model);
    out->metrics = ARENA_ARRAY(context->arena, struct endpoint, model->metrics_count);
    context->builder.scope = "metrics/";
    for (int i = 0; i < model->metrics_count && status_is_ok(context->builder.status); i++)
        out->metrics[i] =
            metric_build(context, &model->metrics[i], &out->heads[model->metrics[i].output], &all);
    context->builder.scope = "";
}

static struct status check_trained(const struct layers_model *model)
{
    for (int i = 0; i < model->outputs_count; i++)
        if (model->targets[i].loss != NULL)
            return status_ok();
    return status_error(STATUS_FAILED_PRECONDITION,
                        "model '%s' has %d outputs and no loss: compile it with a loss for each "
                        "that is trained",
                        model->name, model->outputs_count);
}

/* Builds the graph of a model that is not made of layers. */
static void build_body(struct layer_context *context, const struct layers_model *model,
                       int64_t batch)
{
    struct layers_graph *out = context->build->out;

    graph_finish(out->graph);
    out->graph = NULL;
    struct status status = model->body->build(model->body, batch, context->arena, out);
    if (out->graph != NULL)
        context->builder = builder_init(out->graph);
    context->builder.status = status_keep(context->arena, status);
}

struct status layers_build(const struct layers_model *model, const struct layers_options *options,
                           struct arena *arena, struct layers_graph *out)
{
    if (options->mode != LAYERS_SERVE)
        TRY(check_trained(model));
    struct layer_context context = layer_context_init(model, options->mode, arena, out);
    struct builder *b = &context.builder;

    context.build->weighted = options->weighted;
    if (model->body != NULL) {
        build_body(&context, model, options->batch);
    } else {
        build_inputs(&context, model, options->batch);
        build_layers(&context, model);
    }
    out->init = layers_build_init(&context);
    if (options->mode != LAYERS_SERVE)
        loss_build(&context, model, options->reduction);
    if (options->mode == LAYERS_EVAL || (options->mode == LAYERS_TRAIN && options->metrics))
        build_metrics(&context, model);
    if (options->mode == LAYERS_TRAIN && status_is_ok(b->status))
        build_gradients(&context, options);
    if (!status_is_ok(b->status)) {
        struct status status = b->status; /* its text is in the arena */
        graph_finish(out->graph);
        *out = (struct layers_graph){ 0 };
        return status;
    }
    return status_ok();
}
