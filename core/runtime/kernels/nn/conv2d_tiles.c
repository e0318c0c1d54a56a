#include "runtime/kernels/nn/conv2d_tiles.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/parallel.h"

#define TILE_PIXELS   6 /* with 16 channels, their sums fill 12 of the 16 registers */
#define TILE_CHANNELS 16
#define TAPS_MAX      49
#define CHANNELS_MIN  8 /* with fewer, finding the pixels of a tile takes too long */
#define CHANNELS_MAX  4096
/* The input of a band. All channels of the result are computed from one band before the next, so
 * that the band stays in the L2 cache. */
#define BAND_FLOATS   (32 << 10)
/* Multiplications per nanosecond of one thread, about. */
#define SPEED         45

/* A tap is a pixel of a window. Those around an image are zeros. */
static const float zeros[CHANNELS_MAX];

struct conv_tiles {
    const struct conv2d_onednn_spec *spec;
    const struct conv2d_onednn_size *size;
    const float *packed, *in;
    float *out;
    int64_t pixels, band; /* of the result of all images, and of a band */
    int64_t blocks;       /* of channels */
    int taps;
    int64_t offsets[TAPS_MAX]; /* of the taps from the first one of a window */
};

static int64_t products_of(const struct conv2d_onednn_spec *spec)
{
    return spec->height * spec->width * spec->channels;
}

/* ---- one tile ---- */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#include <immintrin.h>

#define V3 __attribute__((target("arch=x86-64-v3")))

/* NaN stays NaN: the second operand is the result if one is NaN. */
static inline __attribute__((always_inline)) V3 __m256 activate(__m256 x,
                                                                enum conv_activation activation)
{
    if (activation != CONV_LINEAR)
        x = _mm256_max_ps(_mm256_setzero_ps(), x);
    if (activation == CONV_RELU6)
        x = _mm256_min_ps(_mm256_set1_ps(6), x);
    return x;
}

/* taps [taps][TILE_PIXELS], packed [taps, channels, TILE_CHANNELS]; pixels is a constant of each
 * caller, so that the sums are registers. */
static inline __attribute__((always_inline)) V3 void
compute_pixels(const struct conv_tiles *tiles, const float *const *taps, const float *packed,
               const float *bias, float *out, int pixels)
{
    const struct conv2d_onednn_spec *spec = tiles->spec;
    __m256 sums[TILE_PIXELS][2];
#pragma GCC unroll 6
    for (int i = 0; i < pixels; i++) {
        sums[i][0] = bias != NULL ? _mm256_loadu_ps(bias) : _mm256_setzero_ps();
        sums[i][1] = bias != NULL ? _mm256_loadu_ps(bias + 8) : _mm256_setzero_ps();
    }
    for (int tap = 0; tap < tiles->taps; tap++, taps += TILE_PIXELS)
        for (int64_t c = 0; c < spec->channels; c++, packed += TILE_CHANNELS) {
            __m256 first = _mm256_loadu_ps(packed), second = _mm256_loadu_ps(packed + 8);
#pragma GCC unroll 6
            for (int i = 0; i < pixels; i++) {
                __m256 x = _mm256_broadcast_ss(taps[i] + c);
                sums[i][0] = _mm256_fmadd_ps(x, first, sums[i][0]);
                sums[i][1] = _mm256_fmadd_ps(x, second, sums[i][1]);
            }
        }
    if (spec->adds) {
#pragma GCC unroll 6
        for (int i = 0; i < pixels; i++) {
            sums[i][0] = _mm256_add_ps(sums[i][0], _mm256_loadu_ps(out + i * spec->filters));
            sums[i][1] = _mm256_add_ps(sums[i][1], _mm256_loadu_ps(out + i * spec->filters + 8));
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < pixels; i++) {
        _mm256_storeu_ps(out + i * spec->filters, activate(sums[i][0], spec->activation));
        _mm256_storeu_ps(out + i * spec->filters + 8, activate(sums[i][1], spec->activation));
    }
}

#define PIXELS(n)                                                                        \
    V3 static void compute_##n(const struct conv_tiles *tiles, const float *const *taps, \
                               const float *packed, const float *bias, float *out)       \
    {                                                                                    \
        compute_pixels(tiles, taps, packed, bias, out, n);                               \
    }
