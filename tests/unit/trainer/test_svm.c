#include "record_rows.h"

#include "base/random.h"
#include "trainer/records/svm.h"
#include "trainer/records/svm_pairs.h"
#include "support/test_group.h"

#define L                     \
    {                         \
        "label", COLUMN_FLOAT \
    }
#define I                     \
    {                         \
        "index", COLUMN_INT64 \
    }
#define V                     \
    {                         \
        "value", COLUMN_FLOAT \
    }

#define W                      \
    {                          \
        "weight", COLUMN_FLOAT \
    }

static const struct record_row rows[] = {
    { "labels, indices, values",
      "+1 3:1 11:0.5\n-1 2:-2e1\n0 1:.5\n",
      { L, I, V },
      "[1|3,11|1,0.5] [-1|2|-20] [0|1|0.5] " },
    { "spaces and tabs at the ends", "1 3:1 \n 0\t4:2 \t\n", { L, I, V }, "[1|3|1] [0|4|2] " },
    { "CR LF and no line end at the end", "1 3:1\r\n0 4:2", { L, I, V }, "[1|3|1] [0|4|2] " },
    { "comments and empty lines",
      "# first\n\n1 3:1 # 4:1\n   \n0#x\n",
      { L, I, V },
      "[1|3|1] [0||] " },
    { "indices of all lengths, values of all forms",
      "1 1:2 1234567:0.25 12345678:-3 7:1e2 0000009:.5 123456789012345678:1 0:4\n0 5:1\n",
      { L, I, V },
      "[1|1,1234567,12345678,7,9,123456789012345678,0|2,0.25,-3,100,0.5,1,4] [0|5|1] " },
    { "values of the usual form and of others, by turns",
      "1 1:-0.5 2:-0.123456 3:0.0123456 4:-0.01234567 5:12.5 6:123456.5 7:0.12345678 8:00000000.5 "
      "9:5. 10:.5 11:0. 12:-12345678 13:+2 14:99999999 15:0.1234567890 16:-7\n",
      { L, I, V },
      "[1|1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16|-0.5,-0.123456,0.0123456,-0.0123457,12.5,123456,"
      "0.123457,0.5,5,0.5,0,-1.23457e+07,2,1e+08,0.123457,-7] " },
    { "bad: values that look like usual ones",
      "1 1:.\n1 1:-\n1 1:-.\n1 1:0.1.2\n1 1:1.2.3\n1 1:1-2\n1 1:00.12345.6\n1 1:--1\n1 1:1;2:3\n"
      "0 6:1\n",
      { L, I, V },
      "(line 1: '.' is not a number) (line 2: '-' is not a number) (line 3: '-.' is not a number) "
      "(line 4: '0.1.2' is not a number) (line 5: '1.2.3' is not a number) "
      "(line 6: '1-2' is not a number) (line 7: '00.12345.6' is not a number) "
      "(line 8: '--1' is not a number) (line 9: '1;2' is not a number) [0|6|1] " },
    { "bad: pairs among good ones",
      "1 3:1 a:1 4:1\n1 3:1 4:x 5:1\n1 3:1 4:1:2\n1 3:1 4\n1 3:1 12345678\n0 6:1\n",
      { L, I, V },
      "(line 1: 'a' is not an index and a ':') (line 2: 'x' is not a number) "
      "(line 3: a ':' after the number 1) (line 4: '4' is not an index and a ':') "
      "(line 5: '12345678' is not an index and a ':') [0|6|1] " },
    { "a row without features", "1\n0\n", { L, I, V }, "[1||] [0||] " },
    { "only the labels", "1.5 3:1\n-2 4:1\n", { L }, "[1.5] [-2] " },
    { "a qid that is asked for", "1 qid:7 3:1\n", { L, { "qid", COLUMN_INT64 }, I }, "[1|7|3] " },
    { "a qid that is not", "1 qid:7 3:1\n0 qid:-1 4:1\n", { L, I }, "[1|3] [0|4] " },
    { "bad: a qid",
      "1 qid:a 3:1\n0 4:1\n",
      { L, I },
      "(line 1: qid: 'a' is not an integer) [0|4] " },
    { "bad: a label",
      "yes 3:1\n1,2 3:1\n0 4:1\n",
      { L, I },
      "(line 1: the label: 'yes' is not a number) (line 2: the label: '1,2' is not a number) "
      "[0|4] " },
    { "bad: a label is missing",
      "3:1 4:1\n",
      { L },
      "(line 1: the label: a ':' after the number 3: if this is the row's weight, as in XGBoost's "
      "files, give --weight_column=weight (a --schema must name this column, too)) " },
    { "weights of rows",
      "1:0.5 3:1\n-1:+2e1 4:1\n0 5:1\n",
      { L, W, I },
      "[1|0.5|3] [-1|20|4] [0|1|5] " },
    { "bad: a weight",
      "1:x 3:1\n1: 4:1\n1:2:3 4:1\n0:2 5:1\n",
      { L, W },
      "(line 1: the label: its weight: 'x' is not a number) "
      "(line 2: the label: its weight: '' is not a number) "
      "(line 3: the label: its weight: a ':' after the number 2) [0|2] " },
    { "bad: an index",
      "1 a:1\n1 -2:1\n1 1.5:1\n1 :1\n1 3\n1 9999999999999999999:1\n",
      { L, I },
      "(line 1: 'a' is not an index and a ':') (line 2: '-2' is not an index and a ':') "
      "(line 3: '1.5' is not an index and a ':') (line 4: '' is not an index and a ':') "
      "(line 5: '3' is not an index and a ':') "
      "(line 6: '9999999999999999999' is not an index and a ':') " },
    { "bad: a value",
      "1 3:\n1 3:x\n1 3:1:2\n0 4:1\n",
      { L, I },
      "(line 1: '' is not a number) (line 2: 'x' is not a number) "
      "(line 3: a ':' after the number 1) [0|4] " },
    { "the file: no such column",
      "1 3:1\n",
      { { "x", COLUMN_FLOAT } },
      "!no column 'x' among label, index, value, qid, weight" },
    { "the file: a column of another kind",
      "1 3:1\n",
      { { "index", COLUMN_FLOAT } },
      "!the column 'index' holds int64 numbers" },
    { "an empty file", "", { L }, "" },
};

