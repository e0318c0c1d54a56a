/*
 * fft: FFT, IFFT, RFFT and IRFFT over the last one, two or three dimensions, in double for all
 * types.
 *
 * The spectrum of real numbers is its own mirror image, so RFFT and IRFFT have only the first half
 * of the last dimension: n / 2 + 1 numbers of n.
 */
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/fft.h"

#define DIMS_MAX    3
#define CHECK_EVERY 65536 /* numbers that are transformed between two checks of the deadline */

struct fft_state {
    int rank; /* number of dimensions that are transformed */
    bool inverse, real;
};

/* TensorFlow's words; both attributes have a default. */
static struct status check_types(const struct node *node, bool inverse)
{
    enum dtype numbers, spectrum;
    TRY(node_attr_type(node, "Treal", &numbers));
    TRY(node_attr_type(node, "Tcomplex", &spectrum));
    if ((numbers == DT_DOUBLE) == (spectrum == DT_COMPLEX128))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "Wrong types for %s real FFT: in=%d out=%d",
                        inverse ? "backward" : "forward", inverse ? spectrum : numbers,
                        inverse ? numbers : spectrum);
}

static struct status fft_prepare(struct prepare_context *p)
{
    const char *name = prepare_node(p)->op_name; /* such as IRFFT2D */
    struct fft_state *state = prepare_state(p, sizeof *state, NULL);
    state->inverse = name[0] == 'I';
    state->real = name[state->inverse] == 'R';
    const char *digit = strpbrk(name, "23");
    state->rank = digit != NULL ? *digit - '0' : 1;
    return state->real ? check_types(prepare_node(p), state->inverse) : status_ok();
}

/* One transform of the last dimensions: a block of the input, and one of the output. */
struct transform {
    struct kernel_context *k;
    const struct fft_state *state;
    int64_t lengths[DIMS_MAX]; /* of the lines of each dimension */
    int64_t in_dims[DIMS_MAX]; /* of the input; numbers beyond the lengths are left out */
    int64_t out_dims[DIMS_MAX];
    int64_t size;                    /* product of the lengths */
    double complex *block;           /* [lengths…] */
    double complex *line, *line_out; /* [the greatest length] */
    struct fft plans[DIMS_MAX];
    int64_t work; /* numbers since the last check of the deadline */
};

static int64_t half(int64_t length)
{
    return length == 0 ? 0 : length / 2 + 1;
}

/* Reads input 1 of the real ops. A length of 0 makes an empty result; TensorFlow aborts on one in
 * the last dimension unless there is nothing to transform. */
static struct status read_lengths(struct kernel_context *k, struct transform *t)
{
    const struct tensor *x = kernel_input(k, 0), *given = kernel_input(k, 1);
    const struct shape *shape = &x->shape;
    int rank = t->state->rank;
    if (given->shape.rank != 1 || given->size != rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "fft_length must have shape [%d]", rank);
    for (int d = 0; d < rank; d++) {
        t->lengths[d] = tensor_int32s(given)[d];
        if (t->lengths[d] < 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "fft_length[%d] must >= 0, but got: %lld", d,
                                (long long)t->lengths[d]);
        bool mirrored = d == rank - 1;
        if (t->lengths[d] == 0 && mirrored && x->size != 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "fft_length[%d] must be at least 1", d);
        int64_t needed = mirrored && t->state->inverse ? half(t->lengths[d]) : t->lengths[d];
        if (t->in_dims[d] != 0 && t->in_dims[d] < needed)
            return kernel_error(
                k, STATUS_INVALID_ARGUMENT,
                "Input dimension %d must have length of at least %lld but got: %lld",
                shape->rank - rank + d, (long long)needed, (long long)t->in_dims[d]);
        t->out_dims[d] = mirrored && !t->state->inverse ? half(t->lengths[d]) : t->lengths[d];
    }
    return status_ok();
}

static struct status set_dims(struct kernel_context *k, struct transform *t)
{
    const struct tensor *x = kernel_input(k, 0);
    int rank = t->state->rank;
    if (x->shape.rank < rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Input must have rank of at least %d but got: %s", rank,
                            shape_text(&x->shape));
    memcpy(t->in_dims, x->shape.dims + x->shape.rank - rank, (size_t)rank * sizeof *t->in_dims);
    if (t->state->real)
        return read_lengths(k, t);
    memcpy(t->lengths, t->in_dims, sizeof t->lengths);
    memcpy(t->out_dims, t->in_dims, sizeof t->out_dims);
    return status_ok();
}

static double complex load(const struct tensor *x, int64_t i)
{
    switch (x->dtype) {
    case DT_FLOAT:
        return (double)tensor_floats(x)[i];
    case DT_DOUBLE:
        return tensor_doubles(x)[i];
    case DT_COMPLEX64:
        return ((const float complex *)x->data)[i];
    default:
        return ((const double complex *)x->data)[i];
    }
}

static void store(struct tensor *out, int64_t i, double complex value)
{
    switch (out->dtype) {
    case DT_FLOAT:
        tensor_floats_mut(out)[i] = (float)creal(value);
        break;
    case DT_DOUBLE:
        tensor_doubles_mut(out)[i] = creal(value);
        break;
    case DT_COMPLEX64:
        ((float complex *)out->data)[i] = (float complex)value;
        break;
    default:
        ((double complex *)out->data)[i] = value;
    }
}

/* The place in the block of place `i` in an array of `dims`; -1: beyond the lengths. */
static int64_t place_in_block(const struct transform *t, const int64_t *dims, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = t->state->rank - 1; d >= 0; d--) {
        int64_t index = i % dims[d];
        if (index >= t->lengths[d])
            return -1;
        at += index * step;
        step *= t->lengths[d];
        i /= dims[d];
    }
    return at;
}

