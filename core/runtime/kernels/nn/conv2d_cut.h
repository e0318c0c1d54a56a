/*
 * conv2d_cut: cuts a convolution into smaller ones that can be computed at the same time: ranges of
 * images, of rows, of pixels, or of channels of the result. With the same `most`, the cuts follow
 * from the sizes alone, so that the result has the same bits for any number of threads.
 */
#ifndef KERNELS_CONV2D_CUT_H
#define KERNELS_CONV2D_CUT_H

#include "runtime/kernels/nn/conv2d_onednn.h"

#define CONV2D_PIECES_MAX 8

struct conv2d_piece {
    struct conv2d_onednn_size size;
    int64_t in, out; /* where its images begin, in floats */
    /* The channels of the result. The last piece may have some that do not exist, because oneDNN
     * packs filters in blocks of channels. */
    int64_t first, filters;
};

/* A piece of channels is computed apart and copied to its place. */
#define CONV2D_PART_FLOATS ((int64_t)1 << 18)

/* Returns the number of pieces, at most `most`: 1 if the convolution is too small to cut. */
int conv2d_cut(const struct conv2d_onednn_spec *spec, const struct conv2d_onednn_size *size,
               int most, struct conv2d_piece *out);

/* Cuts the channels of one image into multiples of `block`. Returns the number of pieces. 0: rows
 * are the better cut, or the convolution is too small. */
int conv2d_cut_channels(const struct conv2d_onednn_spec *spec,
                        const struct conv2d_onednn_size *size, int64_t block, int most,
                        struct conv2d_piece *out);
/* Does a cut of channels pay, if the filter has small blocks? */
bool conv2d_favours_channels(const struct conv2d_onednn_spec *spec,
                             const struct conv2d_onednn_size *size);

#endif
