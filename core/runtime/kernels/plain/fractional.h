/*
 * fractional: loops over the windows of fractional pooling, for images [images, rows, columns,
 * depth] of float, double, int32 and int64.
 */
#ifndef PLAIN_FRACTIONAL_H
#define PLAIN_FRACTIONAL_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/dtype.h"

/* Window i of an axis begins at borders[i] and ends before borders[i + 1], or with it if windows
 * overlap, and with the image. */
struct fractional_cells {
    int64_t images, in[2], out[2], depth;
    const int64_t *borders[2]; /* rows, columns; none is negative */
    bool overlapping;
    const void *x;
    void *y;
    int64_t *places; /* of FRACTIONAL_PLACES: elements of x, -1 in the beginning */
};

enum fractional_kind {
    FRACTIONAL_MAX,    /* y is the greatest x of the window */
    FRACTIONAL_MEAN,   /* or their mean; 0: the window has no pixel */
    FRACTIONAL_PLACES, /* the greatest as well, and which element of x that is: the first one */
    FRACTIONAL_SPREAD, /* x has windows, y pixels, which are doubles: each gets its share of x */
    FRACTIONAL_KINDS,
};

/* Handles the windows of one row of one image. */
void fractional_row(const struct fractional_cells *cells, enum dtype dtype,
                    enum fractional_kind kind, int64_t image, int64_t row);

/* Doubles to another type. */
void fractional_narrow(enum dtype dtype, const double *x, int64_t count, void *out);
/* out[places[i]] += x[i]. False: a place is negative. */
bool fractional_add(enum dtype dtype, const void *x, const int64_t *places, int64_t count,
                    void *out);

#endif
