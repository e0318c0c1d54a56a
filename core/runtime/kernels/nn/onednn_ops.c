/*
 * onednn_ops: convolutions whose filter is a constant of the plan, and products by a constant
 * matrix, plain and fused. When oneDNN refuses a filter or a size, the kernel of conv2d.c, matmul.c
 * or fused.c computes it.
 */
#include "base/float_flags.h"
#include "runtime/kernels/nn/conv2d.h"
#include "runtime/kernels/nn/conv2d_onednn.h"
#include "runtime/steps.h"

extern const struct kernel_table kernels_conv2d, kernels_matmul, kernels_fused;

struct state {
    struct conv2d_onednn *fast; /* NULL: always plain */
    struct window_attrs attrs;
    bool depthwise;
    bool batch;     /* a batch of products, not one */
    int addend;     /* the input that is added to the result; 0: none */
    int64_t groups; /* of `fast`; of a depthwise one, 1 as in struct conv_size */
    struct conv2d_onednn_size declared; /* of one image, if the graph declares its shape */
    const struct kernel *plain;
    void *plain_state;
};

static const struct kernel *find_plain(const char *op)
{
    const struct kernel_table *tables[] = { &kernels_conv2d, &kernels_matmul, &kernels_fused };
    for (size_t t = 0; t < COUNT(tables); t++) {
        for (size_t i = 0; i < tables[t]->count; i++) {
            if (strcmp(tables[t]->rows[i].op, op) == 0)
                return &tables[t]->rows[i];
        }
    }
    return NULL;
}

static struct status prepare_plain(const struct prepare_context *context, struct state *state)
{
    struct step step = { 0 };
    state->plain = find_plain(prepare_node(context)->op_name);
    assert(state->plain != NULL);
    TRY(prepare_inner(context, prepare_node(context), state->plain, &step));
    state->plain_state = step.state;
    return status_ok();
}

/* ---- what rides along ---- */

static bool find_activation(struct bytes name, enum conv_activation *out)
{
    static const struct {
        const char *op;
        enum conv_activation activation;
    } rows[] = {
        { "Relu", CONV_RELU },    { "Relu6", CONV_RELU6 }, { "LeakyRelu", CONV_LEAKY_RELU },
        { "Elu", CONV_ELU },      { "Tanh", CONV_TANH },   { "Sigmoid", CONV_SIGMOID },
        { "_Swish", CONV_SWISH }, { "_Gelu", CONV_GELU },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (bytes_equal(name, bytes_of(rows[i].op))) {
            *out = rows[i].activation;
            return FLOAT_FLAGS; /* without the flags a lost NaN would go unnoticed */
        }
    }
    return false;
}

/* oneDNN computes a LeakyRelu of alpha 0 as a Relu, which gives 0 for -Inf; it must be NaN. */
static bool read_alpha(const struct node *node, float *alpha)
{
    return status_is_ok(node_attr_float(node, "leakyrelu_alpha", alpha)) && *alpha != 0;
}

/* Bias and activation of a fused node; false: oneDNN cannot fuse them. */
static bool read_fused(const struct prepare_context *context, struct conv2d_onednn_spec *spec)
{
    const struct node *node = prepare_node(context);
    const struct attr_value *names;
    if (strncmp(node->op_name, "_Fused", 6) != 0)
        return true;
    if (!status_is_ok(node_attr_list(node, "fused_ops", &names)))
        return false;
    for (int i = 0; i < names->count; i++) {
        if (bytes_equal(names->elements[i].s, bytes_of("BiasAdd"))) {
            const struct tensor *bias = prepare_constant(context, 2);
            if (i != 0 || bias == NULL || bias->size != spec->filters)
                return false;
            spec->bias = tensor_floats(bias);
        } else if (bytes_equal(names->elements[i].s, bytes_of("Add"))) {
            spec->adds = 1;
        } else if (i != names->count - 1 ||
                   !find_activation(names->elements[i].s, &spec->activation)) {
            return false;
        }
    }
    return spec->activation != CONV_LEAKY_RELU || read_alpha(node, &spec->alpha);
}

/* A filter [.., depth, m] makes groups of the image's channels, if the graph declares their
 * number. */
