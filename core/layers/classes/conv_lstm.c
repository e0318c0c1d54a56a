/*
 * conv_lstm: ConvLSTM1D, ConvLSTM2D, ConvLSTM3D: an LSTM over a sequence of images, with
 * convolutions instead of its matrix products. Source: keras/src/layers/rnn/conv_lstm.py.
 *
 * As for other recurrent layers, the input is convolved for all steps at once. The recurrence
 * carries rows of numbers: a state, [height, width, filters], is flattened to a row, and each step
 * restores its shape.
 */
#include "layers/classes/image.h"
#include "layers/classes/recurrent.h"

#define CONV_LSTM_ARGS(kind)                                                                       \
    { "filters", ARG_INT, REQUIRED }, { "kernel_size", kind, REQUIRED }, { "strides", kind, "1" }, \
        { "padding", ARG_CHOICE, "valid same" }, CHANNELS_LAST, { "dilation_rate", kind, "1" },    \
        { "activation", ARG_ACTIVATION, "\"tanh\"" },                                              \
        { "recurrent_activation", ARG_ACTIVATION, "\"sigmoid\"" },                                 \
        { "use_bias", ARG_BOOL, "true" },                                                          \
        { "kernel_initializer", ARG_INITIALIZER, "\"GlorotUniform\"" },                            \
        { "recurrent_initializer", ARG_INITIALIZER, "\"Orthogonal\"" },                            \
        { "bias_initializer", ARG_INITIALIZER, "\"Zeros\"" },                                      \
        { "unit_forget_bias", ARG_BOOL, "true" },                                                  \
        { "kernel_regularizer", ARG_REGULARIZER, "null" },                                         \
        { "recurrent_regularizer", ARG_REGULARIZER, "null" },                                      \
        { "bias_regularizer", ARG_REGULARIZER, "null" },                                           \
        { "activity_regularizer", ARG_REGULARIZER, "null" },                                       \
        { "kernel_constraint", ARG_CONSTRAINT, "null" },                                           \
        { "recurrent_constraint", ARG_CONSTRAINT, "null" },                                        \
        { "bias_constraint", ARG_CONSTRAINT, "null" }, { "dropout", ARG_NUMBER, "0" },             \
        { "recurrent_dropout", ARG_NUMBER, "0" }, { "seed", ARG_NULL_OR_INT, "null" },             \
        { "return_sequences", ARG_BOOL, "false" }, { "return_state", ARG_BOOL, "false" },          \
        { "go_backwards", ARG_BOOL, "false" }, { "stateful", ARG_NONE, "false" },                  \
        { "unroll", ARG_BOOL, "false" }, { "zero_output_for_mask", ARG_BOOL, "false" },            \
    {                                                                                              \
        "time_major", ARG_NONE, "false"                                                            \
    }

static const struct layer_arg conv_lstm1d_args[] = { CONV_LSTM_ARGS(ARG_SINGLE) };
static const struct layer_arg conv_lstm2d_args[] = { CONV_LSTM_ARGS(ARG_PAIR) };
static const struct layer_arg conv_lstm3d_args[] = { CONV_LSTM_ARGS(ARG_TRIPLE) };

static const char *const call_args[] = { "sequences", "initial_state", "mask", NULL };

#define GATES     4
#define CELL      "conv_lstm_cell/" /* prefix of the variables' names */
#define STEPS_MAX 10000             /* limit of the steps that are unrolled */
#define NO_STRIDES    \
    (const int64_t[]) \
    {                 \
        1, 1, 1       \
    }

static struct endpoint binary(struct layer_context *context, const char *op, struct endpoint x,
                              struct endpoint y)
{
    return build_binary(&context->builder, op, NULL, x, y);
}

static bool flag(const struct layer *layer, const char *name)
{
    return layer_arg(layer, name)->boolean;
}

/* Splits the gates along the last axis. */
static void split(struct layer_context *context, struct endpoint x, struct endpoint parts[GATES])
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { build_const_int(b, endpoint_shape(x)->rank - 1), x };
    struct node *node = build_node(b, "Split", NULL, 2, inputs, 0, NULL,
                                   (const struct attr[]){ attr_int("num_split", GATES), ATTR_END });

    for (int i = 0; i < GATES; i++)
        parts[i] = (struct endpoint){ node, i };
}

