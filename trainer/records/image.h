/*
 * image: decodes JPEG and PNG files (image/image.h) into memory of a limited size, and resizes
 * images. The pixels have 8 bits a channel.
 */
#ifndef TRAINER_RECORDS_IMAGE_H
#define TRAINER_RECORDS_IMAGE_H

#include "base/bytes.h"
#include "base/status.h"

#define IMAGE_BYTES_MAX ((size_t)128 << 20) /* of the pixels of one image */

struct picture {
    int64_t height, width;
    int channels;
    unsigned char *pixels;
};

/**
 * Decodes a file. `channels`: 1, 3 or 4; an image with another number is converted.
 *
 * Owner   image_finish(out)
 * Errors  DATA_LOSS neither JPEG nor PNG, damaged or cut short; RESOURCE_EXHAUSTED more than
 *         IMAGE_BYTES_MAX, before anything is allocated; UNIMPLEMENTED a JPEG with alpha
 */
struct status image_decode(struct bytes file, int channels, struct picture *out);
void image_finish(struct picture *image); /* accepts a zeroed one */

/* Resizes like tf.image.resize: bilinear, without antialiasing. out: [height, width, channels].
 * Source: resize_bilinear_op.cc with half_pixel_centers. */
void image_resize(const struct picture *image, int64_t height, int64_t width, float *out);

#endif
