/*
 * initializer: the initial value of a variable, by Keras' names. Values follow the documented
 * distribution but differ from TensorFlow's; the same seed gives the same values on every machine.
 */
#ifndef LAYERS_INITIALIZER_H
#define LAYERS_INITIALIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/row_keys_spec.h"
#include "tensor/tensor.h"

enum initializer_kind {
    INITIALIZER_CONSTANT,         /* a */
    INITIALIZER_UNIFORM,          /* from a to b */
    INITIALIZER_NORMAL,           /* mean a, standard deviation b */
    INITIALIZER_TRUNCATED_NORMAL, /* the same, redrawn beyond 2 b (the resulting standard
                                   * deviation is .88 b) */
    INITIALIZER_VARIANCE_SCALING, /* variance a / fan, of `distribution` */
    INITIALIZER_ORTHOGONAL,       /* gain a */
    INITIALIZER_IDENTITY,         /* gain a */
    INITIALIZER_WAVES,            /* of `waves`: [frame, 1, frequencies] */
    INITIALIZER_ARRAY,            /* `array`, broadcast to the variable's shape */
};

enum initializer_fan { FAN_IN, FAN_OUT, FAN_AVG };

/* A short-time Fourier transform as the kernel of a convolution. */
enum wave_side { SIDE_REAL, SIDE_IMAGINARY }; /* cosines; sines */
enum wave_window { WINDOW_NONE, WINDOW_HANN, WINDOW_HAMMING };
/* Divides by the window's L2 norm, or by its L1 norm. */
enum wave_scaling { SCALING_NONE, SCALING_DENSITY, SCALING_SPECTRUM };

struct waves {
    enum wave_side side;
    enum wave_window window;
    enum wave_scaling scaling;
    bool periodic; /* the window */
};

struct initializer {
    enum initializer_kind kind;
    double a, b;
    enum initializer_fan fan;
    enum initializer_kind distribution; /* UNIFORM, NORMAL or TRUNCATED_NORMAL */
    /* for VARIANCE_SCALING: the fans, if the layer gives them; 0: they follow from the shape */
    double fan_in, fan_out;
    int64_t ones_begin, ones_end; /* these elements are 1 regardless of the kind; 0, 0: none */
    struct waves waves;
    struct tensor array; /* float */
    bool has_seed;       /* the description has a seed, which replaces the caller's */
    uint64_t seed;
};

/* Can it give the values of a variable of this known shape? An array must broadcast to it. */
bool initializer_fits(const struct initializer *initializer, const struct shape *shape);

/**
 * Fills `out` with the initial value of a float32 variable. Give each variable a seed of its own.
 *
 * Shapes  out [shape_size(shape)]; from rank 2 on, the last two dimensions are channels in and
 *         channels out
 */
void initializer_fill(const struct initializer *initializer, const struct shape *shape,
                      uint64_t seed, float *out);

/* Can the rows of a table be initialized independently of each other? */
bool initializer_is_by_rows(const struct initializer *initializer);
bool initializer_is_zero(const struct initializer *initializer); /* all values are 0 */

/**
 * Fills rows_count rows of a table, from first_row on. Each row has its own random stream, so the
 * values do not depend on how the rows are sharded (they differ from those of initializer_fill).
 *
 * Shapes  out [rows_count, row…]; shape [rows, row…]
 */
void initializer_fill_rows(const struct initializer *initializer, const struct shape *shape,
                           uint64_t seed, int64_t first_row, int64_t rows_count, float *out);

/**
 * Converts the initializer to the rule of a hash table with rows of `width` numbers. With the same
 * seed, row k of a table by rows and the row of key k have the same initial values.
 *
 * Errors  UNIMPLEMENTED the initializer depends on all rows or on their number, which a hash table
 *         does not fix
 */
struct status initializer_for_keys(const struct initializer *initializer, int64_t width,
                                   struct row_keys_spec *out);

#endif
