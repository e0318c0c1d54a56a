/*
 * image: reads and writes image files: JPEG, PNG, GIF, BMP and WebP.
 *
 * The pixels are those of TensorFlow's decode_jpeg and its siblings: row by row from the top. An
 * image of one channel is grey, of two grey and alpha, of three red, green and blue, of four the
 * same with alpha.
 *
 * A file of a few bytes can declare gigabytes of pixels. Therefore a decoder reads the size from
 * the file's headers first, and the caller allocates the pixels or refuses (struct image_sink).
 */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

enum image_format {
    IMAGE_UNKNOWN,
    IMAGE_JPEG,
    IMAGE_PNG,
    IMAGE_GIF,
    IMAGE_BMP,
    IMAGE_WEBP,
};

/* The format of a file, from its first bytes. */
enum image_format image_format_of(struct bytes file);
const char *image_format_name(enum image_format format);

struct image_extent {
    int64_t frames, height, width;
    int channels;
    size_t work_bytes; /* memory that the decoder itself uses while it runs */
};

/* The destination of a decoder's pixels. */
struct image_sink {
    /* Called once, before any pixel is decoded. *pixels: memory for all of them. */
    struct status (*make_room)(void *context, const struct image_extent *size, void **pixels);
    /* Called periodically; a failure ends the work. May be NULL. */
    struct status (*check)(void *context);
    void *context;
};

struct jpeg_crop {
    int64_t y, x, height, width;
};

struct jpeg_options {
    int channels; /* 1 or 3; 0: as many as the file has, but not 4 */
    int ratio;    /* 1, 2, 4 or 8: makes the image smaller */
    bool fancy_upscaling;
    bool accurate;                /* the slower DCT */
    bool recover_truncated;       /* fills up what is missing at the end of a truncated file */
    bool refuse_damaged;          /* even if libjpeg can fill up what is missing */
    const struct jpeg_crop *crop; /* NULL: the whole image */
};

/**
 * Decode a file. `channels` of PNG: 1 to 4; of BMP: 3 or 4; 0: as many as the file has. `bits` of
 * PNG: 8 or 16, in the order of the host. GIF has 3 channels, and one or all of its frames; so has
 * WebP, with as many channels as the file has: others are refused.
 *
 * Errors  DATA_LOSS damaged or cut short, of WebP INVALID_ARGUMENT; what the sink returns
 * Threads safe
 */
struct status jpeg_decode(struct bytes file, const struct jpeg_options *options,
                          const struct image_sink *sink);
struct status png_decode(struct bytes file, int channels, int bits, const struct image_sink *sink);
struct status gif_decode(struct bytes file, bool all_frames, const struct image_sink *sink);
struct status bmp_decode(struct bytes file, int channels, const struct image_sink *sink);
struct status webp_decode(struct bytes file, int channels, bool all_frames,
                          const struct image_sink *sink);

/* The size of a JPEG file, from its header alone. */
struct status jpeg_read_size(struct bytes file, struct image_extent *out);

struct jpeg_encoding {
    int quality; /* 0 to 100 */
    bool progressive, optimize_size, chroma_downsampling;
    bool density_in_cm; /* otherwise in inches */
    int x_density, y_density;
    struct bytes xmp_metadata;
};

/**
 * Write an image of 8 bits a channel (JPEG, one or three channels) or of `bits` (PNG, one to four
 * channels). `compression` of PNG: 0 to 9; -1: the default.
 *
 * Owner   buffer_finish(out)
 * Errors  INVALID_ARGUMENT no pixels; RESOURCE_EXHAUSTED no memory; what `check` returns
 */
struct status jpeg_encode(const struct image_extent *size, const void *pixels,
                          const struct jpeg_encoding *encoding, const struct image_sink *sink,
                          struct buffer *out);
struct status png_encode(const struct image_extent *size, int bits, const void *pixels,
                         int compression, const struct image_sink *sink, struct buffer *out);

#endif
