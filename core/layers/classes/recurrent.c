/*
 * recurrent: SimpleRNN, LSTM, GRU, RNN around cells, Bidirectional. Source:
 * keras/src/layers/rnn/.
 */
#include "layers/classes/recurrent.h"

#include "layers/classes/classes.h"

/* The arguments of every recurrent layer. `implementation`, from Keras 2, chooses between ways
 * to compute the same. */
#define RECURRENT_ARGS                                                                      \
    { "return_sequences", ARG_BOOL, "false" }, { "return_state", ARG_BOOL, "false" },       \
        { "go_backwards", ARG_BOOL, "false" }, { "stateful", ARG_NONE, "false" },           \
        { "unroll", ARG_BOOL, "false" }, { "zero_output_for_mask", ARG_BOOL, "false" },     \
        { "time_major", ARG_NONE, "false" }, { "implementation", ARG_NULL_OR_INT, "null" }, \
    {                                                                                       \
        "activity_regularizer", ARG_REGULARIZER, "null"                                     \
    }
#define CELL_ARGS                                                                        \
    { "units", ARG_INT, REQUIRED }, { "activation", ARG_ACTIVATION, "\"tanh\"" },        \
        { "use_bias", ARG_BOOL, "true" },                                                \
        { "kernel_initializer", ARG_INITIALIZER, "\"GlorotUniform\"" },                  \
        { "recurrent_initializer", ARG_INITIALIZER, "\"Orthogonal\"" },                  \
        { "bias_initializer", ARG_INITIALIZER, "\"Zeros\"" },                            \
        { "kernel_regularizer", ARG_REGULARIZER, "null" },                               \
        { "recurrent_regularizer", ARG_REGULARIZER, "null" },                            \
        { "bias_regularizer", ARG_REGULARIZER, "null" },                                 \
        { "kernel_constraint", ARG_CONSTRAINT, "null" },                                 \
        { "recurrent_constraint", ARG_CONSTRAINT, "null" },                              \
        { "bias_constraint", ARG_CONSTRAINT, "null" }, { "dropout", ARG_NUMBER, "0.0" }, \
        { "recurrent_dropout", ARG_NUMBER, "0.0" },                                      \
    {                                                                                    \
        "seed", ARG_NULL_OR_INT, "null"                                                  \
    }
#define GATE_ARGS                                             \
    {                                                         \
        "recurrent_activation", ARG_ACTIVATION, "\"sigmoid\"" \
    }
#define LSTM_ARGS                            \
    {                                        \
        "unit_forget_bias", ARG_BOOL, "true" \
    }
#define GRU_ARGS                        \
    {                                   \
        "reset_after", ARG_BOOL, "true" \
    }
#define CELL_IMPLEMENTATION                       \
    {                                             \
        "implementation", ARG_NULL_OR_INT, "null" \
    }

static const struct layer_arg simple_rnn_args[] = { RECURRENT_ARGS, CELL_ARGS };
static const struct layer_arg lstm_args[] = { RECURRENT_ARGS, CELL_ARGS, GATE_ARGS, LSTM_ARGS };
static const struct layer_arg gru_args[] = { RECURRENT_ARGS, CELL_ARGS, GATE_ARGS, GRU_ARGS };
static const struct layer_arg simple_cell_args[] = { CELL_ARGS };
static const struct layer_arg lstm_cell_args[] = { CELL_ARGS, GATE_ARGS, LSTM_ARGS,
                                                   CELL_IMPLEMENTATION };
static const struct layer_arg gru_cell_args[] = { CELL_ARGS, GATE_ARGS, GRU_ARGS,
                                                  CELL_IMPLEMENTATION };
static const struct layer_arg stacked_args[] = { { "cells", ARG_LAYERS, REQUIRED } };
static const struct layer_arg rnn_args[] = { RECURRENT_ARGS, { "cell", ARG_LAYER, REQUIRED } };

static const char *const call_args[] = { "sequences", "initial_state", "mask", NULL };

/* ---- cells: layers that occur only inside RNN ---- */

#define CELL_LAYER(noun, class_name, class_args)                  \
    const struct layer_class layer_##noun = { .name = class_name, \
                                              .args = class_args, \
                                              .args_count = (int)COUNT(class_args) }
