#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trainer/data/memory_data.h"

static char directory[64];

static void put(const char *name, const char *bytes, size_t size)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* The batch of the first `rows` rows, in their order, after `skipped` others. */
static struct batch_source *open_at(const struct data_split *split, uint64_t skipped, int64_t rows,
                                    struct batch *out)
{
    const struct batch_order in_order = { .workers = 1 };
    struct batch_source *source;

    assert_int_equal(split->open(split, &in_order, &source).code, STATUS_OK);
    assert_int_equal(source->seek(source, skipped).code, STATUS_OK);
    assert_int_equal(source->next(source, rows, out).code, STATUS_OK);
    assert_int_equal(out->rows, rows);
    return source;
}

/* Writes a set whose image i has the 1 × 2 pixels (i, i + 1) and the label i % 3. */
static void put_set(const char *prefix, int rows, int labels)
{
    char images[16 + 64] = "\0\0\x08\x03\0\0\0\0\0\0\0\x01\0\0\0\x02";
    char answers[8 + 64] = "\0\0\x08\x01", name[64];

    images[7] = (char)rows;
    answers[7] = (char)labels;
    for (int i = 0; i < rows; i++) {
        images[16 + 2 * i] = (char)i;
        images[17 + 2 * i] = (char)(i + 1);
        answers[8 + i] = (char)(i % 3);
    }
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    put(name, images, 16 + 2 * (size_t)rows);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    put(name, answers, 8 + (size_t)labels);
}

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/slipway-memory-data-XXXXXX");
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static void reads_a_set_and_holds_out_a_twelfth(void **state)
{
    (void)state;
    struct data *data;
    struct batch batch;

    put_set("train", 24, 24);
    put_set("t10k", 5, 5);
    assert_int_equal(data_read_images(directory, &data).code, STATUS_OK);
    assert_int_equal(data->validation->rows, 2);
    assert_int_equal(data->train->rows, 22);
    assert_int_equal(data->test->rows, 5);
    assert_int_equal(data->train->columns[1].classes, 3);
    struct batch_source *source = open_at(data->train, 3, 1, &batch);
    const float *x = tensor_floats(&batch.columns[0].values);
    assert_int_equal(tensor_int32s(&batch.columns[1].values)[0], 5 % 3); /* 2 rows are held out */
    assert_true(x[0] > 4.999f / 255 && x[0] < 5.001f / 255);
    assert_true(x[1] > 5.999f / 255 && x[1] < 6.001f / 255);
    source->destroy(source);
    data_destroy(data);
}

static void labels_that_do_not_belong_are_refused(void **state)
{
    (void)state;
    struct data *data;

    put_set("train", 24, 23);
    put_set("t10k", 5, 5);
    struct status status = data_read_images(directory, &data);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    assert_non_null(strstr(status.message, "24 images"));
    assert_non_null(strstr(status.message, "23 labels"));
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    struct data *data;
    char path[160];

    put_set("train", 24, 24);
    snprintf(path, sizeof path, "%s/t10k-images-idx3-ubyte", directory);
    unlink(path);
    struct status status = data_read_images(directory, &data);
    assert_int_equal(status.code, STATUS_NOT_FOUND);
    assert_non_null(strstr(status.message, "t10k-images-idx3-ubyte"));
    assert_non_null(strstr(status.message, directory));
}

static void linear_points_lie_on_the_line(void **state)
{
    (void)state;
    struct data *data = data_draw_linear(1);
    struct batch batch;

    assert_null(data->validation);
    struct batch_source *source = open_at(data->train, 9990, 10, &batch);
    const float *x = tensor_floats(&batch.columns[0].values);
    const float *y = tensor_floats(&batch.columns[1].values);
    for (int i = 0; i < 10; i++) {
        assert_true(x[i] >= 0 && x[i] < 1);
        assert_true(y[i] - (0.1f * x[i] + 0.3f) < 1e-6f && y[i] - (0.1f * x[i] + 0.3f) > -1e-6f);
    }
    source->destroy(source);
    data_destroy(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_set_and_holds_out_a_twelfth),
        cmocka_unit_test(labels_that_do_not_belong_are_refused),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(linear_points_lie_on_the_line),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
