#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <snappy-c.h>
#include <stdio.h>
#include <string.h>

#include "storage/table.h"
#include "storage/table_writer.h"
#include "support/directory.h"
#include "support/table.h"
#include "support/test_group.h"

/* Writes `count` keys, key00000 and on, with values of this size. Returns the file. */
static struct buffer written(int count, size_t value_size)
{
    struct file_writer file;
    struct table_writer writer;
    struct buffer bytes = { 0 };
    char *value = zalloc(value_size + 1);
    assert_ok(file_remove_tree(in("t")));
    assert_ok(file_writer_open(in("t"), &file));
    table_writer_init(&writer, &file);
    for (int i = 0; i < count; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%05d", i);
        memset(value, 'a' + i % 26, value_size);
        assert_ok(table_writer_add(&writer, bytes_of(key), (struct bytes){ value, value_size }));
    }
    assert_ok(table_writer_end(&writer));
    table_writer_finish(&writer);
    assert_ok(file_writer_finish(&file));
    assert_ok(file_read(in("t"), 0, &bytes));
    free(value);
    return bytes;
}

/* Reads the whole table and counts its entries. */
static struct status read_all(struct bytes bytes, int *count)
{
    struct table *table;
    struct table_cursor cursor;
    bool found = true;
    *count = 0;
    TRY(table_open_bytes(bytes, &table));
    table_cursor_init(&cursor, table);
    struct status status = status_ok();
    while (status_is_ok(status) && found) {
        status = table_cursor_next(&cursor, &found);
        *count += status_is_ok(status) && found;
    }
    table_cursor_finish(&cursor);
    table_close(table);
    return status;
}

static void entries_of_many_blocks_come_back_and_are_found(void **state)
{
    (void)state;
    struct buffer bytes = written(3000, 500);
    struct table *table;
    struct table_cursor cursor;
    bool found;
    int count;
    assert_true(bytes.size > 5 * 262144);
    assert_ok(read_all((struct bytes){ bytes.data, bytes.size }, &count));
    assert_int_equal(count, 3000);

    assert_ok(table_open(in("t"), &table));
    table_cursor_init(&cursor, table);
    for (int i = 0; i < 3000; i += 7) {
        char key[16];
        snprintf(key, sizeof key, "key%05d", i);
        assert_ok(table_cursor_seek(&cursor, bytes_of(key), &found));
        assert_true(found);
        assert_true(bytes_equal(table_cursor_key(&cursor), bytes_of(key)));
        assert_int_equal(table_cursor_value(&cursor).data[0], 'a' + i % 26);
        snprintf(key, sizeof key, "key%05d!", i); /* between this key and the next */
        assert_ok(table_cursor_seek(&cursor, bytes_of(key), &found));
        snprintf(key, sizeof key, "key%05d", i + 1);
        assert_true(found == (i + 1 < 3000));
        if (found)
            assert_true(bytes_equal(table_cursor_key(&cursor), bytes_of(key)));
    }
    assert_ok(table_cursor_seek(&cursor, bytes_of(""), &found));
    assert_true(found && bytes_equal(table_cursor_key(&cursor), bytes_of("key00000")));
    assert_ok(table_cursor_seek(&cursor, bytes_of("z"), &found));
    assert_false(found);
    table_cursor_finish(&cursor);
    table_close(table);
    buffer_finish(&bytes);
}

static void an_empty_table_has_no_entries(void **state)
{
    (void)state;
    struct buffer bytes = written(0, 0);
    int count;
    assert_ok(read_all((struct bytes){ bytes.data, bytes.size }, &count));
    assert_int_equal(count, 0);
    buffer_finish(&bytes);
}

static void every_prefix_is_data_loss(void **state)
{
    (void)state;
    struct buffer bytes = written(20, 5);
    for (size_t size = 0; size < bytes.size; size++) {
        char *copy = malloc(size + 1); /* the sanitizer checks its end */
        int count;
        memcpy(copy, bytes.data, size);
        assert_int_equal(read_all((struct bytes){ copy, size }, &count).code, STATUS_DATA_LOSS);
        free(copy);
    }
    buffer_finish(&bytes);
}

