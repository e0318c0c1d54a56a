/* Compares the fast loops with plain ones, for random shapes, and approximations with libm. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/plain/conv.h"
#include "runtime/kernels/plain/fast_math.h"
#include "runtime/kernels/plain/fractional.h"
#include "runtime/kernels/plain/matmul.h"
#include "runtime/kernels/plain/recurrent.h"
#include "runtime/kernels/plain/reduce.h"
#include "runtime/kernels/plain/softmax.h"
#include "runtime/kernels/plain/strided.h"

#define ROUNDS 300

static struct random random_state;

#ifdef __SANITIZE_THREAD__
#define OWN_THREADS_MAX 2 /* ThreadSanitizer starts one with the first other thread */
#else
#define OWN_THREADS_MAX 1
#endif
#define DEADLINE_MS 60000

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int entries = 0;

    assert_non_null(tasks);
    while (readdir(tasks) != NULL)
        entries++;
    closedir(tasks);
    return entries - 2; /* "." and ".." */
}

/* A program that computes nothing by OpenBLAS must not pay for its threads either. A thread that
 * has been joined may stay in the list for a moment. */
static void has_no_threads_of_libraries(void **state)
{
    (void)state;
    for (int i = 0; i < DEADLINE_MS && count_threads() > OWN_THREADS_MAX; i++)
        usleep(1000);
    assert_in_range(count_threads(), 1, OWN_THREADS_MAX);
}

static int64_t pick(int64_t low, int64_t high)
{
    return low + (int64_t)random_below(&random_state, (uint64_t)(high - low + 1));
}

static float *random_floats(int64_t count)
{
    float *values = malloc(((size_t)count + 1) * sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = random_float(&random_state) * 2 - 1;
    return values;
}

static void assert_close(const float *got, const float *want, int64_t count, double bound)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= bound))
            fail_msg("[%lld] is %g, not %g", (long long)i, (double)got[i], (double)want[i]);
}

static int start(void **state)
{
    (void)state;
    random_init(&random_state, 7, 0);
    return 0;
}

/* ---- approximations, for every 997th float, which covers all exponents ---- */

