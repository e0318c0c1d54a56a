#include "layers/layer.h"

#include <stdlib.h>

#include "layers/classes/classes.h"

/* docs/adding.md explains how to add a class. */
static const struct layer_class *const classes[] = {
    &layer_input,
    &layer_dense,
    &layer_conv2d,
    &layer_max_pooling2d,
    &layer_average_pooling2d,
    &layer_flatten,
    &layer_reshape,
    &layer_permute,
    &layer_repeat_vector,
    &layer_rescaling,
    &layer_identity,
    &layer_category_encoding,
    &layer_hashing,
    &layer_hashed_crossing,
    &layer_string_lookup,
    &layer_text_vectorization,
    &layer_resizing,
    &layer_center_crop,
    &layer_random_flip,
    &layer_random_translation,
    &layer_random_zoom,
    &layer_random_rotation,
    &layer_random_brightness,
    &layer_random_contrast,
    &layer_random_crop,
    &layer_random_shear,
    &layer_random_perspective,
    &layer_clahe,
    &layer_rand_augment,
    &layer_aug_mix,
    &layer_equalization,
    &layer_auto_contrast,
    &layer_random_hue,
    &layer_random_saturation,
    &layer_random_color_jitter,
    &layer_random_grayscale,
    &layer_random_color_degeneration,
    &layer_random_invert,
    &layer_random_posterization,
    &layer_solarization,
    &layer_random_sharpness,
    &layer_random_gaussian_blur,
    &layer_random_erasing,
    &layer_mix_up,
    &layer_cut_mix,
    &layer_max_num_bounding_boxes,
    &layer_random_elastic_transform,
    &layer_integer_lookup,
    &layer_normalization,
    &layer_mel_spectrogram,
    &layer_stft_spectrogram,
    &layer_discretization,
    &layer_activity_regularization,
    &layer_conv1d,
    &layer_depthwise_conv1d,
    &layer_depthwise_conv2d,
    &layer_separable_conv1d,
    &layer_separable_conv2d,
    &layer_conv1d_transpose,
    &layer_conv2d_transpose,
    &layer_conv3d,
    &layer_conv3d_transpose,
    &layer_max_pooling1d,
    &layer_average_pooling1d,
    &layer_global_max_pooling1d,
    &layer_global_max_pooling2d,
    &layer_global_average_pooling1d,
    &layer_global_average_pooling2d,
    &layer_adaptive_average_pooling1d,
    &layer_adaptive_average_pooling2d,
    &layer_adaptive_average_pooling3d,
    &layer_adaptive_max_pooling1d,
    &layer_adaptive_max_pooling2d,
    &layer_adaptive_max_pooling3d,
    &layer_zero_padding1d,
    &layer_zero_padding2d,
    &layer_cropping1d,
    &layer_cropping2d,
    &layer_up_sampling1d,
    &layer_up_sampling2d,
    &layer_max_pooling3d,
    &layer_average_pooling3d,
    &layer_global_max_pooling3d,
    &layer_global_average_pooling3d,
    &layer_zero_padding3d,
    &layer_cropping3d,
    &layer_up_sampling3d,
    &layer_layer_normalization,
    &layer_group_normalization,
    &layer_unit_normalization,
    &layer_rms_normalization,
    &layer_batch_normalization,
    &layer_spectral_normalization,
    &layer_masking,
    &layer_attention,
    &layer_additive_attention,
    &layer_multi_head_attention,
    &layer_group_query_attention,
    &layer_simple_rnn,
    &layer_lstm,
    &layer_gru,
    &layer_rnn,
    &layer_bidirectional,
    &layer_conv_lstm1d,
    &layer_conv_lstm2d,
    &layer_conv_lstm3d,
    &layer_simple_rnn_cell,
    &layer_lstm_cell,
    &layer_gru_cell,
    &layer_stacked_rnn_cells,
    &layer_dropout,
    &layer_spatial_dropout1d,
    &layer_spatial_dropout2d,
    &layer_spatial_dropout3d,
    &layer_gaussian_noise,
    &layer_gaussian_dropout,
    &layer_alpha_dropout,
    &layer_einsum_dense,
    &layer_embedding,
    &layer_reversible_embedding,
    &layer_embedding_bag,
    &layer_sampled_softmax,
    &layer_dynamic_embedding,
    &layer_time_distributed,
    &layer_add,
    &layer_subtract,
    &layer_multiply,
    &layer_average,
    &layer_maximum,
    &layer_minimum,
    &layer_concatenate,
    &layer_dot,
    &layer_feature_cross,
    &layer_dot_interaction,
    &layer_activation,
    &layer_relu,
    &layer_leaky_relu,
    &layer_prelu,
    &layer_elu,
    &layer_thresholded_relu,
    &layer_softmax,
};