CELL_LAYER(simple_rnn_cell, "SimpleRNNCell", simple_cell_args);
CELL_LAYER(lstm_cell, "LSTMCell", lstm_cell_args);
CELL_LAYER(gru_cell, "GRUCell", gru_cell_args);
CELL_LAYER(stacked_rnn_cells, "StackedRNNCells", stacked_args);

/* More than any model has; each cell adds up to two outputs to the layer. */
#define CELLS_MAX ((LAYER_OUTPUTS_MAX - 1) / CELL_STATES_MAX)

/* The cells of a recurrent layer, in order. */
struct cells {
    struct cell all[CELLS_MAX];
    int count, states; /* of all cells */
};

static const struct cell_class *class_of_cell(const struct layer *layer)
{
    const struct {
        const struct layer_class *layer;
        const struct cell_class *cell;
    } classes[] = { { &layer_simple_rnn_cell, &cell_simple },
                    { &layer_lstm_cell, &cell_lstm },
                    { &layer_gru_cell, &cell_gru } };

    for (size_t i = 0; i < COUNT(classes); i++)
        if (layer->class == classes[i].layer)
            return classes[i].cell;
    return NULL;
}

static void add_cell(struct cells *cells, const struct cell_class *class, const struct layer *layer,
                     const char *prefix)
{
    cell_init(class, layer, prefix, &cells->all[cells->count++]);
    cells->states += class->states;
}

static void add_inner_cell(struct layer_context *context, const struct layer *layer,
                           const struct layer *inner, struct cells *cells)
{
    const struct cell_class *class = class_of_cell(inner);

    if (inner->dtype != layer->dtype)
        layer_refuse(context, inner, "a cell of another dtype policy than the layer's");
    else if (class == NULL)
        layer_fail(context, inner,
                   "it is not a cell; known: SimpleRNNCell, LSTMCell, GRUCell, StackedRNNCells");
    else if (cells->count == CELLS_MAX)
        layer_fail(context, inner, "more than %d cells", CELLS_MAX);
    else
        add_cell(cells, class, inner, "");
}

/* Finds the cells in the argument "cell" of an RNN. */
static void inner_cells(struct layer_context *context, const struct layer *layer,
                        struct cells *cells)
{
    const struct layer *inner = layer_arg(layer, "cell")->layer;

    if (inner->class != &layer_stacked_rnn_cells) {
        add_inner_cell(context, layer, inner, cells);
        return;
    }
    const struct arg_value *all = layer_arg(inner, "cells");
    for (int i = 0; i < all->layers.count && status_is_ok(context->builder.status); i++)
        add_inner_cell(context, layer, &all->layers.values[i], cells);
    if (all->layers.count == 0)
        layer_fail(context, inner, "it has no cells");
}

/* Finds the cells of a layer; none on failure, or if it is not a recurrent layer. */
static void find_cells(struct layer_context *context, const struct layer *layer,
                       struct cells *cells)
{
    *cells = (struct cells){ 0 };
    if (layer->class == &layer_simple_rnn)
        add_cell(cells, &cell_simple, layer, "simple_rnn_cell/");
    else if (layer->class == &layer_lstm)
        add_cell(cells, &cell_lstm, layer, "lstm_cell/");
    else if (layer->class == &layer_gru)
        add_cell(cells, &cell_gru, layer, "gru_cell/");
    else if (layer->class == &layer_rnn)
        inner_cells(context, layer, cells);
}

/* ---- a recurrent layer ---- */

/* The arguments of a recurrent layer's call. */
struct sequence {
    struct endpoint x;    /* [batch, steps, features] */
    struct endpoint mask; /* bool [batch, steps]; a null node: none */
    struct endpoint output_mask;
    struct endpoint initial[LAYER_OUTPUTS_MAX];
    int initial_count; /* 0: zeros */
};

static bool flag(const struct layer *layer, const char *name)
{
    return layer_arg(layer, name)->boolean;
}

/* Swaps batch and steps. */
static struct endpoint swap(struct builder *b, struct endpoint x)
{
    const int32_t order[] = { 1, 0, 2 };

