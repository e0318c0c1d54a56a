#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/tfrecord.h"
#include "support/directory.h"

static const char abc[] = "\x03\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
                          "abc"
                          "\x6e\x57\xf1\x21";
#define ABC_SIZE (sizeof abc - 1)

static void a_record_has_the_known_bytes(void **state)
{
    (void)state;
    struct tfrecord_writer *writer;
    struct buffer buffer = { 0 };
    assert_ok(tfrecord_writer_open(in("r"), TFRECORD_PLAIN, &writer));
    assert_ok(tfrecord_writer_append(writer, bytes_of("abc")));
    assert_ok(tfrecord_writer_finish(writer));
    assert_ok(file_read(in("r"), 0, &buffer));
    assert_int_equal(buffer.size, ABC_SIZE);
    assert_memory_equal(buffer.data, abc, ABC_SIZE);
    buffer_finish(&buffer);
}

static void a_framed_record_has_the_same_bytes(void **state)
{
    (void)state;
    struct buffer buffer = { 0 };
    tfrecord_frame(bytes_of("abc"), &buffer);
    assert_int_equal(buffer.size, ABC_SIZE);
    assert_memory_equal(buffer.data, abc, ABC_SIZE);
    buffer_finish(&buffer);
}

static void records_come_back(enum tfrecord_compression write, enum tfrecord_compression read)
{
    struct tfrecord_writer *writer;
    struct tfrecord_reader *reader;
    struct bytes record;
    bool found;
    static char large[3000000];
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * i >> 7);
    const struct bytes records[] = {
        bytes_of("one"), bytes_of(""), { large, sizeof large }, { "\0", 1 }
    };
    assert_ok(tfrecord_writer_open(in("r"), write, &writer));
    for (size_t i = 0; i < COUNT(records); i++)
        assert_ok(tfrecord_writer_append(writer, records[i]));
    assert_ok(tfrecord_writer_finish(writer));

    assert_ok(tfrecord_reader_open(in("r"), read, &reader));
    for (size_t i = 0; i < COUNT(records); i++) {
        assert_ok(tfrecord_reader_next(reader, &record, &found));
        assert_true(found);
        assert_true(bytes_equal(record, records[i]));
    }
    assert_ok(tfrecord_reader_next(reader, &record, &found));
    assert_false(found);
    tfrecord_reader_close(reader);
}

static void plain_records_come_back(void **state)
{
    (void)state;
    records_come_back(TFRECORD_PLAIN, TFRECORD_DETECT);
}

static void gzip_records_come_back(void **state)
{
    (void)state;
    records_come_back(TFRECORD_GZIP, TFRECORD_DETECT);
}

static void zlib_records_come_back(void **state)
{
    (void)state;
    records_come_back(TFRECORD_ZLIB, TFRECORD_DETECT);
}

/* Reads a file of two "abc" records, of which one bit is flipped or the end is cut off. */
static struct status read_damaged(size_t size, size_t flip, int *records)
{
    char data[2 * ABC_SIZE];
    memcpy(data, abc, ABC_SIZE);
    memcpy(data + ABC_SIZE, abc, ABC_SIZE);
    if (flip < sizeof data)
        data[flip] ^= 1;
    assert_ok(file_write(in("d"), (struct bytes){ data, size }));
    struct tfrecord_reader *reader;
    struct bytes record;
    bool found = true;
    *records = -1;
    assert_ok(tfrecord_reader_open(in("d"), TFRECORD_DETECT, &reader));
    struct status status = status_ok();
    while (status_is_ok(status) && found) {
        ++*records;
        status = tfrecord_reader_next(reader, &record, &found);
    }
    tfrecord_reader_close(reader);
    return status;
}