PIXELS(1)
PIXELS(2)
PIXELS(3)
PIXELS(4)
PIXELS(5)
PIXELS(6)

static void (*const compute[])(const struct conv_tiles *tiles, const float *const *taps,
                               const float *packed, const float *bias, float *out) = {
    NULL, compute_1, compute_2, compute_3, compute_4, compute_5, compute_6,
};

static bool has_tiles(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
static void (*const compute[TILE_PIXELS + 1])(const struct conv_tiles *tiles,
                                              const float *const *taps, const float *packed,
                                              const float *bias, float *out);

static bool has_tiles(void)
{
    return false;
}
#endif

bool conv2d_tiles_suit(const struct conv2d_onednn_spec *spec)
{
    int64_t taps = spec->height * spec->width;
    return has_tiles() && spec->groups == 1 && taps > 1 && taps <= TAPS_MAX &&
           spec->channels >= CHANNELS_MIN && spec->channels <= CHANNELS_MAX &&
           spec->filters % TILE_CHANNELS == 0 &&
           (spec->activation == CONV_LINEAR || spec->activation == CONV_RELU ||
            spec->activation == CONV_RELU6);
}

/* ---- filters: [products, filters], packed [filters / 16, products, 16] ---- */

/* The inner loop has no branch, so that the compiler vectorises it. */
CLONES static bool pack(const float *filter, int64_t products, int64_t filters, float *packed)
{
    bool infinite = false;
    for (int64_t i = 0; i < products && !infinite; i++)
        for (int64_t block = 0; block < filters; block += TILE_CHANNELS) {
            const float *from = filter + i * filters + block;
            float *to = packed + block * products + i * TILE_CHANNELS;
            for (int j = 0; j < TILE_CHANNELS; j++) {
                infinite |= !(fabsf(from[j]) <= FLT_MAX);
                to[j] = from[j];
            }
        }
    return !infinite;
}

bool conv2d_tiles_pack(const struct conv2d_onednn_spec *spec, const float *filter, float *packed)
{
    return pack(filter, products_of(spec), spec->filters, packed);
}

void conv2d_tiles_unpack(const struct conv2d_onednn_spec *spec, const float *packed, float *filter)
{
    int64_t products = products_of(spec);
    for (int64_t block = 0; block < spec->filters; block += TILE_CHANNELS)
        for (int64_t i = 0; i < products; i++)
            memcpy(filter + i * spec->filters + block,
                   packed + block * products + i * TILE_CHANNELS, TILE_CHANNELS * sizeof *packed);
}

/* ---- images ---- */

/* The taps of one pixel of the result, of which the first is at [top, left] of the image. */
static void find_taps(const struct conv_tiles *tiles, int64_t image, int64_t top, int64_t left,
                      const float **out)
{
    const struct conv2d_onednn_spec *spec = tiles->spec;
    const struct conv2d_onednn_size *size = tiles->size;
    int64_t first = ((image * size->height + top) * size->width + left) * spec->channels;
    int64_t bottom = top + (spec->height - 1) * spec->dilations[0];
    int64_t right = left + (spec->width - 1) * spec->dilations[1];
    if (top >= 0 && left >= 0 && bottom < size->height && right < size->width) {
        for (int i = 0; i < tiles->taps; i++)
            out[i * TILE_PIXELS] = tiles->in + first + tiles->offsets[i];
        return;
    }
    for (int64_t y = top; y <= bottom; y += spec->dilations[0])
        for (int64_t x = left; x <= right; x += spec->dilations[1], out += TILE_PIXELS) {
            bool inside = y >= 0 && y < size->height && x >= 0 && x < size->width;
            int64_t pixel = (image * size->height + y) * size->width + x;
            *out = inside ? tiles->in + pixel * spec->channels : zeros;
        }
}

static void find_tile(const struct conv_tiles *tiles, int64_t pixel, int count, const float **out)
{
    const struct conv2d_onednn_spec *spec = tiles->spec;
    const struct conv2d_onednn_size *size = tiles->size;
    int64_t row = pixel / size->out_width, x = pixel % size->out_width;
    int64_t image = row / size->out_height, y = row % size->out_height;
    for (int i = 0; i < count; i++) {
        find_taps(tiles, image, y * spec->strides[0] - size->before[0],
                  x * spec->strides[1] - size->before[1], out + i);
        if (++x < size->out_width)
            continue;
        x = 0;
        if (++y == size->out_height) {
            y = 0;
            image++;
        }
    }
}

/* The last tiles of a band have about the same size, because small ones are slow. */
static int tile_pixels(int64_t left)
{
    if (left == TILE_PIXELS || left >= 2 * TILE_PIXELS)
        return TILE_PIXELS;
    return (int)(left > TILE_PIXELS ? (left + 1) / 2 : left);
}

/* The items are the blocks of channels of the first band, then those of the second. */
static void run_items(void *context, int64_t first, int64_t end)
{
    const struct conv_tiles *tiles = context;
    const struct conv2d_onednn_spec *spec = tiles->spec;
    const float *taps[TAPS_MAX * TILE_PIXELS];
    for (int64_t item = first; item < end; item++) {
        int64_t channel = item % tiles->blocks * TILE_CHANNELS;
        int64_t from = item / tiles->blocks * tiles->band, to = from + tiles->band;
        const float *packed = tiles->packed + channel * products_of(spec);
        const float *bias = spec->bias != NULL ? spec->bias + channel : NULL;
        to = to < tiles->pixels ? to : tiles->pixels;
        for (int64_t pixel = from; pixel < to;) {
            int count = tile_pixels(to - pixel);
            find_tile(tiles, pixel, count, taps);
            compute[count](tiles, taps, packed, bias, tiles->out + pixel * spec->filters + channel);
            pixel += count;
        }
    }
}

static int64_t divide_up(int64_t count, int64_t by)
{
    return (count + by - 1) / by;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Bands of about the same size, in whole tiles. */
static int64_t band_pixels(const struct conv2d_onednn_spec *spec, int64_t pixels)
{
    /* input pixels per pixel of the result; pixels between windows are not read */
    int64_t read = lesser(spec->strides[0], spec->height) * lesser(spec->strides[1], spec->width);
    int64_t most = BAND_FLOATS / (spec->channels * read);
    most = most < 4 * TILE_PIXELS ? 4 * TILE_PIXELS : most;
    int64_t each = divide_up(pixels, divide_up(pixels, most));
    return divide_up(each, TILE_PIXELS) * TILE_PIXELS;
}

void conv2d_tiles_run(const struct conv2d_onednn_spec *spec, const struct conv2d_onednn_size *size,
                      const float *packed, const float *in, float *out)
{
    struct conv_tiles tiles = { .spec = spec,
                                .size = size,
                                .packed = packed,
                                .in = in,
                                .out = out,
                                .pixels = size->batch * size->out_height * size->out_width,
                                .blocks = spec->filters / TILE_CHANNELS };
    for (int64_t y = 0; y < spec->height; y++)
        for (int64_t x = 0; x < spec->width; x++)
            tiles.offsets[tiles.taps++] =
                (y * spec->dilations[0] * size->width + x * spec->dilations[1]) * spec->channels;
    tiles.band = band_pixels(spec, tiles.pixels);
    double cost_ns =
        (double)tiles.pixels * (double)products_of(spec) * (double)spec->filters / SPEED;
    parallel_for(divide_up(tiles.pixels, tiles.band) * tiles.blocks, cost_ns, run_items, &tiles);
}
