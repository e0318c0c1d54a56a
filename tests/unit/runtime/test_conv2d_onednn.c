/* Compares oneDNN's convolutions with the plain loops, for random sizes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/parallel.h"
#include "base/random.h"
#include "runtime/kernels/nn/conv2d_cut.h"
#include "runtime/kernels/nn/conv2d_onednn.h"
#include "runtime/kernels/plain/conv.h"
#include "support/test_group.h"

static struct random source;
static int created, compared;

static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)random_below(&source, (uint64_t)(high - low + 1));
}

static float *floats(int64_t count)
{
    float *values = zalloc((size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)between(-1000, 1000) / 500;
    return values;
}

/* Turns about one element in thirty into NaN, infinity or a subnormal number. */
static void make_special(float *values, int64_t count)
{
    static const float special[] = { NAN, NAN, INFINITY, -INFINITY, 1e-40f, -1e-40f, -0.0f };
    for (int64_t i = between(0, 20); i < count; i += between(1, 60))
        values[i] = special[between(0, (int64_t)COUNT(special) - 1)];
}

static struct window random_window(void)
{
    struct window window = { .in = between(1, 19),
                             .kernel = between(1, 5),
                             .stride = between(1, 3),
                             .dilation = between(1, 2) };
    int64_t span = (window.kernel - 1) * window.dilation + 1;
    window.before = between(0, span - 1);
    int64_t after = between(0, span - 1), room = window.in + window.before + after - span;
    window.out = room < 0 ? 0 : room / window.stride + 1;
    return window;
}

static float activate(float x, enum conv_activation activation, float alpha)
{
    switch (activation) {
    case CONV_RELU:
        return x < 0 ? 0 : x;
    case CONV_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    case CONV_LEAKY_RELU:
        return x > 0 ? x : alpha * x;
    case CONV_ELU:
        return x > 0 ? x : expm1f(x);
    case CONV_TANH:
        return tanhf(x);
    case CONV_SIGMOID:
        return 1 / (1 + expf(-x));
    default:
        return x;
    }
}

static bool is_close(float got, float want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    return got == want || fabsf(got - want) <= 1e-3f; /* sums of 400 products of numbers up to 4 */
}

static bool runs(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                 const float *filter, const float *in, float *out)
{
    return conv2d_onednn_run(conv, size, filter, in, out) == CONV_DONE;
}

static bool runs_without_activation(struct conv2d_onednn_spec spec,
                                    const struct conv2d_onednn_size *size, const float *filter,
                                    const float *in, float *out)
{
    spec.activation = CONV_LINEAR;
    struct conv2d_onednn *conv = conv2d_onednn_create(&spec);
    bool done = conv != NULL && runs(conv, size, filter, in, out);
    conv2d_onednn_destroy(conv);
    return done;
}