static void damage_is_told_as_tensorflow_tells_it(void **state)
{
    (void)state;
    int records;
    assert_fails_naming(read_damaged(38, 0, &records), STATUS_DATA_LOSS,
                        "corrupted record at 0 (Is this even a TFRecord file?): 8 bytes have the "
                        "checksum ");
    assert_fails_naming(read_damaged(38, 13, &records), STATUS_DATA_LOSS,
                        "corrupted record at 12: 3 bytes have the checksum ");
    assert_fails_naming(read_damaged(33, 99, &records), STATUS_DATA_LOSS,
                        "truncated record at 19' failed with Read less bytes than requested: of ");
    assert_int_equal(records, 1);
    assert_ok(read_damaged(25, 99, &records)); /* a truncated header counts as the end */
    assert_int_equal(records, 1);
    assert_ok(read_damaged(0, 99, &records));
    assert_int_equal(records, 0);
}

/* Cuts bytes off the end of a file of "a" and "b", in which no record is damaged. */
static struct status check_end_of_cut(enum tfrecord_compression compression, size_t cut)
{
    struct tfrecord_writer *writer;
    struct tfrecord_reader *reader;
    struct bytes record;
    struct buffer file = { 0 };
    bool found = true;

    unlink(in("c"));
    unlink(in("d"));
    assert_ok(tfrecord_writer_open(in("c"), compression, &writer));
    assert_ok(tfrecord_writer_append(writer, bytes_of("a")));
    assert_ok(tfrecord_writer_append(writer, bytes_of("b")));
    assert_ok(tfrecord_writer_finish(writer));
    assert_ok(file_read(in("c"), 1000, &file));
    assert_ok(file_write(in("d"), (struct bytes){ file.data, file.size - cut }));
    buffer_finish(&file);
    assert_ok(tfrecord_reader_open(in("d"), TFRECORD_DETECT, &reader));
    while (found)
        assert_ok(tfrecord_reader_next(reader, &record, &found));
    struct status status = tfrecord_reader_check_end(reader);
    tfrecord_reader_close(reader);
    return status;
}

static void the_end_says_whether_the_file_is_cut(void **state)
{
    (void)state;
    assert_ok(check_end_of_cut(TFRECORD_PLAIN, 0));
    assert_ok(check_end_of_cut(TFRECORD_GZIP, 0));
    assert_ok(check_end_of_cut(TFRECORD_ZLIB, 0));
    assert_ok(check_end_of_cut(TFRECORD_PLAIN, 17)); /* no trace of the second record */
    assert_fails_naming(check_end_of_cut(TFRECORD_PLAIN, 6), STATUS_DATA_LOSS,
                        "the file is cut short at 17");
    assert_fails_naming(check_end_of_cut(TFRECORD_GZIP, 8), STATUS_DATA_LOSS, "cut short");
    assert_fails_naming(check_end_of_cut(TFRECORD_ZLIB, 1), STATUS_DATA_LOSS, "cut short");
}

static void damaged_gzip_is_data_loss(void **state)
{
    (void)state;
    struct tfrecord_reader *reader;
    struct bytes record;
    bool found;
    assert_ok(file_write(in("g"), (struct bytes){ "\x1f\x8b\x08\x07zzzzzzzzzzzzzzzzzzzz", 24 }));
    assert_ok(tfrecord_reader_open(in("g"), TFRECORD_DETECT, &reader));
    struct status status = tfrecord_reader_next(reader, &record, &found);
    assert_true(status.code == STATUS_DATA_LOSS || (status_is_ok(status) && !found));
    tfrecord_reader_close(reader);
    assert_fails_naming(tfrecord_reader_open(in("none"), TFRECORD_DETECT, &reader),
                        STATUS_NOT_FOUND, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(a_record_has_the_known_bytes),
        cmocka_unit_test(a_framed_record_has_the_same_bytes),
        TEST_IN_DIRECTORY(plain_records_come_back),
        TEST_IN_DIRECTORY(gzip_records_come_back),
        TEST_IN_DIRECTORY(zlib_records_come_back),
        TEST_IN_DIRECTORY(damage_is_told_as_tensorflow_tells_it),
        TEST_IN_DIRECTORY(the_end_says_whether_the_file_is_cut),
        TEST_IN_DIRECTORY(damaged_gzip_is_data_loss),
    };
    return cmocka_run_group_tests_name("tfrecord", tests, NULL, NULL);
}