static int64_t groups_of(const struct node *node, int64_t depth, int64_t filters)
{
    struct endpoint x = node->inputs[0];
    if (x.node == NULL)
        return 1;
    const struct shape *shape = &x.node->outputs[x.index].shape;
    int64_t channels = shape->rank == 4 ? shape->dims[3] : -1;
    bool divides = channels > 0 && channels % depth == 0 && filters % (channels / depth) == 0;
    return divides ? channels / depth : 1;
}

static struct conv2d_onednn *make_fast(const struct prepare_context *context, struct state *state)
{
    const struct tensor *filter = prepare_constant(context, 1);
    if (filter == NULL || filter->shape.rank != 4 || filter->size == 0 ||
        state->attrs.channels_first)
        return NULL;
    const int64_t *dims = filter->shape.dims;
    state->groups = state->depthwise ? 1 : groups_of(prepare_node(context), dims[2], dims[3]);
    struct conv2d_onednn_spec spec = {
        .height = dims[0],
        .width = dims[1],
        .channels = dims[2] * state->groups,
        .filters = state->depthwise ? dims[2] * dims[3] : dims[3],
        .groups = state->depthwise ? dims[2] : state->groups,
        .strides = { state->attrs.stride[ROWS], state->attrs.stride[COLUMNS] },
        .dilations = { state->attrs.dilation[ROWS], state->attrs.dilation[COLUMNS] },
    };
    if (!read_fused(context, &spec))
        return NULL;
    state->addend = spec.adds ? prepare_node(context)->inputs_count - 1 : 0;
    return conv2d_onednn_create(&spec);
}

/* oneDNN computes the output size from the padding: the padding after the image that gives our
 * size. */
static int64_t padding_after(const struct window *window)
{
    return (window->out - 1) * window->stride + (window->kernel - 1) * window->dilation + 1 -
           window->in - window->before;
}

/* The size of one convolution and the shape of its result. UNIMPLEMENTED: not for oneDNN. */
static struct status measure(const struct state *state, const struct shape *x,
                             const struct shape *filter, struct conv2d_onednn_size *out,
                             struct shape *result)
{
    struct conv_size size;
    TRY(conv_size_of(&state->attrs, x, filter, state->depthwise, &size));
    *result = conv_out_shape(&state->attrs, &size);
    TRY(shape_check(4, result->dims, result));
    if (size.groups != state->groups || shape_size(result) == 0)
        return status_error(STATUS_UNIMPLEMENTED, "the plain kernel computes it");
    *out = (struct conv2d_onednn_size){ .batch = size.n,
                                        .height = size.rows.in,
                                        .width = size.columns.in,
                                        .out_height = size.rows.out,
                                        .out_width = size.columns.out,
                                        .before = { size.rows.before, size.columns.before },
                                        .after = { padding_after(&size.rows),
                                                   padding_after(&size.columns) } };
    return status_ok();
}

/* ---- filters that are only kept packed ---- */

/* A filter of fewer bytes stays where it is, for the plain kernel. */
#define TAKE_BYTES_MIN ((size_t)16 << 10)

/* From this size on, pages of its own are huge ones, which each run reads faster. Those of a block
 * are huge already. */
#define HUGE_BYTES ((size_t)2 << 20)

/* The bytes of the filter that the packed one may take; 0: it gets pages of its own. */
static size_t place_bytes(const struct tensor *filter)
{
    size_t bytes = tensor_bytes(filter);
    return filter->buffer->block != NULL || bytes < HUGE_BYTES ? bytes : 0;
}

/* Packs the filter for one image of the shape that the graph declares, and drops it unless the
 * packed one is in its place: then the plan keeps the buffer, whose data are no filter any more. */
static void take_filter(void *opaque, struct tensor *filter, struct buffer *scratch)
{
    struct state *state = opaque;
    bool in_place = false;
    if (!conv2d_onednn_pack(state->fast, &state->declared, tensor_floats_mut(filter),
                            place_bytes(filter), scratch, &in_place))
        return;
    struct tensor gone = *filter;
    filter->data = NULL;
    if (in_place)
        return;
    filter->buffer = NULL;
    tensor_release(&gone);
}

