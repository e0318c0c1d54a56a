/*
 * image: helpers of the layers of volumes, images and sequences, which have 3, 2 or 1 directions. A
 * sequence [batch, steps, channels] is an image [batch, 1, steps, channels]. Internal to layers/.
 */
#ifndef LAYERS_CLASSES_IMAGE_H
#define LAYERS_CLASSES_IMAGE_H

#include "layers/classes/classes.h"

/* For a class with `build`, which always gets images with the channels last: see layer_build. */
#define DATA_FORMAT                                               \
    {                                                             \
        "data_format", ARG_CHOICE, "channels_last channels_first" \
    }
#define CHANNELS_LAST                              \
    {                                              \
        "data_format", ARG_CHOICE, "channels_last" \
    }
#define PADDING                             \
    {                                       \
        "padding", ARG_CHOICE, "valid same" \
    }

/* TensorFlow's word for the argument "padding"; "causal" padding is added beforehand. */
const char *padding_of(const struct layer *layer);
/* An attribute with the text of the argument `name` in capitals. */
struct attr attr_upper(struct layer_context *context, const struct layer *layer, const char *name);
/* An attribute for a window over the sides of a volume or an image, in TensorFlow's form. */
struct attr attr_window(struct builder *b, const char *name, int directions,
                        const int64_t sides[3]);
/* Does the window fit? False: it is larger than the image or volume, or another failure. */
bool window_fits(struct layer_context *context, const struct layer *layer, struct endpoint y);

/* Zeros before and after each of `rank` dimensions. */
struct endpoint pad_zeros(struct builder *b, struct endpoint x, int rank, const int32_t *paddings);
struct endpoint image_of_sequence(struct builder *b, struct endpoint x);
struct endpoint sequence_of_image(struct builder *b, struct endpoint x);

/* Keras' interpolations, the default first. */
#define INTERPOLATIONS "bilinear nearest bicubic lanczos3 lanczos5"
/* Images [batch, height, width, channels] of another height and width. */
struct endpoint build_resized(struct builder *b, struct endpoint x, const int64_t wanted[2],
                              const char *interpolation, bool antialias);
/* The same with the size as a tensor: int32 [2]. */
struct endpoint build_resized_to(struct builder *b, struct endpoint x, struct endpoint size,
                                 const char *interpolation, bool antialias);

/* Filters each channel of images with a kernel [height, width], beyond the edges zeros. */
struct endpoint build_filtered(struct builder *b, struct endpoint x, struct endpoint kernel);

/* Pools x [batch, …, channels] of 1 to 3 directions by the op MaxPool, AvgPool, MaxPool3D or
 * AvgPool3D, with the argument "padding". */
struct endpoint build_pooled(struct layer_context *context, const struct layer *layer,
                             struct endpoint x, int directions, const char *op,
                             const int64_t size[3], const int64_t strides[3]);

#endif
