#include "trainer/records/image.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "image/image.h"

static struct status make_room(void *context, const struct image_extent *size, void **pixels)
{
    struct picture *image = context;
    uint64_t row = (uint64_t)size->width * (uint64_t)size->channels;

    if (size->height <= 0 || size->width <= 0)
        return status_error(STATUS_DATA_LOSS, "an image without pixels");
    if (row > IMAGE_BYTES_MAX || (uint64_t)size->height > IMAGE_BYTES_MAX / row)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "%" PRId64 " × %" PRId64 " pixels of %d channels are more than %zu MiB",
                            size->width, size->height, size->channels, IMAGE_BYTES_MAX >> 20);
    *image = (struct picture){ size->height, size->width, size->channels,
                               zalloc((size_t)row * (size_t)size->height) };
    *pixels = image->pixels;
    return status_ok();
}

static struct status decode(struct bytes file, int channels, const struct image_sink *sink)
{
    const struct jpeg_options options = {
        .channels = channels, .ratio = 1, .fancy_upscaling = true, .refuse_damaged = true
    };
    enum image_format format = image_format_of(file);

    if (format == IMAGE_PNG)
        return png_decode(file, channels, 8, sink);
    if (format != IMAGE_JPEG)
        return status_error(STATUS_DATA_LOSS, "neither a JPEG nor a PNG file");
    if (channels == 4)
        return status_error(STATUS_UNIMPLEMENTED,
                            "a JPEG file has no alpha, and the model takes four channels");
    return jpeg_decode(file, &options, sink);
}

struct status image_decode(struct bytes file, int channels, struct picture *out)
{
    const struct image_sink sink = { .make_room = make_room, .context = out };

    *out = (struct picture){ 0 };
    struct status status = decode(file, channels, &sink);
    if (!status_is_ok(status))
        image_finish(out);
    return status;
}

void image_finish(struct picture *image)
{
    free(image->pixels);
    *image = (struct picture){ 0 };
}

/* The position of an output pixel between two input pixels. */
struct interpolation {
    int64_t lower, upper;
    float share; /* of upper */
};

static struct interpolation *place_all(int64_t in, int64_t out)
{
    struct interpolation *places = zalloc((size_t)out * sizeof *places);
    float scale = (float)in / (float)out;

    for (int64_t i = 0; i < out; i++) {
        float at = ((float)i + .5f) * scale - .5f, floor = floorf(at), ceil = ceilf(at);
        places[i] =
            (struct interpolation){ .lower = floor > 0 ? (int64_t)floor : 0,
                                    .upper = ceil < (float)(in - 1) ? (int64_t)ceil : in - 1,
                                    .share = at - floor };
    }
    return places;
}

static float mix(float a, float b, float share)
{
    return a + (b - a) * share;
}

static void resize_row(const struct picture *image, const struct interpolation *row,
                       const struct interpolation *places, int64_t width, float *out)
{
    const unsigned char *top = image->pixels + row->lower * image->width * image->channels,
                        *bottom = image->pixels + row->upper * image->width * image->channels;

    for (int64_t x = 0; x < width; x++) {
        int64_t left = places[x].lower * image->channels, right = places[x].upper * image->channels;
        for (int c = 0; c < image->channels; c++)
            *out++ = mix(mix(top[left + c], top[right + c], places[x].share),
                         mix(bottom[left + c], bottom[right + c], places[x].share), row->share);
    }
}

void image_resize(const struct picture *image, int64_t height, int64_t width, float *out)
{
    struct interpolation *rows = place_all(image->height, height),
                         *places = place_all(image->width, width);

    for (int64_t y = 0; y < height; y++)
        resize_row(image, &rows[y], places, width, out + y * width * image->channels);
    free(rows);
    free(places);
}