/* Transforms all lines of dimension `d` whose index in the last dimension is below `columns`. */
static struct status transform_lines(struct transform *t, int d, int64_t columns)
{
    int last = t->state->rank - 1;
    int64_t n = t->lengths[d], width = t->lengths[last], stride = 1;
    for (int i = d + 1; i <= last; i++)
        stride *= t->lengths[i];
    for (int64_t o = 0; o < t->size / (n * stride); o++)
        for (int64_t i = 0; i < stride; i++) {
            double complex *first = t->block + o * n * stride + i;
            if (d != last && i % width >= columns)
                continue;
            if ((t->work += n) > CHECK_EVERY) {
                TRY(kernel_check(t->k));
                t->work = 0;
            }
            for (int64_t j = 0; j < n; j++)
                t->line[j] = first[j * stride];
            fft_run(&t->plans[d], t->line, t->line_out);
            for (int64_t j = 0; j < n; j++)
                first[j * stride] = t->line_out[j];
        }
    return status_ok();
}

/* Completes the rows of which there is only the first half. */
static void mirror_rows(struct transform *t)
{
    int64_t n = t->lengths[t->state->rank - 1];
    for (int64_t row = 0; row < t->size; row += n) {
        double complex *x = t->block + row;
        x[0] = creal(x[0]);
        if (n % 2 == 0)
            x[n / 2] = creal(x[n / 2]);
        for (int64_t i = 1; i < n - i; i++)
            x[n - i] = conj(x[i]);
    }
}

static struct status transform_block(struct transform *t, const struct tensor *x, int64_t in,
                                     int64_t in_size, struct tensor *out, int64_t at,
                                     int64_t out_size)
{
    int last = t->state->rank - 1;
    bool mirrored = t->state->real && t->state->inverse;
    int64_t columns = t->state->real ? half(t->lengths[last]) : t->lengths[last];
    double scale = t->state->inverse ? 1 / (double)t->size : 1;
    for (int64_t i = 0; i < in_size; i++) {
        int64_t place = place_in_block(t, t->in_dims, i);
        if (place >= 0)
            t->block[place] = load(x, in + i);
    }
    if (!mirrored)
        TRY(transform_lines(t, last, columns));
    for (int d = 0; d < last; d++)
        TRY(transform_lines(t, d, columns));
    if (mirrored) {
        mirror_rows(t);
        TRY(transform_lines(t, last, columns));
    }
    for (int64_t i = 0; i < out_size; i++)
        store(out, at + i, t->block[place_in_block(t, t->out_dims, i)] * scale);
    return status_ok();
}

static int64_t dims_product(const int64_t *dims, int rank)
{
    int64_t product = 1;
    for (int d = 0; d < rank; d++)
        product *= dims[d];
    return product;
}

/* Makes the block, the lines and the plans in one scratch tensor. */
static struct status make_plans(struct kernel_context *k, struct transform *t,
                                struct tensor *memory)
{
    int rank = t->state->rank;
    int64_t longest = 1;
    t->size = dims_product(t->lengths, rank);
    struct shape shape = shape_of(t->size);
    for (int d = 0; d < rank; d++) {
        longest = longest < t->lengths[d] ? t->lengths[d] : longest;
        shape.dims[0] += fft_memory(t->lengths[d]);
    }
    shape.dims[0] += 2 * longest;
    TRY(kernel_scratch(k, DT_COMPLEX128, &shape, memory));
    t->block = memory->data;
    t->line = t->block + t->size;
    t->line_out = t->line + longest;
    double complex *next = t->line_out + longest;
    for (int d = 0; d < rank; d++) {
        fft_init(&t->plans[d], t->lengths[d], t->state->inverse, next);
        next += fft_memory(t->lengths[d]);
    }
    return status_ok();
}

static struct status fft_compute(struct kernel_context *k)
{
    struct transform t = { .k = k, .state = kernel_state(k) };
    const struct tensor *x = kernel_input(k, 0);
    int rank = t.state->rank;
    struct tensor *out, memory;
    TRY(set_dims(k, &t));
    struct shape shape = x->shape;
    memcpy(shape.dims + shape.rank - rank, t.out_dims, (size_t)rank * sizeof *t.out_dims);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    if (x->size == 0) {
        memset(out->data, 0, tensor_bytes(out));
        return status_ok();
    }
    TRY(make_plans(k, &t, &memory));
    int64_t in_size = dims_product(t.in_dims, rank), out_size = dims_product(t.out_dims, rank);
    struct status status = status_ok();
    for (int64_t i = 0; i < out->size / out_size && status_is_ok(status); i++)
        status = transform_block(&t, x, i * in_size, in_size, out, i * out_size, out_size);
    tensor_release(&memory);
    return status;
}

#define FFT(op)                                                                        \
    {                                                                                  \
        op, DTYPES_ALL, .prepare = fft_prepare, .compute = fft_compute, .costly = true \
    }
static const struct kernel rows[] = {
    FFT("FFT"),  FFT("FFT2D"),  FFT("FFT3D"),  FFT("IFFT"),  FFT("IFFT2D"),  FFT("IFFT3D"),
    FFT("RFFT"), FFT("RFFT2D"), FFT("RFFT3D"), FFT("IRFFT"), FFT("IRFFT2D"), FFT("IRFFT3D"),
};
const struct kernel_table kernels_fft = { rows, COUNT(rows) };
