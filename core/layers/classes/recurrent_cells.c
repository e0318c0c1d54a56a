/* recurrent_cells: SimpleRNN, LSTM and GRU. Source: keras/src/layers/rnn/. */
#include "layers/classes/recurrent.h"
#include "layers/layer_variable.h"
#include "layers/sizes.h"

static struct endpoint binary(struct layer_context *context, const char *op, struct endpoint x,
                              struct endpoint y)
{
    return build_binary(&context->builder, op, NULL, x, y);
}

/* Splits the columns of a matrix into `count` equal parts. */
static void split(struct layer_context *context, struct endpoint x, int count,
                  struct endpoint *parts)
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { build_const_int(b, 1), x };
    struct node *node = build_node(b, "Split", NULL, 2, inputs, 0, NULL,
                                   (const struct attr[]){ attr_int("num_split", count), ATTR_END });

    for (int i = 0; i < count; i++)
        parts[i] = (struct endpoint){ node, i };
}

/* The reverse. */
static struct endpoint concat(struct layer_context *context, int count,
                              const struct endpoint *parts)
{
    struct builder *b = &context->builder;
    struct endpoint all[CELL_PARTS_MAX + 1];

    if (count == 1)
        return parts[0];
    for (int i = 0; i < count; i++)
        all[i] = parts[i];
    all[count] = build_const_int(b, 1);
    return build(b, "ConcatV2", NULL, count + 1, all, NULL);
}

/* Columns [first, first + count) of a matrix. */
static struct endpoint columns(struct layer_context *context, struct endpoint x, int64_t first,
                               int64_t count)
{
    struct builder *b = &context->builder;
    const int32_t begin[] = { 0, (int32_t)first }, size[] = { -1, (int32_t)count };
    return build_slice(b, NULL, x, 2, begin, size);
}

/* ---- steps ---- */

/* Part `part` of the product of h and the recurrent kernel. */
static struct endpoint recurrent_part(struct layer_context *context, const struct cell *cell,
                                      const struct endpoint *constants, struct endpoint h, int part)
{
    if (cell->dropped)
        h = binary(context, "Mul", h, constants[cell->parts + part]);
    return binary(context, "MatMul", h, constants[part]);
}

/* h · recurrent kernel, for all gates. */
static struct endpoint recurrent_product(struct layer_context *context, const struct cell *cell,
                                         const struct endpoint *constants, struct endpoint h)
{
    struct endpoint parts[CELL_PARTS_MAX];

    for (int i = 0; i < cell->parts; i++)
        parts[i] = recurrent_part(context, cell, constants, h, i);
    return concat(context, cell->parts, parts);
}

static void simple_step(struct layer_context *context, const struct cell *cell,
                        const struct endpoint *constants, struct endpoint x,
                        const struct endpoint *states, struct endpoint *next)
{
    struct endpoint product = recurrent_product(context, cell, constants, states[0]);

    next[0] = activation_build(context, cell->activation, binary(context, "AddV2", x, product));
}
const struct cell_class cell_simple = { "simple_rnn_cell", 1, 1, simple_step };

/* Gates in Keras' order: input, forget, candidate, output. */
static void lstm_step(struct layer_context *context, const struct cell *cell,
                      const struct endpoint *constants, struct endpoint x,
                      const struct endpoint *states, struct endpoint *next)
{
    struct endpoint gates[4];
    struct endpoint product = recurrent_product(context, cell, constants, states[0]);
    struct endpoint sum = binary(context, "AddV2", product, x);

    if (cell->adds_bias_last)
        sum = build_binary(&context->builder, "BiasAdd", NULL, sum,
                           constants[cell->constants_count - 1]);
    split(context, sum, 4, gates);
    for (int i = 0; i < 4; i++)
        gates[i] = activation_build(context, i == 2 ? cell->activation : cell->recurrent_activation,
                                    gates[i]);
    next[1] = binary(context, "AddV2", binary(context, "Mul", gates[1], states[1]),
                     binary(context, "Mul", gates[0], gates[2]));
    next[0] =
        binary(context, "Mul", gates[3], activation_build(context, cell->activation, next[1]));
}
const struct cell_class cell_lstm = { "lstm_cell", 4, 2, lstm_step };

/* The candidate's recurrent part, with the reset gate applied before or after the product. */
static struct endpoint gru_candidate(struct layer_context *context, const struct cell *cell,
                                     const struct endpoint *constants, struct endpoint h,
                                     struct endpoint reset, struct endpoint product)
{
    if (cell->reset_after)
        return binary(context, "Mul", reset,
                      columns(context, product, 2 * cell->units, cell->units));
    return recurrent_part(context, cell, constants, binary(context, "Mul", reset, h),
                          cell->parts - 1);
}