/* Keras' operations. Some share their name with a layer that has other arguments. */
static const struct layer_class *const ops[] = {
    &layer_op_add,
    &layer_op_subtract,
    &layer_op_multiply,
    &layer_op_divide,
    &layer_op_true_divide,
    &layer_op_divide_no_nan,
    &layer_op_floor_divide,
    &layer_op_mod,
    &layer_op_power,
    &layer_op_maximum,
    &layer_op_minimum,
    &layer_op_arctan2,
    &layer_op_equal,
    &layer_op_not_equal,
    &layer_op_greater,
    &layer_op_greater_equal,
    &layer_op_less,
    &layer_op_less_equal,
    &layer_op_logical_and,
    &layer_op_logical_or,
    &layer_op_where,
    &layer_op_negative,
    &layer_op_absolute,
    &layer_op_abs,
    &layer_op_square,
    &layer_op_sign,
    &layer_op_sqrt,
    &layer_op_rsqrt,
    &layer_op_reciprocal,
    &layer_op_exp,
    &layer_op_expm1,
    &layer_op_log,
    &layer_op_log1p,
    &layer_op_sin,
    &layer_op_cos,
    &layer_op_tan,
    &layer_op_arctan,
    &layer_op_tanh,
    &layer_op_erf,
    &layer_op_floor,
    &layer_op_ceil,
    &layer_op_logical_not,
    &layer_op_stop_gradient,
    &layer_op_clip,
    &layer_op_cast,
    &layer_op_zeros_like,
    &layer_op_ones_like,
    &layer_op_convert_to_tensor,
    &layer_op_relu,
    &layer_op_relu6,
    &layer_op_sigmoid,
    &layer_op_softplus,
    &layer_op_softsign,
    &layer_op_selu,
    &layer_op_silu,
    &layer_op_hard_sigmoid,
    &layer_op_hard_silu,
    &layer_op_log_sigmoid,
    &layer_op_threshold,
    &layer_op_softmax,
    &layer_op_elu,
    &layer_op_leaky_relu,
    &layer_op_gelu,
    &layer_op_sum,
    &layer_op_mean,
    &layer_op_max,
    &layer_op_min,
    &layer_op_prod,
    &layer_op_any,
    &layer_op_all,
    &layer_op_logsumexp,
    &layer_op_var,
    &layer_op_std,
    &layer_op_norm,
    &layer_op_normalize,
    &layer_op_reshape,
    &layer_op_transpose,
    &layer_op_swapaxes,
    &layer_op_moveaxis,
    &layer_op_expand_dims,
    &layer_op_squeeze,
    &layer_op_concatenate,
    &layer_op_stack,
    &layer_op_tile,
    &layer_op_split,
    &layer_op_get_item,
    &layer_op_matmul,
    &layer_op_average,
    &layer_op_amax,
    &layer_op_amin,
    &layer_op_count_nonzero,
    &layer_op_moments,
    &layer_op_layer_norm,
    &layer_op_rms_norm,
    &layer_op_hstack,
    &layer_op_dstack,
    &layer_op_unstack,
    &layer_op_dot,
    &layer_op_tensordot,
    &layer_op_einsum,
    &layer_op_dot_product_attention,
    &layer_op_inv,
    &layer_op_det,
    &layer_op_resize,
    &layer_op_rgb_to_grayscale,
    &layer_op_extract_patches,
    &layer_op_max_pool,
    &layer_op_average_pool,
    &layer_op_space_to_depth,
    &layer_op_depth_to_space,
    &layer_op_flip,
    &layer_op_roll,
    &layer_op_repeat,
    &layer_op_pad,
    &layer_op_cumsum,
    &layer_op_cumprod,
    &layer_op_diff,
    &layer_op_tril,
    &layer_op_triu,
    &layer_op_take,
    &layer_op_take_along_axis,
    &layer_op_sort,
    &layer_op_argsort,
    &layer_op_top_k,
    &layer_op_argmax,
    &layer_op_argmin,
    &layer_op_one_hot,
    &layer_op_arcsin,
    &layer_op_arccos,
    &layer_op_sinh,
    &layer_op_cosh,
    &layer_op_arcsinh,
    &layer_op_arccosh,
    &layer_op_arctanh,
    &layer_op_erfc,
    &layer_op_erfinv,
    &layer_op_isnan,
    &layer_op_isinf,
    &layer_op_isfinite,
    &layer_op_copy,
    &layer_op_sparse_plus,
    &layer_op_sparse_sigmoid,
    &layer_op_tanh_shrink,
    &layer_op_hard_tanh,
    &layer_op_log_softmax,
    &layer_op_glu,
    &layer_op_sparsemax,
    &layer_op_log2,
    &layer_op_log10,
    &layer_op_exp2,
    &layer_op_deg2rad,
    &layer_op_rad2deg,
    &layer_op_cbrt,
    &layer_op_sinc,
    &layer_op_trunc,
    &layer_op_isneginf,
    &layer_op_isposinf,
    &layer_op_nan_to_num,
    &layer_op_round,
    &layer_op_celu,
    &layer_op_hard_shrink,
    &layer_op_soft_shrink,
    &layer_op_squareplus,
    &layer_op_logaddexp,
    &layer_op_hypot,
    &layer_op_fmod,
    &layer_op_logical_xor,
    &layer_op_isclose,
    &layer_op_fabs,
    &layer_op_select,
    &layer_op_logaddexp2,
    &layer_op_fmax,
    &layer_op_fmin,
    &layer_op_heaviside,
    &layer_op_nansum,
    &layer_op_nanprod,
    &layer_op_nanmax,
    &layer_op_nanmin,
    &layer_op_nanmean,
    &layer_op_nanvar,
    &layer_op_nanstd,
    &layer_op_ptp,
    &layer_op_nancumsum,
    &layer_op_nancumprod,
    &layer_op_nanargmax,
    &layer_op_nanargmin,
    &layer_op_multi_hot,
    &layer_op_isin,
    &layer_op_search_sorted,
    &layer_op_digitize,
    &layer_op_unfold,
    &layer_op_pad_images,
    &layer_op_crop_images,
    &layer_op_gaussian_blur,
    &layer_op_affine_transform,
    &layer_op_median,
    &layer_op_nanmedian,
    &layer_op_quantile,
    &layer_op_percentile,
    &layer_op_nanquantile,
    &layer_op_nanpercentile,
    &layer_op_rearrange,
};