static void claim_filter(struct prepare_context *context, struct state *state)
{
    struct endpoint x = prepare_node(context)->inputs[0];
    const struct tensor *filter = prepare_constant(context, 1);
    if (state->fast == NULL || x.node == NULL || tensor_bytes(filter) < TAKE_BYTES_MIN)
        return;
    struct shape image = x.node->outputs[x.index].shape, result;
    if (image.rank != 4 || image.dims[1] < 1 || image.dims[2] < 1 || image.dims[3] < 1)
        return;
    image.dims[0] = 1;
    if (status_is_ok(measure(state, &image, &filter->shape, &state->declared, &result)))
        prepare_claim(context, 1, take_filter);
}

static struct status run_plain(struct kernel_context *context, const struct state *state)
{
    struct step step = *context->step;
    struct kernel_context inner = *context;
    step.state = state->plain_state;
    inner.step = &step;
    return state->plain->compute(&inner);
}

/* Runs the plain kernel with the filter unpacked. Nothing else uses the filter, so the value of
 * its slot may change for the duration of the step. */
static struct status compute_unpacked(struct kernel_context *context, const struct state *state)
{
    uint32_t slot = context->step->inputs[1] & SLOT_INDEX;
    const struct tensor *packed = context->values[slot];
    struct tensor filter;
    TRY(kernel_scratch(context, DT_FLOAT, &packed->shape, &filter));
    struct status status;
    if (conv2d_onednn_unpack(state->fast, tensor_floats_mut(&filter))) {
        context->values[slot] = &filter;
        status = run_plain(context, state);
        context->values[slot] = packed;
    } else {
        status = kernel_error(context, STATUS_INTERNAL, "oneDNN does not unpack the filter");
    }
    tensor_release(&filter);
    return status;
}

static struct status compute_plain(struct kernel_context *context, const struct state *state)
{
    return kernel_input(context, 1)->data == NULL && kernel_input(context, 1)->size > 0
               ? compute_unpacked(context, state)
               : run_plain(context, state);
}

static void state_destroy(void *opaque)
{
    struct state *state = opaque;
    conv2d_onednn_destroy(state->fast);
}

static struct status prepare(struct prepare_context *context)
{
    const struct node *node = prepare_node(context);
    struct state *state = prepare_state(context, sizeof *state, state_destroy);
    state->depthwise = strstr(node->op_name, "Depthwise") != NULL;
    TRY(prepare_plain(context, state));
    TRY(window_attrs_read(node, false, &state->attrs));
    state->fast = make_fast(context, state);
    claim_filter(context, state);
    return status_ok();
}

/* ---- running ---- */

/* The result, which holds the addend if there is one. It may be the addend's own buffer: then the
 * addend is lost once oneDNN has begun. */
static struct status make_output(struct kernel_context *context, const struct state *state,
                                 const struct shape *shape, struct tensor **out, bool *in_place)
{
    *in_place = false;
    if (state->addend == 0)
        return kernel_output(context, 0, shape, out);
    const struct tensor addend = *kernel_input(context, state->addend);
    if (kernel_may_spoil_input(context))
        TRY(kernel_output_forward(context, 0, state->addend, shape, out));
    else
        TRY(kernel_output(context, 0, shape, out));
    *in_place = (*out)->data == addend.data;
    if (!*in_place)
        memcpy((*out)->data, addend.data, tensor_bytes(&addend));
    return status_ok();
}

static struct status compute(struct kernel_context *context)
{
    const struct state *state = kernel_state(context);
    const struct tensor *x = kernel_input(context, 0), *filter = kernel_input(context, 1);
    struct conv2d_onednn_size fast;
    struct shape shape;
    struct tensor *out;
    bool in_place;
    if (state->fast == NULL || x->size == 0 ||
        !status_is_ok(measure(state, &x->shape, &filter->shape, &fast, &shape)) ||
        (state->addend > 0 && !shape_equal(&kernel_input(context, state->addend)->shape, &shape)))
        return compute_plain(context, state); /* which says what is wrong */
    TRY(make_output(context, state, &shape, &out, &in_place));
    enum conv_outcome outcome = conv2d_onednn_run(state->fast, &fast, tensor_floats(filter),
                                                  tensor_floats(x), tensor_floats_mut(out));
    if (outcome == CONV_DONE)
        return status_ok();
    if (in_place && outcome == CONV_SPOILT)
        return kernel_repeat(context);
    if (!in_place)
        tensor_release(out); /* the plain kernel makes its own output */
    return compute_plain(context, state);
}

