#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "trainer/records/idx.h"
#include "support/test_group.h"

#define CORPUS "tests/fuzz/corpus/idx/"

static const struct row {
    const char *file;
    enum status_code code;
    const char *text; /* in the message */
} rows[] = {
    { "images", STATUS_OK, "" },
    { "images.gz", STATUS_OK, "" },
    { "two_members.gz", STATUS_OK, "" },
    { "cut.gz", STATUS_DATA_LOSS, "cut short" },
    { "flipped.gz", STATUS_DATA_LOSS, "damaged" },
    { "huge", STATUS_DATA_LOSS, "more than 2^64" },
    { "short", STATUS_DATA_LOSS, "17 bytes, its dimensions say 18" },
    { "long", STATUS_DATA_LOSS, "19 bytes, its dimensions say 18" },
    { "float", STATUS_UNIMPLEMENTED, "0x0d" },
    { "rank0", STATUS_DATA_LOSS, "rank 0" },
    { "empty", STATUS_DATA_LOSS, "two zero bytes" },
    { "labels", STATUS_DATA_LOSS, "rank 1, wanted 3" },
    { "none", STATUS_NOT_FOUND, "open" },
};

static void answers_for_the_file(void **state)
{
    const struct row *row = *state;
    struct buffer contents = { 0 };
    struct idx idx;
    char path[256];

    snprintf(path, sizeof path, CORPUS "%s", row->file);
    struct status status = idx_read(path, 3, &contents, &idx);
    assert_int_equal(status.code, row->code);
    if (status_is_ok(status)) {
        assert_int_equal(idx.dims[0], 2);
        assert_int_equal(idx.data[17], 17);
    } else {
        assert_non_null(strstr(status.message, path)); /* the file's name */
        assert_non_null(strstr(status.message, row->text));
    }
    buffer_finish(&contents);
}

static void every_prefix_is_data_loss(void **state)
{
    (void)state;
    const char file[] = "\0\0\x08\x02\0\0\0\x02\0\0\0\x02"
                        "abcd";
    struct idx idx;

    assert_int_equal(idx_parse((struct bytes){ file, 16 }, &idx).code, STATUS_OK);
    for (size_t size = 0; size < 16; size++)
        assert_int_equal(idx_parse((struct bytes){ file, size }, &idx).code, STATUS_DATA_LOSS);
}

static void a_bomb_is_stopped_at_the_limit(void **state)
{
    (void)state;
    struct buffer unpacked = { 0 };
    struct bytes out;
    char packed[256];
    FILE *file = fopen(CORPUS "images.gz", "rb");

    assert_non_null(file);
    size_t size = fread(packed, 1, sizeof packed, file);
    fclose(file);
    assert_int_equal(idx_unpack((struct bytes){ packed, size }, 10, &unpacked, &out).code,
                     STATUS_RESOURCE_EXHAUSTED);
    buffer_finish(&unpacked);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(every_prefix_is_data_loss),
        cmocka_unit_test(a_bomb_is_stopped_at_the_limit),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, file, answers_for_the_file);
    return test_group_run(&group, "idx", NULL, NULL);
}