static struct endpoint join(struct layer_context *context, const struct endpoint parts[GATES])
{
    struct builder *b = &context->builder;
    struct endpoint all[GATES + 1];

    for (int i = 0; i < GATES; i++)
        all[i] = parts[i];
    all[GATES] = build_const_int(b, endpoint_shape(parts[0])->rank - 1);
    return build(b, "ConcatV2", NULL, GATES + 1, all, NULL);
}

static struct endpoint reshape(struct layer_context *context, struct endpoint x, int count,
                               const int64_t *dims)
{
    return build_reshape_rows(&context->builder, x, count, dims);
}

static struct endpoint convolve(struct layer_context *context, int directions, struct endpoint x,
                                struct endpoint kernel, const char *padding, const int64_t *strides,
                                const int64_t *dilation)
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { x, kernel };
    const struct attr attrs[] = { attr_window(b, "strides", directions, strides),
                                  attr_window(b, "dilations", directions, dilation),
                                  attr_text("padding", padding), ATTR_END };

    return build(b, directions == 3 ? "Conv3D" : "Conv2D", NULL, 2, inputs, attrs);
}

/* ---- a step ---- */

/* The recurrent part of the gates. With dropout, each gate has its own mask. */
static struct endpoint convolve_state(struct layer_context *context, const struct cell *cell,
                                      const struct endpoint *constants, struct endpoint h)
{
    int directions = cell->image.rank == 4 ? 3 : 2;
    struct endpoint parts[GATES];

    if (!cell->dropped)
        return convolve(context, directions,
                        reshape(context, h, cell->image.rank, cell->image.dims), constants[0],
                        "SAME", NO_STRIDES, NO_STRIDES);
    for (int i = 0; i < GATES; i++) {
        struct endpoint kept = binary(context, "Mul", h, constants[GATES + i]);
        parts[i] = convolve(context, directions,
                            reshape(context, kept, cell->image.rank, cell->image.dims),
                            constants[i], "SAME", NO_STRIDES, NO_STRIDES);
    }
    return join(context, parts);
}

/* Gates in Keras' order: input, forget, candidate, output. */
static void conv_lstm_step(struct layer_context *context, const struct cell *cell,
                           const struct endpoint *constants, struct endpoint x,
                           const struct endpoint *states, struct endpoint *next)
{
    struct shape image = cell->image;
    struct endpoint gates[GATES];
    struct endpoint sum = convolve_state(context, cell, constants, states[0]);

    image.dims[image.rank - 1] *= GATES;
    split(context, binary(context, "AddV2", reshape(context, x, image.rank, image.dims), sum),
          gates);
    for (int i = 0; i < GATES; i++)
        gates[i] = activation_build(context, i == 2 ? cell->activation : cell->recurrent_activation,
                                    gates[i]);
    struct endpoint carry = reshape(context, states[1], cell->image.rank, cell->image.dims);
    carry = binary(context, "AddV2", binary(context, "Mul", gates[1], carry),
                   binary(context, "Mul", gates[0], gates[2]));
    struct endpoint h =
        binary(context, "Mul", gates[3], activation_build(context, cell->activation, carry));
    next[0] = reshape(context, h, 1, &cell->units);
    next[1] = reshape(context, carry, 1, &cell->units);
}
static const struct cell_class cell_conv_lstm = { "conv_lstm_cell", GATES, 2, conv_lstm_step };

/* ---- what is the same in every step ---- */

/* The kernel [kernel size, ins, 4 filters], as the kernel of an image if x is a sequence. */
static struct endpoint kernel_variable(struct layer_context *context, const struct layer *layer,
                                       const char *name, const char *prefix, int directions,
                                       int64_t ins)
{
    struct builder *b = &context->builder;
    const int64_t *size = layer_arg(layer, "kernel_size")->sides;
    struct shape shape = { .rank = directions + 2 };

    memcpy(shape.dims, size + 3 - directions, (size_t)directions * sizeof *size);
    shape.dims[directions] = ins;
    shape.dims[directions + 1] = GATES * layer_arg(layer, "filters")->integer;
    struct endpoint kernel = layer_variable_of(context, layer, name, prefix, shape);
    return directions > 1 ? kernel : build_expand_dims(b, kernel, 0);
}