/* ---- products ---- */

/* oneDNN keeps the matrix packed, a second copy of it. Without the copy, each product packs the
 * matrix anew. That costs too much for few rows, and is slow if the distance of its rows maps
 * them to the same cache sets. [64,256] by [256,1024]: 735 us with sgemm, 356 us packed; [8,784]
 * by [784,512]: 142 us and 72 us; [3136,96] by [96,384]: 2526 us and 2511 us. */
#define COLUMNS_MIN   32
#define DEPTH_MIN     16
#define BYTES_MAX     ((size_t)4 << 20)
#define BAD_BYTES_MAX ((size_t)64 << 20)
#define BAD_COLUMNS   256 /* a distance of this many floats, or a multiple */

static bool pays(const struct tensor *matrix)
{
    int64_t depth = matrix->shape.dims[0], columns = matrix->shape.dims[1];
    size_t bytes = tensor_bytes(matrix);
    return depth >= DEPTH_MIN && columns >= COLUMNS_MIN &&
           bytes <= (columns % BAD_COLUMNS == 0 ? BAD_BYTES_MAX : BYTES_MAX);
}

static struct conv2d_onednn *make_product(const struct prepare_context *context, bool batch)
{
    const struct tensor *matrix = prepare_constant(context, 1);
    const struct node *node = prepare_node(context);
    bool transpose_a = true, transpose_b = true;
    status_ignore(node_attr_bool(node, batch ? "adj_x" : "transpose_a", &transpose_a));
    status_ignore(node_attr_bool(node, batch ? "adj_y" : "transpose_b", &transpose_b));
    if (matrix == NULL || matrix->shape.rank != 2 || transpose_a || transpose_b || !pays(matrix))
        return NULL;
    struct conv2d_onednn_spec spec = { .height = 1,
                                       .width = 1,
                                       .channels = matrix->shape.dims[0],
                                       .filters = matrix->shape.dims[1],
                                       .groups = 1,
                                       .strides = { 1, 1 },
                                       .dilations = { 1, 1 },
                                       .filter = tensor_floats(matrix) };
    return read_fused(context, &spec) ? conv2d_onednn_create(&spec) : NULL;
}

static struct status product_prepare(struct prepare_context *context)
{
    struct state *state = prepare_state(context, sizeof *state, state_destroy);
    TRY(prepare_plain(context, state));
    state->batch = strncmp(prepare_node(context)->op_name, "Batch", 5) == 0;
    state->fast = make_product(context, state->batch);
    return status_ok();
}

/* A batch of products by one matrix is one product of all rows. One row alone is as fast
 * without packing, and reads the matrix once. */
static struct status product_compute(struct kernel_context *context)
{
    const struct state *state = kernel_state(context);
    const struct tensor *x = kernel_input(context, 0), *matrix = kernel_input(context, 1);
    int last = x->shape.rank - 1;
    struct shape shape = x->shape;
    struct tensor *out;
    if (state->fast == NULL || last < 1 || (last > 1 && !state->batch) ||
        x->shape.dims[last] != matrix->shape.dims[0] || x->size <= x->shape.dims[last])
        return compute_plain(context, state);
    shape.dims[last] = matrix->shape.dims[1];
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(context, 0, &shape, &out));
    if (conv2d_onednn_multiply(state->fast, x->size / x->shape.dims[last], tensor_floats(x),
                               tensor_floats_mut(out)))
        return status_ok();
    tensor_release(out); /* the plain kernel makes its own output */
    return compute_plain(context, state);
}

#define ROW(name, make, run)                                                    \
    {                                                                           \
        name, DTYPES(DT_FLOAT), .prepare = make, .compute = run, .costly = true \
    }
static const struct kernel rows[] = {
    ROW("Conv2D", prepare, compute),
    ROW("DepthwiseConv2dNative", prepare, compute),
    ROW("_FusedConv2D", prepare, compute),
    ROW("_FusedDepthwiseConv2dNative", prepare, compute),
    ROW("MatMul", product_prepare, product_compute),
    ROW("BatchMatMul", product_prepare, product_compute),
    ROW("BatchMatMulV2", product_prepare, product_compute),
    ROW("_FusedMatMul", product_prepare, product_compute),
};
const struct kernel_table kernels_onednn_ops = { rows, COUNT(rows) };