#define BLOCK(text)           \
    {                         \
        text, sizeof text - 1 \
    }
static const struct row {
    const char *label;
    struct bytes contents;
    char type;
    const char *error; /* NULL: valid, with 2 entries */
} blocks[] = {
    { "sound", BLOCK("\0\1\1ax\0\1\1by\0\0\0\0\1\0\0\0"), 0, NULL },
    { "sound with shared bytes", BLOCK("\0\2\1abx\1\1\1cy\0\0\0\0\1\0\0\0"), 0, NULL },
    { "sound with two restarts", BLOCK("\0\1\1ax\0\1\1by\0\0\0\0\5\0\0\0\2\0\0\0"), 0, NULL },
    { "shorter than its count", BLOCK("\0\0\0"), 0, "bad block contents" },
    { "no restarts", BLOCK("\0\1\1ax\0\0\0\0"), 0, "0 restarts do not fit into 9 bytes" },
    { "restart count past the block", BLOCK("\0\1\1ax\0\0\0\0\4\0\0\0"), 0,
      "4 restarts do not fit into 13 bytes" },
    { "restart count of 2^32 - 1", BLOCK("\0\1\1ax\0\0\0\0\377\377\377\377"), 0,
      "4294967295 restarts do not fit into 13 bytes" },
    { "first restart not 0", BLOCK("\0\1\1ax\1\0\0\0\1\0\0\0"), 0, "restart 0 at 1: " },
    { "restart past the entries", BLOCK("\0\1\1ax\0\0\0\0\5\0\0\0\2\0\0\0"), 0,
      "restart 1 at 5: restarts must ascend from 0 and stay below 5" },
    { "restarts descending", BLOCK("\0\1\1ax\0\1\1by\0\0\0\0\5\0\0\0\5\0\0\0\3\0\0\0"), 0,
      "restart 2 at 5: " },
    { "shares more than there is", BLOCK("\0\1\1ax\2\1\1by\0\0\0\0\1\0\0\0"), 0,
      "block at offset 0: bad block contents: the entry at byte 5 shares 2 bytes with the key "
      "before it, which has 1" },
    { "value past the entries", BLOCK("\0\1\1ax\0\1\2by\0\0\0\0\1\0\0\0"), 0,
      "the entry at byte 5 has a key of 1 and a value of 2 bytes, the block has 2 more" },
    { "key of 2^64 - 1", BLOCK("\0\377\377\377\377\377\377\377\377\377\1\1ax\0\0\0\0\1\0\0\0"), 0,
      "has a key of 18446744073709551615 and" },
    { "varint without end", BLOCK("\200\200\0\0\0\0\1\0\0\0"), 0, "cut short" },
    { "keys equal", BLOCK("\0\1\1ax\0\1\1ay\0\0\0\0\1\0\0\0"), 0,
      "must be greater than the one before it" },
    { "keys descending", BLOCK("\0\1\1bx\0\1\1ay\0\0\0\0\1\0\0\0"), 0,
      "must be greater than the one before it" },
    { "two empty keys", BLOCK("\0\0\1x\0\0\1y\0\0\0\0\1\0\0\0"), 0,
      "must be greater than the one before it" },
    { "unknown type", BLOCK("\0\1\1ax\0\1\1by\0\0\0\0\1\0\0\0"), 2,
      "bad block type 2, must be 0 (stored) or 1 (Snappy)" },
    { "not Snappy", BLOCK("\0\1\1ax\0\1\1by\0\0\0\0\1\0\0\0"), 1, "corrupted compressed block" },
    { "inflated size of 4 GB", BLOCK("\377\377\377\377\17\0a"), 1, "corrupted compressed block" },
    { "inflated size too small", BLOCK("\2\30\0\0\0\1\0\0\0"), 1, "corrupted compressed block" },
    /* All four kinds of element: a literal, and overlapping copies with offsets of 1, 2 and 4
     * bytes. */
    { "Snappy, all elements",
      BLOCK("\033\024\000\001\012\141\170\171\021\002\014\000\001\001\142\003\006\000\000\000\000"
            "\000\012\001\000\004\001\000\006\001\000"),
      1, NULL },
};