/* The recurrent product of the update and reset gates; with reset_after, also of the candidate. */
static struct endpoint gru_product(struct layer_context *context, const struct cell *cell,
                                   const struct endpoint *constants, struct endpoint h)
{
    struct endpoint parts[CELL_PARTS_MAX];

    if (!cell->reset_after) {
        for (int i = 0; i + 1 < cell->parts; i++)
            parts[i] = recurrent_part(context, cell, constants, h, i);
        return concat(context, cell->parts - 1, parts);
    }
    struct endpoint product = recurrent_product(context, cell, constants, h);
    if (cell->use_bias)
        product = build_binary(&context->builder, "BiasAdd", NULL, product,
                               constants[cell->constants_count - 1]);
    return product;
}

/* Gates in Keras' order: update, reset, candidate. */
static void gru_step(struct layer_context *context, const struct cell *cell,
                     const struct endpoint *constants, struct endpoint x,
                     const struct endpoint *states, struct endpoint *next)
{
    struct builder *b = &context->builder;
    struct endpoint h = states[0], gates[2];
    struct endpoint product = gru_product(context, cell, constants, h);

    struct endpoint sum =
        binary(context, "AddV2", columns(context, x, 0, 2 * cell->units),
               cell->reset_after ? columns(context, product, 0, 2 * cell->units) : product);
    split(context, activation_build(context, cell->recurrent_activation, sum), 2, gates);
    struct endpoint candidate = gru_candidate(context, cell, constants, h, gates[1], product);
    candidate =
        binary(context, "AddV2", columns(context, x, 2 * cell->units, cell->units), candidate);
    candidate = activation_build(context, cell->activation, candidate);
    struct endpoint rest = binary(context, "Sub", build_const_float(b, 1), gates[0]);
    next[0] = binary(context, "AddV2", binary(context, "Mul", gates[0], h),
                     binary(context, "Mul", rest, candidate));
}
const struct cell_class cell_gru = { "gru_cell", 3, 1, gru_step };

/* ---- what is the same in every step ---- */

void cell_init(const struct cell_class *class, const struct layer *layer, const char *prefix,
               struct cell *out)
{
    *out = (struct cell){ .class = class,
                          .layer = layer,
                          .prefix = prefix,
                          .units = layer_arg(layer, "units")->integer,
                          .use_bias = layer_arg(layer, "use_bias")->boolean,
                          .activation = layer_arg(layer, "activation")->activation };
    if (class != &cell_simple)
        out->recurrent_activation = layer_arg(layer, "recurrent_activation")->activation;
    if (class == &cell_gru)
        out->reset_after = layer_arg(layer, "reset_after")->boolean;
}

static struct endpoint variable(struct layer_context *context, const struct cell *cell,
                                const char *name, const char *arguments, struct shape shape)
{
    const char *full = arena_printf(context->arena, "%s%s", cell->prefix, name);

    return layer_variable_of(context, cell->layer, full, arguments, shape);
}

static struct endpoint bias_variable(struct layer_context *context, const struct cell *cell)
{
    int64_t columns = cell->class->gates * cell->units;
    struct shape shape = cell->reset_after ? shape_of(2, columns) : shape_of(columns);
    struct endpoint bias = variable(context, cell, "bias", "bias", shape);

    if (cell->class == &cell_lstm && layer_arg(cell->layer, "unit_forget_bias")->boolean)
        layer_set_ones(context, bias, cell->units, 2 * cell->units);
    return bias;
}

static double rate_of(struct layer_context *context, const struct cell *cell, const char *name)
{
    double rate = layer_arg(cell->layer, name)->number;

    if (!(rate >= 0 && rate < 1))
        layer_fail(context, cell->layer, "argument '%s': got %g, expected 0 <= %s < 1", name, rate,
                   name);
    return context->mode == LAYERS_TRAIN ? rate : 0;
}

/* Draws masks of the shape of `like`, the same in every step. */
static void draw_masks(struct layer_context *context, const struct cell *cell, double rate,
                       struct endpoint like, int count, struct endpoint *out)
{
    const struct arg_value *seed = layer_arg(cell->layer, "seed");

    for (int i = 0; i < count; i++)
        out[i] = layer_draw_dropout(context, rate, seed->is_null ? 0 : seed->integer, like);
}

/* The first step of [steps, batch, …]. */
static struct endpoint first_step(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;
    const int32_t begin[] = { 0, 0, 0 }, size[] = { 1, -1, -1 };
    struct endpoint step = build_slice(b, NULL, x, 3, begin, size);
    const int64_t axis = 0;

    return build(b, "Squeeze", NULL, 1, &step,
                 (const struct attr[]){ attr_ints(b, "squeeze_dims", 1, &axis), ATTR_END });
}

/* Creates the constants of a step: the recurrent kernel in one piece for all gates, or in one
 * piece per gate if each has its own dropout mask. If a GRU applies the reset gate before the
 * product, its candidate needs a piece of its own. */
static void make_constants(struct layer_context *context, struct cell *cell,
                           struct endpoint projection, struct endpoint step_bias)
{
    const struct cell_class *class = cell->class;
    struct endpoint kernel = variable(context, cell, "recurrent_kernel", "recurrent",
                                      shape_of(cell->units, class->gates * cell->units));
    double rate = rate_of(context, cell, "recurrent_dropout");

