/* Images as TensorFlow decodes and resizes them: tests/golden/images/make_images.py. */
#include "record_rows.h"

#include <math.h>

#include "base/file.h"
#include "support/directory.h"
#include "trainer/records/image.h"
#include "trainer/records/image_records.h"

#define GOLDEN "tests/golden/images/"

static struct buffer read_golden(const char *name)
{
    struct buffer file = { 0 };

    assert_ok(file_read(file_join(arena, GOLDEN, name), 0, &file));
    return file;
}

/* One line of want.txt. */
static void check_line(char *line)
{
    char name[64];
    int channels, used;
    long height, width;
    struct picture image;

    assert_int_equal(sscanf(line, "%63s %d %ld %ld%n", name, &channels, &height, &width, &used), 4);
    struct buffer file = read_golden(name);
    assert_ok(image_decode((struct bytes){ file.data, file.size }, channels, &image));
    size_t size = (size_t)(height * width * channels);
    float *got = zalloc(size * sizeof *got);
    image_resize(&image, height, width, got);
    char *at = line + used;
    for (size_t i = 0; i < size; i++) {
        float want = strtof(at, &at);
        if (fabsf(got[i] - want) > 1e-4f) /* floats of up to 255, mixed in another order */
            fail_msg("%s, %d channels, %ld × %ld: value %zu is %g, not %g", name, channels, height,
                     width, i, (double)got[i], (double)want);
    }
    assert_int_equal(*at, '\0');
    free(got);
    image_finish(&image);
    buffer_finish(&file);
}

static void pixels_are_tensorflows(void **state)
{
    (void)state;
    struct buffer want = read_golden("want.txt");
    int lines = 0;

    buffer_append_char(&want, '\0');
    for (char *at = want.data, *end; (end = strchr(at, '\n')) != NULL; at = end + 1, lines++) {
        *end = '\0';
        check_line(at);
    }
    assert_true(lines > 20);
    buffer_finish(&want);
}

static void every_prefix_is_data_loss(void **state)
{
    (void)state;
    static const char *const names[] = { "colour.png", "colour.jpg", "progressive.jpg" };

    for (size_t i = 0; i < COUNT(names); i++) {
        struct buffer file = read_golden(names[i]);
        /* the two bytes that end a JPEG may be missing */
        for (size_t size = 0; size + 2 < file.size; size++) {
            struct picture image;
            struct status status = image_decode((struct bytes){ file.data, size }, 3, &image);
            assert_int_equal(status.code, STATUS_DATA_LOSS);
        }
        buffer_finish(&file);
    }
}

/* The size stands behind the marker FFC0 of a JPEG. */
static void a_huge_image_is_refused(void **state)
{
    (void)state;
    struct buffer jpeg = read_golden("colour.jpg");
    struct picture image;
    char *frame = memmem(jpeg.data, jpeg.size, "\xff\xc0", 2);

    assert_non_null(frame);
    memcpy(frame + 5, "\xff\xdc\xff\xdc", 4); /* 65500 × 65500 */
    assert_fails_naming(image_decode((struct bytes){ jpeg.data, jpeg.size }, 3, &image),
                        STATUS_RESOURCE_EXHAUSTED, "65500 × 65500 pixels of 3 channels");
    buffer_finish(&jpeg);
}

static void a_file_is_a_row(void **state)
{
    (void)state;
    static const struct column_spec specs[] = { { "image", COLUMN_FLOAT },
                                                { "label", COLUMN_BYTES } };
    struct record_options options = { .image_height = 1, .image_width = 1, .image_channels = 1 };
    struct buffer got = { 0 }, file = read_golden("grey.png");

    assert_ok(file_make_directories(in("cats")));
    assert_ok(file_write(in("cats/1.png"), (struct bytes){ file.data, file.size }));
    show_file(in("cats/1.png"), &image_format, &options, specs, 2, 10, &got);
    assert_string_equal(got.data, "[114|'cats'] "); /* the pixel in the middle */
    got.size = 0;
    assert_ok(file_write(in("cats/2.png"), (struct bytes){ file.data, file.size / 2 }));
    show_file(in("cats/2.png"), &image_format, &options, specs, 2, 10, &got);
    assert_non_null(strstr(got.data, "image 0: PNG: "));
    buffer_finish(&got);
    buffer_finish(&file);
}

static void the_classes_are_the_folders(void **state)
{
    (void)state;
    static const char *const directories[] = { "q", "q/v/" };
    static const char *const paths[] = { "p/dogs/2.png",         "p/cats/1.png",
                                         "p/dogs/1.png",         "q/cats/small/1.png",
                                         "q/dogs/3.png",         "q/2.png",
                                         "q/v/ants/red/f/1.png", "qq/dogs/bees/1.png" };
    const struct record_options options = { .image_height = 4,
                                            .image_width = 5,
                                            .image_channels = 3,
                                            .class_directories = directories,
                                            .class_directories_count = 2 };
    struct schema schema;

    image_schema(paths, COUNT(paths), &options, arena, &schema);
    assert_int_equal(schema.columns[0].width, 60);
    static const char *const classes[] = { "ants", "bees", "cats", "dogs", "q" };
    assert_int_equal(schema.columns[1].classes_count, COUNT(classes));
    for (size_t i = 0; i < COUNT(classes); i++)
        assert_true(bytes_equal(schema.columns[1].classes[i], bytes_of(classes[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(pixels_are_tensorflows),
        TEST_IN_DIRECTORY(every_prefix_is_data_loss),
        TEST_IN_DIRECTORY(a_huge_image_is_refused),
        TEST_IN_DIRECTORY(a_file_is_a_row),
        TEST_IN_DIRECTORY(the_classes_are_the_folders),
    };

    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