static struct endpoint bias_variable(struct layer_context *context, const struct layer *layer)
{
    int64_t filters = layer_arg(layer, "filters")->integer;
    struct endpoint bias =
        layer_variable_of(context, layer, CELL "bias", "bias", shape_of(GATES * filters));

    if (flag(layer, "unit_forget_bias"))
        layer_set_ones(context, bias, filters, 2 * filters);
    return bias;
}

static double rate_of(struct layer_context *context, const struct layer *layer, const char *name)
{
    double rate = layer_arg(layer, name)->number;

    if (!(rate >= 0 && rate < 1))
        layer_fail(context, layer, "argument '%s': got %g, expected 0 <= %s < 1", name, rate, name);
    return context->mode == LAYERS_TRAIN ? rate : 0;
}

static struct endpoint draw_mask(struct layer_context *context, const struct layer *layer,
                                 double rate, struct endpoint like)
{
    const struct arg_value *seed = layer_arg(layer, "seed");

    return layer_draw_dropout(context, rate, seed->is_null ? 0 : seed->integer, like);
}

/* Convolves the images of all steps, [batch · steps, …], to the channels of all gates. */
static struct endpoint convolve_images(struct layer_context *context, const struct layer *layer,
                                       int directions, struct endpoint images,
                                       struct endpoint kernel)
{
    return convolve(context, directions, images, kernel, padding_of(layer),
                    layer_arg(layer, "strides")->sides, layer_arg(layer, "dilation_rate")->sides);
}

/* Multiplies the images [batch, steps, …] by a dropout mask per row, the same in all steps. */
static struct endpoint drop_input(struct layer_context *context, const struct layer *layer,
                                  double rate, struct endpoint x)
{
    struct builder *b = &context->builder;
    int rank = endpoint_shape(x)->rank;
    const int32_t begin[SHAPE_RANK_MAX] = { 0 };
    int32_t size[SHAPE_RANK_MAX];

    for (int i = 0; i < rank; i++)
        size[i] = i == 1 ? 1 : -1;
    struct endpoint step = build_slice(b, NULL, x, rank, begin, size);

    return status_is_ok(b->status)
               ? binary(context, "Mul", x, draw_mask(context, layer, rate, step))
               : x;
}

/* The sides and channels of an image of x, [batch, steps, …]; height 1 for a sequence. */
static struct shape image_shape(struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);
    struct shape image = { .rank = shape->rank - 2 };

    memcpy(image.dims, shape->dims + 2, (size_t)image.rank * sizeof *image.dims);
    if (image.rank == 2)
        image = shape_of(1, image.dims[0], image.dims[1]);
    return image;
}

/* The input's part of the gates in all steps: [batch · steps, …, 4 filters]. */
static struct endpoint project(struct layer_context *context, const struct layer *layer,
                               int directions, struct endpoint x, struct endpoint kernel)
{
    double rate = rate_of(context, layer, "dropout");
    const struct shape image = image_shape(x);
    struct endpoint kernels[GATES], parts[GATES];

    if (rate == 0)
        return convolve_images(context, layer, directions,
                               reshape(context, x, image.rank, image.dims), kernel);
    split(context, kernel, kernels);
    for (int i = 0; i < GATES && status_is_ok(context->builder.status); i++)
        parts[i] = convolve_images(
            context, layer, directions,
            reshape(context, drop_input(context, layer, rate, x), image.rank, image.dims),
            kernels[i]);
    return status_is_ok(context->builder.status) ? join(context, parts) : x;
}

/* Creates the constants of a step: the recurrent kernel or, with dropout, a kernel and a mask
 * for each gate. `projection` is [steps, batch, 4 units]. */
static void make_constants(struct layer_context *context, struct cell *cell, struct endpoint kernel,
                           struct endpoint projection)
{
    struct builder *b = &context->builder;
    double rate = rate_of(context, cell->layer, "recurrent_dropout");
    const int32_t begin[] = { 0, 0, 0 }, size[] = { 1, -1, (int32_t)cell->units };