static void check_function(float (*fast)(float), double (*exact)(double), const char *name)
{
    assert_true(isnan(fast(NAN)));
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 997) {
        float x = float_of_bits((uint32_t)bits);
        double want = exact((double)x), got = (double)fast(x);
        if (isnan(x) || want > 3.4e38 || want < -3.4e38)
            continue;
        if (fabs(got - want) > 1e-6 * fabs(want) + 1.3e-38)
            fail_msg("%s(%.9g) is %.9g, not %.9g", name, (double)x, got, want);
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void approximates_exp(void **state)
{
    (void)state;
    check_function(fast_exp, exp, "exp");
    assert_true(isinf(fast_exp(89.5f)) && fast_exp(INFINITY) > 0);
    assert_true(fast_exp(-INFINITY) == 0);
}

static void approximates_tanh(void **state)
{
    (void)state;
    check_function(fast_tanh, tanh, "tanh");
    assert_true(fast_tanh(7.9f) < 1 && fast_tanh(7.90738964f) == 1 && fast_tanh(-8) == -1);
}

static void approximates_sigmoid(void **state)
{
    (void)state;
    check_function(fast_sigmoid, sigmoid, "sigmoid");
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static void approximates_softplus(void **state)
{
    (void)state;
    check_function(fast_softplus, softplus, "softplus");
    assert_true(isinf(fast_softplus(INFINITY)) && fast_softplus(-INFINITY) == 0);
}

static void approximates_error_functions(void **state)
{
    (void)state;
    check_function(fast_erf, erf, "erf");
    check_function(fast_erfc, erfc, "erfc");
}

/* ---- broadcasting ---- */

static int64_t place_in(const struct shape *shape, const struct shape *out, const int64_t *at)
{
    int64_t place = 0;
    for (int d = 0; d < shape->rank; d++) {
        int64_t index = at[out->rank - shape->rank + d];
        place = place * shape->dims[d] + (shape->dims[d] == 1 ? 0 : index);
    }
    return place;
}

static void broadcasting_round(void)
{
    struct shape shapes[3], out = { .rank = (int)pick(0, 5) };
    for (int d = 0; d < out.rank; d++)
        out.dims[d] = pick(1, 4);
    for (int i = 0; i < 3; i++) {
        shapes[i] = (struct shape){ .rank = i == 0 ? out.rank : (int)pick(0, out.rank) };
        for (int d = 0; d < shapes[i].rank; d++) /* the first has the full shape */
            shapes[i].dims[d] = i == 0 || pick(0, 1) ? out.dims[out.rank - shapes[i].rank + d] : 1;
    }
    struct broadcast broadcast;
    struct broadcast_walk walk = { 0 };
    broadcast_init(&broadcast, &out, 3,
                   (const struct shape *[]){ &shapes[0], &shapes[1], &shapes[2] });
    int64_t at[SHAPE_RANK_MAX] = { 0 }, done = 0, row = broadcast_row(&broadcast);
    do {
        for (int64_t i = 0; i < row; i++, done++) {
            for (int o = 0; o < 3; o++)
                assert_int_equal(walk.offsets[o] + i * broadcast_step(&broadcast, o),
                                 place_in(&shapes[o], &out, at));
            for (int d = out.rank - 1; d >= 0 && ++at[d] == out.dims[d]; d--)
                at[d] = 0;
        }
    } while (broadcast_next(&broadcast, &walk));
    assert_int_equal(done, shape_size(&out));
}

static void broadcasts_as_an_index_computation_says(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        broadcasting_round();
}

static void merges_what_is_one_walk(void **state)
{
    (void)state;
    struct shape same = shape_of(2, 3, 4), scalar = shape_scalar(), vector = shape_of(4);
    struct broadcast broadcast;
    broadcast_init(&broadcast, &same, 2, (const struct shape *[]){ &same, &scalar });
    assert_int_equal(broadcast_row(&broadcast), 24);
    broadcast_init(&broadcast, &same, 2, (const struct shape *[]){ &same, &vector });
    assert_int_equal(broadcast_row(&broadcast), 4);
    assert_int_equal(broadcast.rank, 2);
}

/* ---- strided copies ---- */

static void strided_round(size_t element)
{
    struct strided strided = { .rank = (int)pick(0, 4) };
    int64_t low = 0, high = 0, size = 1, at[STRIDED_RANK_MAX] = { 0 };
    for (int d = 0; d < strided.rank; d++) {
        strided.dims[d] = pick(1, 4);
        strided.strides[d] = pick(-6, 6);
        size *= strided.dims[d];
        int64_t reach = strided.strides[d] * (strided.dims[d] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    size_t source_bytes = (size_t)(high - low + 1) * element, bytes = (size_t)size * element;
    unsigned char *source = malloc(source_bytes), *got = malloc(bytes);
    for (size_t i = 0; i < source_bytes; i++)
        source[i] = (unsigned char)random_u64(&random_state);
    unsigned char *origin = source - low * (int64_t)element;
    strided_read(&strided, element, origin, got);
    for (int64_t i = 0; i < size; i++) {
        int64_t from = 0;
        for (int d = 0; d < strided.rank; d++)
            from += at[d] * strided.strides[d];
        assert_memory_equal(got + (size_t)i * element, origin + from * (int64_t)element, element);
        for (int d = strided.rank - 1; d >= 0 && ++at[d] == strided.dims[d]; d--)
            at[d] = 0;
    }
    free(source);
    free(got);
}

static void reads_with_any_strides(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        strided_round((size_t)1 << pick(0, 4));
}

/* ---- reductions ---- */

/* Small numbers, whose products of nine rows fit into every type but wrap in the small ones. */
static void fill_small(enum dtype dtype, char *values, int64_t count)
{
    int64_t size = (int64_t)dtype_size(dtype);
    memset(values, 0, (size_t)(count * size));
    for (int64_t i = 0; i < count; i++) {
        float number = (float)pick(-3, 3) / 2;
        if (dtype == DT_FLOAT || dtype == DT_COMPLEX64)
            memcpy(values + i * size, &number, sizeof number);
        else if (dtype == DT_DOUBLE || dtype == DT_COMPLEX128)
            memcpy(values + i * size, &(double){ (double)number }, sizeof(double));
        else
            values[i * size] = (char)pick(0, dtype == DT_BOOL ? 1 : 3);
    }
}

static void check_columns(const struct fold_rows *rows, enum dtype dtype, int64_t count)
{
    enum { ROWS_MAX = 9, BYTES = 16 };
    size_t size = dtype_size(dtype);
    enum dtype wide = rows->wide == DT_INVALID ? dtype : rows->wide;
    char *x = malloc((size_t)(ROWS_MAX * count) * size);
    char *got = malloc((size_t)count * BYTES), *want = malloc((size_t)count * BYTES);
    fill_small(dtype, x, ROWS_MAX * count);
    for (int64_t n = 0; n <= ROWS_MAX; n++) {
        rows->start(got, count);
        rows->start(want, count);
        rows->columns(x, got, n, count);
        for (int64_t row = 0; row < n; row++)
            rows->columns(x + (size_t)(row * count) * size, want, 1, count);
        assert_memory_equal(got, want, (size_t)count * dtype_size(wide));
    }
    free(x);
    free(got);
    free(want);
}

static void folds_rows_in_their_order(void **state)
{
    (void)state;
    static const char *const ops[] = { "Sum", "Mean", "Prod", "Max",
                                       "Min", "All",  "Any",  "EuclideanNorm" };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            for (int64_t count = 1; count < 40; count += 6) {
                const struct fold_rows *rows = &fold_op_find(ops[i])->rows[dtype];
                if (rows->columns != NULL)
                    check_columns(rows, (enum dtype)dtype, count);
            }
}

/* ---- products ---- */

static void multiplies_as_the_plain_loops_do(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct matmul_size size = { .m = pick(0, 1) ? 1 : pick(1, 20),
                                    .k = pick(0, 1) ? pick(0, 40) : pick(120, 200),
                                    .n = pick(1, 40),
                                    .transpose_a = pick(0, 1),
                                    .transpose_b = pick(0, 1) };
        float *a = random_floats(size.m * size.k), *b = random_floats(size.k * size.n);
        float *want = random_floats(size.m * size.n), *got = random_floats(size.m * size.n);
        matmul_f32(&size, a, b, want);
        matmul_best_f32(&size, a, b, got);
        assert_close(got, want, size.m * size.n, 2e-5);
        free(a);
        free(b);
        free(want);
        free(got);
    }
}

/* ---- convolution ---- */

static struct window random_window(int64_t kernel)
{
    struct window w = {
        .in = pick(1, 9), .kernel = kernel, .stride = pick(1, 3), .dilation = pick(1, 2)
    };
    int64_t span = (kernel - 1) * w.dilation + 1;
    w.before = pick(0, span);
    int64_t padded = w.in + w.before + pick(0, span);
    w.out = padded < span ? 0 : (padded - span) / w.stride + 1;
    return w;
}

static struct conv_size random_image_conv(void)
{
    struct conv_size size = { .n = pick(1, 3), .groups = pick(1, 3), .planes = ONE_PLANE };
    size.c = size.groups * pick(1, 3);
    size.m = size.groups * pick(1, 3);
    size.rows = random_window(pick(1, 3));
    size.columns = random_window(pick(1, 3));
    return size;
}

/* Of volumes, and of images in turn. */
static struct conv_size random_conv(void)
{
    struct conv_size size = random_image_conv();
    if (pick(0, 1) == 1)
        size.planes = random_window(pick(1, 3));
    return size;
}

struct conv_data {
    int64_t x_size, filter_size, y_size;
    float *x, *filter, *y, *want, *scratch;
};

static struct conv_data conv_data(const struct conv_size *size)
{
    struct conv_data data = { .x_size = size->n * conv_places_in(size) * size->c,
                              .filter_size = size->planes.kernel * size->rows.kernel *
                                             size->columns.kernel * (size->c / size->groups) *
                                             size->m,
                              .y_size = size->n * conv_places_out(size) * size->m };
    data.x = random_floats(data.x_size);
    data.filter = random_floats(data.filter_size);
    data.y = random_floats(data.y_size);
    data.want = random_floats(data.y_size);
    data.scratch = random_floats(conv_scratch_size(size));
    return data;
}

static void conv_data_free(struct conv_data *data)
{
    free(data->x);
    free(data->filter);
    free(data->y);
    free(data->want);
    free(data->scratch);
}

static void convolves_as_the_plain_loops_do(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct conv_size size = random_conv();
        struct conv_data data = conv_data(&size);
        conv_direct_f32(&size, data.x, data.filter, data.want);
        conv_f32(&size, data.x, data.filter, data.scratch, data.y);
        assert_close(data.y, data.want, data.y_size, 2e-5);
        conv_data_free(&data);
    }
}

static double dot(const float *a, const float *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* A convolution is linear in x and in the filter, so <dy, y> = <dx, x> = <dfilter, filter>. */
static void has_gradients_that_are_its_transposes(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct conv_size size = random_conv();
        struct conv_data data = conv_data(&size);
        float *dx = random_floats(data.x_size), *dfilter = random_floats(data.filter_size);
        conv_direct_f32(&size, data.x, data.filter, data.want);
        conv_input_grad_f32(&size, data.y, data.filter, data.scratch, dx);
        conv_filter_grad_f32(&size, data.x, data.y, data.scratch, dfilter);
        double want = dot(data.y, data.want, data.y_size);
        assert_true(fabs(dot(dx, data.x, data.x_size) - want) < 1e-3);
        assert_true(fabs(dot(dfilter, data.filter, data.filter_size) - want) < 1e-3);
        free(dx);
        free(dfilter);
        conv_data_free(&data);
    }
}

/* With one channel per group a convolution is depthwise. Its filter [kh, kw, 1, m] and the
 * depthwise one, [kh, kw, c, m / c], have the same memory layout. */
static void convolves_each_channel_by_itself(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct conv_size size = random_image_conv();
        size.m = size.c * pick(1, 3);
        size.groups = size.c;
        struct conv_data data = conv_data(&size);
        float *dx = random_floats(data.x_size), *dfilter = random_floats(data.filter_size);
        conv_direct_f32(&size, data.x, data.filter, data.want);
        double want = dot(data.y, data.want, data.y_size);
        depthwise_input_grad_f32(&size, data.y, data.filter, dx);
        depthwise_filter_grad_f32(&size, data.x, data.y, dfilter);
        assert_true(fabs(dot(dx, data.x, data.x_size) - want) < 1e-3);
        assert_true(fabs(dot(dfilter, data.filter, data.filter_size) - want) < 1e-3);
        depthwise_f32(&size, data.x, data.filter, data.y);
        assert_close(data.y, data.want, data.y_size, 2e-5);
        free(dx);
        free(dfilter);
        conv_data_free(&data);
    }
}

/* ---- recurrent cells ---- */

static void multiplies_by_panels_as_the_plain_loop_does(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t m = pick(0, 40), k = pick(0, 70), columns = pick(1, 200);
        int64_t n = panels_columns(columns), lda = k + pick(0, 3), ldout = n + pick(0, 3);
        const struct panels_size size = { m, k, n, lda, i % 2 ? n : 0, ldout };
        float *a = random_floats(m * lda), *b = random_floats(k * columns);
        float *packed = random_floats(n * k), *start = random_floats((m + 1) * n);
        float *got = random_floats(m * ldout), *want = random_floats(m * ldout);
        memcpy(got, want, (size_t)(m * ldout) * sizeof *got); /* between rows */
        panels_pack(k, columns, b, columns, packed);
        panels_multiply(&size, a, packed, start, got);
        panels_multiply_plain(&size, a, packed, start, want);
        assert_close(got, want, m * ldout, 2e-5);
        for (int64_t row = 0; row < m; row++) { /* alone, a row has the same bits */
            const struct panels_size one = { 1, k, n, lda, 0, n };
            float *out = random_floats(n);
            panels_multiply(&one, a + row * lda, packed, start + row * size.ld_start, out);
            assert_memory_equal(out, got + row * ldout, (size_t)n * sizeof *out);
            free(out);
        }
        float *all[] = { a, b, packed, start, got, want };
        for (size_t j = 0; j < sizeof all / sizeof *all; j++)
            free(all[j]);
    }
}

