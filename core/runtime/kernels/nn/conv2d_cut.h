/*
 * conv2d_cut: cuts a convolution into smaller ones that can be computed at the same time: ranges of
 * images, of rows, or of pixels. With the same `most`, the cuts follow from the sizes alone, so
 * that the result has the same bits for any number of threads.
 */
#ifndef KERNELS_CONV2D_CUT_H
#define KERNELS_CONV2D_CUT_H

#include "runtime/kernels/nn/conv2d_onednn.h"

#define CONV2D_PIECES_MAX 8

struct conv2d_piece {
    struct conv2d_onednn_size size;
    int64_t in, out; /* where its images begin, in floats */
};

/* Returns the number of pieces, at most `most`: 1 if the convolution is too small to cut. */
int conv2d_cut(const struct conv2d_onednn_spec *spec, const struct conv2d_onednn_size *size,
               int most, struct conv2d_piece *out);

#endif
