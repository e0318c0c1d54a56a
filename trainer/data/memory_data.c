#include "trainer/data/memory_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/random.h"
#include "trainer/data/digits.h"
#include "trainer/data/memory_rows.h"
#include "trainer/records/idx.h"

#define DIGITS_TRAIN     60000u
#define DIGITS_TEST      10000u
#define LINEAR_TRAIN     10000u
#define LINEAR_TEST      1000u
#define VALIDATION_MAX   5000u
#define VALIDATION_SHARE 12u /* one row in 12 */

struct memory_data {
    struct data data; /* first */
    struct memory_split train, validation, test;
    struct buffer storage[4];
};

static void destroy(struct data *base)
{
    struct memory_data *data = (struct memory_data *)base;

    for (size_t i = 0; i < COUNT(data->storage); i++)
        buffer_finish(&data->storage[i]);
    free(data->data.origin);
    free(data);
}

static struct memory_data *create(void)
{
    struct memory_data *data = zalloc(sizeof *data);

    data->data.destroy = destroy;
    return data;
}

/* The split of these rows; NULL: no rows. */
static const struct data_split *make_split(struct memory_split *split,
                                           const struct memory_rows *rows)
{
    if (rows->rows == 0)
        return NULL;
    memory_split_init(split, rows);
    return &split->split;
}

/* Rows [first, first + count) of `whole`. */
static struct memory_rows rows_part(const struct memory_rows *whole, uint32_t first, uint32_t count)
{
    struct memory_rows part = *whole;

    part.rows = count;
    if (part.bytes != NULL)
        part.bytes += (size_t)first * whole->width;
    if (part.floats != NULL)
        part.floats += (size_t)first * whole->width;
    if (part.classes != NULL)
        part.classes += first;
    if (part.targets != NULL)
        part.targets += (size_t)first * whole->target_width;
    return part;
}

static void hold_out_validation(struct memory_data *data, const struct memory_rows *whole)
{
    uint32_t held = whole->rows / VALIDATION_SHARE;
    held = held < VALIDATION_MAX ? held : VALIDATION_MAX;
    struct memory_rows validation = rows_part(whole, 0, held),
                       train = rows_part(whole, held, whole->rows - held);

    data->data.validation = make_split(&data->validation, &validation);
    data->data.train = make_split(&data->train, &train);
}

static struct memory_rows images_of(const uint8_t *pixels, const uint8_t *labels, uint32_t rows,
                                    uint32_t width)
{
    uint32_t largest = 0;

    for (uint32_t i = 0; i < rows; i++)
        largest = labels[i] > largest ? labels[i] : largest;
    return (struct memory_rows){ .rows = rows,
                                 .width = width,
                                 .bytes = pixels,
                                 .classes = labels,
                                 .target_width = 1,
                                 .class_count = rows > 0 ? largest + 1 : 0 };
}

/* Reads `directory/name` or, if that is missing, `directory/name.gz`. */
static struct status read_part(const char *directory, const char *name, int rank,
                               struct buffer *contents, struct idx *out)
{
    char path[4096];

    for (int zipped = 0; zipped < 2; zipped++) {
        int length = snprintf(path, sizeof path, "%s/%s%s", directory, name, zipped ? ".gz" : "");
        if (length < 0 || (size_t)length >= sizeof path)
            return status_error(STATUS_INVALID_ARGUMENT, "'%s': the path is too long", directory);
        if (access(path, F_OK) == 0)
            return idx_read(path, rank, contents, out);
        if (errno != ENOENT)
            return status_errno(errno, "open '%s'", path);
    }
    return status_error(STATUS_NOT_FOUND, "'%s' has neither %s nor %s.gz", directory, name, name);
}

static struct status read_images(const char *directory, const char *prefix,
                                 struct buffer storage[2], struct memory_rows *out)
{
    struct idx images, labels;
    char name[64];

    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    TRY(read_part(directory, name, 3, &storage[0], &images));
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    TRY(read_part(directory, name, 1, &storage[1], &labels));
    if (images.dims[0] != labels.dims[0])
        return status_error(STATUS_DATA_LOSS,
                            "'%s': %u images in %s-images-idx3-ubyte but %u labels in %s",
                            directory, images.dims[0], prefix, labels.dims[0], name);
    if (images.dims[0] == 0)
        return status_error(STATUS_DATA_LOSS, "'%s': no images in %s-images-idx3-ubyte", directory,
                            prefix);
    uint64_t width = (uint64_t)images.dims[1] * images.dims[2];
    if (width == 0 || width > 1u << 26)
        return status_error(STATUS_DATA_LOSS,
                            "'%s': images of %u x %u pixels in %s-images-idx3-ubyte", directory,
                            images.dims[1], images.dims[2], prefix);
    *out = images_of(images.data, labels.data, images.dims[0], (uint32_t)width);
    return status_ok();
}

