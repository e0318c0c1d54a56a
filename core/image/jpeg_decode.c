/* jpeg_decode: JPEG files by libjpeg-turbo, whose failures jump. */
#include <stdlib.h>

#include "image/jpeg.h"

struct jpeg_decoder {
    struct jpeg_decompress_struct info;
    struct jpeg_failure failure;
    JSAMPLE *row; /* one row, if it is not decoded where it belongs */
};

/* libjpeg holds all coefficients of a file of several scans. */
static int64_t coefficient_bytes(struct jpeg_decompress_struct *info)
{
    int64_t blocks = 0;
    if (!jpeg_has_multiple_scans(info))
        return 0;
    for (int i = 0; i < info->num_components; i++) {
        const jpeg_component_info *part = &info->comp_info[i];
        blocks += ((int64_t)part->width_in_blocks + part->h_samp_factor) *
                  ((int64_t)part->height_in_blocks + part->v_samp_factor);
    }
    return blocks * (int64_t)sizeof(JBLOCK);
}

/* CMYK to RGB. Files written by Adobe have inverted values. */
static void from_cmyk(const JSAMPLE *cmyk, bool by_adobe, int64_t width, unsigned char *rgb)
{
    for (int64_t x = 0; x < width; x++, cmyk += 4, rgb += 3) {
        int key = by_adobe ? cmyk[3] : 255 - cmyk[3];
        for (int c = 0; c < 3; c++)
            rgb[c] = (unsigned char)(key * (by_adobe ? cmyk[c] : 255 - cmyk[c]) / 255);
    }
}

static void set_options(struct jpeg_decoder *decoder, const struct jpeg_options *options,
                        int channels)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    if (channels != 1 && channels != 3)
        jpeg_try(&decoder->failure,
                 status_error(STATUS_DATA_LOSS, "JPEG: %d components, should be 1, 3 or 4",
                              info->num_components));
    bool is_ink = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = channels == 1 ? JCS_GRAYSCALE : is_ink ? JCS_CMYK : JCS_RGB;
    info->do_fancy_upsampling = options->fancy_upscaling;
    info->scale_num = 1;
    info->scale_denom = (unsigned)options->ratio;
    info->dct_method = options->accurate ? JDCT_ISLOW : JDCT_IFAST;
    jpeg_calc_output_dimensions(info);
}

static struct status check_size(const struct jpeg_decompress_struct *info,
                                const struct jpeg_crop *crop)
{
    int64_t height = info->output_height, width = info->output_width;
    if (height <= 0 || width <= 0)
        return status_error(STATUS_DATA_LOSS, "JPEG: an image without pixels");
    if (crop != NULL && (crop->width <= 0 || crop->height <= 0 || crop->x < 0 || crop->y < 0 ||
                         crop->y + crop->height > height || crop->x + crop->width > width))
        return status_error(STATUS_DATA_LOSS,
                            "JPEG: invalid crop window: x=%lld, y=%lld, w=%lld, h=%lld for an "
                            "image of width %lld and height %lld",
                            (long long)crop->x, (long long)crop->y, (long long)crop->width,
                            (long long)crop->height, (long long)width, (long long)height);
    return status_ok();
}

/* libjpeg crops only whole blocks: `*left` pixels remain before the wanted ones. */
static void start_cropped(struct jpeg_decompress_struct *info, const struct jpeg_crop *crop,
                          int64_t *left)
{
    JDIMENSION x = (JDIMENSION)crop->x, width = (JDIMENSION)crop->width;
    jpeg_crop_scanline(info, &x, &width);
    jpeg_skip_scanlines(info, (JDIMENSION)crop->y);
    *left = crop->x - x;
}

static void read_rows(struct jpeg_decoder *decoder, const struct image_extent *size, int64_t left,
                      unsigned char *pixels)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    bool is_ink = info->out_color_space == JCS_CMYK;
    size_t bytes = (size_t)(size->width * size->channels);
    bool aside = is_ink || info->output_width != size->width;
    if (aside) {
        decoder->row = malloc((size_t)info->output_width * (is_ink ? 4 : (size_t)size->channels));
        if (decoder->row == NULL)
            jpeg_try(&decoder->failure, status_error(STATUS_RESOURCE_EXHAUSTED, "no memory"));
    }
    for (int64_t y = 0; y < size->height; y++, pixels += bytes) {
        JSAMPROW row = aside ? decoder->row : pixels;
        jpeg_read_scanlines(info, &row, 1);
        if (is_ink)
            from_cmyk(row + 4 * left, info->saw_Adobe_marker, size->width, pixels);
        else if (aside)
            memcpy(pixels, row + left * size->channels, bytes);
    }
}

/* Everything that may jump. */
static void decode(struct jpeg_decoder *decoder, struct bytes file,
                   const struct jpeg_options *options, const struct image_sink *sink)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    void *pixels;
    int64_t left = 0;
    jpeg_mem_src(info, (const unsigned char *)file.data, file.size);
    jpeg_read_header(info, TRUE);
    int channels = options->channels != 0     ? options->channels
                   : info->num_components < 3 ? info->num_components
                                              : 3;
    set_options(decoder, options, channels);
    jpeg_try(&decoder->failure, check_size(info, options->crop));
    int64_t work = coefficient_bytes(info);
    struct image_extent size = { 1, info->output_height, info->output_width, channels,
                                 (size_t)work };
    if (options->crop != NULL) {
        size.height = options->crop->height;
        size.width = options->crop->width;
    }
    jpeg_try(&decoder->failure, sink->make_room(sink->context, &size, &pixels));
    jpeg_start_decompress(info);
    if (options->crop != NULL)
        start_cropped(info, options->crop, &left);
    read_rows(decoder, &size, left, pixels);
}

struct status jpeg_decode(struct bytes file, const struct jpeg_options *options,
                          const struct image_sink *sink)
{
    struct jpeg_decoder decoder = { 0 };
    jpeg_failure_init(&decoder.failure, sink);
    decoder.failure.recover_truncated = options->recover_truncated;
    decoder.failure.refuse_damaged = options->refuse_damaged;
    decoder.info.err = &decoder.failure.manager;
    if (setjmp(decoder.failure.jump) == 0) {
        jpeg_create_decompress(&decoder.info);
        decoder.info.progress = &decoder.failure.progress;
        decode(&decoder, file, options, sink);
    }
    jpeg_destroy_decompress(&decoder.info);
    free(decoder.row);
    return decoder.failure.status;
}

struct status jpeg_read_size(struct bytes file, struct image_extent *out)
{
    struct jpeg_decoder decoder = { 0 };
    jpeg_failure_init(&decoder.failure, NULL);
    decoder.info.err = &decoder.failure.manager;
    if (setjmp(decoder.failure.jump) == 0) {
        jpeg_create_decompress(&decoder.info);
        jpeg_mem_src(&decoder.info, (const unsigned char *)file.data, file.size);
        jpeg_read_header(&decoder.info, TRUE);
        jpeg_calc_output_dimensions(&decoder.info);
        *out = (struct image_extent){ 1, decoder.info.output_height, decoder.info.output_width,
                                      decoder.info.output_components, 0 };
    }
    jpeg_destroy_decompress(&decoder.info);
    return decoder.failure.status;
}
