/* Lists of row numbers as messages carry them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "trainer/protocol/row_ids.h"

static void write_list(struct row_ids_writer *writer, const uint64_t *rows, size_t count)
{
    row_ids_begin_list(writer);
    for (size_t i = 0; i < count; i++)
        row_ids_append(writer, rows[i]);
}

static void assert_reads(struct row_ids_reader *reader, const uint64_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(reader->left, count - i);
        assert_true(reader->row == rows[i]);
        row_ids_next(reader);
    }
    assert_int_equal(reader->left, 0);
    assert_false(reader->broken);
}

static const uint64_t near[] = { 3, 4, 7, 200, 327, 328 };
static const uint64_t far[] = { 0, 1, UINT32_MAX, (uint64_t)1 << 62, UINT64_MAX - 1 };

static void lists_come_back_wherever_the_payload_is_cut(void **state)
{
    struct row_ids_writer writer = { 0 };
    (void)state;

    write_list(&writer, near, 6);
    assert_memory_equal(writer.bytes.data, "\3\0\2\xc0\1\x7e\0", 7);
    write_list(&writer, far, 5);
    for (size_t cut = 0; cut <= writer.bytes.size; cut++) {
        struct bytes pieces[] = { { "head", 4 },
                                  { writer.bytes.data, cut },
                                  { "", 0 },
                                  { writer.bytes.data + cut, writer.bytes.size - cut } };
        struct message message = { .pieces = pieces, .pieces_count = 4 };
        struct row_ids_reader reader;
        row_ids_read(&reader, &message, 4, 6);
        assert_reads(&reader, near, 6);
        size_t used = reader.used_bytes;
        assert_int_equal(used, 7);
        row_ids_read(&reader, &message, 4 + used, 5);
        assert_reads(&reader, far, 5);
        assert_int_equal(used + reader.used_bytes, writer.bytes.size);
    }
    buffer_finish(&writer.bytes);
}

#define MANY 3000

/* Most distances take one byte, with longer ones among them: the numbers are written and read in
 * groups and singly. */
static void make_rows(int64_t *rows, unsigned every)
{
    int64_t row = -1;

    for (unsigned i = 0; i < MANY; i++) {
        row += 1 + i * 7919 % 130;
        if (i % every == every - 1)
            row += i % 2 == 0 ? 1000 : 3000000;
        rows[i] = row;
    }
}

/* Takes the rows up to `end` as distances from `first`; returns how many. */
static size_t assert_takes(struct row_ids_reader *reader, const int64_t *rows, int64_t first,
                           int64_t end, size_t max)
{
    uint32_t taken[MANY];
    size_t count = 0, now;

    do {
        now = row_ids_take(reader, (uint64_t)first, (uint64_t)end, taken + count, max);
        count += now;
    } while (now == max);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(taken[i], rows[i] - first);
    return count;
}

static void rows_are_taken_in_runs_as_one_by_one(void **state)
{
    static const unsigned every[] = { 1, 2, 9, 40, MANY + 1 };
    static const size_t cuts[] = { 0, 1, 5, 100, 1001, 2999 }, at_once[] = { 1, 7, 8, 64, MANY };
    int64_t rows[MANY];
    (void)state;

    for (size_t e = 0; e < COUNT(every); e++) {
        struct row_ids_writer writer = { 0 };
        make_rows(rows, every[e]);
        row_ids_begin_list(&writer);
        row_ids_append_all(&writer, rows, MANY / 2, 0);
        row_ids_append_all(&writer, rows + MANY / 2, MANY - MANY / 2, 0);
        for (size_t c = 0; c < COUNT(cuts); c++) {
            struct bytes pieces[] = { { writer.bytes.data, cuts[c] },
                                      { writer.bytes.data + cuts[c],
                                        writer.bytes.size - cuts[c] } };
            struct message message = { .pieces = pieces, .pieces_count = 2 };
            struct row_ids_reader reader;
            row_ids_read(&reader, &message, 0, MANY);
            size_t middle = MANY / 2 + c, max = at_once[c % COUNT(at_once)];
            size_t taken = assert_takes(&reader, rows, 0, rows[middle], max);
            assert_int_equal(taken, middle);
            assert_int_equal(reader.left, MANY - middle);
            taken += assert_takes(&reader, rows + taken, rows[middle], INT64_MAX, max);
            assert_int_equal(taken, MANY);
            assert_int_equal(reader.left, 0);
            assert_false(reader.broken);
            assert_int_equal(reader.used_bytes, writer.bytes.size);
            row_ids_read(&reader, &message, 0, MANY);
            assert_int_equal(row_ids_skip(&reader, (uint64_t)rows[middle]), middle);
            assert_true(reader.row == (uint64_t)rows[middle]);
            assert_int_equal(row_ids_skip(&reader, INT64_MAX), MANY - middle);
            assert_int_equal(reader.left, 0);
            assert_int_equal(reader.used_bytes, writer.bytes.size);
        }
        buffer_finish(&writer.bytes);
    }
}