static void opens_or_says_what_is_wrong(void **state)
{
    const struct row *row = *state;
    struct buffer file = table_of(row->contents, row->type);
    int count;
    struct status status = read_all((struct bytes){ file.data, file.size }, &count);
    buffer_finish(&file);
    if (row->error == NULL) {
        assert_ok(status);
        assert_int_equal(count, 2);
    } else {
        assert_fails_naming(status, STATUS_DATA_LOSS, row->error);
    }
}

static void snappy_blocks_are_read(void **state)
{
    (void)state;
    struct block_builder block = { .interval = 16 };
    for (int i = 0; i < 100; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%02d", i);
        block_builder_add(&block, bytes_of(key), bytes_of("the same value again and again"));
    }
    struct bytes contents = block_builder_close(&block);
    size_t size = snappy_max_compressed_length(contents.size);
    char *compressed = malloc(size);
    assert_int_equal(snappy_compress(contents.data, contents.size, compressed, &size), SNAPPY_OK);
    assert_true(size < contents.size / 4);
    struct buffer file = table_of((struct bytes){ compressed, size }, 1);
    int count;
    assert_ok(read_all((struct bytes){ file.data, file.size }, &count));
    assert_int_equal(count, 100);
    free(compressed);
    buffer_finish(&file);
    block_builder_finish(&block);
}

static void a_handle_past_the_end_is_data_loss(void **state)
{
    (void)state;
    struct buffer file = table_of((struct bytes)BLOCK("\0\1\1ax\0\1\1by\0\0\0\0\1\0\0\0"), 0);
    int count;
    file.data[file.size - 48 + 3] = 0x7f; /* the index block's size */
    assert_fails_naming(read_all((struct bytes){ file.data, file.size }, &count), STATUS_DATA_LOSS,
                        "bad block handle");
    memset(file.data + file.size - 48, 0xff, 40); /* unterminated varints */
    assert_fails_naming(read_all((struct bytes){ file.data, file.size }, &count), STATUS_DATA_LOSS,
                        "bad block handle");
    buffer_finish(&file);
}

static void a_wrong_checksum_is_data_loss(void **state)
{
    (void)state;
    struct buffer file = table_of((struct bytes)BLOCK("\0\1\1ax\0\1\1by\0\0\0\0\1\0\0\0"), 0);
    int count;
    file.data[4] = 'z';
    assert_fails_naming(read_all((struct bytes){ file.data, file.size }, &count), STATUS_DATA_LOSS,
                        "block of 18 bytes at offset 0: block checksum mismatch: its bytes have ");
    file.data[file.size - 1] = 0;
    assert_fails_naming(read_all((struct bytes){ file.data, file.size }, &count), STATUS_DATA_LOSS,
                        "bad magic number 004775248b80fb57, must be db4775248b80fb57");
    buffer_finish(&file);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        TEST_IN_DIRECTORY(entries_of_many_blocks_come_back_and_are_found),
        TEST_IN_DIRECTORY(an_empty_table_has_no_entries),
        TEST_IN_DIRECTORY(every_prefix_is_data_loss),
        cmocka_unit_test(snappy_blocks_are_read),
        cmocka_unit_test(a_handle_past_the_end_is_data_loss),
        cmocka_unit_test(a_wrong_checksum_is_data_loss),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, blocks, label, opens_or_says_what_is_wrong);
    return test_group_run(&group, "table", NULL, NULL);
}
