#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <zlib.h>

#include "storage/gzip_file.h"
#include "support/directory.h"

#define SIZE 300000 /* more than two chunks, and hardly compressible */

static char text[SIZE];

/* Writes `members` gzip members that hold the text together. */
static void write_members(const char *path, int members)
{
    for (int i = 0; i < members; i++) {
        gzFile file = gzopen(path, i == 0 ? "wb" : "ab");
        assert_non_null(file);
        int from = i * (SIZE / members), to = i == members - 1 ? SIZE : from + SIZE / members;
        assert_int_equal(gzwrite(file, text + from, (unsigned)(to - from)), to - from);
        assert_int_equal(gzclose(file), Z_OK);
    }
}

static int make_text(void **state)
{
    uint32_t random = 1;

    (void)state;
    for (int i = 0; i < SIZE; i++) {
        random = random * 1664525 + 1013904223;
        text[i] = (char)(random >> 24);
    }
    return 0;
}

/* Reads all of it in pieces of `step` bytes. */
static struct status read_all(const char *path, size_t step, struct buffer *out)
{
    struct gzip_file *file;
    struct status status;
    size_t got;

    TRY(gzip_file_open(path, &file));
    do {
        buffer_reserve(out, step);
        status = gzip_file_get(file, out->data + out->size, step, &got);
        out->size += status_is_ok(status) ? got : 0;
    } while (status_is_ok(status) && got == step);
    gzip_file_close(file);
    return status;
}

static void reads_members_in_pieces(void **state)
{
    (void)state;
    const size_t steps[] = { 1000, 65536, SIZE, SIZE + 1 };

    for (int members = 1; members <= 3; members++)
        for (size_t i = 0; i < COUNT(steps); i++) {
            struct buffer got = { 0 };
            write_members(in("a.gz"), members);
            assert_ok(read_all(in("a.gz"), steps[i], &got));
            assert_int_equal(got.size, SIZE);
            assert_memory_equal(got.data, text, SIZE);
            buffer_finish(&got);
        }
}

/* As gzip does. Text in place of the zeros is an error. */
static void zeros_may_follow(void **state)
{
    static const char *const ends[] = { "\0\0\0\0", "\0\0x,y" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct buffer got = { 0 };
        write_members(in("a.gz"), 2);
        FILE *file = fopen(in("a.gz"), "ab");
        assert_non_null(file);
        assert_int_equal(fwrite(ends[i], 1, i == 0 ? 4 : 5, file), i == 0 ? 4 : 5);
        fclose(file);
        struct status status = read_all(in("a.gz"), 1000, &got);
        if (i == 0)
            assert_ok(status);
        else
            assert_fails_naming(status, STATUS_DATA_LOSS,
                                "what follows the compressed data is not gzip");
        assert_true(got.size == SIZE || i == 1);
        buffer_finish(&got);
    }
}

static void every_prefix_is_cut_short(void **state)
{
    (void)state;
    struct buffer whole = { 0 };
    gzFile file = gzopen(in("a.gz"), "wb");

    assert_int_equal(gzwrite(file, text, 100), 100);
    assert_int_equal(gzclose(file), Z_OK);
    assert_ok(file_read(in("a.gz"), 0, &whole));
    for (size_t size = 0; size < whole.size; size++) {
        struct buffer got = { 0 };
        assert_ok(file_write(in("b.gz"), (struct bytes){ whole.data, size }));
        assert_fails_naming(read_all(in("b.gz"), 1000, &got), STATUS_DATA_LOSS, "cut short");
        buffer_finish(&got);
    }
    whole.data[whole.size - 5] ^= 1; /* the checksum */
    struct buffer got = { 0 };
    assert_ok(file_write(in("b.gz"), (struct bytes){ whole.data, whole.size }));
    assert_fails_naming(read_all(in("b.gz"), 1000, &got), STATUS_DATA_LOSS, "incorrect data check");
    buffer_finish(&got);
    buffer_finish(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(reads_members_in_pieces),
        TEST_IN_DIRECTORY(zeros_may_follow),
        TEST_IN_DIRECTORY(every_prefix_is_cut_short),
    };

    return cmocka_run_group_tests_name("gzip_file", tests, make_text, NULL);
}