    cell->constants[0] = kernel;
    cell->constants_count = 1;
    cell->dropped = rate > 0;
    if (!cell->dropped)
        return;
    struct endpoint like =
        reshape(context, build_slice(b, NULL, projection, 3, begin, size), 1, &cell->units);
    split(context, kernel, cell->constants);
    for (int i = 0; i < GATES && status_is_ok(b->status); i++)
        cell->constants[GATES + i] = draw_mask(context, cell->layer, rate, like);
    cell->constants_count = 2 * GATES;
}

/* ---- the layers ---- */

static struct endpoint swap(struct layer_context *context, struct endpoint x)
{
    static const int32_t order[] = { 1, 0, 2 };
    struct builder *b = &context->builder;

    return build_binary(b, "Transpose", NULL, x,
                        build_const_ints(b, NULL, endpoint_shape(x)->rank, order));
}

static struct endpoint reverse(struct layer_context *context, struct endpoint x)
{
    const int32_t axis = 0;

    return binary(context, "ReverseV2", x, build_const_ints(&context->builder, NULL, 1, &axis));
}

/* Checks that the images have a known size, and that there are steps. */
static bool check_input(struct layer_context *context, const struct layer *layer, struct endpoint x,
                        int directions)
{
    if (!layer_check_open(context, layer, x, directions + 3, 2))
        return false;
    const struct shape *shape = endpoint_shape(x);
    for (int i = 1; i < shape->rank; i++)
        if (shape->dims[i] == 0) {
            layer_fail(context, layer, "the input's shape %s has no steps or no pixels",
                       shape_text(shape));
            return false;
        }
    if (flag(layer, "unroll") && !layer_check_known(context, layer, x, 1))
        return false;
    if (flag(layer, "unroll") && shape->dims[1] > STEPS_MAX) {
        layer_refuse(context, layer, "unroll with %lld steps; at most %d",
                     (long long)shape->dims[1], STEPS_MAX);
        return false;
    }
    return true;
}

/* Creates the variables, and the projection [steps, batch, 4 units] of the input. Returns false
 * on failure. */
static bool begin_cell(struct layer_context *context, const struct layer *layer, int directions,
                       struct endpoint x, struct cell *cell, struct endpoint *projection)
{
    struct builder *b = &context->builder;
    int64_t filters = layer_arg(layer, "filters")->integer, steps = endpoint_shape(x)->dims[1];
    const struct shape *shape = endpoint_shape(x);
    struct endpoint kernel = kernel_variable(context, layer, CELL "kernel", "kernel", directions,
                                             shape->dims[shape->rank - 1]);
    struct endpoint recurrent =
        kernel_variable(context, layer, CELL "recurrent_kernel", "recurrent", directions, filters);
    struct endpoint bias = { 0 };

    if (flag(layer, "use_bias"))
        bias = bias_variable(context, layer);
    struct endpoint y = project(context, layer, directions, x, kernel);
    if (!window_fits(context, layer, y))
        return false;
    cell->image = (struct shape){ .rank = endpoint_shape(y)->rank - 1 };
    memcpy(cell->image.dims, endpoint_shape(y)->dims + 1,
           (size_t)cell->image.rank * sizeof *cell->image.dims);
    cell->image.dims[cell->image.rank - 1] = filters;
    if (!layer_check_size(context, layer, "the pixels of a state", cell->image.rank,
                          cell->image.dims))
        return false;
    cell->units = shape_size(&cell->image);
    const int64_t sizes[] = { steps, GATES, cell->units },
                  rows[] = { SIZE_OF(0), SIZE_OF(1), GATES * cell->units };
    if (!layer_check_size(context, layer, "the gates of all steps", 3, sizes))
        return false;
    if (bias.node != NULL)
        y = build_binary(b, "BiasAdd", NULL, y, bias);
    *projection = swap(context, build_reshape(b, y, x, 3, rows));
    make_constants(context, cell, recurrent, *projection);
    return status_is_ok(b->status);
}