static void reads_libsvm(void **state)
{
    assert_record_row(&libsvm_format, *state, NULL, 0);
}

static void reads_libffm(void **state)
{
    (void)state;
    const struct record_row row = {
        .text = "1 0:3:0.5 1:11:1\n0 5:4:2 \n1 3:1\n0 q:3:1\n",
        .specs = { L, { "field", COLUMN_INT64 }, I, V },
        .want = "[1|0,1|3,11|0.5,1] [0|5|4|2] (line 3: '1' is not an index and a ':') "
                "(line 4: 'q' is not a field and a ':') "
    };
    assert_record_row(&libffm_format, &row, NULL, 0);
}

/* ---- pairs of the usual form ---- */

/* They are converted by code of their own (svm_pairs.h). The reader of libffm files does not have
 * it, and tells what they hold. */

#define LINES 4000

static uint64_t below(struct random *random, uint64_t end)
{
    return random_below(random, (uint32_t)end);
}

static void add_digits(struct random *random, uint64_t count, struct buffer *out)
{
    for (; count > 0; count--)
        buffer_append_char(out, (char)('0' + below(random, 3) * below(random, 5)));
}

/* Mostly of the usual form. */
static void make_value(struct random *random, struct buffer *out)
{
    static const char *const others[] = { "", ".", "-", "+1", "1e2", "1.5e-3", "x", "1.2.3", "1;" };

    out->size = 0;
    if (below(random, 200) == 0) {
        buffer_append_text(out, others[below(random, COUNT(others))]);
        return;
    }
    if (below(random, 4) == 0)
        buffer_append_char(out, '-');
    if (below(random, 2) == 0) {
        buffer_append_text(out, "0.");
        add_digits(random, below(random, 10), out);
        return;
    }
    add_digits(random, 1 + below(random, 9), out);
    if (below(random, 2) == 0) {
        buffer_append_char(out, '.');
        add_digits(random, below(random, 6), out);
    }
}

/* The same line for both formats. */
static void make_line(struct random *random, struct buffer *svm, struct buffer *ffm)
{
    static const char *const blanks[] = { "  ", "\t", "\r", " \r",
                                          "                                        " };
    struct buffer value = { 0 };
    uint64_t pairs = below(random, 5) == 0 ? below(random, 400) : below(random, 40);

    buffer_append_text(svm, "1 ");
    buffer_append_text(ffm, "1 ");
    for (uint64_t p = 0; p < pairs; p++) {
        uint64_t index = below(random, 1000000000) >> below(random, 30);
        const char *blank = below(random, 50) > 0 ? " " : blanks[below(random, COUNT(blanks))];
        make_value(random, &value);
        buffer_printf(svm, "%" PRIu64 ":%.*s%s", index, (int)value.size, value.data, blank);
        buffer_printf(ffm, "0:%" PRIu64 ":%.*s%s", index, (int)value.size, value.data, blank);
    }
    buffer_append_char(svm, '\n');
    buffer_append_char(ffm, '\n');
    buffer_finish(&value);
}