    return build_binary(b, "Transpose", NULL, x,
                        build_const_ints(b, NULL, endpoint_shape(x)->rank, order));
}

static struct endpoint reverse(struct builder *b, struct endpoint x, int32_t axis)
{
    return build_binary(b, "ReverseV2", NULL, x, build_const_ints(b, NULL, 1, &axis));
}

static bool check_sequence(struct layer_context *context, const struct layer *layer,
                           const struct sequence *sequence, const struct cells *cells)
{
    if (!layer_check_open(context, layer, sequence->x, 3, 2))
        return false;
    if (endpoint_shape(sequence->x)->dims[1] == 0) {
        layer_fail(context, layer, "the input has no steps");
        return false;
    }
    if (sequence->mask.node != NULL && endpoint_shape(sequence->mask)->rank != 2) {
        layer_fail(context, layer, "the mask has shape %s, expected [batch, steps]",
                   shape_text(endpoint_shape(sequence->mask)));
        return false;
    }
    if (sequence->initial_count != 0 && sequence->initial_count != cells->states) {
        layer_fail(context, layer, "initial_state has %d tensors, expected %d",
                   sequence->initial_count, cells->states);
        return false;
    }
    for (int i = 0; i < sequence->initial_count; i++)
        if (!layer_check_rank(context, layer, sequence->initial[i], 2))
            return false;
    return cells->count > 0;
}

/* Limit of the steps that are unrolled. */
#define UNROLLED_MAX 10000

static bool check_size(struct layer_context *context, const struct layer *layer,
                       const struct cell *cell, struct endpoint x, bool unroll)
{
    int64_t steps = endpoint_shape(x)->dims[0];
    const int64_t sizes[] = { steps, cell->class->gates, cell->units };

    if (unroll && steps < 0) {
        layer_refuse(context, layer,
                     "unroll of an open number of steps: give the InputLayer a size instead of "
                     "null, or set unroll to false");
        return false;
    }
    if (unroll && steps > UNROLLED_MAX) {
        layer_refuse(context, layer, "unroll with %lld steps; at most %d", (long long)steps,
                     UNROLLED_MAX);
        return false;
    }
    return layer_check_size(context, layer, "the gates of all steps", (int)COUNT(sizes), sizes);
}

/* Runs the cells one after the other over the whole sequence. This is correct with masks,
 * because the next cell never uses the output of a masked step. */
static void run_cells(struct layer_context *context, const struct layer *layer, struct cells *cells,
                      const struct sequence *sequence, struct layer_io *io)
{
    struct builder *b = &context->builder;
    bool backwards = flag(layer, "go_backwards"), all = flag(layer, "return_sequences");
    struct endpoint x = swap(b, sequence->x), mask = sequence->mask;
    const char *scope = b->scope;

    if (mask.node != NULL)
        mask = build_expand_dims(b, swap(b, mask), 2);
    if (backwards && mask.node != NULL)
        mask = reverse(b, mask, 0);
    if (backwards)
        x = reverse(b, x, 0);
    for (int i = 0, state = 0; i < cells->count && status_is_ok(b->status); i++) {
        struct cell *cell = &cells->all[i];
        struct recurrence r = { .cell = cell,
                                .mask = mask,
                                .zero_output_for_mask = flag(layer, "zero_output_for_mask"),
                                .all_outputs = all || i + 1 < cells->count,
                                .unroll = flag(layer, "unroll") };
        b->scope = arena_printf(context->arena, "%s/", cell->layer->name);
        if (!check_size(context, layer, cell, x, r.unroll))
            return;
        r.x = cell_project(context, cell, x);
        for (int k = 0; k < cell->class->states && sequence->initial_count > 0; k++)
            r.initial[k] = sequence->initial[state + k];
        recurrence_build(context, &r);
        for (int k = 0; k < cell->class->states; k++)
            io->outputs[1 + state++].value = r.states[k];
        x = r.outputs;
        io->outputs[0].value = r.last;
    }
    b->scope = scope;
    if (all && status_is_ok(b->status))
        io->outputs[0] = (struct layer_value){ .value = swap(b, x), .mask = sequence->output_mask };
    io->outputs_count = 1 + (flag(layer, "return_state") ? cells->states : 0);
}

