/*
 * classes: every class of layer, grouped by its file. The tables are in classes.c. Internal to
 * layers/.
 */
#ifndef LAYERS_CLASSES_CLASSES_H
#define LAYERS_CLASSES_CLASSES_H

#include "layers/layer.h"
#include "layers/layer_variable.h"
#include "layers/sizes.h"

/* Define the row of a class with one input, and of a class with a list of inputs. */
#define LAYER_CLASS(noun, class_name, class_args, function) \
    const struct layer_class layer_##noun = {               \
        .name = class_name,                                 \
        .args = class_args,                                 \
        .args_count = (int)COUNT(class_args),               \
        .build = function,                                  \
    }
/* Like LAYER_CLASS, for a layer that passes its input's mask on. */
#define MASKED_LAYER_CLASS(noun, class_name, class_args, function) \
    const struct layer_class layer_##noun = {                      \
        .name = class_name,                                        \
        .args = class_args,                                        \
        .args_count = (int)COUNT(class_args),                      \
        .build = function,                                         \
        .mask = mask_passed_on,                                    \
    }
/* Like MASKED_LAYER_CLASS, for a layer that only moves elements, of any type. */
#define ALIKE_LAYER_CLASS(noun, class_name, class_args, function) \
    const struct layer_class layer_##noun = {                     \
        .name = class_name,                                       \
        .args = class_args,                                       \
        .args_count = (int)COUNT(class_args),                     \
        .build = function,                                        \
        .inputs = LAYER_TAKES_ALIKE,                              \
    }
#define MERGE_CLASS(noun, class_name, class_args, function) \
    const struct layer_class layer_##noun = {               \
        .name = class_name,                                 \
        .args = class_args,                                 \
        .args_count = (int)COUNT(class_args),               \
        .merge = function,                                  \
    }

/* core.c */
extern const struct layer_class layer_input, layer_dense, layer_flatten, layer_reshape,
    layer_permute, layer_repeat_vector, layer_rescaling, layer_identity,
    layer_activity_regularization;
/* conv.c */
extern const struct layer_class layer_conv1d, layer_conv2d, layer_depthwise_conv1d,
    layer_depthwise_conv2d, layer_separable_conv1d, layer_separable_conv2d, layer_conv1d_transpose,
    layer_conv2d_transpose, layer_conv3d, layer_conv3d_transpose;
/* image.c */
extern const struct layer_class layer_max_pooling1d, layer_max_pooling2d, layer_average_pooling1d,
    layer_average_pooling2d, layer_global_max_pooling1d, layer_global_max_pooling2d,
    layer_global_average_pooling1d, layer_global_average_pooling2d, layer_zero_padding1d,
    layer_zero_padding2d, layer_cropping1d, layer_cropping2d, layer_up_sampling1d,
    layer_up_sampling2d, layer_max_pooling3d, layer_average_pooling3d, layer_global_max_pooling3d,
    layer_global_average_pooling3d, layer_zero_padding3d, layer_cropping3d, layer_up_sampling3d;
/* adaptive.c */
extern const struct layer_class layer_adaptive_average_pooling1d, layer_adaptive_average_pooling2d,
    layer_adaptive_average_pooling3d, layer_adaptive_max_pooling1d, layer_adaptive_max_pooling2d,
    layer_adaptive_max_pooling3d;
/* augment.c */
extern const struct layer_class layer_random_translation, layer_random_zoom, layer_random_rotation,
    layer_random_shear, layer_random_perspective;
/* augment_policy.c */
extern const struct layer_class layer_rand_augment, layer_aug_mix;
/* colours.c */
extern const struct layer_class layer_random_brightness, layer_random_contrast, layer_auto_contrast,
    layer_random_hue, layer_random_saturation, layer_random_color_jitter, layer_random_grayscale,
    layer_random_color_degeneration, layer_random_invert, layer_random_posterization,
    layer_solarization;
/* clahe.c */
extern const struct layer_class layer_clahe;
/* equalization.c */
extern const struct layer_class layer_equalization;
/* patches.c */
extern const struct layer_class layer_random_sharpness, layer_random_gaussian_blur,
    layer_random_erasing;
/* elastic.c */
extern const struct layer_class layer_random_elastic_transform;
/* mix.c */
extern const struct layer_class layer_mix_up, layer_cut_mix, layer_max_num_bounding_boxes;
/* resize.c */
extern const struct layer_class layer_resizing, layer_center_crop, layer_random_crop;
/* norm.c */
extern const struct layer_class layer_layer_normalization, layer_group_normalization,
    layer_unit_normalization, layer_rms_normalization, layer_batch_normalization, layer_layer_scale;
