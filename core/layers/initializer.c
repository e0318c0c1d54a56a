/* Built with -ffp-contract=off, as base/random is, to give the same bits on every machine. */
#include "layers/initializer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/random.h"

#define PI 3.14159265358979323846

/* The fan-in and fan-out of a kernel: its channels times the size of its receptive field, the
 * leading dimensions. */
static void fans(const struct shape *shape, double *in, double *out)
{
    double field = 1;

    for (int i = 0; i + 2 < shape->rank; i++)
        field *= (double)shape->dims[i];
    if (shape->rank < 2) {
        *in = *out = shape->rank == 0 ? 1 : (double)shape->dims[0];
        return;
    }
    *in = field * (double)shape->dims[shape->rank - 2];
    *out = field * (double)shape->dims[shape->rank - 1];
}

static double fan_of(const struct initializer *scaling, const struct shape *shape)
{
    enum initializer_fan fan = scaling->fan;
    double in, out;
    fans(shape, &in, &out);
    if (scaling->fan_in > 0) {
        in = scaling->fan_in;
        out = scaling->fan_out;
    }

    double value = fan == FAN_IN ? in : fan == FAN_OUT ? out : (in + out) / 2;
    return value < 1 ? 1 : value;
}

/* The distribution with the requested variance. Truncating a normal at two deviations leaves
 * .8796 of its deviation. */
static struct initializer scaled(const struct initializer *scaling, const struct shape *shape)
{
    double variance = scaling->a / fan_of(scaling, shape);
    struct initializer plain = { .kind = scaling->distribution };

    if (plain.kind == INITIALIZER_UNIFORM) {
        plain.b = sqrt(3 * variance);
        plain.a = -plain.b;
    } else {
        plain.b = sqrt(variance);
        if (plain.kind == INITIALIZER_TRUNCATED_NORMAL)
            plain.b /= .87962566103423978;
    }
    return plain;
}