/* Reshapes rows of the recurrence, [batch, units] or [batch, steps, units], to images. */
static struct endpoint images_of(struct layer_context *context, const struct cell *cell,
                                 int directions, bool steps, struct endpoint rows)
{
    int64_t dims[SHAPE_RANK_MAX] = { SIZE_OF(0), SIZE_OF(1) };
    int count = steps ? 2 : 1, first = directions == 1 ? 1 : 0; /* a sequence has no height */

    for (int i = first; i < cell->image.rank; i++)
        dims[count++] = cell->image.dims[i];
    return build_reshape(&context->builder, rows, rows, count, dims);
}

static void read_states(struct layer_context *context, const struct layer *layer,
                        const struct layer_io *io, const struct cell *cell, struct recurrence *r)
{
    struct layer_value states[CELL_STATES_MAX + 2];
    int count = io_tensors(io, "initial_state", CELL_STATES_MAX + 2, states);

    if (count != 0 && count != CELL_STATES_MAX) {
        layer_fail(context, layer, "initial_state has %d tensors, expected %d", count,
                   CELL_STATES_MAX);
        return;
    }
    for (int i = 0; i < count; i++) {
        const struct shape *shape = endpoint_shape(states[i].value);
        int64_t size = 1;
        for (int k = 1; k < shape->rank; k++)
            size *= shape->dims[k];
        if (size != cell->units)
            layer_fail(context, layer,
                       "an initial state has the shape %s, expected that of the output",
                       shape_text(shape));
        r->initial[i] = reshape(context, states[i].value, 1, &cell->units);
    }
}

static void give_outputs(struct layer_context *context, const struct layer *layer, int directions,
                         const struct recurrence *r, struct endpoint mask, struct layer_io *io)
{
    io->outputs[0] = (struct layer_value){ 0 };
    if (r->all_outputs)
        io->outputs[0] = (struct layer_value){ .value = images_of(context, r->cell, directions,
                                                                  true, swap(context, r->outputs)),
                                               .mask = mask };
    else
        io->outputs[0].value = images_of(context, r->cell, directions, false, r->last);
    for (int i = 0; flag(layer, "return_state") && i < CELL_STATES_MAX; i++) {
        io->outputs[io->outputs_count++] =
            (struct layer_value){ .value = images_of(context, r->cell, directions, false,
                                                     r->states[i]) };
    }
}

static void run(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                int directions)
{
    struct builder *b = &context->builder;
    struct cell *cell = ARENA_NEW(context->arena, struct cell);
    struct endpoint x = io->inputs[0].value, mask = io_mask(io), projection;
    struct recurrence r = { .cell = cell,
                            .zero_output_for_mask = flag(layer, "zero_output_for_mask"),
                            .all_outputs = flag(layer, "return_sequences"),
                            .unroll = flag(layer, "unroll") };

    *cell = (struct cell){ .class = &cell_conv_lstm,
                           .layer = layer,
                           .activation = layer_arg(layer, "activation")->activation,
                           .recurrent_activation =
                               layer_arg(layer, "recurrent_activation")->activation };
    io->outputs[0] = (struct layer_value){ .value = x };
    io->outputs_count = 1;
    if (!check_input(context, layer, x, directions) ||
        !begin_cell(context, layer, directions, x, cell, &projection))
        return;
    r.x = projection;
    if (mask.node != NULL)
        r.mask = build_expand_dims(b, swap(context, mask), 2);
    if (flag(layer, "go_backwards")) {
        r.x = reverse(context, r.x);
        r.mask = mask.node != NULL ? reverse(context, r.mask) : r.mask;
    }
    read_states(context, layer, io, cell, &r);
    recurrence_build(context, &r);
    if (status_is_ok(b->status))
        give_outputs(context, layer, directions, &r, mask, io);
}

#define CONV_LSTM(noun, class_name, directions)                                       \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        run(context, layer, io, directions);                                          \
    }                                                                                 \
    const struct layer_class layer_##noun = { .name = class_name,                     \
                                              .args = noun##_args,                    \
                                              .args_count = (int)COUNT(noun##_args),  \
                                              .call = noun##_call,                    \
                                              .call_args = call_args }
CONV_LSTM(conv_lstm1d, "ConvLSTM1D", 1);
CONV_LSTM(conv_lstm2d, "ConvLSTM2D", 2);
CONV_LSTM(conv_lstm3d, "ConvLSTM3D", 3);
