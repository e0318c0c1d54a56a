/* Files of images that are damaged or lie about their size. What whole files hold is compared with
 * TensorFlow's pixels by tests/golden/kernels/image_files.rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/image.h"

#define PIXELS_MAX 4096

static struct image_extent made; /* what the last decoder asked for */
static unsigned char pixels_of_test[PIXELS_MAX];

static struct status make_room(void *context, const struct image_extent *size, void **pixels)
{
    (void)context;
    made = *size;
    if (size->frames * size->height * size->width * size->channels > PIXELS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "too many pixels");
    *pixels = pixels_of_test;
    return status_ok();
}

static const struct image_sink sink = { .make_room = make_room };

/* Two frames of 2 × 2 pixels, in four colours. */
static const char gif[] = "GIF89a\2\0\2\0\x81\0\0"
                          "\0\0\0\377\0\0\0\377\0\0\0\377"
                          "\x2c\0\0\0\0\2\0\2\0\0\2\3\x44\x34\x05\0"
                          "\x2c\0\0\0\0\2\0\2\0\0\2\3\x44\x34\x05\0\x3b";
static const struct bytes gif_file = { gif, sizeof gif - 1 };

static void every_prefix_of_a_gif_is_data_loss(void **state)
{
    (void)state;
    assert_true(status_is_ok(gif_decode(gif_file, true, &sink)));
    assert_int_equal(made.frames, 2);
    for (size_t size = 0; size < gif_file.size; size++) {
        struct status status = gif_decode((struct bytes){ gif, size }, true, &sink);
        assert_int_equal(status.code, STATUS_DATA_LOSS);
    }
}

static void any_damage_of_a_gif_is_survived(void **state)
{
    (void)state;
    for (size_t at = 0; at < gif_file.size; at++)
        for (int value = 0; value < 256; value++) {
            char copy[sizeof gif];
            memcpy(copy, gif, sizeof gif);
            copy[at] = (char)value;
            status_ignore(gif_decode((struct bytes){ copy, gif_file.size }, true, &sink));
        }
}

static void the_sink_refuses_before_anything_is_decoded(void **state)
{
    (void)state;
    char copy[sizeof gif];
    memcpy(copy, gif, sizeof gif);
    memset(copy + 30, 0xff, 4); /* the first frame has 65535 × 65535 pixels */
    struct status status = gif_decode((struct bytes){ copy, gif_file.size }, true, &sink);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(made.width, 65535);
    assert_int_equal(made.height, 65535);
}

static struct status stop(void *context)
{
    (void)context;
    return status_error(STATUS_DEADLINE_EXCEEDED, "too late");
}

static void a_run_that_must_end_ends_the_work(void **state)
{
    (void)state;
    const struct image_sink stopping = { .make_room = make_room, .check = stop };
    const struct image_extent size = { 1, 2, 2, 3, 0 };
    const struct jpeg_encoding encoding = { .quality = 90, .chroma_downsampling = true };
    const struct jpeg_options options = { .ratio = 1 };
    struct buffer png = { 0 }, jpeg = { 0 }, again = { 0 };
    assert_true(status_is_ok(png_encode(&size, 8, pixels_of_test, -1, &sink, &png)));
    assert_true(status_is_ok(jpeg_encode(&size, pixels_of_test, &encoding, &sink, &jpeg)));
    struct bytes png_file = { png.data, png.size }, jpeg_file = { jpeg.data, jpeg.size };
    struct status of_gif = gif_decode(gif_file, true, &stopping);
    struct status of_png = png_decode(png_file, 3, 8, &stopping);
    struct status of_jpeg = jpeg_decode(jpeg_file, &options, &stopping);
    struct status of_encoder = png_encode(&size, 8, pixels_of_test, -1, &stopping, &again);
    assert_int_equal(of_gif.code, STATUS_DEADLINE_EXCEEDED);
    assert_int_equal(of_png.code, STATUS_DEADLINE_EXCEEDED);
    assert_int_equal(of_jpeg.code, STATUS_DEADLINE_EXCEEDED);
    assert_int_equal(of_encoder.code, STATUS_DEADLINE_EXCEEDED);
    buffer_finish(&png);
    buffer_finish(&jpeg);
    buffer_finish(&again);
}

static struct status count(void *context)
{
    ++*(int *)context;
    return status_ok();
}

static void every_row_of_a_gif_looks_at_the_deadline(void **state)
{
    (void)state;
    int checks = 0;
    const struct image_sink counting = { make_room, count, &checks };
    assert_true(status_is_ok(gif_decode(gif_file, true, &counting)));
    assert_true(checks >= 4);
}

/* libpng holds two rows of the file, whatever is left of them in the output. */
static void a_png_tells_what_its_rows_take(void **state)
{
    (void)state;
    const struct image_extent size = { 1, 1, 256, 4, 0 };
    struct buffer png = { 0 };
    assert_true(status_is_ok(png_encode(&size, 8, pixels_of_test, -1, &sink, &png)));
    assert_true(status_is_ok(png_decode((struct bytes){ png.data, png.size }, 1, 8, &sink)));
    assert_true(made.work_bytes >= 2 * 256 * 4);
    buffer_finish(&png);
}

/* libjpeg holds all coefficients of a progressive file, which are more bytes than its pixels. */
static void a_progressive_jpeg_tells_what_it_takes(void **state)
{
    (void)state;
    const struct image_extent size = { 1, 16, 16, 3, 0 };
    const struct jpeg_options options = { .ratio = 1 };
    struct jpeg_encoding encoding = { .quality = 90, .progressive = true };
    struct buffer jpeg = { 0 };
    assert_true(status_is_ok(jpeg_encode(&size, pixels_of_test, &encoding, &sink, &jpeg)));
    assert_true(status_is_ok(jpeg_decode((struct bytes){ jpeg.data, jpeg.size }, &options, &sink)));
    assert_true(made.work_bytes >= 16 * 16 * 3 * 2);
    buffer_finish(&jpeg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_of_a_gif_is_data_loss),
        cmocka_unit_test(any_damage_of_a_gif_is_survived),
        cmocka_unit_test(the_sink_refuses_before_anything_is_decoded),
        cmocka_unit_test(a_run_that_must_end_ends_the_work),
        cmocka_unit_test(every_row_of_a_gif_looks_at_the_deadline),
        cmocka_unit_test(a_png_tells_what_its_rows_take),
        cmocka_unit_test(a_progressive_jpeg_tells_what_it_takes),
    };
    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
