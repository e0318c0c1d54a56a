/*
 * gif: GIF files, with one or several frames.
 *
 *     "GIF8.a" | u16 width, height | u8 flags | u8 | u8 | colours, if flags & 0x80
 *     then blocks:
 *     0x21 | u8 label | sub-blocks                   an extension; label 0xf9 tells what is
 *                                                    transparent in the next frame
 *     0x2c | u16 left, top, width, height | u8 flags | colours, if flags & 0x80
 *          | u8 bits | sub-blocks                    a frame: indices of colours, by LZW
 *     0x3b                                           the end
 *     A sub-block is u8 size | bytes; one of size 0 ends the list.
 *
 * As in TensorFlow, the images are as large as the largest frame, and a frame that covers less
 * leaves what is there. A first pass over the blocks finds the sizes, without decoding.
 */
#include "image/image.h"

#define TABLE_MAX 4096 /* codes of up to 12 bits */

struct reader {
    const unsigned char *at, *end;
};

struct colours {
    const unsigned char *rgb; /* NULL: none */
    int count;
};

struct gif_frame {
    int64_t left, top, width, height;
    bool interlaced;
    struct colours colours;
    int transparent;    /* -1: no colour is */
    struct reader data; /* from the size of the codes on */
};

static struct status cut_short(void)
{
    return status_error(STATUS_DATA_LOSS, "GIF: the file is cut short");
}

static bool take(struct reader *in, size_t count, const unsigned char **out)
{
    if ((size_t)(in->end - in->at) < count)
        return false;
    *out = in->at;
    in->at += count;
    return true;
}

static int64_t u16_at(const unsigned char *p)
{
    return p[0] | p[1] << 8;
}

static bool take_colours(struct reader *in, int flags, struct colours *out)
{
    if ((flags & 0x80) == 0)
        return true;
    out->count = 2 << (flags & 7);
    return take(in, 3 * (size_t)out->count, &out->rgb);
}

static bool skip_blocks(struct reader *in)
{
    const unsigned char *size, *data;
    while (take(in, 1, &size)) {
        if (*size == 0)
            return true;
        if (!take(in, *size, &data))
            return false;
    }
    return false;
}

/* Reads the blocks up to the next frame. *found: false at the end of the file. */
static struct status next_frame(struct reader *in, struct colours shared, struct gif_frame *out,
                                bool *found)
{
    const unsigned char *kind, *label, *data;
    bool has_control = false;
    *out = (struct gif_frame){ .colours = shared, .transparent = -1 };
    while (take(in, 1, &kind)) {
        if (*kind == 0x3b) {
            *found = false;
            return status_ok();
        }
        if (*kind == 0x2c) {
            if (!take(in, 9, &data) || !take_colours(in, data[8], &out->colours))
                return cut_short();
            out->left = u16_at(data);
            out->top = u16_at(data + 2);
            out->width = u16_at(data + 4);
            out->height = u16_at(data + 6);
            out->interlaced = (data[8] & 0x40) != 0;
            out->data = *in;
            *found = true;
            return take(in, 1, &data) && skip_blocks(in) ? status_ok() : cut_short();
        }
        if (*kind != 0x21)
            return status_error(STATUS_DATA_LOSS, "GIF: a block of the unknown kind %d", *kind);
        if (!take(in, 1, &label))
            return cut_short();
        if (*label == 0xf9 && !has_control && in->end - in->at >= 5 && in->at[0] == 4) {
            has_control = true;
            out->transparent = (in->at[1] & 1) != 0 ? in->at[4] : -1;
        }
        if (!skip_blocks(in))
            return cut_short();
    }
    return cut_short();
}

/* The position of a frame's next index. */
struct gif_canvas {
    const struct gif_frame *frame;
    unsigned char *pixels; /* of this image */
    int64_t width, height; /* of the image */
    int64_t x, y;          /* in the frame */
    int pass;              /* of an interlaced frame */
    const struct image_sink *sink;
    bool first; /* transparent pixels of the first frame are black */
    bool full;
};

static struct status next_row(struct gif_canvas *canvas)
{
    static const int steps[] = { 8, 8, 4, 2 }, starts[] = { 0, 4, 2, 1 };
    int64_t height = canvas->frame->height;
    canvas->x = 0;
    canvas->y += canvas->frame->interlaced ? steps[canvas->pass] : 1;
    while (canvas->frame->interlaced && canvas->y >= height && canvas->pass < 3)
        canvas->y = starts[++canvas->pass];
    canvas->full = canvas->y >= height;
    return canvas->sink->check != NULL ? canvas->sink->check(canvas->sink->context) : status_ok();
}

static struct status put_index(struct gif_canvas *canvas, int index)
{
    const struct gif_frame *frame = canvas->frame;
    int64_t x = frame->left + canvas->x, y = frame->top + canvas->y;
    if (x < canvas->width && y < canvas->height) {
        unsigned char *to = canvas->pixels + 3 * (y * canvas->width + x);
        if (index == frame->transparent) {
            if (canvas->first)
                memset(to, 0, 3);
        } else if (index >= frame->colours.count) {
            return status_error(STATUS_DATA_LOSS,
                                "found color index %d outside of color map range %d", index,
                                frame->colours.count);
        } else {
            memcpy(to, frame->colours.rgb + 3 * index, 3);
        }
    }
    return ++canvas->x == frame->width ? next_row(canvas) : status_ok();
}

/* The bits of a list of sub-blocks, the lowest of each byte first. */
struct bit_reader {
    struct reader in;
    int block_left;
    uint32_t bits;
    int count;
};

