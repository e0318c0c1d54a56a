/* Shapes of neural network ops. */
#include "graph/ops/infer.h"

/* The positions of the dimensions of a batch of images: [N, H, W, C] or [N, C, H, W]. */
struct layout {
    int batch, height, width, channels;
};

/* Does data_format put the channels before the spatial dimensions? */
static bool channels_first(const struct node *node)
{
    const struct attr_value *format = node_attr(node, "data_format");
    return format != NULL && format->kind == ATTR_STRING &&
           (bytes_equal(format->s, bytes_of("NCHW")) || bytes_equal(format->s, bytes_of("NCDHW")));
}

static struct status image_layout(const struct node *node, struct layout *out)
{
    const struct attr_value *format = node_attr(node, "data_format");
    if (format != NULL && format->kind == ATTR_STRING && !channels_first(node) &&
        !bytes_equal(format->s, bytes_of("NHWC")))
        return status_error(STATUS_UNIMPLEMENTED, "data_format '%.*s'", (int)format->s.size,
                            format->s.data);
    *out = channels_first(node) ? (struct layout){ 0, 2, 3, 1 } : (struct layout){ 0, 1, 2, 3 };
    return status_ok();
}

/* A list of integers for each dimension; 1 if it is not given. */
static struct status window(const struct node *node, const char *name, int rank, int64_t out[5])
{
    const struct attr_value *list = node_attr(node, name);
    for (int i = 0; i < rank; i++)
        out[i] = 1;
    if (list == NULL || list->kind != ATTR_LIST || list->count == 0)
        return status_ok();
    if (list->count != rank || list->element_kind != ATTR_INT)
        return status_error(STATUS_INVALID_ARGUMENT, "%s should have %d numbers", name, rank);
    for (int i = 0; i < rank; i++) {
        out[i] = list->elements[i].i;
        if (out[i] < 1 || out[i] > INT32_MAX)
            return status_error(STATUS_INVALID_ARGUMENT, "%s holds %lld, should be 1 or more", name,
                                (long long)out[i]);
    }
    return status_ok();
}

/* The explicit padding of dimension i, both sides together. */
static int64_t explicit_padding(const struct node *node, int i)
{
    const struct attr_value *list = node_attr(node, "explicit_paddings");
    if (list == NULL || list->kind != ATTR_LIST || list->count != 8)
        return 0;
    int64_t before = list->elements[2 * i].i, after = list->elements[2 * i + 1].i;
    bool sane = before >= 0 && after >= 0 && before < INT32_MAX && after < INT32_MAX;
    return sane ? before + after : 0;
}

/* The number of windows of `size`, `dilation` apart, at every `stride` over `input`; -1:
 * unknown. */
static struct status windows(const struct node *node, int64_t input, int64_t size, int64_t stride,
                             int64_t dilation, int i, int64_t *out)
{
    struct bytes padding;
    TRY(node_attr_string(node, "padding", &padding));
    *out = -1;
    if (input < 0 || size < 0 || size > INT32_MAX)
        return status_ok();
    if (bytes_equal(padding, bytes_of("SAME"))) {
        *out = input / stride + (input % stride != 0);
        return status_ok();
    }
    if (!bytes_equal(padding, bytes_of("VALID")) && !bytes_equal(padding, bytes_of("EXPLICIT")))
        return status_error(STATUS_INVALID_ARGUMENT, "padding '%.*s'", (int)padding.size,
                            padding.data);
    int64_t padded = bytes_equal(padding, bytes_of("EXPLICIT")) && input < INT32_MAX
                         ? input + explicit_padding(node, i)
                         : input;
    int64_t reach = (size - 1) * dilation + 1;
    int64_t left = padded - reach;
    /* a window that is less than a stride too large gives 0, as in TensorFlow */
    if (left < -stride)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "window of %lld does not fit into %lld with padding %.*s",
                            (long long)reach, (long long)padded, (int)padding.size, padding.data);
    *out = left < 0 ? 0 : left / stride + 1;
    return status_ok();
}