/* Are both images and labels missing, plain and compressed? */
static bool has_no_part(const char *directory, const char *prefix)
{
    static const char *const names[] = { "images-idx3-ubyte", "images-idx3-ubyte.gz",
                                         "labels-idx1-ubyte", "labels-idx1-ubyte.gz" };
    char path[4096];

    for (size_t i = 0; i < COUNT(names); i++) {
        int length = snprintf(path, sizeof path, "%s/%s-%s", directory, prefix, names[i]);
        if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) == 0 ||
            errno != ENOENT)
            return false;
    }
    return true;
}

/* Without test files there are no test rows. One file without the other is an error. */
static struct status read_test(const char *directory, struct memory_data *data, uint32_t width)
{
    struct memory_rows test;

    if (has_no_part(directory, "t10k"))
        return status_ok();
    TRY(read_images(directory, "t10k", &data->storage[2], &test));
    if (width != test.width)
        return status_error(STATUS_DATA_LOSS,
                            "'%s': images of %u pixels to train with but %u to test with",
                            directory, width, test.width);
    data->data.test = make_split(&data->test, &test);
    return status_ok();
}

struct status data_read_images(const char *directory, struct data **out)
{
    struct status status;
    struct memory_data *data = create();
    struct memory_rows whole;
    struct buffer origin = { 0 };

    TRY_OR(fail, read_images(directory, "train", &data->storage[0], &whole));
    TRY_OR(fail, read_test(directory, data, whole.width));
    hold_out_validation(data, &whole);
    buffer_printf(&origin, "%u + %u images from '%s'", whole.rows, data->test.rows.rows, directory);
    buffer_append_char(&origin, '\0');
    data->data.origin = origin.data;
    *out = &data->data;
    return status_ok();

fail:
    data_destroy(&data->data);
    return status;
}

static void *storage_take(struct buffer *storage, size_t size)
{
    buffer_reserve(storage, size);
    storage->size = size;
    return storage->data;
}

struct data *data_draw_digits(void)
{
    struct memory_data *data = create();
    uint32_t rows = DIGITS_TRAIN + DIGITS_TEST;
    uint8_t *pixels = storage_take(&data->storage[0], (size_t)rows * DIGITS_PIXELS);
    uint8_t *labels = storage_take(&data->storage[1], rows);

    digits_draw(DIGITS_SEED, 0, rows, pixels, labels);
    struct memory_rows all = images_of(pixels, labels, rows, DIGITS_PIXELS);
    struct memory_rows train = rows_part(&all, 0, DIGITS_TRAIN),
                       test = rows_part(&all, DIGITS_TRAIN, DIGITS_TEST);
    hold_out_validation(data, &train);
    data->data.test = make_split(&data->test, &test);
    data->data.origin =
        xstrdup("60000 + 10000 digits drawn by this program (--train_dir reads real ones)");
    return &data->data;
}

struct data *data_draw_linear(uint64_t seed)
{
    struct memory_data *data = create();
    uint32_t rows = LINEAR_TRAIN + LINEAR_TEST;
    float *x = storage_take(&data->storage[0], rows * sizeof *x);
    float *y = storage_take(&data->storage[1], rows * sizeof *y);
    struct random random;

    random_init(&random, seed, 0);
    for (uint32_t i = 0; i < rows; i++) {
        x[i] = random_float(&random);
        y[i] = x[i] * 0.1f + 0.3f;
    }
    struct memory_rows all = {
        .rows = rows, .width = 1, .floats = x, .targets = y, .target_width = 1
    };
    struct memory_rows train = rows_part(&all, 0, LINEAR_TRAIN),
                       test = rows_part(&all, LINEAR_TRAIN, LINEAR_TEST);
    data->data.train = make_split(&data->train, &train);
    data->data.test = make_split(&data->test, &test);
    data->data.origin = xstrdup("10000 + 1000 points of y = 0.1 x + 0.3");
    return &data->data;
}
