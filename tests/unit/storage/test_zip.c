#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "storage/zip.h"
#include "support/test_group.h"

#define CORPUS "tests/fuzz/corpus/npz/"

static const struct archive_row {
    const char *file;
    const char *want; /* "name bytes deflated, …" */
    const char *error;
} rows[] = {
    { "stored.npz", "x.npy 152 0, y.npy 140 0, ", NULL },
    { "deflated.npz", "x.npy 152 1, y.npy 140 1, ", NULL },
    { "zip64.npz", "x.npy 152 0, y.npy 140 0, ", NULL },
    { "comment.npz", "x.npy 152 0, y.npy 140 0, ", NULL },
    { "empty.npz", "", NULL },
    { "bzip2.npz", NULL, "compression method 12" },
    { "cut.npz", NULL, "not a ZIP archive" },
    { "nothing", NULL, "not a ZIP archive" },
    { "none", NULL, "No such file" },
};

/* Reads all members in steps of three bytes, next to each other. */
static struct status read_members(struct zip_archive *archive)
{
    struct zip_stream *streams[2] = { NULL, NULL };
    struct status status = status_ok();
    uint64_t at = 0;
    int count = zip_members_count(archive) < 2 ? zip_members_count(archive) : 2;
    char data[3];

    for (int i = 0; i < count; i++)
        TRY_OR(done, zip_stream_open(archive, zip_member(archive, i), &streams[i]));
    for (; at < 152; at += 3)
        for (int i = 0; i < count; i++) {
            uint64_t left = zip_member(archive, i)->bytes - at;
            if (at < zip_member(archive, i)->bytes)
                TRY_OR(done, zip_stream_read(streams[i], data, left < 3 ? (size_t)left : 3));
        }
    if (count > 0) { /* nothing is left */
        assert_int_equal(zip_stream_read(streams[0], data, 1).code, STATUS_DATA_LOSS);
        assert_int_equal(zip_stream_read(streams[0], data, 0).code, STATUS_OK);
    }
done:
    zip_stream_close(streams[0]);
    zip_stream_close(streams[1]);
    return status;
}

static void lists_the_members(void **state)
{
    const struct archive_row *row = *state;
    struct zip_archive *archive = NULL;
    struct buffer got = { 0 };
    char path[256];

    snprintf(path, sizeof path, CORPUS "%s", row->file);
    struct status status = zip_open(path, &archive);
    if (row->error != NULL) {
        assert_int_not_equal(status.code, STATUS_OK);
        assert_non_null(strstr(status.message, row->error));
        return;
    }
    assert_int_equal(status.code, STATUS_OK);
    for (int i = 0; i < zip_members_count(archive); i++)
        buffer_printf(&got, "%s %d %d, ", zip_member(archive, i)->name,
                      (int)zip_member(archive, i)->bytes, zip_member(archive, i)->deflated);
    buffer_append_char(&got, '\0');
    assert_string_equal(got.data, row->want);
    assert_int_equal(read_members(archive).code, STATUS_OK);
    buffer_finish(&got);
    zip_close(archive);
}

static void a_wrong_checksum_is_data_loss(void **state)
{
    struct zip_archive *archive;

    assert_int_equal(zip_open(*state, &archive).code, STATUS_OK);
    struct status status = read_members(archive);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    assert_non_null(strstr(status.message, "x.npy"));
    zip_close(archive);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        { .name = "a flipped bit in a stored member",
          .test_func = a_wrong_checksum_is_data_loss,
          .initial_state = CORPUS "flipped.npz" },
        { .name = "a flipped bit in a deflated member",
          .test_func = a_wrong_checksum_is_data_loss,
          .initial_state = CORPUS "flipped_deflated.npz" },
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, file, lists_the_members);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "zip", NULL, NULL);
}
