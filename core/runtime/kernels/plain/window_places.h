/*
 * window_places: which pixel of a window is the greatest, for images of any real type. half and
 * bfloat16 come as floats. `size` is that of a pooling op (conv.h, with m = c) of images.
 */
#ifndef KERNELS_PLAIN_WINDOW_PLACES_H
#define KERNELS_PLAIN_WINDOW_PLACES_H

#include "runtime/kernels/plain/conv.h"
#include "tensor/dtype.h"

/* For each window of columns [first, end) of one row of the output and each channel: the pixel (row
 * · columns + column) of its greatest element in `image`, -1 if no pixel lies inside. Of equal
 * elements the first is the greatest; nothing is greater than a first NaN. places [end - first, c]
 */
typedef void max_places(const struct conv_size *size, const void *image, int64_t row, int64_t first,
                        int64_t end, int64_t *places);
max_places *max_places_of(enum dtype dtype);

/* The greatest x + filter of each window, where NaN is never greater, which starts from the lowest
 * finite number. */
struct dilated {
    void *values;    /* [columns.out, c]; NULL: not requested */
    int64_t *pixels; /* as above, of the first that is greater; NULL: not requested */
    int64_t *taps;   /* its place in the filter */
};
/* filter [rows.kernel, columns.kernel, c]. `narrow`: floats are rounded to half or bfloat16. */
typedef void dilate_row(const struct conv_size *size, enum dtype narrow, const void *image,
                        const void *filter, int64_t row, const struct dilated *out);
dilate_row *dilate_row_of(enum dtype dtype);

#endif