/* The output of a convolution along the dimensions between batch and channels, of which the first
 * is `first`: filter [.., in, out]. */
static struct status slide_filter(struct infer_context *context, const struct shape *input,
                                  const struct shape *filter, int first, struct shape *out)
{
    int rank = input->rank;
    int64_t strides[5], dilations[5];

    TRY(window(context->node, "strides", rank, strides));
    TRY(window(context->node, "dilations", rank, dilations));
    for (int i = first; i < first + rank - 2; i++)
        TRY(windows(context->node, input->dims[i], filter->dims[i - first], strides[i],
                    dilations[i], i, &out->dims[i]));
    return status_ok();
}

/* `multiplied`: the filter is [h, w, in, multiplier] and out = in * multiplier. */
static struct status convolve(struct infer_context *context, int rank, bool multiplied)
{
    struct shape input = *infer_input(context, 0), filter = *infer_input(context, 1);
    bool first = channels_first(context->node);

    TRY(infer_rank(&input, rank, "input"));
    TRY(infer_rank(&filter, rank, "filter"));
    if (input.rank < 0)
        input = shape_unknown_dims(rank);
    if (filter.rank < 0)
        filter = shape_unknown_dims(rank);
    int64_t channels = filter.dims[rank - 1];
    if (multiplied && (filter.dims[2] < 0 || filter.dims[3] < 0 ||
                       __builtin_mul_overflow(filter.dims[2], filter.dims[3], &channels)))
        channels = -1;
    struct shape shape = shape_unknown_dims(rank);
    shape.dims[0] = input.dims[0];
    shape.dims[first ? 1 : rank - 1] = channels;
    TRY(slide_filter(context, &input, &filter, first ? 2 : 1, &shape));
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_conv2d(struct infer_context *context)
{
    struct layout at;
    TRY(image_layout(context->node, &at));
    return convolve(context, 4, false);
}

struct status infer_depthwise_conv2d(struct infer_context *context)
{
    struct layout at;
    TRY(image_layout(context->node, &at));
    return convolve(context, 4, true);
}

struct status infer_conv3d(struct infer_context *context)
{
    return convolve(context, 5, false);
}

static struct status pool(struct infer_context *context, int rank)
{
    struct shape input = *infer_input(context, 0);
    int64_t sizes[5], strides[5];

    TRY(window(context->node, "ksize", rank, sizes));
    TRY(window(context->node, "strides", rank, strides));
    TRY(infer_rank(&input, rank, "input"));
    if (input.rank < 0)
        input = shape_unknown_dims(rank);
    struct shape shape = input;
    for (int i = 0; i < rank; i++)
        if (sizes[i] != 1 || strides[i] != 1)
            TRY(windows(context->node, input.dims[i], sizes[i], strides[i], 1, i, &shape.dims[i]));
    infer_output(context, 0, &shape);
    return status_ok();
}

/* MaxPoolV2: the sizes of the window are inputs, and not looked at. */
struct status infer_pool_fed(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);

