/* png: PNG files by libpng, whose failures jump. */
#include <setjmp.h>

#include <png.h>

#include "image/image.h"

#define SIDE_MAX  1000000 /* pixels */
#define ROW_BYTES 8       /* of a pixel, at most */
#define MEM_LEVEL 9       /* zlib's maximum, as in TensorFlow, for the same bytes */

/* One reading or writing. */
struct png_work {
    struct bytes left; /* of the file that is read */
    struct buffer *out;
    const struct image_sink *sink;
    struct status status; /* why it failed */
};

static void on_error(png_structp png, png_const_charp text)
{
    struct png_work *work = png_get_error_ptr(png);
    work->status = status_error(STATUS_DATA_LOSS, "PNG: %s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png, (void)text;
}

static void try_or_jump(png_structp png, struct status status)
{
    struct png_work *work = png_get_error_ptr(png);
    if (status_is_ok(status))
        return;
    work->status = status;
    png_longjmp(png, 1);
}

static void check(png_structp png)
{
    const struct png_work *work = png_get_error_ptr(png);
    if (work->sink->check != NULL)
        try_or_jump(png, work->sink->check(work->sink->context));
}

static void read_bytes(png_structp png, png_bytep data, size_t size)
{
    struct png_work *work = png_get_io_ptr(png);
    if (size > work->left.size)
        png_error(png, "the file is cut short");
    memcpy(data, work->left.data, size);
    work->left = (struct bytes){ work->left.data + size, work->left.size - size };
}

/* As many channels as the file has, transparency of single colours apart. */
static int channels_of_file(png_structp png, png_infop info)
{
    if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE)
        return png_get_valid(png, info, PNG_INFO_tRNS) ? 4 : 3;
    return png_get_channels(png, info);
}

/* The conversions that TensorFlow asks for, in its order. The alpha of images of less than 8 bits
 * without alpha follows: it is not 255 there either. */
static void set_conversions(png_structp png, png_infop info, int channels, int bits)
{
    int color = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
    bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0,
         has_transparent = png_get_valid(png, info, PNG_INFO_tRNS) != 0,
         is_grey = (color & PNG_COLOR_MASK_COLOR) == 0;
    if (channels % 2 == 1 && (has_alpha || has_transparent))
        png_set_strip_alpha(png);
    else if (channels % 2 == 0 && !has_alpha && has_transparent)
        png_set_tRNS_to_alpha(png);
    else if (channels % 2 == 0 && !has_alpha)
        png_set_add_alpha(png, (1u << depth) - 1, PNG_FILLER_AFTER);
    if (depth > 8 && bits == 8)
        png_set_strip_16(png);
    png_set_packing(png);
    if (bits == 16)
        png_set_swap(png); /* a PNG file has the high byte first */
    if (color == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (is_grey && depth < 8)
        png_set_expand_gray_1_2_4_to_8(png);
    if (channels < 3 && !is_grey)
        png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (channels >= 3 && is_grey)
        png_set_gray_to_rgb(png);
}

/* 8 bits to 16 within a row: 0xab to 0xabab. */
static void widen_row(unsigned char *row, int64_t samples)
{
    for (int64_t i = samples; i-- > 0;)
        row[2 * i] = row[2 * i + 1] = row[i];
}

/* Everything that may jump. */
static void decode(png_structp png, png_infop info, struct png_work *work, int channels, int bits)
{
    void *pixels;
    png_set_user_limits(png, SIDE_MAX, SIDE_MAX);
    png_set_chunk_cache_max(png, 1); /* skips texts, which may expand to megabytes */
    png_set_read_fn(png, work, read_bytes);
    png_read_info(png, info);
    channels = channels != 0 ? channels : channels_of_file(png, info);
    struct image_extent size = { 1, png_get_image_height(png, info), png_get_image_width(png, info),
                                 channels, 0 };
    size.work_bytes = 2 * ROW_BYTES * (size_t)size.width; /* the row, and the previous one */
    bool widens = bits == 16 && png_get_bit_depth(png, info) <= 8;
    int passes = png_set_interlace_handling(png);
    set_conversions(png, info, channels, bits);
    png_read_update_info(png, info);
    int64_t samples = size.width * channels;
    size_t row_bytes = (size_t)samples * (bits == 16 ? 2 : 1);
    if (png_get_rowbytes(png, info) != row_bytes / (widens ? 2 : 1))
        png_error(png, "a colour type that cannot be converted");
    try_or_jump(png, work->sink->make_room(work->sink->context, &size, &pixels));
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < size.height; y++) {
            png_read_row(png, (png_bytep)pixels + (size_t)y * row_bytes, NULL);
            check(png);
        }
    for (int64_t y = 0; y < size.height && widens; y++)
        widen_row((unsigned char *)pixels + (size_t)y * row_bytes, samples);
    png_read_end(png, NULL);
}

static struct status no_memory(void)
{
    return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for libpng");
}

struct status png_decode(struct bytes file, int channels, int bits, const struct image_sink *sink)
{
    struct png_work work = { .left = file, .sink = sink, .status = status_ok() };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &work, on_error, on_warning);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL)
        work.status = no_memory();
    else if (setjmp(png_jmpbuf(png)) == 0)
        decode(png, info, &work, channels, bits);
    png_destroy_read_struct(&png, &info, NULL);
    return work.status;
}

static void write_bytes(png_structp png, png_bytep data, size_t size)
{
    struct png_work *work = png_get_io_ptr(png);
    size_t wanted = work->out->size + size;
    if (wanted > work->out->capacity && !buffer_try_reserve(work->out, wanted + wanted / 2))
        try_or_jump(png, no_memory());
    buffer_append(work->out, data, size);
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

/* Everything that may jump. */
static void encode(png_structp png, png_infop info, struct png_work *work,
                   const struct image_extent *size, int bits, const void *pixels, int compression)
{
    static const int colors[] = { PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                  PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA };
    size_t row_bytes = (size_t)(size->width * size->channels) * (size_t)(bits / 8);
    png_set_write_fn(png, work, write_bytes, flush_nothing);
    png_set_compression_level(png, compression);
    png_set_compression_mem_level(png, MEM_LEVEL);
    png_set_IHDR(png, info, (png_uint_32)size->width, (png_uint_32)size->height, bits,
                 colors[size->channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (bits == 16)
        png_set_swap(png);
    for (int64_t y = 0; y < size->height; y++) {
        png_write_row(png, (png_const_bytep)pixels + (size_t)y * row_bytes);
        check(png);
    }
    png_write_end(png, NULL);
}

struct status png_encode(const struct image_extent *size, int bits, const void *pixels,
                         int compression, const struct image_sink *sink, struct buffer *out)
{
    struct png_work work = { .out = out, .sink = sink, .status = status_ok() };
    if (size->height <= 0 || size->width <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "PNG: an image without pixels");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &work, on_error, on_warning);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL)
        work.status = no_memory();
    else if (setjmp(png_jmpbuf(png)) == 0)
        encode(png, info, &work, size, bits, pixels, compression);
    png_destroy_write_struct(&png, &info);
    return work.status;
}