/* Reads the next record. False: it is bad. */
static bool read_record(struct record_reader *reader, struct columns *columns)
{
    struct status bad;

    columns_clear(columns);
    assert_true(status_is_ok(record_reader_read(reader, 1, columns, &bad)));
    assert_int_equal(columns->rows, status_is_ok(bad) ? 1 : 0);
    return status_is_ok(bad);
}

static struct record_reader *open_text(const struct memory_file *file, const char *format,
                                       const struct column_spec *specs, struct columns *columns)
{
    const struct record_options options = { 0 };
    struct record_reader *reader;

    columns_init(columns, specs, 2);
    assert_true(status_is_ok(
        record_reader_open(file->path, record_format_find(format), &options, columns, &reader)));
    return reader;
}

static void reads_usual_pairs_as_any_others(void **state)
{
    static const struct column_spec specs[] = { I, V };
    struct buffer svm = { 0 }, ffm = { 0 };
    struct columns svm_columns, ffm_columns;
    struct random random;
    int good = 0;

    (void)state;
    random_init(&random, 1, 1);
    for (int line = 0; line < LINES; line++)
        make_line(&random, &svm, &ffm);
    struct memory_file svm_file = memory_file_make(svm.data, svm.size);
    struct memory_file ffm_file = memory_file_make(ffm.data, ffm.size);
    struct record_reader *svm_reader = open_text(&svm_file, "libsvm", specs, &svm_columns);
    struct record_reader *ffm_reader = open_text(&ffm_file, "libffm", specs, &ffm_columns);
    for (int line = 0; line < LINES; line++) {
        bool is_good = read_record(ffm_reader, &ffm_columns);
        assert_int_equal(read_record(svm_reader, &svm_columns), is_good);
        const struct column *wanted = ffm_columns.list, *got = svm_columns.list;
        if (is_good) {
            assert_int_equal(got[0].ends[0], wanted[0].ends[0]);
            assert_memory_equal(got[0].ints, wanted[0].ints, wanted[0].count * sizeof(int64_t));
            assert_memory_equal(got[1].floats, wanted[1].floats, wanted[1].count * sizeof(float));
        }
        good += is_good;
    }
    assert_in_range(good, LINES / 3, LINES - LINES / 10);
    record_reader_close(svm_reader);
    record_reader_close(ffm_reader);
    columns_finish(&svm_columns);
    columns_finish(&ffm_columns);
    memory_file_close(&svm_file);
    memory_file_close(&ffm_file);
    buffer_finish(&svm);
    buffer_finish(&ffm);
}

struct pairs {
    int64_t indices[2000];
    float values[2000];
    size_t count;
};

/* Reads the pairs from *at in both ways. A pair that one of the two leaves to the code for any form
 * may be usual for the other. Returns how many pairs were compared; *at: where one ended. */
static size_t compare_ways(const char **at, const char *end)
{
    static struct pairs got, wanted;
    const char *stop =
        svm_pairs_read_any(*at, end, SVM_PART_FIRST, wanted.indices, wanted.values, &wanted.count);

#if SVM_PAIRS_AVX2
    const char *other = svm_pairs_read_avx2(*at, end, got.indices, got.values, &got.count);
    stop = other < stop ? other : stop;
#endif
    size_t both = got.count < wanted.count ? got.count : wanted.count;
    assert_memory_equal(got.indices, wanted.indices, both * sizeof *got.indices);
    assert_memory_equal(got.values, wanted.values, both * sizeof *got.values);
    *at = stop;
    return both;
}

static void reads_pairs_with_avx2_as_without(void **state)
{
    struct random random;
    size_t compared = 0;

    (void)state;
    if (!svm_pairs_has_avx2())
        skip();
    random_init(&random, 2, 1);
    for (int line = 0; line < LINES; line++) {
        struct buffer svm = { 0 }, ffm = { 0 };
        make_line(&random, &svm, &ffm);
        buffer_reserve(&svm, SVM_PAIRS_PADDING);
        memset(svm.data + svm.size, '0', SVM_PAIRS_PADDING);
        const char *end = svm.data + svm.size - 1;
        for (const char *at = svm.data + 2; at < end; at++) { /* behind an unusual pair */
            compared += compare_ways(&at, end);
            while (at < end && *at != ' ')
                at++;
        }
        buffer_finish(&svm);
        buffer_finish(&ffm);
    }
    assert_true(compared > 10 * (size_t)LINES);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(reads_libffm),
        cmocka_unit_test(reads_usual_pairs_as_any_others),
        cmocka_unit_test(reads_pairs_with_avx2_as_without),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, reads_libsvm);
    return test_group_run(&group, "svm", NULL, NULL);
}