/* mask.c */
extern const struct layer_class layer_masking;
/* model.c: a model inside a model, of Keras' classes Functional and Sequential */
extern const struct layer_class layer_model;
/* op_element.c */
extern const struct layer_class layer_op_add, layer_op_subtract, layer_op_multiply, layer_op_divide,
    layer_op_true_divide, layer_op_divide_no_nan, layer_op_floor_divide, layer_op_mod,
    layer_op_power, layer_op_maximum, layer_op_minimum, layer_op_arctan2, layer_op_equal,
    layer_op_not_equal, layer_op_greater, layer_op_greater_equal, layer_op_less,
    layer_op_less_equal, layer_op_logical_and, layer_op_logical_or, layer_op_where,
    layer_op_negative, layer_op_absolute, layer_op_abs, layer_op_square, layer_op_sign,
    layer_op_sqrt, layer_op_rsqrt, layer_op_reciprocal, layer_op_exp, layer_op_expm1, layer_op_log,
    layer_op_log1p, layer_op_sin, layer_op_cos, layer_op_tan, layer_op_arctan, layer_op_tanh,
    layer_op_erf, layer_op_floor, layer_op_ceil, layer_op_logical_not, layer_op_stop_gradient,
    layer_op_clip, layer_op_cast, layer_op_zeros_like, layer_op_ones_like,
    layer_op_convert_to_tensor, layer_op_relu, layer_op_relu6, layer_op_sigmoid, layer_op_softplus,
    layer_op_softsign, layer_op_selu, layer_op_silu, layer_op_hard_sigmoid, layer_op_hard_silu,
    layer_op_log_sigmoid, layer_op_threshold, layer_op_softmax, layer_op_elu, layer_op_leaky_relu,
    layer_op_gelu, layer_op_arcsin, layer_op_arccos, layer_op_sinh, layer_op_cosh, layer_op_arcsinh,
    layer_op_arccosh, layer_op_arctanh, layer_op_erfc, layer_op_erfinv, layer_op_isnan,
    layer_op_isinf, layer_op_isfinite, layer_op_copy, layer_op_sparse_plus, layer_op_sparse_sigmoid,
    layer_op_tanh_shrink, layer_op_hard_tanh, layer_op_log_softmax, layer_op_glu,
    layer_op_sparsemax, layer_op_fabs, layer_op_select;
/* op_formula.c */
extern const struct layer_class layer_op_log2, layer_op_log10, layer_op_exp2, layer_op_deg2rad,
    layer_op_rad2deg, layer_op_cbrt, layer_op_sinc, layer_op_trunc, layer_op_isneginf,
    layer_op_isposinf, layer_op_nan_to_num, layer_op_round, layer_op_celu, layer_op_hard_shrink,
    layer_op_soft_shrink, layer_op_squareplus, layer_op_logaddexp, layer_op_hypot, layer_op_fmod,
    layer_op_logical_xor, layer_op_isclose, layer_op_logaddexp2, layer_op_fmax, layer_op_fmin,
    layer_op_heaviside;
/* op_reduce.c */
extern const struct layer_class layer_op_sum, layer_op_mean, layer_op_max, layer_op_min,
    layer_op_prod, layer_op_any, layer_op_all, layer_op_logsumexp, layer_op_var, layer_op_std,
    layer_op_norm, layer_op_normalize, layer_op_average, layer_op_amax, layer_op_amin,
    layer_op_count_nonzero, layer_op_moments, layer_op_layer_norm, layer_op_rms_norm,
    layer_op_nansum, layer_op_nanprod, layer_op_nanmax, layer_op_nanmin, layer_op_nanmean,
    layer_op_nanvar, layer_op_nanstd, layer_op_ptp;
/* op_shape.c */
extern const struct layer_class layer_op_reshape, layer_op_transpose, layer_op_swapaxes,
    layer_op_moveaxis, layer_op_expand_dims, layer_op_squeeze, layer_op_concatenate, layer_op_stack,
    layer_op_tile, layer_op_split, layer_op_get_item, layer_op_hstack, layer_op_dstack,
    layer_op_unstack;
/* op_move.c */
extern const struct layer_class layer_op_flip, layer_op_roll, layer_op_repeat, layer_op_pad,
    layer_op_cumsum, layer_op_cumprod, layer_op_diff, layer_op_tril, layer_op_triu,
    layer_op_nancumsum, layer_op_nancumprod;