/* In Keras 2, the initial states follow the input in one list. In Keras 3, a call with initial
 * states ignores the input's mask unless it gets one as an argument, but still passes it on. */
static void read_sequence(const struct layer_context *context, const struct layer_io *io,
                          struct sequence *out)
{
    struct layer_value values[LAYER_OUTPUTS_MAX];
    int count = io_tensors(io, "sequences", LAYER_OUTPUTS_MAX, values);

    *out = (struct sequence){ .x = io->inputs[0].value, .output_mask = io_mask(io) };
    for (int i = 1; i < count; i++)
        out->initial[out->initial_count++] = values[i].value;
    count = io_tensors(io, "initial_state", LAYER_OUTPUTS_MAX, values);
    for (int i = 0; i < count && out->initial_count < LAYER_OUTPUTS_MAX; i++)
        out->initial[out->initial_count++] = values[i].value;
    out->mask =
        out->initial_count == 0 || context->keras2 ? out->output_mask : io_tensor(io, "mask").value;
}

static void recurrent_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    struct sequence *sequence = ARENA_NEW(context->arena, struct sequence);
    struct cells *cells = ARENA_NEW(context->arena, struct cells);

    read_sequence(context, io, sequence);
    io->outputs[0] = (struct layer_value){ .value = sequence->x };
    io->outputs_count = 1;
    find_cells(context, layer, cells);
    if (check_sequence(context, layer, sequence, cells))
        run_cells(context, layer, cells, sequence, io);
}

#define RECURRENT_LAYER(noun, class_name, class_args)                               \
    const struct layer_class layer_##noun = { .name = class_name,                   \
                                              .args = class_args,                   \
                                              .args_count = (int)COUNT(class_args), \
                                              .call = recurrent_call,               \
                                              .call_args = call_args }
RECURRENT_LAYER(simple_rnn, "SimpleRNN", simple_rnn_args);
RECURRENT_LAYER(lstm, "LSTM", lstm_args);
RECURRENT_LAYER(gru, "GRU", gru_args);
RECURRENT_LAYER(rnn, "RNN", rnn_args);

/* ---- Bidirectional ---- */

static const struct layer_arg bidirectional_args[] = {
    { "layer", ARG_LAYER, REQUIRED },
    { "backward_layer", ARG_LAYER, REQUIRED },
    { "merge_mode", ARG_NULL_OR_VALUE, "\"concat\"" }, /* null: the outputs stay separate */
};

/* Merges the outputs; both are in the order of the input's steps. */
static struct endpoint merge(struct layer_context *context, const struct layer *layer,
                             struct endpoint forward, struct endpoint backward)
{
    struct builder *b = &context->builder;
    const struct arg_value *mode = layer_arg(layer, "merge_mode");
    const char *text = mode->value->kind == JSON_VALUE_TEXT ? mode->value->text : "";
    const struct endpoint joined[] = { forward, backward, build_const_int(b, -1) };

    if (strcmp(text, "concat") == 0)
        return build(b, "ConcatV2", NULL, 3, joined, NULL);
    if (strcmp(text, "mul") == 0)
        return build_binary(b, "Mul", NULL, forward, backward);
    if (strcmp(text, "sum") != 0 && strcmp(text, "ave") != 0)
        layer_fail(context, layer,
                   "argument 'merge_mode': got %s, expected concat, sum, ave, mul or null",
                   json_value_show(mode->value, context->arena));
    struct endpoint sum = build_binary(b, "AddV2", NULL, forward, backward);
    return text[0] == 's' ? sum : build_binary(b, "Mul", NULL, sum, build_const_float(b, 0.5f));
}

static bool is_recurrent(const struct layer *layer)
{
    for (int i = 0; i < layer->class->args_count; i++)
        if (strcmp(layer->class->args[i].name, "go_backwards") == 0)
            return true;
    return false;
}