static void computes_gates_as_libm_does(void **state)
{
    (void)state;
    for (int64_t cells = 1; cells < 70; cells++) {
        float *z = random_floats(4 * cells), *c = random_floats(cells), *h = random_floats(cells);
        float *want_c = random_floats(cells), *want_h = random_floats(cells);
        memcpy(want_c, c, (size_t)cells * sizeof *c);
        for (int64_t i = 0; i < 4 * cells; i++)
            z[i] *= 12;
        lstm_gates(cells, z, c, h);
        lstm_gates_plain(cells, z, want_c, want_h);
        assert_close(c, want_c, cells, 2e-6);
        assert_close(h, want_h, cells, 2e-6);
        gru_gates(cells, z, z + 2 * cells, z + 3 * cells, c, h);
        gru_gates_plain(cells, z, z + 2 * cells, z + 3 * cells, c, want_h);
        assert_close(h, want_h, cells, 2e-6);
        simple_gates(cells, z, h);
        simple_gates_plain(cells, z, want_h);
        assert_close(h, want_h, cells, 2e-6);
        float *all[] = { z, c, h, want_c, want_h };
        for (size_t j = 0; j < sizeof all / sizeof *all; j++)
            free(all[j]);
    }
}

/* ---- fractional pooling ---- */

/* Of an image of 2^24 + 3 columns and the ratio 1, a float makes one more window than columns. */
/* The bits that TensorFlow gives: those of the NaN in the row. */
static void fills_a_row_with_its_nan(void **state)
{
    (void)state;
    static const uint32_t nans[] = { 0x7fc00000, 0xffc00000, 0x7fc01234 };
    float x[2 * 33], out[2 * 33];
    for (size_t k = 0; k < COUNT(nans); k++)
        for (int log = 0; log < 2; log++) {
            for (int i = 0; i < 2 * 33; i++)
                x[i] = (float)(i % 7) - 3;
            memcpy(&x[33 + 5], &nans[k], sizeof nans[k]);
            (log ? log_softmax_f32 : softmax_f32)(x, out, 2, 33);
            for (int i = 0; i < 33; i++) {
                assert_false(isnan(out[i]));
                assert_memory_equal(&out[33 + i], &nans[k], sizeof nans[k]);
            }
        }
}

