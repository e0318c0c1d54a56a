#include "runtime/kernels/nn/conv2d_cut.h"

#include "base/parallel.h"

/* Multiplications per nanosecond of one thread, about; a depthwise convolution is limited by the
 * memory it reads. */
#define DENSE_SPEED     32
#define DEPTHWISE_SPEED 12
/* Each piece reads the whole filter, so it should be used for many pixels. 7x7 images, the smallest
 * of most networks, are cut in two. */
#define PIECE_PIXELS    48
#define HALF_PIXELS     16
/* A call of oneDNN takes some microseconds, so a piece costs as much as two parts elsewhere. */
#define PIECE_PARTS     2

static double cost_ns(const struct conv2d_onednn_spec *spec, const struct conv2d_onednn_size *size)
{
    int64_t pixels = size->batch * size->out_height * size->out_width;
    int64_t each = spec->height * spec->width * (spec->channels / spec->groups) * spec->filters;
    return (double)pixels * (double)each / (spec->groups == 1 ? DENSE_SPEED : DEPTHWISE_SPEED);
}

static int pieces_count(const struct conv2d_onednn_spec *spec,
                        const struct conv2d_onednn_size *size)
{
    int64_t pixels = size->batch * size->out_height * size->out_width;
    int64_t most = pixels / PIECE_PIXELS;
    if (most < 2 && pixels >= 2 * HALF_PIXELS)
        most = 2;
    if (most > CONV2D_PIECES_MAX)
        most = CONV2D_PIECES_MAX;
    return most < 2 ? 1 : parallel_parts(most, cost_ns(spec, size) / PIECE_PARTS);
}

/* Each pixel of the result depends on one pixel of the image, the one at the same place. */
static bool is_pointwise(const struct conv2d_onednn_spec *spec,
                         const struct conv2d_onednn_size *size)
{
    return spec->height == 1 && spec->width == 1 && spec->strides[0] == 1 &&
           spec->strides[1] == 1 && size->height == size->out_height &&
           size->width == size->out_width && size->before[0] == 0 && size->before[1] == 0;
}

static int cut_pixels(const struct conv2d_onednn_spec *spec, const struct conv2d_onednn_size *size,
                      int count, struct conv2d_piece *out)
{
    int64_t pixels = size->batch * size->height * size->width;
    for (int i = 0; i < count; i++) {
        int64_t first = parallel_part_begin(pixels, count, i);
        int64_t each = parallel_part_begin(pixels, count, i + 1) - first;
        out[i] = (struct conv2d_piece){
            .size = { .batch = 1, .height = 1, .width = each, .out_height = 1, .out_width = each },
            .in = first * spec->channels,
            .out = first * spec->filters,
            .filters = spec->filters,
        };
    }
    return count;
}

static void cut_images(const struct conv2d_onednn_spec *spec, const struct conv2d_onednn_size *size,
                       int count, struct conv2d_piece *out)
{
    for (int i = 0; i < count; i++) {
        int64_t first = parallel_part_begin(size->batch, count, i);
        out[i] = (struct conv2d_piece){
            .size = *size,
            .in = first * size->height * size->width * spec->channels,
            .out = first * size->out_height * size->out_width * spec->filters,
            .filters = spec->filters,
        };
        out[i].size.batch = parallel_part_begin(size->batch, count, i + 1) - first;
    }
}

/* The rows [first, end) of the result of `whole`. False: they depend on padding alone. */
static bool cut_rows(const struct conv2d_onednn_spec *spec, const struct conv2d_piece *whole,
                     int64_t first, int64_t end, struct conv2d_piece *out)
{
    const struct conv2d_onednn_size *size = &whole->size;
    int64_t from = first * spec->strides[0] - size->before[0];
    int64_t to = (end - 1) * spec->strides[0] - size->before[0] +
                 (spec->height - 1) * spec->dilations[0] + 1;
    int64_t row = from > 0 ? from : 0, row_end = to < size->height ? to : size->height;
    *out = *whole;
    out->in += row * size->width * spec->channels;
    out->out += first * size->out_width * spec->filters;
    out->size.height = row_end - row;
    out->size.out_height = end - first;
    out->size.before[0] = row - from;
    out->size.after[0] = to - row_end;
    return row < row_end;
}

int conv2d_cut(const struct conv2d_onednn_spec *spec, const struct conv2d_onednn_size *size,
               int most, struct conv2d_piece *out)
{
    int count = pieces_count(spec, size);
    count = count < most ? count : most;
    /* Many images are cut into images: pieces of several batches then have the same size, and share
     * a primitive. */
    if (count > 1 && size->batch < count && is_pointwise(spec, size))
        return cut_pixels(spec, size, count, out);
    int images = size->batch < count ? (int)size->batch : count;
    int bands = count / images;
    if (bands > size->out_height)
        bands = (int)size->out_height;
    struct conv2d_piece whole[CONV2D_PIECES_MAX];
    cut_images(spec, size, images, bands == 1 ? out : whole);
    if (bands == 1)
        return images;
    for (int i = 0; i < images * bands; i++) {
        int band = i % bands;
        if (!cut_rows(spec, &whole[i / bands], parallel_part_begin(size->out_height, bands, band),
                      parallel_part_begin(size->out_height, bands, band + 1), &out[i])) {
            cut_images(spec, size, images, out);
            return images;
        }
    }
    return images * bands;
}

/* A piece of rows reads half of the image and the whole filter, a piece of channels the reverse.
 * Filters come from memory, and images from the L2 cache. The 7x7 layers of ResNet-50 take 0.76 ms
 * in pieces of channels, and 1.05 ms in pieces of rows. */
bool conv2d_favours_channels(const struct conv2d_onednn_spec *spec,
                             const struct conv2d_onednn_size *size)
{
    int64_t weights = spec->height * spec->width * spec->channels * spec->filters;
    int64_t image = size->height * size->width * spec->channels;
    int64_t result = size->out_height * size->out_width * spec->filters;
    return spec->groups == 1 && size->batch == 1 && weights > image / 2 + result &&
           pieces_count(spec, size) > 1;
}

int conv2d_cut_channels(const struct conv2d_onednn_spec *spec,
                        const struct conv2d_onednn_size *size, int64_t block, int most,
                        struct conv2d_piece *out)
{
    int64_t blocks = (spec->filters + block - 1) / block;
    int count = parallel_parts(blocks, cost_ns(spec, size) / PIECE_PARTS);
    count = count < most ? count : most;
    if (count < 2 || !conv2d_favours_channels(spec, size) ||
        (blocks + count - 1) / count * block * size->out_height * size->out_width >
            CONV2D_PART_FLOATS)
        return 0;
    for (int i = 0; i < count; i++) {
        int64_t first = parallel_part_begin(blocks, count, i);
        out[i] = (struct conv2d_piece){
            .size = *size,
            .first = first * block,
            .filters = (parallel_part_begin(blocks, count, i + 1) - first) * block,
        };
    }
    return count;
}