static void rows_are_written_in_groups_as_one_by_one(void **state)
{
    static const unsigned every[] = { 1, 2, 9, 40, MANY + 1 };
    int64_t rows[MANY];
    (void)state;

    for (size_t e = 0; e < COUNT(every); e++) {
        struct row_ids_writer together = { 0 }, singly = { 0 };
        make_rows(rows, every[e]);
        for (size_t count = 0, i = 0; i < MANY; i += count, count++) { /* also calls of 0 rows */
            count = count < MANY - i ? count : MANY - i;
            row_ids_append_all(&together, rows + i, count, 5);
        }
        for (size_t i = 0; i < MANY; i++)
            row_ids_append(&singly, (uint64_t)rows[i] + 5);
        assert_int_equal(together.bytes.size, singly.bytes.size);
        assert_memory_equal(together.bytes.data, singly.bytes.data, singly.bytes.size);
        assert_true(together.least == singly.least);
        buffer_finish(&together.bytes);
        buffer_finish(&singly.bytes);
    }
}

static void a_shift_is_added_to_the_rows(void **state)
{
    const int64_t rows[] = { 1003, 1004, 1007, 1200 };
    struct row_ids_writer writer = { 0 };
    (void)state;

    row_ids_begin_list(&writer);
    row_ids_append_all(&writer, rows, 4, (uint64_t)-1000);
    assert_int_equal(writer.bytes.size, 5);
    assert_memory_equal(writer.bytes.data, "\3\0\2\xc0\1", 5);
    buffer_finish(&writer.bytes);
}

static const struct broken_row {
    const char *label;
    struct bytes bytes;
    uint64_t count;
} broken_rows[] = {
    { "no bytes", { "", 0 }, 1 },
    { "fewer numbers than announced", { "\1\1", 2 }, 3 },
    { "a number is cut", { "\1\x80", 2 }, 2 },
    { "a number of 65 bits", { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 }, 1 },
    { "a number that never ends", { "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 12 }, 1 },
    { "a sum of 65 bits", { "\1\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, 2 },
};

static void a_broken_list_ends(void **state)
{
    const struct broken_row *row = *state;
    struct message message = { .pieces = &row->bytes, .pieces_count = 1 };
    struct row_ids_reader reader;

    row_ids_read(&reader, &message, 0, row->count);
    while (reader.left > 0)
        row_ids_next(&reader);
    assert_true(reader.broken);
    assert_true(reader.used_bytes <= row->bytes.size);

    uint32_t taken[4];
    row_ids_read(&reader, &message, 0, row->count);
    assert_true(row_ids_take(&reader, 0, UINT64_MAX, taken, 4) < row->count);
    assert_true(reader.broken);
    assert_int_equal(reader.left, 0);
    row_ids_read(&reader, &message, 0, row->count);
    assert_true(row_ids_skip(&reader, UINT64_MAX) < row->count);
    assert_true(reader.broken);
}

static const struct checked_row {
    const char *label;
    int64_t ids[3];
    const char *text; /* NULL: good */
} checked_rows[] = {
    { "ascending", { 0, 4, 9 }, NULL },
    { "negative", { -1, 4, 9 }, "row -1 is not in [0, 10)" },
    { "past the end", { 0, 4, 10 }, "row 10 is not in [0, 10)" },
    { "repeated", { 0, 4, 4 }, "row 4 after row 4" },
    { "descending", { 5, 4, 9 }, "row 4 after row 5" },
};

static void rows_of_a_variable_ascend_within_it(void **state)
{
    const struct checked_row *row = *state;
    struct status status = row_ids_check(&(struct row_ids){ row->ids, 3 }, 10);

    assert_int_equal(status.code, row->text == NULL ? STATUS_OK : STATUS_INVALID_ARGUMENT);
    if (row->text != NULL)
        assert_non_null(strstr(status.message, row->text));
}

#define ROW_TEST(rows, i, function)                                            \
    (struct CMUnitTest)                                                        \
    {                                                                          \
        (rows)[i].label, function, NULL, NULL, (void *)(uintptr_t) & (rows)[i] \
    }

int main(void)
{
    struct CMUnitTest tests[4 + COUNT(broken_rows) + COUNT(checked_rows)];
    size_t count = 0;

    tests[count++] =
        (struct CMUnitTest)cmocka_unit_test(lists_come_back_wherever_the_payload_is_cut);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(rows_are_taken_in_runs_as_one_by_one);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(rows_are_written_in_groups_as_one_by_one);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_shift_is_added_to_the_rows);
    for (size_t i = 0; i < COUNT(broken_rows); i++)
        tests[count++] = ROW_TEST(broken_rows, i, a_broken_list_ends);
    for (size_t i = 0; i < COUNT(checked_rows); i++)
        tests[count++] = ROW_TEST(checked_rows, i, rows_of_a_variable_ascend_within_it);
    return cmocka_run_group_tests_name("row ids", tests, NULL, NULL);
}