/* Leaves NaN in vector registers of this thread, as any kernel may have done. */
static void spoil_registers(void)
{
#if defined(__x86_64__)
#define SPOIL(n) "vbroadcastss %0, %%ymm" #n "\n"
    static const float not_a_number = NAN;
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile(SPOIL(2) SPOIL(3) SPOIL(4) SPOIL(5) SPOIL(6) SPOIL(7) SPOIL(8) SPOIL(9)
                             SPOIL(10) SPOIL(11) SPOIL(12) SPOIL(13) SPOIL(14) SPOIL(15)
                         :
                         : "m"(not_a_number)
                         : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
}

static void compare(const struct conv_size *size, enum conv_activation activation, bool with_bias,
                    bool with_special)
{
    bool depthwise = size->groups == size->c;
    int64_t each = size->c / size->groups;
    int64_t in_count = size->n * size->rows.in * size->columns.in * size->c;
    int64_t out_count = size->n * size->rows.out * size->columns.out * size->m;
    float *in = floats(in_count),
          *filter = floats(size->rows.kernel * size->columns.kernel * each * size->m);
    float *addend = size->groups == 1 && between(0, 1) == 1 ? floats(out_count + 1) : NULL;
    if (with_special)
        make_special(in, in_count);
    if (with_special && addend != NULL)
        make_special(addend, out_count);
    size_t addend_bytes = addend != NULL ? (size_t)out_count * sizeof *addend : 0;
    float *bias = floats(size->m), *want = floats(out_count + 1), *got = floats(out_count + 1);
    struct conv2d_onednn_spec spec = { .height = size->rows.kernel,
                                       .width = size->columns.kernel,
                                       .channels = size->c,
                                       .filters = size->m,
                                       .groups = size->groups,
                                       .strides = { size->rows.stride, size->columns.stride },
                                       .dilations = { size->rows.dilation, size->columns.dilation },
                                       .bias = with_bias ? bias : NULL,
                                       .adds = addend != NULL,
                                       .activation = activation,
                                       .alpha = 0.2f };
    struct conv2d_onednn_size fast = {
        size->n,        size->rows.in,     size->columns.in,
        size->rows.out, size->columns.out, { size->rows.before, size->columns.before },
        { 0 }
    };
    const struct window *windows[2] = { &size->rows, &size->columns };
    for (int i = 0; i < 2; i++)
        fast.after[i] = (windows[i]->out - 1) * windows[i]->stride +
                        (windows[i]->kernel - 1) * windows[i]->dilation + 1 - windows[i]->in -
                        windows[i]->before;

    struct conv2d_onednn *conv = conv2d_onednn_create(&spec);
    created += conv != NULL;
    if (addend != NULL)
        memcpy(got, addend, addend_bytes);
    bool done = conv != NULL && runs(conv, &fast, filter, in, got);
    if (conv != NULL && !with_special) {
        bool is_run = runs_without_activation(spec, &fast, filter, in, want);
        assert_int_equal(done, is_run);
        if (addend != NULL)
            memcpy(got, addend, addend_bytes);
        spoil_registers();
        assert_int_equal(runs(conv, &fast, filter, in, got), is_run);
    }
    if (done) {
        compared++;
        float *scratch = floats(conv_scratch_size(size));
        if (depthwise)
            depthwise_f32(size, in, filter, want);
        else
            conv_direct_f32(size, in, filter, want);
        for (int64_t i = 0; i < out_count; i++) {
            float sum =
                want[i] + (with_bias ? bias[i % size->m] : 0) + (addend != NULL ? addend[i] : 0);
            float x = activate(sum, activation, 0.2f);
            if (!is_close(got[i], x))
                fail_msg("activation %d, element %lld: %g, plain %g", (int)activation, (long long)i,
                         (double)got[i], (double)x);
        }
        free(scratch);
    }
    conv2d_onednn_destroy(conv);
    free(in), free(filter), free(bias), free(addend), free(want), free(got);
}

static void compare_many(bool with_special)
{
    random_init(&source, 1, 0);
    for (int i = 0; i < 200; i++) {
        struct conv_size size = { .n = between(1, 3),
                                  .c = between(1, 20),
                                  .m = between(0, 1) == 1 ? between(1, 20) : 8 * between(1, 3),
                                  .groups = 1,
                                  .planes = ONE_PLANE,
                                  .rows = random_window(),
                                  .columns = random_window() };
        if (between(0, 2) == 0) { /* depthwise, with one or two filters per channel */
            size.c = between(0, 1) == 1 ? size.c : 8 * between(1, 3);
            size.groups = size.c;
            size.m = size.c * between(1, 2);
        } else if (between(0, 2) == 0) {
            size.groups = between(2, 4);
            size.c = size.groups * (between(0, 1) == 1 ? between(1, 5) : 8);
            size.m = size.groups * (between(0, 1) == 1 ? between(1, 5) : 8);
        }
        if (size.rows.out > 0 && size.columns.out > 0)
            compare(&size, (enum conv_activation)between(CONV_LINEAR, CONV_SIGMOID),
                    between(0, 1) == 1, with_special);
    }
}

static void agrees_with_the_plain_loops(void **state)
{
    (void)state;
    created = compared = 0;
    compare_many(false);
    if (created > 0) /* 0: built without oneDNN */
        assert_true(compared > 80);
}

/* If oneDNN loses a NaN, the kernel must refuse the result, and the plain loops compute it. It must
 * not refuse a result without NaN. */
static void hands_nan_on_or_refuses(void **state)
{
    (void)state;
    compare_many(true);
}

/* Sizes for conv2d_tiles.h, which oneDNN computes where it is not used. */
static void agrees_with_the_plain_loops_in_tiles(void **state)
{
    static const enum conv_activation activations[] = { CONV_LINEAR, CONV_RELU, CONV_RELU6 };
    (void)state;
    random_init(&source, 7, 0);
    for (int i = 0; i < 100; i++) {
        struct conv_size size = { .n = between(1, 3),
                                  .c = between(8, 20),
                                  .m = 16 * between(1, 3),
                                  .groups = 1,
                                  .planes = ONE_PLANE,
                                  .rows = random_window(),
                                  .columns = random_window() };
        parallel_set_part_ns(i % 2 == 0 ? 0 : 25000);
        if (size.rows.out > 0 && size.columns.out > 0)
            compare(&size, activations[i % 3], between(0, 1) == 1, i % 4 == 3);
    }
    parallel_set_part_ns(25000);
    /* the product of the strides and the channels is 2^64 */
    const struct window far = {
        .in = 5, .kernel = 3, .stride = 1 << 30, .dilation = 1, .before = 1, .out = 1
    };
    const struct conv_size size = {
        .n = 1, .c = 16, .m = 16, .groups = 1, .planes = ONE_PLANE, .rows = far, .columns = far
    };
    compare(&size, CONV_LINEAR, false, false);
}

/* A filter that is not finite makes NaN of the zeros around an image. Nothing is there in the plain
 * loops. */
static void leaves_out_what_is_around_the_image(void **state)
{
    (void)state;
    enum { EDGE = 4, C = 16, M = 16, PIXELS = EDGE * EDGE };
    struct conv2d_onednn_spec spec = { .height = 3,
                                       .width = 3,
                                       .channels = C,
                                       .filters = M,
                                       .groups = 1,
                                       .strides = { 1, 1 },
                                       .dilations = { 1, 1 } };
    struct conv2d_onednn_size fast = { 1, EDGE, EDGE, EDGE, EDGE, { 1, 1 }, { 1, 1 } };
    const struct window window = {
        .in = EDGE, .kernel = 3, .stride = 1, .dilation = 1, .before = 1, .out = EDGE
    };
    struct conv_size size = {
        .n = 1, .c = C, .m = M, .groups = 1, .planes = ONE_PLANE, .rows = window, .columns = window
    };
    float in[PIXELS * C], filter[9 * C * M] = { 0 }, got[PIXELS * M], want[PIXELS * M];
    for (int i = 0; i < PIXELS * C; i++)
        in[i] = 1;
    filter[5] = INFINITY; /* of the pixel above and to the left */
    struct conv2d_onednn *conv = conv2d_onednn_create(&spec);
    conv_direct_f32(&size, in, filter, want);
    if (conv != NULL && runs(conv, &fast, filter, in, got))
        for (int i = 0; i < PIXELS * M; i++)
            assert_true(is_close(got[i], want[i]));
    conv2d_onednn_destroy(conv);
}

static void compare_product(int64_t rows, int64_t depth, int64_t columns)
{
    float *x = floats(rows * depth), *matrix = floats(depth * columns), *bias = floats(columns);
    float *got = floats(rows * columns);
    struct conv2d_onednn_spec spec = { .height = 1,
                                       .width = 1,
                                       .channels = depth,
                                       .filters = columns,
                                       .groups = 1,
                                       .strides = { 1, 1 },
                                       .dilations = { 1, 1 },
                                       .filter = matrix,
                                       .bias = bias,
                                       .activation = CONV_RELU };
    struct conv2d_onednn *conv = conv2d_onednn_create(&spec);
    bool done = conv != NULL && conv2d_onednn_multiply(conv, rows, x, got);
    compared += done;
    for (int64_t i = 0; done && i < rows * columns; i++) {
        double sum = (double)bias[i % columns];
        for (int64_t k = 0; k < depth; k++)
            sum += (double)x[i / columns * depth + k] * (double)matrix[k * columns + i % columns];
        if (!is_close(got[i], sum < 0 ? 0 : (float)sum))
            fail_msg("%lld rows of %lld by %lld: element %lld is %g, not %g", (long long)rows,
                     (long long)depth, (long long)columns, (long long)i, (double)got[i], sum);
    }
    conv2d_onednn_destroy(conv);
    free(x), free(matrix), free(bias), free(got);
}

/* Blocks of all heights, and what is left over. */
static void multiplies_any_number_of_rows(void **state)
{
    (void)state;
    random_init(&source, 3, 0);
    compared = 0;
    for (int i = 0; i < 40; i++)
        compare_product(between(1, i % 4 == 0 ? 1200 : 70), between(1, 40), 8 * between(1, 9));
    parallel_set_part_ns(0);
    for (int i = 0; i < 20; i++)
        compare_product(between(1, 300), between(1, 40), 8 * between(1, 9));
    parallel_set_part_ns(25000);
    if (created > 0)
        assert_true(compared == 60);
}

/* One thread computes 49 rows in one block, more threads in lower ones. */
static void gives_the_same_bits_for_any_width(void **state)
{
    (void)state;
    enum { ROWS = 49, DEPTH = 300, COLUMNS = 70 };
    random_init(&source, 5, 0);
    float *x = floats(ROWS * DEPTH), *matrix = floats(DEPTH * COLUMNS), *first = NULL;
    struct conv2d_onednn_spec spec = {
        .height = 1,
        .width = 1,
        .channels = DEPTH,
        .filters = COLUMNS,
        .groups = 1,
        .strides = { 1, 1 },
        .dilations = { 1, 1 },
        .filter = matrix,
    };
    struct conv2d_onednn *conv = conv2d_onednn_create(&spec);
    parallel_set_part_ns(0);
    for (int width = 1; width <= 8 && conv != NULL; width++) {
        float *got = floats(ROWS * COLUMNS);
        parallel_set_width(width);
        assert_true(conv2d_onednn_multiply(conv, ROWS, x, got));
        if (first == NULL) {
            first = got;
            continue;
        }
        assert_memory_equal(got, first, ROWS * COLUMNS * sizeof *got);
        free(got);
    }
    parallel_set_width(1);
    parallel_set_part_ns(25000);
    conv2d_onednn_destroy(conv);
    free(x), free(matrix), free(first);
}

/* One thread computes the image whole, two threads two pieces, 16 threads 8. Small images with a
 * large filter are cut into channels of the result; 208 and 496 are no multiples of a block. */
static const struct image_row {
    const char *label;
    int64_t edge, kernel, channels, filters;
    bool by_channels, adds;
} image_rows[] = {
    { "an image in rows has the same bits for any width", 28, 3, 40, 48, false, false },
    { "3x3 in channels has the same bits for any width", 7, 3, 128, 208, true, false },
    { "1x1 in channels has the same bits for any width", 7, 1, 640, 496, true, false },
    { "a sum in rows has the same bits for any width", 28, 3, 40, 48, false, true },
    { "a sum in channels has the same bits for any width", 7, 1, 640, 768, true, true },
    { "a sum in parts of blocks has the same bits for any width", 7, 1, 640, 496, true, true },
};

static void run_widths(const struct conv2d_onednn_spec *spec, const struct conv2d_onednn_size *size,
                       const float *filter, const float *x, bool must_run)
{
    static const int widths[] = { 1, 2, 3, 16 };
    int64_t count = size->out_height * size->out_width * spec->filters;
    float *got[COUNT(widths)];
    bool ran[COUNT(widths)];
    struct conv2d_onednn *conv = conv2d_onednn_create(spec);
    for (size_t i = 0; i < COUNT(widths); i++) {
        parallel_set_width(widths[i]);
        got[i] = floats(count);
        for (int64_t j = 0; j < count; j++)
            got[i][j] = (float)(j % 31) / 7 - 2; /* which the spec may add to */
        ran[i] = conv != NULL && runs(conv, size, filter, x, got[i]);
        assert_true(ran[i] || conv == NULL || !must_run);
        assert_true(ran[i] == ran[0]);
        if (ran[i])
            assert_memory_equal(got[0], got[i], (size_t)count * sizeof *got[0]);
    }
    for (size_t i = 0; i < COUNT(widths); i++)
        free(got[i]);
    conv2d_onednn_destroy(conv);
    parallel_set_width(1);
}

static void gives_an_image_the_same_bits_for_any_width(void **state)
{
    const struct image_row *row = *state;
    random_init(&source, 6, 0);
    float *x = floats(row->edge * row->edge * row->channels), *bias = floats(row->filters);
    float *filter = floats(row->kernel * row->kernel * row->channels * row->filters);
    struct conv2d_onednn_spec spec = {
        .height = row->kernel,
        .width = row->kernel,
        .channels = row->channels,
        .filters = row->filters,
        .groups = 1,
        .strides = { 1, 1 },
        .dilations = { 1, 1 },
        .bias = bias,
        .adds = row->adds,
        .activation = CONV_RELU,
    };
    struct conv2d_onednn_size size = { .batch = 1,
                                       .height = row->edge,
                                       .width = row->edge,
                                       .out_height = row->edge,
                                       .out_width = row->edge,
                                       .before = { row->kernel / 2, row->kernel / 2 },
                                       .after = { row->kernel / 2, row->kernel / 2 } };
    parallel_set_part_ns(0);
    assert_int_equal(conv2d_favours_channels(&spec, &size), row->by_channels);
    run_widths(&spec, &size, filter, x, true);
    x[3] = INFINITY; /* times the weights of zero of a channel that does not exist: NaN */
    for (int64_t i = 0; i < row->kernel * row->kernel * row->channels * row->filters; i++)
        filter[i] = fabsf(filter[i]) + 1;
    run_widths(&spec, &size, filter, x, false);
    parallel_set_part_ns(25000);
    free(x), free(filter), free(bias);
}

static void cuts_channels_into_blocks(void **state)
{
    (void)state;
    struct conv2d_onednn_spec spec = { .height = 1,
                                       .width = 1,
                                       .channels = 2048,
                                       .filters = 512,
                                       .groups = 1,
                                       .strides = { 1, 1 },
                                       .dilations = { 1, 1 } };
    struct conv2d_onednn_size size = {
        .batch = 1, .height = 7, .width = 7, .out_height = 7, .out_width = 7
    };
    struct conv2d_piece pieces[CONV2D_PIECES_MAX];
    assert_int_equal(conv2d_cut_channels(&spec, &size, 48, 2, pieces), 2);
    assert_int_equal(pieces[0].first, 0);
    assert_int_equal(pieces[0].filters, 288);
    assert_int_equal(pieces[1].first, 288);
    assert_int_equal(pieces[1].filters, 240); /* 16 of them do not exist */
    size.batch = 2;
    assert_int_equal(conv2d_cut_channels(&spec, &size, 48, 2, pieces), 0);
    size = (struct conv2d_onednn_size){
        .batch = 1, .height = 56, .width = 56, .out_height = 56, .out_width = 56
    };
    assert_int_equal(conv2d_cut_channels(&spec, &size, 48, 2, pieces), 0);
}

/* The filter is dropped once it is packed, or the packed one takes its place. Sizes that want it in
 * another layout, and the plain kernel, get it from there. */
static void computes_from_the_packed_filter_alone(void **state)
{
    const bool has_room = *(const bool *)*state;
    int packed_count = 0, in_place_count = 0;
    struct buffer scratch = { 0 };
    static const struct {
        int64_t batch, edge, kernel, channels, filters, groups;
    } rows[] = { { 1, 7, 1, 64, 320, 1 },  { 1, 7, 3, 48, 200, 1 },  { 2, 56, 3, 3, 96, 1 },
                 { 4, 14, 1, 37, 70, 1 },  { 1, 35, 3, 64, 64, 64 }, { 1, 17, 3, 32, 64, 4 },
                 { 3, 112, 1, 16, 96, 1 }, { 1, 149, 3, 32, 32, 1 }, { 1, 8, 3, 256, 256, 1 } };
    random_init(&source, 8, 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t kernel = rows[i].kernel, edge = rows[i].edge, out = edge - kernel + 1;
        int64_t each = rows[i].channels / rows[i].groups;
        int64_t filter_count = kernel * kernel * each * rows[i].filters;
        int64_t out_count = rows[i].batch * out * out * rows[i].filters;
        size_t filter_bytes = (size_t)filter_count * sizeof(float);
        float *filter = floats(filter_count), *copy = floats(filter_count);
        float *unpacked = floats(filter_count);
        float *x = floats(rows[i].batch * edge * edge * rows[i].channels);
        float *want = floats(out_count), *got = floats(out_count);
        struct conv2d_onednn_spec spec = { .height = kernel,
                                           .width = kernel,
                                           .channels = rows[i].channels,
                                           .filters = rows[i].filters,
                                           .groups = rows[i].groups,
                                           .strides = { 1, 1 },
                                           .dilations = { 1, 1 } };
        struct conv2d_onednn_size size = { .batch = rows[i].batch,
                                           .height = edge,
                                           .width = edge,
                                           .out_height = out,
                                           .out_width = out };
        struct conv2d_onednn_size declared = size;
        declared.batch = 1;
        memcpy(copy, filter, filter_bytes);
        struct conv2d_onednn *usual = conv2d_onednn_create(&spec);
        struct conv2d_onednn *packed = conv2d_onednn_create(&spec);
        bool in_place;
        if (packed != NULL &&
            conv2d_onednn_pack(packed, &declared, filter, has_room ? filter_bytes : 0, &scratch,
                               &in_place)) {
            assert_true(runs(usual, &size, copy, x, want));
            if (!in_place)
                memset(filter, -1, filter_bytes);
            packed_count++;
            in_place_count += in_place;
            if (filter_bytes >= (size_t)2 << 20)
                assert_int_equal(in_place, has_room);
            assert_true(runs(packed, &size, NULL, x, got));
            assert_memory_equal(got, want, (size_t)out_count * sizeof *got);
            assert_true(conv2d_onednn_unpack(packed, unpacked));
            assert_memory_equal(unpacked, copy, filter_bytes);
        }
        conv2d_onednn_destroy(usual);
        conv2d_onednn_destroy(packed);
        free(filter), free(copy), free(unpacked), free(x), free(want), free(got);
    }
    buffer_finish(&scratch);
    if (packed_count > 0) /* 0: built without oneDNN */
        assert_int_equal(in_place_count > 0, has_room);
}

static int threads_of_this_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    assert_non_null(tasks);
    while (readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    return count;
}

static void *run_one(void *more)
{
    static const struct window window = {
        .in = 28, .kernel = 5, .stride = 1, .dilation = 1, .before = 2, .out = 28
    };
    struct conv_size size = { .n = 4,
                              .c = 16,
                              .m = 32,
                              .groups = 1,
                              .planes = ONE_PLANE,
                              .rows = window,
                              .columns = window };
    int before = threads_of_this_process();
    compare(&size, CONV_RELU, true, false);
    *(int *)more = threads_of_this_process() - before;
    return NULL;
}

/* Runs on a new thread, because oneDNN's number of threads is set per thread. */
static void runs_on_the_calling_thread_alone(void **state)
{
    (void)state;
    random_init(&source, 1, 0);
    pthread_t thread;
    int more = -1;
    assert_int_equal(pthread_create(&thread, NULL, run_one, &more), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(more, 0);
}

/* Counts the sizes of pieces, each once, of an image in batches of 1 to `batch_max`. */
static int sizes_of_batches(int64_t kernel, int64_t edge, int64_t batch_max)
{
    struct conv2d_onednn_spec spec = { .height = kernel,
                                       .width = kernel,
                                       .channels = 256,
                                       .filters = 256,
                                       .groups = 1,
                                       .strides = { 1, 1 },
                                       .dilations = { 1, 1 } };
    struct conv2d_onednn_size seen[64 * CONV2D_PIECES_MAX];
    int count = 0;
    for (int64_t batch = 1; batch <= batch_max; batch++) {
        struct conv2d_onednn_size size = { .batch = batch,
                                           .height = edge,
                                           .width = edge,
                                           .out_height = edge,
                                           .out_width = edge,
                                           .before = { kernel / 2, kernel / 2 },
                                           .after = { kernel / 2, kernel / 2 } };
        struct conv2d_piece pieces[CONV2D_PIECES_MAX];
        int pieces_count = conv2d_cut(&spec, &size, CONV2D_PIECES_MAX, pieces);
        for (int i = 0; i < pieces_count; i++) {
            int j = 0;
            while (j < count && memcmp(&seen[j], &pieces[i].size, sizeof seen[j]) != 0)
                j++;
            if (j == count)
                seen[count++] = pieces[i].size;
        }
    }
    return count;
}

/* A server joins up to 64 rows; oneDNN keeps CONV2D_ONEDNN_SIZES sizes, perhaps of two images. */
static void batches_share_the_sizes_of_their_pieces(void **state)
{
    (void)state;
    for (int64_t kernel = 1; kernel <= 3; kernel += 2)
        for (int64_t edge = 7; edge <= 112; edge *= 2)
            assert_in_range(sizes_of_batches(kernel, edge, 64), 1, CONV2D_ONEDNN_SIZES / 2);
}

static void agrees_in_pieces(void **state)
{
    parallel_set_part_ns(0);
    parallel_set_width(3);
    agrees_with_the_plain_loops(state);
    hands_nan_on_or_refuses(state);
    parallel_set_width(1);
}

int main(void)
{
    static bool has_room[] = { false, true };
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(runs_on_the_calling_thread_alone),
        cmocka_unit_test(agrees_with_the_plain_loops),
        cmocka_unit_test(multiplies_any_number_of_rows),
        cmocka_unit_test(gives_the_same_bits_for_any_width),
        cmocka_unit_test(cuts_channels_into_blocks),
        { "computes_from_the_packed_filter_alone", computes_from_the_packed_filter_alone,
          .initial_state = &has_room[0] },
        { "computes_from_the_filter_packed_in_place", computes_from_the_packed_filter_alone,
          .initial_state = &has_room[1] },
        cmocka_unit_test(hands_nan_on_or_refuses),
        cmocka_unit_test(agrees_with_the_plain_loops_in_tiles),
        cmocka_unit_test(leaves_out_what_is_around_the_image),
        cmocka_unit_test(batches_share_the_sizes_of_their_pieces),
        cmocka_unit_test(agrees_in_pieces),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, image_rows, label, gives_an_image_the_same_bits_for_any_width);
    return test_group_run(&group, "conv2d_onednn", NULL, NULL);
}