static void takes_the_mean_of_no_pixel(void **state)
{
    (void)state;
    static const int64_t rows[] = { 0, 1 }, columns[] = { 0, 2, 2 };
    const int32_t x[] = { 3, 6 };
    int32_t y[] = { 7, 7 };
    const struct fractional_cells cells = { .images = 1,
                                            .in = { 1, 2 },
                                            .out = { 1, 2 },
                                            .depth = 1,
                                            .borders = { rows, columns },
                                            .x = x,
                                            .y = y };
    fractional_row(&cells, DT_INT32, FRACTIONAL_MEAN, 0, 0);
    assert_int_equal(y[0], 4);
    assert_int_equal(y[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_no_threads_of_libraries),
        cmocka_unit_test(approximates_exp),
        cmocka_unit_test(approximates_tanh),
        cmocka_unit_test(approximates_sigmoid),
        cmocka_unit_test(approximates_softplus),
        cmocka_unit_test(approximates_error_functions),
        cmocka_unit_test(broadcasts_as_an_index_computation_says),
        cmocka_unit_test(merges_what_is_one_walk),
        cmocka_unit_test(reads_with_any_strides),
        cmocka_unit_test(folds_rows_in_their_order),
        cmocka_unit_test(multiplies_as_the_plain_loops_do),
        cmocka_unit_test(convolves_as_the_plain_loops_do),
        cmocka_unit_test(has_gradients_that_are_its_transposes),
        cmocka_unit_test(convolves_each_channel_by_itself),
        cmocka_unit_test(multiplies_by_panels_as_the_plain_loop_does),
        cmocka_unit_test(computes_gates_as_libm_does),
        cmocka_unit_test(fills_a_row_with_its_nan),
        cmocka_unit_test(takes_the_mean_of_no_pixel),
    };
    return cmocka_run_group_tests_name("plain", tests, start, NULL);
}