static bool next_code(struct bit_reader *reader, int size, int *out)
{
    const unsigned char *byte;
    while (reader->count < size) {
        if (reader->block_left == 0) {
            if (!take(&reader->in, 1, &byte) || *byte == 0)
                return false;
            reader->block_left = *byte;
        }
        if (!take(&reader->in, 1, &byte))
            return false;
        reader->block_left--;
        reader->bits |= (uint32_t)*byte << reader->count;
        reader->count += 8;
    }
    *out = (int)(reader->bits & ((1u << size) - 1));
    reader->bits >>= size;
    reader->count -= size;
    return true;
}

/* A code stands for the indices of its prefix, and one more. */
struct gif_codes {
    uint16_t prefix[TABLE_MAX];
    unsigned char last[TABLE_MAX], stack[TABLE_MAX];
    int count; /* codes that are defined */
    int clear; /* the code that clears the table; the next one ends the frame */
};

/* Writes the indices of a code, and returns the first of them. */
static struct status put_code(struct gif_codes *table, int code, struct gif_canvas *canvas,
                              int *first)
{
    int depth = 0;
    while (code >= table->clear) {
        table->stack[depth++] = table->last[code];
        code = table->prefix[code];
    }
    *first = code;
    TRY(put_index(canvas, code));
    while (depth > 0 && !canvas->full)
        TRY(put_index(canvas, table->stack[--depth]));
    return status_ok();
}

static void define_code(struct gif_codes *table, int prefix, int last)
{
    table->prefix[table->count] = (uint16_t)prefix;
    table->last[table->count] = (unsigned char)last;
    table->count++;
}

static struct status damaged(void)
{
    return status_error(STATUS_DATA_LOSS, "GIF: the compressed data of a frame is damaged");
}

static struct status read_pixels(const struct gif_frame *frame, struct gif_canvas *canvas)
{
    struct bit_reader reader = { .in = frame->data };
    const unsigned char *bits;
    struct gif_codes table;
    int code, before = -1, first;
    if (!take(&reader.in, 1, &bits))
        return cut_short();
    if (*bits < 1 || *bits > 8)
        return damaged();
    int size = *bits + 1;
    table.clear = 1 << *bits;
    table.count = table.clear + 2;
    while (!canvas->full) {
        if (!next_code(&reader, size, &code) || code == table.clear + 1)
            return damaged();
        if (code == table.clear) {
            table.count = table.clear + 2;
            size = *bits + 1;
            before = -1;
            continue;
        }
        /* The code that is defined now ends with the first index of its own prefix. */
        bool is_next = code == table.count && before >= 0 && table.count < TABLE_MAX;
        if (code > table.count || (code == table.count && !is_next))
            return damaged();
        if (is_next) {
            for (first = before; first >= table.clear;)
                first = table.prefix[first];
            define_code(&table, before, first);
            TRY(put_code(&table, code, canvas, &first));
        } else {
            TRY(put_code(&table, code, canvas, &first));
            if (before >= 0 && table.count < TABLE_MAX)
                define_code(&table, before, first);
        }
        if (table.count == 1 << size && size < 12)
            size++;
        before = code;
    }
    return status_ok();
}

static struct status open_file(struct bytes file, struct reader *in, struct colours *shared)
{
    const unsigned char *screen;
    *in = (struct reader){ (const unsigned char *)file.data,
                           (const unsigned char *)file.data + file.size };
    *shared = (struct colours){ 0 };
    if (!take(in, 13, &screen) || !take_colours(in, screen[10], shared))
        return cut_short();
    return status_ok();
}

/* The first pass. */
static struct status measure(struct bytes file, bool all_frames, struct image_extent *out)
{
    struct reader in;
    struct colours shared;
    struct gif_frame frame;
    bool found;
    *out = (struct image_extent){ .channels = 3 };
    TRY(open_file(file, &in, &shared));
    for (;;) {
        TRY(next_frame(&in, shared, &frame, &found));
        if (!found)
            break;
        if (frame.colours.rgb == NULL)
            return status_error(STATUS_DATA_LOSS, "missing color map for frame %lld",
                                (long long)out->frames);
        out->frames++;
        out->height = frame.height > out->height ? frame.height : out->height;
        out->width = frame.width > out->width ? frame.width : out->width;
    }
    if (out->frames == 0)
        return status_error(STATUS_DATA_LOSS, "gif file does not contain any image");
    if (!all_frames)
        out->frames = 1;
    return status_ok();
}

struct status gif_decode(struct bytes file, bool all_frames, const struct image_sink *sink)
{
    struct image_extent size;
    struct reader in;
    struct colours shared;
    struct gif_frame frame;
    bool found;
    void *pixels;
    TRY(measure(file, all_frames, &size));
    TRY(sink->make_room(sink->context, &size, &pixels));
    TRY(open_file(file, &in, &shared));
    size_t bytes = 3 * (size_t)(size.height * size.width);
    for (int64_t i = 0; i < size.frames && bytes > 0; i++) {
        struct gif_canvas canvas = { .frame = &frame,
                                     .pixels = (unsigned char *)pixels + (size_t)i * bytes,
                                     .width = size.width,
                                     .height = size.height,
                                     .sink = sink,
                                     .first = i == 0 };
        TRY(next_frame(&in, shared, &frame, &found));
        if (sink->check != NULL)
            TRY(sink->check(sink->context));
        if (i == 0)
            memset(canvas.pixels, 0, bytes);
        else
            memcpy(canvas.pixels, canvas.pixels - bytes, bytes);
        canvas.full = frame.width == 0 || frame.height == 0;
        TRY(read_pixels(&frame, &canvas));
    }
    return status_ok();
}