/* op_pick.c */
extern const struct layer_class layer_op_take, layer_op_take_along_axis, layer_op_sort,
    layer_op_argsort, layer_op_top_k, layer_op_argmax, layer_op_argmin, layer_op_one_hot,
    layer_op_nanargmax, layer_op_nanargmin, layer_op_multi_hot, layer_op_isin,
    layer_op_search_sorted, layer_op_digitize;
/* op_quantile.c */
extern const struct layer_class layer_op_median, layer_op_nanmedian, layer_op_quantile,
    layer_op_percentile, layer_op_nanquantile, layer_op_nanpercentile;
/* op_fourier.c */
extern const struct layer_class layer_op_fft, layer_op_fft2, layer_op_ifft2, layer_op_rfft,
    layer_op_irfft;
/* op_rearrange.c */
extern const struct layer_class layer_op_rearrange;
/* op_product.c */
extern const struct layer_class layer_op_matmul, layer_op_dot, layer_op_tensordot, layer_op_einsum,
    layer_op_dot_product_attention, layer_op_inv, layer_op_det;
/* op_image.c */
extern const struct layer_class layer_op_resize, layer_op_rgb_to_grayscale,
    layer_op_extract_patches, layer_op_max_pool, layer_op_average_pool, layer_op_space_to_depth,
    layer_op_depth_to_space, layer_op_unfold, layer_op_pad_images, layer_op_crop_images,
    layer_op_gaussian_blur, layer_op_affine_transform;
/* attention.c */
extern const struct layer_class layer_attention, layer_additive_attention;
/* multi_head_attention.c */
extern const struct layer_class layer_multi_head_attention, layer_group_query_attention;
/* recurrent.c */
extern const struct layer_class layer_simple_rnn, layer_lstm, layer_gru, layer_rnn,
    layer_bidirectional, layer_simple_rnn_cell, layer_lstm_cell, layer_gru_cell,
    layer_stacked_rnn_cells;
/* conv_lstm.c */
extern const struct layer_class layer_conv_lstm1d, layer_conv_lstm2d, layer_conv_lstm3d;
/* noise.c */
extern const struct layer_class layer_dropout, layer_spatial_dropout1d, layer_spatial_dropout2d,
    layer_spatial_dropout3d, layer_stochastic_depth, layer_drop_path, layer_gaussian_noise,
    layer_gaussian_dropout, layer_alpha_dropout, layer_random_flip;
/* interaction.c */
extern const struct layer_class layer_feature_cross, layer_dot_interaction;
/* einsum.c */
extern const struct layer_class layer_einsum_dense;
/* embedding.c */
extern const struct layer_class layer_embedding, layer_reversible_embedding;
/* dynamic_embedding.c */
extern const struct layer_class layer_dynamic_embedding;
/* embedding_bag.c */
extern const struct layer_class layer_embedding_bag;

/* sampled_softmax.c */
extern const struct layer_class layer_sampled_softmax;
/* category.c */
extern const struct layer_class layer_category_encoding, layer_hashing, layer_hashed_crossing;
/* lookup.c */
extern const struct layer_class layer_string_lookup, layer_integer_lookup;
/* text.c */
extern const struct layer_class layer_text_vectorization;
/* numeric.c */
extern const struct layer_class layer_normalization, layer_discretization;
/* sound.c */
extern const struct layer_class layer_mel_spectrogram, layer_stft_spectrogram;
/* wrap.c */
extern const struct layer_class layer_time_distributed;
/* Can this layer be inside a layer that calls it once? */
bool layer_can_be_inside(struct layer_context *context, const struct layer *inner);
/* spectral.c */
extern const struct layer_class layer_spectral_normalization;
/* merge.c */
extern const struct layer_class layer_add, layer_subtract, layer_custom_scale, layer_depth_of_cv,
    layer_multiply, layer_average, layer_maximum, layer_minimum, layer_concatenate, layer_dot;
/* activation.c */
extern const struct layer_class layer_activation, layer_relu, layer_leaky_relu, layer_prelu,
    layer_elu, layer_thresholded_relu, layer_softmax;

/* x with this axis and the last one swapped. */
struct endpoint build_swap_last(struct builder *b, struct endpoint x, int axis);

/* Scales x to unit length along the axes: UnitNormalization, and Dot if it normalises.
 * `epsilon`: Keras 3 multiplies shorter vectors by 1 / epsilon. */
struct endpoint build_unit_vectors(struct layer_context *context, struct endpoint x, int count,
                                   const int32_t *axes, float epsilon);

#endif