/* Do both layers run, in opposite directions, and return the same kind of output? */
static bool fit(struct layer_context *context, const struct layer *layer)
{
    const struct layer *inner[] = { layer_arg(layer, "layer")->layer,
                                    layer_arg(layer, "backward_layer")->layer };

    for (int i = 0; i < 2; i++)
        if (!is_recurrent(inner[i])) {
            layer_fail(context, inner[i], "it is not a recurrent layer");
            return false;
        }
    if (flag(inner[0], "return_sequences") == flag(inner[1], "return_sequences") &&
        flag(inner[0], "return_state") == flag(inner[1], "return_state") &&
        flag(inner[0], "go_backwards") != flag(inner[1], "go_backwards"))
        return true;
    layer_fail(context, layer,
               "its layers must have the same return_sequences and return_state and run in "
               "opposite directions");
    return false;
}

/* Is this input of a call an initial state? In Keras 2, they follow the sequence in one list. */
static bool is_state(const struct layer_io *io, int i)
{
    const char *argument = io->call->inputs[i].argument;

    return i > 0 && argument != NULL && strcmp(argument, "mask") != 0;
}

static int count_states(const struct layer_io *io)
{
    int count = 0;

    for (int i = 0; i < io->call->inputs_count; i++)
        count += is_state(io, i);
    return count;
}

/* Runs one direction, with the sequence, the mask, and its half of the initial states. */
static void run_direction(struct layer_context *context, const struct layer *inner, int half,
                          const struct layer_io *whole, struct layer_io *out)
{
    const int all = whole->call->inputs_count;
    struct layer_call *call = ARENA_NEW(context->arena, struct layer_call);
    struct layer_value *values = ARENA_ARRAY(context->arena, struct layer_value, all);
    int states = count_states(whole), state = 0;

    *call = (struct layer_call){ .layer = inner,
                                 .inputs = ARENA_ARRAY(context->arena, struct call_input, all) };
    for (int i = 0; i < all; i++) {
        const char *argument = whole->call->inputs[i].argument;
        if (is_state(whole, i)) {
            argument = "initial_state";
            if (state++ / (states / 2) != half)
                continue;
        }
        values[call->inputs_count] = whole->inputs[i];
        call->inputs[call->inputs_count++].argument = argument;
    }
    layer_run_call(context, call, values, out);
}

static void bidirectional_call(struct layer_context *context, const struct layer *layer,
                               struct layer_io *io)
{
    struct builder *b = &context->builder;
    const struct layer *inner[] = { layer_arg(layer, "layer")->layer,
                                    layer_arg(layer, "backward_layer")->layer };
    struct layer_io *ios = ARENA_ARRAY(context->arena, struct layer_io, 2);

    if (count_states(io) % 2 != 0)
        layer_fail(context, layer,
                   "initial_state has %d tensors, expected the same number for each direction",
                   count_states(io));
    if (!status_is_ok(b->status) || !fit(context, layer))
        return;
    for (int i = 0; i < 2; i++)
        run_direction(context, inner[i], i, io, &ios[i]);
    for (int i = 0; i < 2; i++) /* the layers inside may have another policy */
        ios[i].outputs[0].value = cast_to(context, ios[i].outputs[0].value, DT_FLOAT);
    if (!status_is_ok(b->status))
        return;
    if (flag(inner[0], "return_sequences"))
        ios[1].outputs[0].value = reverse(b, ios[1].outputs[0].value, 1);
    int count = 0;
    if (!layer_arg(layer, "merge_mode")->is_null) {
        io->outputs[0].value =
            merge(context, layer, ios[0].outputs[0].value, ios[1].outputs[0].value);
        io->outputs[count++].mask = ios[0].outputs[0].mask;
    } else {
        io->outputs[count++] = ios[0].outputs[0];
        io->outputs[count++] = ios[1].outputs[0];
    }
    for (int i = 0; i < 2; i++)
        for (int k = 1; k < ios[i].outputs_count; k++) {
            if (count == LAYER_OUTPUTS_MAX) {
                layer_fail(context, layer, "more than %d outputs", LAYER_OUTPUTS_MAX);
                return;
            }
            io->outputs[count++] = ios[i].outputs[k];
        }
    io->outputs_count = count;
}

const struct layer_class layer_bidirectional = { .name = "Bidirectional",
                                                 .args = bidirectional_args,
                                                 .args_count = (int)COUNT(bidirectional_args),
                                                 .call = bidirectional_call,
                                                 .call_args = call_args };