    cell->dropped = rate > 0;
    if (cell->dropped && class->gates > 1) {
        cell->parts = class->gates;
        split(context, kernel, class->gates, cell->constants);
    } else if (class == &cell_gru && !cell->reset_after) {
        cell->parts = 2;
        cell->constants[0] = columns(context, kernel, 0, 2 * cell->units);
        cell->constants[1] = columns(context, kernel, 2 * cell->units, cell->units);
    } else {
        cell->parts = 1;
        cell->constants[0] = kernel;
    }
    cell->constants_count = cell->parts;
    if (cell->dropped) {
        struct endpoint like = columns(context, first_step(context, projection), 0, cell->units);
        draw_masks(context, cell, rate, like, cell->parts, cell->constants + cell->parts);
        cell->constants_count += cell->parts;
    }
    if (step_bias.node != NULL)
        cell->constants[cell->constants_count++] = step_bias;
}

/* A row of a GRU's bias [2, columns]: the input's or the recurrent one. */
static struct endpoint bias_row(struct layer_context *context, struct endpoint bias, int row,
                                int64_t columns)
{
    struct builder *b = &context->builder;
    const int32_t begin[] = { row, 0 }, size[] = { 1, -1 }, flat[] = { (int32_t)columns };
    return build_binary(b, "Reshape", NULL, build_slice(b, NULL, bias, 2, begin, size),
                        build_const_ints(b, NULL, 1, flat));
}

/* x · kernel for all steps in one product. */
static struct endpoint product(struct layer_context *context, struct endpoint x,
                               struct endpoint kernel)
{
    struct builder *b = &context->builder;
    const int32_t rows[] = { -1, (int32_t)endpoint_shape(x)->dims[2] };

    return binary(context, "MatMul",
                  build_binary(b, "Reshape", NULL, x, build_const_ints(b, NULL, 2, rows)), kernel);
}

/* Projects the input to a matrix [steps · batch, gates · units]. If each gate has its own
 * recurrent mask, Keras also draws an input mask for each. */
static struct endpoint project_input(struct layer_context *context, const struct cell *cell,
                                     struct endpoint x, struct endpoint kernel)
{
    double rate = rate_of(context, cell, "dropout");
    bool by_gate = cell->class->gates > 1 && rate_of(context, cell, "recurrent_dropout") > 0;
    int count = by_gate ? cell->class->gates : 1;
    struct endpoint masks[CELL_PARTS_MAX], parts[CELL_PARTS_MAX], products[CELL_PARTS_MAX];

    if (rate == 0 || !status_is_ok(context->builder.status))
        return product(context, x, kernel);
    draw_masks(context, cell, rate, first_step(context, x), count, masks);
    parts[0] = kernel;
    if (by_gate)
        split(context, kernel, count, parts);
    for (int i = 0; i < count; i++)
        products[i] = product(context, binary(context, "Mul", x, masks[i]), parts[i]);
    return concat(context, count, products);
}

/* Keras adds the bias of an LSTM to the sum of both products, unless each gate has its own mask in
 * training. With 16 bits, where each sum is rounded, the order matters; in float32, adding it to
 * the projection saves an addition per step. */
static bool adds_bias_last(const struct layer_context *context, const struct cell *cell)
{
    return cell->class == &cell_lstm && cell->use_bias &&
           context->builder.float_dtype != DT_INVALID &&
           layer_arg(cell->layer, "recurrent_dropout")->number == 0;
}

struct endpoint cell_project(struct layer_context *context, struct cell *cell, struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct shape shape = *endpoint_shape(x);
    int64_t columns = cell->class->gates * cell->units;
    struct endpoint kernel =
        variable(context, cell, "kernel", "kernel", shape_of(shape.dims[2], columns));
    struct endpoint bias = { 0 }, step_bias = { 0 };
    const int64_t dims[] = { SIZE_OF(0), SIZE_OF(1), columns };

    /* Keras' order of the variables: kernel, recurrent_kernel, bias */
    variable(context, cell, "recurrent_kernel", "recurrent", shape_of(cell->units, columns));
    if (cell->use_bias)
        bias = bias_variable(context, cell);
    if (cell->use_bias && cell->reset_after) {
        step_bias = bias_row(context, bias, 1, columns);
        bias = bias_row(context, bias, 0, columns);
    } else if (adds_bias_last(context, cell)) {
        cell->adds_bias_last = true;
        step_bias = bias;
        bias = (struct endpoint){ 0 };
    }
    struct endpoint y = project_input(context, cell, x, kernel);
    if (bias.node != NULL)
        y = build_binary(b, "BiasAdd", NULL, y, bias);
    y = build_reshape(b, y, x, 3, dims);
    if (status_is_ok(b->status))
        make_constants(context, cell, y, step_bias);
    return y;
}
