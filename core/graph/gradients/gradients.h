/*
 * gradients: the functions that emit the gradient of an op, named in the last column of ops.def and
 * declared here from it. Each stands in a file of its family beside this one.
 *
 * gradient_none  the op has no gradient: an error for whoever needs one
 * gradient_stop  nothing flows back through the op (Shape, ArgMax, StopGradient, …)
 */
#ifndef GRAPH_GRADIENTS_GRADIENTS_H
#define GRAPH_GRADIENTS_GRADIENTS_H

#include "graph/op.h"

/* Named in ops.def but not written yet. Whoever writes one takes its line away. */
#define gradient_identity                                 gradient_none
#define gradient_reshape                                  gradient_none
#define gradient_expand_dims                              gradient_none
#define gradient_squeeze                                  gradient_none
#define gradient_fill                                     gradient_none
#define gradient_pack                                     gradient_none
#define gradient_unpack                                   gradient_none
#define gradient_concat_v2                                gradient_none
#define gradient_split                                    gradient_none
#define gradient_split_v                                  gradient_none
#define gradient_slice                                    gradient_none
#define gradient_strided_slice                            gradient_none
#define gradient_transpose                                gradient_none
#define gradient_tile                                     gradient_none
#define gradient_pad                                      gradient_none
#define gradient_reverse_v2                               gradient_none
#define gradient_broadcast_to                             gradient_none
#define gradient_gather_v2                                gradient_none
#define gradient_select                                   gradient_none
#define gradient_select_v2                                gradient_none
#define gradient_top_kv2                                  gradient_none
#define gradient_cast                                     gradient_none
#define gradient_abs                                      gradient_none
#define gradient_neg                                      gradient_none
#define gradient_reciprocal                               gradient_none
#define gradient_square                                   gradient_none
#define gradient_sqrt                                     gradient_none
#define gradient_rsqrt                                    gradient_none
#define gradient_exp                                      gradient_none
#define gradient_expm1                                    gradient_none
#define gradient_log                                      gradient_none
#define gradient_log1p                                    gradient_none
#define gradient_sin                                      gradient_none
#define gradient_cos                                      gradient_none
#define gradient_tan                                      gradient_none
#define gradient_tanh                                     gradient_none
#define gradient_erf                                      gradient_none
#define gradient_sigmoid                                  gradient_none
#define gradient_add                                      gradient_none
#define gradient_sub                                      gradient_none
#define gradient_mul                                      gradient_none
#define gradient_real_div                                 gradient_none
#define gradient_div_no_nan                               gradient_none
#define gradient_pow                                      gradient_none
#define gradient_squared_difference                       gradient_none
#define gradient_maximum                                  gradient_none
#define gradient_minimum                                  gradient_none
#define gradient_add_n                                    gradient_none
#define gradient_clip_by_value                            gradient_none
#define gradient_sum                                      gradient_none
#define gradient_mean                                     gradient_none
#define gradient_prod                                     gradient_none
#define gradient_max                                      gradient_none
#define gradient_min                                      gradient_none
#define gradient_l2_loss                                  gradient_none
#define gradient_cumsum                                   gradient_none
#define gradient_matmul                                   gradient_none
#define gradient_batch_matmul_v2                          gradient_none
#define gradient_bias_add                                 gradient_none
#define gradient_relu                                     gradient_none
#define gradient_relu6                                    gradient_none
#define gradient_leaky_relu                               gradient_none
#define gradient_elu                                      gradient_none
#define gradient_selu                                     gradient_none
#define gradient_softplus                                 gradient_none
#define gradient_softsign                                 gradient_none
#define gradient_softmax                                  gradient_none
#define gradient_log_softmax                              gradient_none
#define gradient_conv2d                                   gradient_none
#define gradient_depthwise_conv2d_native                  gradient_none
#define gradient_conv2d_backprop_input                    gradient_none
#define gradient_max_pool                                 gradient_none
#define gradient_avg_pool                                 gradient_none
#define gradient_fused_batch_norm_v3                      gradient_none
#define gradient_softmax_cross_entropy_with_logits        gradient_none
#define gradient_sparse_softmax_cross_entropy_with_logits gradient_none

#define OP(name, flags, inputs, outputs, attrs, infer, gradient) \
    struct status gradient(struct gradient_context *context);
#include "graph/ops.def"
#undef OP

#endif