static double draw(const struct initializer *plain, struct random *random)
{
    switch (plain->kind) {
    case INITIALIZER_UNIFORM:
        return random_between(random, plain->a, plain->b);
    case INITIALIZER_NORMAL:
        return plain->a + plain->b * random_normal(random);
    case INITIALIZER_TRUNCATED_NORMAL:
        return plain->a + plain->b * random_truncated_normal(random);
    default:
        return plain->a;
    }
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Makes the vectors orthonormal by Gram-Schmidt, applied twice because of rounding. */
static void orthonormalise(double *vectors /* [count, length] */, int64_t count, int64_t length,
                           struct random *random)
{
    for (int64_t i = 0; i < count; i++) {
        double *v = vectors + i * length;
        double norm;
        do {
            for (int64_t k = 0; k < length; k++)
                v[k] = random_normal(random);
            for (int pass = 0; pass < 2; pass++)
                for (int64_t j = 0; j < i; j++) {
                    const double *u = vectors + j * length;
                    double along = dot(u, v, length);
                    for (int64_t k = 0; k < length; k++)
                        v[k] -= along * u[k];
                }
            norm = sqrt(dot(v, v, length));
            /* linearly dependent on earlier ones: never seen, but if so, redraw */
        } while (norm < 1e-6);
        for (int64_t k = 0; k < length; k++)
            v[k] /= norm;
    }
}

/* Fills the kernel as a matrix [all other dimensions, channels out] with orthonormal rows or
 * columns, whichever are fewer. */
static void fill_orthogonal(double gain, const struct shape *shape, struct random *random,
                            float *out)
{
    int64_t size = shape_size(shape);
    int64_t columns = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;
    if (size == 0)
        return;
    int64_t rows = size / columns;
    int64_t count = rows < columns ? rows : columns;
    int64_t length = rows < columns ? columns : rows;
    double *vectors = zalloc((size_t)size * sizeof *vectors);

    orthonormalise(vectors, count, length, random);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            out[r * columns + c] = (float)(gain * (rows < columns ? vectors[r * length + c]
                                                                  : vectors[c * length + r]));
    free(vectors);
}

static void fill_identity(double gain, const struct shape *shape, float *out)
{
    int64_t columns = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;

    for (int64_t i = 0; i < shape_size(shape); i++)
        out[i] = i / columns == i % columns ? (float)gain : 0;
}

/* Writes SciPy's window and returns the divisor that Keras applies to the waves. */
static double make_window(const struct waves *waves, int64_t length, double *out)
{
    double a = waves->window == WINDOW_HANN ? 0.5 : 0.54, sum = 0, squares = 0;
    double period = (double)(waves->periodic ? length : length - 1);

    for (int64_t t = 0; t < length; t++) {
        bool flat = waves->window == WINDOW_NONE || length == 1;
        out[t] = flat ? 1 : a - (1 - a) * cos(2 * PI * (double)t / period);
        sum += fabs(out[t]);
        squares += out[t] * out[t];
    }
    if (waves->window == WINDOW_NONE || waves->scaling == SCALING_NONE)
        return 1;
    return waves->scaling == SCALING_DENSITY ? sqrt(squares) : sum;
}

static void fill_waves(const struct waves *waves, const struct shape *shape, float *out)
{
    int64_t length = shape->rank > 0 ? shape->dims[0] : 1;
    int64_t count = length > 0 ? shape_size(shape) / length : 0;
    double *window = zalloc((size_t)(length + 1) * sizeof *window);
    double scale = make_window(waves, length, window);

    for (int64_t t = 0; t < length; t++)
        for (int64_t k = 0; k < count; k++) {
            double turns = count > 1 ? (double)(t * k) / (double)(2 * (count - 1)) : 0;
            double angle = -2 * PI * turns;
            out[t * count + k] =
                (float)((waves->side == SIDE_REAL ? cos(angle) : sin(angle)) * window[t] / scale);
        }
    free(window);
}

bool initializer_fits(const struct initializer *initializer, const struct shape *shape)
{
    const struct shape *from = &initializer->array.shape;
    int before = shape->rank - from->rank;

    if (initializer->kind != INITIALIZER_ARRAY)
        return true;
    for (int d = 0; d < from->rank && before >= 0; d++)
        if (from->dims[d] != 1 && from->dims[d] != shape->dims[before + d])
            return false;
    return before >= 0;
}

/* The index in an array that is broadcast to the shape, of the element `index` of the result. */
static int64_t index_in(const struct shape *from, const struct shape *shape, int64_t index)
{
    int64_t at = 0, stride = 1;

    for (int d = from->rank - 1, of = shape->rank - 1; d >= 0; d--, of--) {
        if (from->dims[d] != 1)
            at += index % shape->dims[of] * stride;
        stride *= from->dims[d];
        index /= shape->dims[of];
    }
    return at;
}

/* Fills the elements from `first` on. */
static void fill_array(const struct tensor *array, const struct shape *shape, int64_t first,
                       int64_t count, float *out)
{
    const float *values = tensor_floats(array);

    for (int64_t i = 0; i < count; i++)
        out[i] = values[index_in(&array->shape, shape, first + i)];
}

static void fill_kind(const struct initializer *initializer, const struct shape *shape,
                      uint64_t seed, float *out)
{
    struct initializer plain = *initializer;
    struct random random;

    assert(shape_is_known(shape));
    random_init(&random, initializer->has_seed ? initializer->seed : seed, 0);
    switch (initializer->kind) {
    case INITIALIZER_ORTHOGONAL:
        fill_orthogonal(initializer->a, shape, &random, out);
        return;
    case INITIALIZER_IDENTITY:
        fill_identity(initializer->a, shape, out);
        return;
    case INITIALIZER_WAVES:
        fill_waves(&initializer->waves, shape, out);
        return;
    case INITIALIZER_ARRAY:
        fill_array(&initializer->array, shape, 0, shape_size(shape), out);
        return;
    case INITIALIZER_VARIANCE_SCALING:
        plain = scaled(initializer, shape);
        break;
    default:
        break;
    }
    for (int64_t i = 0, size = shape_size(shape); i < size; i++)
        out[i] = (float)draw(&plain, &random);
}

bool initializer_is_by_rows(const struct initializer *initializer)
{
    return initializer->kind != INITIALIZER_ORTHOGONAL &&
           initializer->kind != INITIALIZER_IDENTITY && initializer->kind != INITIALIZER_WAVES;
}

bool initializer_is_zero(const struct initializer *initializer)
{
    return initializer->kind == INITIALIZER_CONSTANT && initializer->a == 0 &&
           initializer->ones_begin == initializer->ones_end;
}

void initializer_fill_rows(const struct initializer *initializer, const struct shape *shape,
                           uint64_t seed, int64_t first_row, int64_t rows_count, float *out)
{
    struct initializer plain = *initializer;
    int64_t row_size = 1;

    assert(initializer_is_by_rows(initializer));
    for (int i = 1; i < shape->rank; i++)
        row_size *= shape->dims[i];
    if (plain.kind == INITIALIZER_ARRAY) {
        fill_array(&plain.array, shape, first_row * row_size, rows_count * row_size, out);
        return;
    }
    if (plain.kind == INITIALIZER_CONSTANT) { /* seeding a row's random stream would take 8 ns */
        for (int64_t i = 0; i < rows_count * row_size; i++)
            out[i] = (float)plain.a;
        return;
    }
    if (plain.kind == INITIALIZER_VARIANCE_SCALING)
        plain = scaled(initializer, shape);
    for (int64_t r = first_row; r < first_row + rows_count; r++) {
        struct random random;
        random_init(&random, initializer->has_seed ? initializer->seed : seed, (uint64_t)r);
        for (int64_t i = 0; i < row_size; i++)
            *out++ = (float)draw(&plain, &random);
    }
}

void initializer_fill(const struct initializer *initializer, const struct shape *shape,
                      uint64_t seed, float *out)
{
    fill_kind(initializer, shape, seed, out);
    for (int64_t i = initializer->ones_begin; i < initializer->ones_end; i++)
        out[i] = 1;
}

struct status initializer_for_keys(const struct initializer *initializer, int64_t width,
                                   struct row_keys_spec *out)
{
    static const enum key_initializer kinds[] = {
        [INITIALIZER_CONSTANT] = KEY_CONSTANT,
        [INITIALIZER_UNIFORM] = KEY_UNIFORM,
        [INITIALIZER_NORMAL] = KEY_NORMAL,
        [INITIALIZER_TRUNCATED_NORMAL] = KEY_TRUNCATED_NORMAL,
    };
    const struct shape one_row = shape_of(1, width);
    struct initializer plain = *initializer;

    if (plain.kind == INITIALIZER_VARIANCE_SCALING && plain.fan == FAN_OUT)
        plain = scaled(initializer, &one_row);
    if ((size_t)plain.kind >= COUNT(kinds))
        return status_error(STATUS_UNIMPLEMENTED,
                            "its values depend on the number of rows, and a hash table has no "
                            "fixed number: take RandomUniform, RandomNormal, TruncatedNormal, "
                            "Constant of one number, Zeros or Ones, or VarianceScaling with the "
                            "mode fan_out");
    out->initializer = kinds[plain.kind];
    out->a = plain.a;
    out->b = plain.b;
    return status_ok();
}
