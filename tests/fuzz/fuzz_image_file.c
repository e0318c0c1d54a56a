/* Files of images, decoded in all ways; the pixels of JPEG and PNG are written again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "image/image.h"

#define BYTES_MAX ((int64_t)1 << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct room {
    struct image_extent size;
    void *pixels;
};

static struct status make_room(void *context, const struct image_extent *size, void **pixels)
{
    struct room *room = context;
    int64_t bytes = size->frames * size->height;
    if (bytes < BYTES_MAX)
        bytes *= size->width * size->channels * 2;
    if (bytes >= BYTES_MAX || size->work_bytes > BYTES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "too large");
    room->size = *size;
    *pixels = room->pixels = malloc((size_t)bytes);
    return status_ok();
}

static void try_jpeg(struct bytes file, const struct jpeg_options *options)
{
    const struct jpeg_encoding encoding = { .quality = 50, .progressive = true };
    struct room room = { 0 };
    struct image_sink sink = { .make_room = make_room, .context = &room };
    struct buffer out = { 0 };
    if (status_is_ok(jpeg_decode(file, options, &sink)))
        status_ignore(jpeg_encode(&room.size, room.pixels, &encoding, &sink, &out));
    buffer_finish(&out);
    free(room.pixels);
}

static void try_png(struct bytes file, int channels, int bits)
{
    struct room room = { 0 };
    struct image_sink sink = { .make_room = make_room, .context = &room };
    struct buffer out = { 0 };
    if (status_is_ok(png_decode(file, channels, bits, &sink)) &&
        !status_is_ok(png_encode(&room.size, bits, room.pixels, 1, &sink, &out)))
        abort();
    buffer_finish(&out);
    free(room.pixels);
}

static void try_bitmap(struct bytes file, int channels)
{
    struct room room = { 0 };
    struct image_sink sink = { .make_room = make_room, .context = &room };
    status_ignore(bmp_decode(file, channels, &sink));
    free(room.pixels);
}

static void try_webp(struct bytes file, bool all_frames)
{
    struct room room = { 0 };
    struct image_sink sink = { .make_room = make_room, .context = &room };
    status_ignore(webp_decode(file, 0, all_frames, &sink));
    free(room.pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct jpeg_crop crop = { .y = 1, .x = 2, .height = 3, .width = 2 };
    struct bytes file = { (const char *)data, size };
    struct image_extent shape;
    status_ignore(jpeg_read_size(file, &shape));
    for (int channels = 0; channels <= 3; channels += channels == 0 ? 1 : 2) {
        try_jpeg(file, &(struct jpeg_options){ .channels = channels, .ratio = 1 });
        try_jpeg(file, &(struct jpeg_options){
                           .channels = channels, .ratio = 2, .recover_truncated = true });
        try_jpeg(file, &(struct jpeg_options){ .channels = channels, .ratio = 1, .crop = &crop });
    }
    for (int channels = 0; channels <= 4; channels++) {
        try_png(file, channels, 8);
        try_png(file, channels, 16);
        if (channels != 1 && channels != 2)
            try_bitmap(file, channels);
    }
    try_webp(file, false);
    try_webp(file, true);
    struct room room = { 0 };
    struct image_sink sink = { .make_room = make_room, .context = &room };
    status_ignore(gif_decode(file, true, &sink));
    free(room.pixels);
    return 0;
}