    TRY(infer_rank(&shape, 4, "input"));
    if (shape.rank < 0)
        shape = shape_unknown_dims(4);
    shape.dims[1] = shape.dims[2] = -1;
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The borders of windows are one more than the rows and columns. */
struct status infer_fractional_pool(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    const struct attr_value *ratio = node_attr(context->node, "pooling_ratio");
    TRY(infer_rank(&shape, 4, "value"));
    if (shape.rank < 0)
        shape = shape_unknown_dims(4);
    for (int64_t i = 1; i < 3; i++) {
        bool is_known = shape.dims[i] >= 0 && ratio != NULL && ratio->count == 4 &&
                        ratio->element_kind == ATTR_FLOAT && ratio->elements[i].f >= 1;
        shape.dims[i] = is_known ? (int64_t)((float)shape.dims[i] / ratio->elements[i].f) : -1;
        struct shape borders = shape_of(is_known ? shape.dims[i] + 1 : -1);
        infer_output(context, (int)i, &borders);
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_pool_with_argmax(struct infer_context *context)
{
    TRY(pool(context, 4));
    infer_output(context, 1, &context->node->outputs[0].shape);
    return status_ok();
}

/* filter [h, w, channels] */
struct status infer_dilation(struct infer_context *context)
{
    struct shape input = *infer_input(context, 0), filter = *infer_input(context, 1);
    int64_t strides[5], rates[5];

    TRY(infer_rank(&input, 4, "input"));
    TRY(infer_rank(&filter, 3, "filter"));
    TRY(window(context->node, "strides", 4, strides));
    TRY(window(context->node, "rates", 4, rates));
    if (input.rank < 0)
        input = shape_unknown_dims(4);
    struct shape shape = input;
    for (int i = 1; i < 3; i++)
        TRY(windows(context->node, input.dims[i], filter.rank < 0 ? -1 : filter.dims[i - 1],
                    strides[i], rates[i], i, &shape.dims[i]));
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_pool(struct infer_context *context)
{
    return pool(context, 4);
}

struct status infer_pool3d(struct infer_context *context)
{
    return pool(context, 5);
}

/* y has the shape of x, the statistics are vectors over channels; the last reserve space is a
 * scalar or unknown. */
/* In training, mean and variance are computed, and those given may be empty. */
struct status infer_fused_batch_norm(struct infer_context *context)
{
    struct shape statistics = shape_unknown_dims(1);
    bool training;

    TRY(node_attr_bool(context->node, "is_training", &training));
    infer_output(context, 0, infer_input(context, 0));
    for (int i = 1; i <= (training ? 2 : 4); i++)
        TRY(infer_merge(&statistics, infer_input(context, i), &statistics));
    for (int i = 1; i <= 4; i++)
        infer_output(context, i, &statistics);
    return status_ok();
}

/* x_backprop like x, scale_backprop and offset_backprop like scale. */
struct status infer_fused_batch_norm_grad(struct infer_context *context)
{
    infer_output(context, 0, infer_input(context, 1));
    infer_output(context, 1, infer_input(context, 2));
    infer_output(context, 2, infer_input(context, 2));
    return status_ok();
}

/* An image, and a vector for each of the others. */
struct status infer_global_norm_grad(struct infer_context *context)
{
    infer_output(context, 0, infer_input(context, 0));
    for (int i = 1; i < 5; i++)
        infer_output(context, i, infer_input(context, 1));
    return status_ok();
}

struct status infer_resize(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    struct shape size = infer_shape_value(context, 1);

    TRY(infer_rank(&shape, 4, "images"));
    if (shape.rank < 0)
        shape = shape_unknown_dims(4);
    bool known = size.rank == 2;
    shape.dims[1] = known ? size.dims[0] : -1;
    shape.dims[2] = known ? size.dims[1] : -1;
    infer_output(context, 0, &shape);
    return status_ok();
}

/* One crop for each box. */
struct status infer_crop_and_resize(struct infer_context *context)
{
    const struct shape *image = infer_input(context, 0), *boxes = infer_input(context, 1);
    struct shape shape = shape_unknown_dims(4), size = infer_shape_value(context, 3);

    TRY(infer_rank(image, 4, "image"));
    if (boxes->rank == 2)
        shape.dims[0] = boxes->dims[0];
    if (size.rank == 2) {
        shape.dims[1] = size.dims[0];
        shape.dims[2] = size.dims[1];
    }
    if (image->rank == 4)
        shape.dims[3] = image->dims[3];
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The size is input 2. */
struct status infer_projective(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0), size = infer_shape_value(context, 2);

    TRY(infer_rank(&shape, 4, "images"));
    if (shape.rank < 0)
        shape = shape_unknown_dims(4);
    shape.dims[1] = size.rank == 2 ? size.dims[0] : -1;
    shape.dims[2] = size.rank == 2 ? size.dims[1] : -1;
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_image_patches(struct infer_context *context)
{
    struct shape images = *infer_input(context, 0);
    int64_t sizes[5], strides[5], rates[5];

    TRY(infer_rank(&images, 4, "images"));
    struct shape shape = shape_unknown_dims(4);
    if (images.rank == 4)
        shape.dims[0] = images.dims[0];
    infer_output(context, 0, &shape);
    if (images.rank < 0 || !status_is_ok(window(context->node, "ksizes", 4, sizes)) ||
        !status_is_ok(window(context->node, "strides", 4, strides)) ||
        !status_is_ok(window(context->node, "rates", 4, rates)))
        return status_ok(); /* the kernel has TensorFlow's words for it */
    for (int i = 1; i < 3; i++)
        if (!status_is_ok(windows(context->node, images.dims[i], sizes[i], strides[i], rates[i], i,
                                  &shape.dims[i])))
            return status_ok();
    int64_t elements = sizes[1] * sizes[2]; /* each below 2^31 */
    bool fits = images.dims[3] >= 0 && images.dims[3] <= INT64_MAX / elements;
    shape.dims[3] = fits ? images.dims[3] * elements : -1;
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The shape of the strings, and one dimension more. */
struct status infer_decode_raw(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);

    if (shape.rank >= 0 && shape.rank < SHAPE_RANK_MAX)
        shape.dims[shape.rank++] = -1;
    else
        shape = shape_unknown();
    infer_output(context, 0, &shape);
    return status_ok();
}

/* [height, width, channels]; channels 0: as many as the file has. */
struct status infer_image(struct infer_context *context)
{
    struct shape shape = shape_unknown_dims(3);
    int64_t channels;

    TRY(node_attr_int(context->node, "channels", &channels));
    if (channels > 0)
        shape.dims[2] = channels;
    infer_output(context, 0, &shape);
    return status_ok();
}

/* [samples, channels], and how many samples a second. */
struct status infer_decode_wav(struct infer_context *context)
{
    struct shape audio = shape_unknown_dims(2), rate = shape_scalar();

    TRY(node_attr_int(context->node, "desired_samples", &audio.dims[0]));
    TRY(node_attr_int(context->node, "desired_channels", &audio.dims[1]));
    for (int i = 0; i < 2; i++)
        audio.dims[i] = audio.dims[i] < 0 ? -1 : audio.dims[i];
    infer_output(context, 0, &audio);
    infer_output(context, 1, &rate);
    return status_ok();
}

struct status infer_combined_suppression(struct infer_context *context)
{
    const struct shape *boxes = infer_input(context, 0);
    int64_t images = boxes->rank == 4 ? boxes->dims[0] : -1;
    struct shape outs[] = { shape_of(images, -1, 4), shape_of(images, -1), shape_of(images, -1),
                            shape_of(images) };

    for (int i = 0; i < 4; i++)
        infer_output(context, i, &outs[i]);
    return status_ok();
}

struct status infer_softmax_cross_entropy(struct infer_context *context)
{
    struct shape logits, loss;
    TRY(shape_broadcast(infer_input(context, 0), infer_input(context, 1), &logits));
    TRY(infer_rank(&logits, 2, "features"));
    loss = logits.rank == 2 ? shape_of(logits.dims[0]) : shape_unknown_dims(1);
    infer_output(context, 0, &loss);
    infer_output(context, 1, &logits);
    return status_ok();
}

struct status infer_sparse_softmax_cross_entropy(struct infer_context *context)
{
    const struct shape *logits = infer_input(context, 0);
    struct shape rows = shape_unknown_dims(1), loss;
    TRY(infer_rank(logits, 2, "features"));
    if (logits->rank == 2)
        rows.dims[0] = logits->dims[0];
    TRY(infer_merge(&rows, infer_input(context, 1), &loss));
    infer_output(context, 0, &loss);
    infer_output(context, 1, logits);
    return status_ok();
}

struct status infer_bias_add_grad(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    struct shape vector = shape_unknown_dims(1);
    if (input->rank >= 2)
        vector.dims[0] = input->dims[channels_first(context->node) ? 1 : input->rank - 1];
    infer_output(context, 0, &vector);
    return status_ok();
}

/* Moves blocks between depth and space: depth / block², height and width * block, or back. */
static struct status move_blocks(struct infer_context *context, bool to_space)
{
    struct shape shape = *infer_input(context, 0);
    struct layout at;
    int64_t block;

    TRY(node_attr_int(context->node, "block_size", &block));
    TRY(image_layout(context->node, &at));
    TRY(infer_rank(&shape, 4, "input"));
    if (block < 2 || block > 1 << 15)
        return status_error(STATUS_INVALID_ARGUMENT, "block_size is %lld, should be 2 or more",
                            (long long)block);
    if (shape.rank < 0)
        shape = shape_unknown_dims(4);
    int64_t *sides[] = { &shape.dims[at.height], &shape.dims[at.width] };
    int64_t *depth = &shape.dims[at.channels];
    for (int i = 0; i < 2; i++) {
        if (*sides[i] < 0)
            continue;
        if (!to_space && *sides[i] % block != 0)
            return status_error(STATUS_INVALID_ARGUMENT, "%s does not divide into blocks of %lld",
                                shape_text(&shape), (long long)block);
        if (!to_space)
            *sides[i] /= block;
        else if (__builtin_mul_overflow(*sides[i], block, sides[i]))
            *sides[i] = -1;
    }
    if (*depth >= 0 && to_space && *depth % (block * block) != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "depth %lld does not divide by %lld",
                            (long long)*depth, (long long)(block * block));
    if (*depth >= 0 && to_space)
        *depth /= block * block;
    else if (*depth >= 0 && __builtin_mul_overflow(*depth, block * block, depth))
        *depth = -1;
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_depth_to_space(struct infer_context *context)
{
    return move_blocks(context, true);
}

struct status infer_space_to_depth(struct infer_context *context)
{
    return move_blocks(context, false);
}

/* Only the rank and the dimensions after the blocks are known before running. */
static struct status move_batch(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0), *blocks = infer_input(context, 1);
    if (input->rank < 0 || blocks->rank != 1 || blocks->dims[0] < 0)
        return status_ok();
    struct shape shape = shape_unknown_dims(input->rank);
    for (int i = 1; i < input->rank; i++)
        if (i > blocks->dims[0])
            shape.dims[i] = input->dims[i];
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_batch_to_space(struct infer_context *context)
{
    return move_batch(context);
}

struct status infer_space_to_batch(struct infer_context *context)
{
    return move_batch(context);
}

/* Rank 4, and the depth is kept. */
struct status infer_square_batches(struct infer_context *context)
{
    struct shape shape = shape_unknown_dims(4);
    const struct shape *x = infer_input(context, 0);
    TRY(infer_rank(x, 4, "input"));
    if (x->rank == 4)
        shape.dims[3] = x->dims[3];
    infer_output(context, 0, &shape);
    return status_ok();
}

/* Inputs [steps, batch, classes]; a loss of each row, and a gradient like the inputs. */
struct status infer_ctc_loss(struct infer_context *context)
{
    const struct shape *inputs = infer_input(context, 0);
    TRY(infer_rank(inputs, 3, "inputs"));
    struct shape loss = shape_of(inputs->rank == 3 ? inputs->dims[1] : -1);
    infer_output(context, 0, &loss);
    infer_output(context, 1, inputs);
    return status_ok();
}