bool layer_module_is_of_ops(const char *module)
{
    return module != NULL && strstr(module, ".ops.") != NULL;
}

static const struct layer_class *find_class(const struct layer_class *const *rows, size_t count,
                                            const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

/* Layers of Keras' FeatureSpace that are others by another name. */
static const struct {
    const char *name, *same;
} aliases[] = {
    { "TFDConcat", "Concatenate" },
    { "TFDIdentity", "Identity" },
};

const struct layer_class *layer_class_find(const char *module, const char *name)
{
    for (size_t i = 0; i < COUNT(aliases); i++)
        if (strcmp(name, aliases[i].name) == 0)
            name = aliases[i].same;
    const struct layer_class *layer =
        layer_module_is_of_ops(module) ? NULL : find_class(classes, COUNT(classes), name);

    return layer != NULL ? layer : find_class(ops, COUNT(ops), name);
}

const char *layer_class_names(const char *module, struct arena *arena)
{
    const struct layer_class *const *rows = layer_module_is_of_ops(module) ? ops : classes;
    size_t count = layer_module_is_of_ops(module) ? COUNT(ops) : COUNT(classes);
    const char *names = rows[0]->name;

    for (size_t i = 1; i < count; i++)
        names = arena_printf(arena, "%s, %s", names, rows[i]->name);
    return names;
}

static void fail(struct layer_context *context, const struct layer *layer, enum status_code code,
                 const char *format, va_list arguments)
{
    struct builder *builder = &context->builder;

    if (!status_is_ok(builder->status))
        return;
    struct status status = status_errorv(code, format, arguments);
    builder->status = status_keep(
        context->arena, status_in(status, "layer '%s' (%s)", layer->name, layer->class->name));
}

void layer_fail(struct layer_context *context, const struct layer *layer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail(context, layer, STATUS_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
}

void layer_refuse(struct layer_context *context, const struct layer *layer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail(context, layer, STATUS_UNIMPLEMENTED, format, arguments);
    va_end(arguments);
}

bool layer_check_size(struct layer_context *context, const struct layer *layer, const char *what,
                      int count, const int64_t *sizes)
{
    int64_t product = 1;

    if (!status_is_ok(context->builder.status))
        return false;
    for (int i = 0; i < count && product <= INT32_MAX; i++)
        product = sizes[i] > INT32_MAX ? sizes[i] : sizes[i] < 0 ? product : product * sizes[i];
    if (product > INT32_MAX)
        layer_fail(context, layer, "%s: a row has 2^31 numbers or more", what);
    return product <= INT32_MAX;
}

static struct endpoint sum_all(struct builder *b, struct endpoint x)
{
    int32_t axes[SHAPE_RANK_MAX];
    int rank = endpoint_shape(x)->rank;

    for (int k = 0; k < rank; k++)
        axes[k] = k;
    return build_binary(b, "Sum", NULL, x, build_const_ints(b, NULL, rank, axes));
}

static void add_penalty(struct layer_context *context, struct endpoint sum, double factor)
{
    struct builder *b = &context->builder;
    struct endpoint term =
        build_binary(b, "Mul", NULL, sum, build_const_float(b, NULL, (float)factor));

    context->penalty = context->penalty.node == NULL
                           ? term
                           : build_binary(b, "AddV2", NULL, context->penalty, term);
}

/* A matrix of `size` rows with 0 on the diagonal and 1 elsewhere. */
static struct endpoint off_diagonal(struct builder *b, int64_t size)
{
    const struct endpoint range[] = { build_const_int(b, NULL, 0),
                                      build_const_int(b, NULL, (int32_t)size),
                                      build_const_int(b, NULL, 1) };
    struct endpoint row = build(b, "Range", NULL, 3, range, NULL);
    struct endpoint column = build_binary(b, "ExpandDims", NULL, row, build_const_int(b, NULL, 1));
    struct endpoint apart = build_binary(b, "NotEqual", NULL, row, column);

    return build_cast(b, NULL, apart, DT_FLOAT);
}

/* Adds the mean |cos| of the angles between the rows, or the columns, of a matrix. */
static void penalise_angles(struct layer_context *context, const struct regularizer *regularizer,
                            struct endpoint w)
{
    struct builder *b = &context->builder;
    const struct shape shape = *endpoint_shape(w);
    const int32_t along = regularizer->columns ? 0 : 1;
    int64_t size = shape.rank == 2 ? shape.dims[1 - along] : 0;

    if (size < 2 || size > INT32_MAX) {
        b->status = status_keep(
            context->arena,
            status_error(STATUS_INVALID_ARGUMENT,
                         "OrthogonalRegularizer takes matrices of 2 %s or more, not a variable of "
                         "shape %s",
                         regularizer->columns ? "columns" : "rows", shape_text(&shape)));
        return;
    }
    struct endpoint unit = build_unit_vectors(context, w, 1, &along, 1e-7f);
    const struct endpoint both[] = { unit, unit };
    struct endpoint cosines = build(b, "MatMul", NULL, 2, both,
                                    (const struct attr[]){
                                        attr_bool("transpose_a", regularizer->columns),
                                        attr_bool("transpose_b", !regularizer->columns),
                                        ATTR_END,
                                    });
    cosines =
        build_binary(b, "Mul", NULL, build_unary(b, "Abs", NULL, cosines), off_diagonal(b, size));
    if (status_is_ok(b->status))
        add_penalty(context, sum_all(b, cosines),
                    regularizer->orthogonal / ((double)size * (double)(size - 1)));
}

/* Adds λ1 Σ|w| + λ2 Σw² to the penalty; for an activation, the mean over its rows. */
static void penalise(struct layer_context *context, const struct regularizer *regularizer,
                     struct endpoint w, bool activation)
{
    struct builder *b = &context->builder;
    const struct {
        const char *op;
        double factor;
    } terms[] = { { "Abs", regularizer->l1 }, { "Square", regularizer->l2 } };

    for (size_t i = 0; i < COUNT(terms); i++) {
        if (terms[i].factor == 0 || !status_is_ok(b->status))
            continue;
        struct endpoint x = build_unary(b, terms[i].op, NULL, w);
        if (activation && status_is_ok(b->status)) {
            const int32_t batch = 0;
            x = build_binary(b, "Mean", NULL, x, build_const_ints(b, NULL, 1, &batch));
        }
        if (!status_is_ok(b->status))
            return;
        add_penalty(context, sum_all(b, x), terms[i].factor);
    }
}

void layer_penalise_variable(struct layer_context *context, const struct regularizer *regularizer,
                             struct endpoint value)
{
    penalise(context, regularizer, value, false);
    if (regularizer->orthogonal != 0 && status_is_ok(context->builder.status))
        penalise_angles(context, regularizer, value);
}

void layer_penalise_activity(struct layer_context *context, const struct regularizer *regularizer,
                             struct endpoint x)
{
    if (regularizer->orthogonal != 0 && status_is_ok(context->builder.status))
        context->builder.status = status_keep(
            context->arena,
            status_error(STATUS_UNIMPLEMENTED, "OrthogonalRegularizer as an activity_regularizer"));
    if (context->mode != LAYERS_SERVE)
        penalise(context, regularizer, x, true);
}

int layer_axis(struct layer_context *context, const struct layer *layer, int64_t axis, int rank)
{
    int64_t at = axis < 0 ? axis + rank : axis;

    if (at >= 1 && at < rank)
        return (int)at;
    if (rank < 2)
        layer_fail(context, layer, "axis %lld of an input that has only the batch",
                   (long long)axis);
    else
        layer_fail(context, layer,
                   "axis %lld of an input of rank %d; expected 1 to %d, or -1 to %d",
                   (long long)axis, rank, rank - 1, 1 - rank);
    return 0;
}

int layer_one_axis(struct layer_context *context, const struct layer *layer, int rank)
{
    const struct arg_value *axis = layer_arg(layer, "axis");

    if (!axis->is_null)
        return layer_axis(context, layer, axis->integer, rank);
    layer_fail(context, layer, "argument 'axis' is null: it would mix rows of the batch");
    return 0;
}

static int compare_axes(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

int layer_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
               int32_t axes[SHAPE_RANK_MAX])
{
    return layer_axes_of(context, layer, "axis", x, axes);
}

int layer_axes_of(struct layer_context *context, const struct layer *layer, const char *name,
                  struct endpoint x, int32_t axes[SHAPE_RANK_MAX])
{
    const struct json_value *value = layer_arg(layer, name)->value;
    bool list = value->kind == JSON_VALUE_LIST;
    int count = list ? value->count : 1, rank = endpoint_shape(x)->rank;

    if (!status_is_ok(context->builder.status))
        return 0;
    if (count < 1 || count >= rank) {
        layer_fail(context, layer, "argument '%s': %d axes of an input of rank %d", name, count,
                   rank);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        const struct json_value *axis = list ? &value->members[i] : value;
        if (axis->kind != JSON_VALUE_INT) {
            layer_fail(context, layer, "argument '%s' wants an integer or a list of integers",
                       name);
            return 0;
        }
        axes[i] = layer_axis(context, layer, axis->integer, rank);
        if (axes[i] == 0)
            return 0;
    }
    qsort(axes, (size_t)count, sizeof *axes, compare_axes);
    for (int i = 1; i < count; i++)
        if (axes[i] == axes[i - 1]) {
            layer_fail(context, layer, "argument '%s' has axis %d twice", name, axes[i]);
            return 0;
        }
    return count;
}
