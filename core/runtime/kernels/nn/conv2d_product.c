#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "runtime/kernels/nn/conv2d_primitive.h"

/* Rows are computed in blocks of these heights. Each block reads all weights, so few high blocks
 * are faster than many low ones: [49,3072] by [3072,768] takes 4.5 ms in blocks of 8 rows, and
 * 1.6 ms in one of 49. Images of 7x7, 14x14, … pixels and powers of two have their own height. */
static const int heights[] = { 512, 448, 392, 384, 320, 256, 224, 196, 192, 160, 128, 112,
                               98,  96,  80,  64,  56,  49,  48,  40,  32,  28,  24,  20,
                               16,  14,  12,  10,  8,   7,   6,   5,   4,   3,   2,   1 };

#define HEIGHTS          ((int)COUNT(heights))
#define REFERENCE_HEIGHT 8  /* gives the bits that all heights must give */
#define CUT_HEIGHT       8  /* of blocks for many threads, at least */
#define BLOCKS_MIN       4  /* of a product that is worth several threads, if heights differ */
#define MULTIPLICATIONS  32 /* per nanosecond of one thread, about */

struct row_blocks {
    struct conv2d_onednn *conv;
    int64_t counts[HEIGHTS];
    struct conv2d_primitive *primitives[HEIGHTS];
    const float *in;
    float *out;
    _Atomic bool failed;
};

static struct conv2d_primitive *block_primitive(struct conv2d_onednn *conv, int height)
{
    struct conv2d_piece piece = {
        .size = { .batch = 1, .height = height, .width = 1, .out_height = height, .out_width = 1 },
        .filters = conv->spec.filters,
    };
    struct conv2d_primitive *primitive = conv2d_primitive_make(conv, &piece, conv->spec.filter);
    return primitive != NULL && primitive->conv != NULL ? primitive : NULL;
}

/* Runs the primitive over `rows` rows. The last block overlaps the one before it if its height does
 * not divide the rows. */
static bool run_blocks(struct conv2d_onednn *conv, struct conv2d_primitive *primitive, int64_t rows,
                       const float *in, float *out)
{
    int64_t height = primitive->size.height;
    for (int64_t row = 0; row < rows; row += height) {
        int64_t first = row + height <= rows ? row : rows - height;
        if (!conv2d_primitive_run(conv, primitive, in + first * conv->spec.channels,
                                  out + first * conv->spec.filters))
            return false;
    }
    return true;
}

/* Do both primitives give the same bits for each row? They do if both add up the channels in the
 * same order; drawn numbers show it. */
static bool heights_agree(struct conv2d_onednn *conv, struct conv2d_primitive *primitive,
                          struct conv2d_primitive *reference)
{
    int64_t height = primitive->size.height, rows = height;
    if (rows < reference->size.height)
        rows = reference->size.height;
    int64_t channels = conv->spec.channels, filters = conv->spec.filters;
    float *in = malloc((size_t)(rows * (channels + 2 * filters)) * sizeof *in);
    if (in == NULL)
        return false;
    float *out = in + rows * channels, *wanted = out + rows * filters;
    conv2d_draw(in, rows * channels, 1, 1);
    bool agree = run_blocks(conv, primitive, rows, in, out) &&
                 run_blocks(conv, reference, rows, in, wanted) &&
                 memcmp(out, wanted, (size_t)(rows * filters) * sizeof *out) == 0;
    free(in);
    return agree;
}

static bool has_room(const struct conv2d_onednn_spec *spec, int height)
{
    int64_t rows = height > REFERENCE_HEIGHT ? height : REFERENCE_HEIGHT;
    return rows <= CONV2D_COMPARE_FLOATS / (spec->channels + 2 * spec->filters);
}

/* Compares a new height with the reference, once. Once one differs, where rows are cut must follow
 * from the sizes alone (conv->uneven). A thread that finds the comparison under way waits for it:
 * until then it cannot know which heights it may use. */
static void compare_height(struct conv2d_onednn *conv, struct conv2d_primitive *primitive)
{
    if (atomic_load_explicit(&primitive->compared, memory_order_acquire))
        return;
    pthread_mutex_lock(&conv->comparing);
    if (!atomic_load_explicit(&primitive->compared, memory_order_relaxed)) {
        struct conv2d_primitive *reference = block_primitive(conv, REFERENCE_HEIGHT);
        if (reference == NULL || !heights_agree(conv, primitive, reference))
            atomic_store(&conv->uneven, true);
        atomic_store_explicit(&primitive->compared, true, memory_order_release);
    }
    pthread_mutex_unlock(&conv->comparing);
}

/* Counts the blocks of each height up to `highest`, and finds their primitives. 0: oneDNN refused
 * one. */
static int64_t divide_rows(struct row_blocks *blocks, int64_t rows, int64_t highest)
{
    int64_t left = rows, total = 0;
    for (int i = 0; i < HEIGHTS; i++) {
        blocks->counts[i] = 0;
        if (left < heights[i] || heights[i] > highest)
            continue;
        blocks->counts[i] = left / heights[i];
        left %= heights[i];
        total += blocks->counts[i];
        blocks->primitives[i] = block_primitive(blocks->conv, heights[i]);
        if (blocks->primitives[i] == NULL)
            return 0;
        compare_height(blocks->conv, blocks->primitives[i]);
    }
    return total;
}

/* The highest block. Its height may depend on the number of threads while all heights give the same
 * bits. */
static int64_t highest_block(const struct conv2d_onednn *conv, int64_t rows, double cost_ns)
{
    int64_t highest = heights[0];
    while (highest > REFERENCE_HEIGHT && !has_room(&conv->spec, (int)highest))
        highest /= 2;
    int64_t parts = atomic_load(&conv->uneven) ? BLOCKS_MIN : parallel_width();
    if (parts < 2 || parallel_parts(2, cost_ns) < 2)
        return highest;
    int64_t each = (rows + parts - 1) / parts;
    each = each > CUT_HEIGHT ? each : CUT_HEIGHT;
    return each < highest ? each : highest;
}

static void multiply_blocks(void *context, int64_t first, int64_t end)
{
    struct row_blocks *blocks = context;
    const struct conv2d_onednn_spec *spec = &blocks->conv->spec;
    int64_t block = 0, row = 0;
    for (int i = 0; i < HEIGHTS; i++)
        for (int64_t j = 0; j < blocks->counts[i]; j++, block++, row += heights[i])
            if (block >= first && block < end &&
                !conv2d_primitive_run(blocks->conv, blocks->primitives[i],
                                      blocks->in + row * spec->channels,
                                      blocks->out + row * spec->filters))
                atomic_store(&blocks->failed, true);
}

bool conv2d_onednn_multiply(struct conv2d_onednn *conv, int64_t rows, const float *in, float *out)
{
    struct row_blocks blocks = { .conv = conv, .in = in, .out = out };
    double cost_ns =
        (double)rows * (double)conv->spec.channels * (double)conv->spec.filters / MULTIPLICATIONS;
    if (conv2d_thread_stream(conv->engine) == NULL || !has_room(&conv->spec, REFERENCE_HEIGHT))
        return false;
    int64_t count = divide_rows(&blocks, rows, highest_block(conv, rows, cost_ns));
    if (atomic_load(&conv->uneven)) /* perhaps only just found */
        count = divide_rows(&blocks, rows, highest_block(conv, rows, cost_ns));
    parallel_for(count, cost_ns, multiply_blocks, &blocks);
    return count > 0 && !atomic_load(&blocks.failed);
}
