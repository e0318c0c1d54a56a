#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "support/directory.h"
#include "trainer/data/file_source.h"

#define ROWS_MAX 1000

static char warnings[4096];

static void keep_warning(void *context, const char *text)
{
    (void)context;
    strncat(warnings, text, sizeof warnings - strlen(warnings) - 2);
    strcat(warnings, "\n");
}

/* Writes files of the rows 0 … rows - 1; every row is its number. `bad`: a line that is none. */
static struct data_split *make_split(int files, int rows, uint32_t shuffle_buffer, int bad,
                                     int64_t max_bad)
{
    static const char *const names[] = { "x" };
    const char **paths = ARENA_ARRAY(arena, const char *, files);
    struct schema *schema = ARENA_NEW(arena, struct schema);
    struct row_request *request = ARENA_NEW(arena, struct row_request);
    struct file_split_options options = { .paths = paths,
                                          .paths_count = files,
                                          .shuffle_buffer = shuffle_buffer,
                                          .max_bad_records = max_bad,
                                          .warn = keep_warning };
    struct data_split *split;

    warnings[0] = '\0';
    for (int i = 0, row = 0; i < files; i++) {
        struct buffer text = { 0 };
        buffer_append_text(&text, "x\n");
        for (; row < rows * (i + 1) / files; row++)
            buffer_printf(&text, row == bad ? "none\n%d\n" : "%d\n", row);
        paths[i] = in(arena_printf(arena, "%d.csv", i));
        assert_ok(file_write(paths[i], (struct bytes){ text.data, text.size }));
        buffer_finish(&text);
    }
    assert_ok(schema_read(bytes_of("{\"columns\": [{\"name\": \"x\"}]}"), arena, schema));
    *request =
        (struct row_request){ .spec = { .name = "x", .dtype = DT_FLOAT, .shape = shape_of(-1, 1) },
                              .names = names,
                              .names_count = 1 };
    assert_ok(row_layout_make(schema, request, 1, arena, &options.layout));
    assert_ok(file_split_create(&options, &split));
    return split;
}

/* Takes `count` rows, in batches of 7; returns how many came. */
static int take(struct batch_source *source, int count, int *out)
{
    struct batch batch = { .rows = 1 };
    int taken = 0;

    while (taken < count && batch.rows > 0) {
        assert_ok(source->next(source, count - taken < 7 ? count - taken : 7, &batch));
        for (int64_t i = 0; i < batch.rows; i++)
            out[taken++] = (int)((const float *)batch.columns[0].values.data)[i];
    }
    return taken;
}

static void assert_each_once(const int *rows, int count)
{
    bool seen[ROWS_MAX] = { false };

    for (int i = 0; i < count; i++) {
        assert_in_range(rows[i], 0, count - 1);
        assert_false(seen[rows[i]]);
        seen[rows[i]] = true;
    }
}

static void rows_stay_in_order_without_shuffle(void **state)
{
    (void)state;
    struct data_split *split = make_split(3, 50, 0, -1, 0);
    const struct batch_order order = { .workers = 1 };
    struct batch_source *source;
    int rows[60];

    assert_ok(split->open(split, &order, &source));
    assert_int_equal(take(source, 60, rows), 50);
    for (int i = 0; i < 50; i++)
        assert_int_equal(rows[i], i);
    assert_ok(source->seek(source, 20));
    assert_int_equal(take(source, 60, rows), 30);
    assert_int_equal(rows[0], 20);
    source->destroy(source);
    file_split_destroy(split);
}

/* Writes libsvm files of the rows 0 … rows - 1, whose label is their number. Row `bad` has none,
 * and row `large` so many values that its block is not passed unread. */
static struct data_split *make_labels(int files, int rows, uint32_t shuffle_buffer, int bad,
                                      int large)
{
    static const char *const names[] = { "label" };
    const char **paths = ARENA_ARRAY(arena, const char *, files);
    struct schema *schema = ARENA_NEW(arena, struct schema);
    struct row_request *request = ARENA_NEW(arena, struct row_request);
    struct file_split_options options = {
        .paths = paths, .paths_count = files, .shuffle_buffer = shuffle_buffer, .warn = keep_warning
    };
    struct data_split *split;

    for (int i = 0, row = 0; i < files; i++) {
        struct buffer text = { 0 };
        for (; row < rows * (i + 1) / files; row++) {
            buffer_printf(&text, row == bad ? "none" : "%d", row);
            for (int pair = 0; row == large && pair < 1100000; pair++)
                buffer_append(&text, " 123456:1", 9);
            buffer_append_char(&text, '\n');
        }
        paths[i] = in(arena_printf(arena, "%d.svm", i));
        assert_ok(file_write(paths[i], (struct bytes){ text.data, text.size }));
        buffer_finish(&text);
    }
    assert_ok(schema_read(bytes_of("{\"columns\": [{\"name\": \"label\"}]}"), arena, schema));
    *request =
        (struct row_request){ .spec = { .name = "x", .dtype = DT_FLOAT, .shape = shape_of(-1, 1) },
                              .names = names,
                              .names_count = 1 };
    assert_ok(row_layout_make(schema, request, 1, arena, &options.layout));
    assert_ok(file_split_create(&options, &split));
    return split;
}

/* Takes rows of four epochs, with a seek into the third one behind the first. */
static int take_epochs(const struct data_split *split, int rows, int *out)
{
    const struct batch_order order = { .shuffle = true, .repeat = true, .seed = 5, .workers = 1 };
    struct batch_source *source;

    assert_ok(split->open(split, &order, &source));
    int taken = take(source, rows + 9, out);
    assert_ok(source->seek(source, (uint64_t)(2 * rows + 25)));
    taken += take(source, 2 * rows - 25, out + taken);
    source->destroy(source);
    return taken;
}

static const struct kept_row {
    const char *label;
    int rows;
    bool is_csv;           /* its reader cannot go to a record */
    bool is_open;          /* the last line has no '\n' */
    size_t kept_bytes_max; /* a block of 10 rows takes 288 bytes */
    size_t kept;           /* blocks */
} kept_rows[] = {
    { "all blocks are kept", 54, false, false, 1 << 20, 6 },
    { "all blocks of a file without places are kept", 54, true, false, 1 << 20, 6 },
    { "two blocks are kept", 54, false, false, 640, 2 },
    { "two blocks of a file without places are kept", 54, true, false, 640, 2 },
    { "no block fits", 54, false, false, 100, 0 },
    { "the last block is as large as others", 50, false, false, 1 << 20, 5 },
    { "the last line is open", 50, false, true, 1 << 20, 5 },
};

static void cut_last_byte(const char *path)
{
    struct file_reader file;

    assert_ok(file_reader_open(path, &file));
    uint64_t size = file.size;
    file_reader_close(&file);
    assert_int_equal(truncate(path, (off_t)size - 1), 0);
}

static void kept_rows_are_those_of_the_file(void **state)
{
    const struct kept_row *row = *state;
    int wanted[ROWS_MAX], rows[ROWS_MAX];
    struct data_split *split =
        row->is_csv ? make_split(1, row->rows, 10, -1, 0) : make_labels(1, row->rows, 10, -1, -1);
    struct file_split *files = (struct file_split *)split;
    const char *path = files->options.paths[0];

    if (row->is_open)
        cut_last_byte(path);
    int count = take_epochs(split, row->rows, wanted);
    files->options.kept_bytes_max = files->kept.bytes_max = row->kept_bytes_max;
    for (int reader = 0; reader < 2; reader++) {
        memset(rows, 0, sizeof rows);
        assert_int_equal(take_epochs(split, row->rows, rows), count);
        assert_memory_equal(rows, wanted, (size_t)count * sizeof *rows);
    }
    assert_int_equal(files->kept.count, row->kept);
    assert_true(files->kept.bytes <= row->kept_bytes_max);
    if (row->kept == 6) { /* nobody reads the file any more */
        assert_ok(file_write(path, (struct bytes){ "x", 1 }));
        assert_int_equal(take_epochs(split, row->rows, rows), count);
        assert_memory_equal(rows, wanted, (size_t)count * sizeof *rows);
    }
    file_split_destroy(split);
}

/* Row r of the file has the ids 0, 1, … r - 1, each with the value r. */
static void a_sparse_column_is_read_without_its_zeros(void **state)
{
    (void)state;
    static const char *const names[] = { "f" };
    const char *path = in("rows.libsvm");
    struct buffer text = { 0 };
    struct schema schema;
    struct row_request request = { .spec = { .name = "x",
                                             .layout = TENSOR_SPARSE,
                                             .dtype = DT_FLOAT,
                                             .shape = shape_of(-1, 30000000) },
                                   .names = names,
                                   .names_count = 1 };
    struct file_split_options options = { .paths = &path, .paths_count = 1, .warn = keep_warning };
    const struct batch_order order = { .shuffle = true, .workers = 1 };
    struct data_split *split;
    struct batch_source *source;
    struct batch batch;

    for (int row = 0; row < 20; row++) {
        buffer_printf(&text, "%d", row);
        for (int id = 0; id < row; id++)
            buffer_printf(&text, " %d:%d", id + 1, row);
        buffer_append_text(&text, "\n");
    }
    assert_ok(file_write(path, (struct bytes){ text.data, text.size }));
    assert_ok(schema_read(bytes_of("{\"columns\": [{\"name\": \"f\", \"kind\": \"sparse\", "
                                   "\"index\": \"index\", \"value\": \"value\", "
                                   "\"first_index\": 1}]}"),
                          arena, &schema));
    assert_ok(row_layout_make(&schema, &request, 1, arena, &options.layout));
    options.shuffle_buffer = 7;
    assert_ok(file_split_create(&options, &split));
    assert_ok(split->open(split, &order, &source));
    int64_t sum = 0;
    for (assert_ok(source->next(source, 9, &batch)); batch.rows > 0;
         assert_ok(source->next(source, 9, &batch))) {
        const struct batch_column *column = &batch.columns[0];
        const int64_t *splits = tensor_int64s(&column->row_splits);
        assert_int_equal(column->row_splits.size, batch.rows + 1);
        assert_int_equal(column->values.size, splits[batch.rows]);
        assert_int_equal(column->ids.size, splits[batch.rows]);
        for (int64_t row = 0; row < batch.rows; row++)
            for (int64_t i = splits[row]; i < splits[row + 1]; i++) {
                assert_int_equal(tensor_int64s(&column->ids)[i], i - splits[row]);
                assert_true(tensor_floats(&column->values)[i] ==
                            (float)(splits[row + 1] - splits[row]));
            }
        sum += splits[batch.rows];
    }
    assert_int_equal(sum, 190);
    source->destroy(source);
    file_split_destroy(split);
    buffer_finish(&text);
}

/* A libsvm file whose labels are the rows' numbers, with lines that are no records. */
static struct data_split *make_libsvm_split(int rows, int bad, int64_t max_bad)
{
    static const char *const names[] = { "label" };
    const char **path = ARENA_NEW(arena, const char *);
    struct schema *schema = ARENA_NEW(arena, struct schema);
    struct row_request request = {
        .spec = { .name = "x", .dtype = DT_FLOAT, .shape = shape_of(-1, 1) },
        .names = names,
        .names_count = 1,
    };
    struct file_split_options options = {
        .paths = path, .paths_count = 1, .max_bad_records = max_bad, .warn = keep_warning
    };
    struct buffer text = { 0 };
    struct data_split *split;

    warnings[0] = '\0';
    for (int row = 0; row < rows; row++)
        buffer_printf(&text, "# not a record\n\n%s  %d 1:2 # the end\n",
                      row == bad ? "1 no:pair\n" : "", row);
    *path = in("rows.libsvm");
    assert_ok(file_write(*path, (struct bytes){ text.data, text.size }));
    buffer_finish(&text);
    assert_ok(schema_read(bytes_of("{\"columns\": [{\"name\": \"label\"}]}"), arena, schema));
    assert_ok(row_layout_make(schema, &request, 1, arena, &options.layout));
    assert_ok(file_split_create(&options, &split));
    return split;
}

/* Each worker passes the records of the others without reading their fields. */
static void workers_share_the_records_of_a_file(void **state)
{
    (void)state;
    int rows[120], count = 0, number = 0;

    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct data_split *split = make_libsvm_split(100, 40, 1);
        count = 0;
        for (uint32_t worker = 0; worker < workers; worker++) {
            const struct batch_order order = { .worker = worker, .workers = workers };
            struct batch_source *source;
            assert_ok(split->open(split, &order, &source));
            count += take(source, 120 - count, rows + count);
            source->destroy(source);
        }
        assert_int_equal(count, 100);
        assert_each_once(rows, count);
        assert_non_null(strstr(warnings, "rows.libsvm' line 123: 'no' is not an index and a ':'"));
        for (const char *at = warnings; (at = strstr(at, "line ")) != NULL; at++)
            number++;
        assert_int_equal(number, workers); /* one warning each time */
        file_split_destroy(split);
    }
    struct data_split *split = make_libsvm_split(100, -1, 0);
    assert_ok(file_split_count(split));
    assert_int_equal(split->rows, 100);
    file_split_destroy(split);
}

static void each_epoch_has_all_rows_in_an_order_of_its_own(void **state)
{
    (void)state;
    struct data_split *split = make_split(3, 100, 40, -1, 0);
    const struct batch_order order = { .shuffle = true, .repeat = true, .seed = 5, .workers = 1 };
    struct batch_source *source;
    int rows[300];

    assert_ok(split->open(split, &order, &source));
    assert_int_equal(take(source, 300, rows), 300);
    for (int epoch = 0; epoch < 3; epoch++)
        assert_each_once(rows + epoch * 100, 100);
    assert_memory_not_equal(rows, rows + 100, 100 * sizeof *rows);
    assert_memory_not_equal(rows + 100, rows + 200, 100 * sizeof *rows);
    source->destroy(source);
    file_split_destroy(split);
}

/* Together, the workers take every row once per epoch. */
static void workers_share_the_rows(void **state)
{
    (void)state;
    static const struct {
        int files;
        uint32_t workers;
    } cases[] = { { 1, 3 }, { 2, 3 }, { 3, 3 }, { 7, 3 }, { 2, 1 } };

    for (size_t c = 0; c < COUNT(cases); c++) {
        struct data_split *split = make_split(cases[c].files, 100, 16, -1, 0);
        int rows[110], count = 0;
        for (uint32_t w = 0; w < cases[c].workers; w++) {
            const struct batch_order order = {
                .shuffle = true, .seed = 9, .worker = w, .workers = cases[c].workers
            };
            struct batch_source *source;
            assert_ok(split->open(split, &order, &source));
            count += take(source, 100 - count + 1, rows + count);
            source->destroy(source);
        }
        assert_int_equal(count, 100);
        assert_each_once(rows, 100);
        file_split_destroy(split);
    }
}

/* Also if an epoch cannot be divided by the workers, and some have more files than others. */
static void workers_take_every_row_equally_often(void **state)
{
    (void)state;
    for (int files = 1; files <= 7; files += 3) {
        struct data_split *split = make_split(files, 100, 16, -1, 0);
        int rows[300], seen[100] = { 0 };
        for (uint32_t w = 0; w < 3; w++) {
            const struct batch_order order = {
                .shuffle = true, .repeat = true, .seed = 9, .worker = w, .workers = 3
            };
            struct batch_source *source;
            assert_ok(split->open(split, &order, &source));
            assert_int_equal(take(source, 300, rows), 300);
            for (int i = 0; i < 300; i++)
                seen[rows[i]]++;
            source->destroy(source);
        }
        for (int i = 0; i < 100; i++)
            assert_int_equal(seen[i], 9);
        file_split_destroy(split);
    }
}

static void seeking_is_as_good_as_taking(void **state)
{
    (void)state;
    static const int places[] = {
        0, 1, 16, 17, 49, 50, 51, 99, 100, 101, 260, 90, 120, 219, 7, 300
    };
    static const struct {
        int bad;
        int64_t max_bad;
    } cases[] = { { 30, 5 }, { -1, 0 } };
    int all[400], rows[100];

    for (uint32_t test = 0; test < 3 * COUNT(cases); test++) {
        uint32_t workers = 1 + test % 3;
        struct data_split *split =
            make_split(2, 100, 16, cases[test / 3].bad, cases[test / 3].max_bad);
        const struct batch_order order = {
            .shuffle = true, .repeat = true, .seed = 3, .worker = workers - 1, .workers = workers
        };
        struct batch_source *source, *other;
        assert_ok(split->open(split, &order, &source));
        assert_ok(split->open(split, &order, &other));
        assert_int_equal(take(source, 400, all), 400);
        for (size_t p = 0; p < COUNT(places); p++) {
            assert_ok(other->seek(other, (uint64_t)places[p]));
            assert_int_equal(take(other, 100, rows), 100);
            assert_memory_equal(rows, all + places[p], sizeof rows);
        }
        source->destroy(source);
        other->destroy(other);
        file_split_destroy(split);
    }
}

static void bad_records_are_reported_once_and_end_the_job_over_the_limit(void **state)
{
    (void)state;
    const struct batch_order order = { .repeat = true, .workers = 1 };
    struct data_split *split = make_split(1, 20, 0, 7, 1);
    struct batch_source *source;
    struct batch batch;
    int rows[60];

    assert_ok(split->open(split, &order, &source));
    assert_int_equal(take(source, 60, rows), 60);
    assert_non_null(strstr(warnings, "0.csv' line 9: column 'x': 'none' is not a number"));
    assert_ptr_equal(strchr(warnings, '\n'), strrchr(warnings, '\n')); /* one line */
    source->destroy(source);
    file_split_destroy(split);

    split = make_split(1, 20, 0, 7, 0);
    assert_ok(split->open(split, &order, &source));
    struct status status = source->next(source, 20, &batch);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    assert_non_null(strstr(status.message, "line 9"));
    assert_non_null(strstr(status.message, "--max_bad_records=0"));
    source->destroy(source);
    file_split_destroy(split);
}

/* Of two readers of all records, one counts a bad one. */
static void a_reader_without_good_rows_says_why(void **state)
{
    const struct batch_order order = { .repeat = true, .workers = 1 };
    struct data_split *split = make_split(1, 1, 0, 0, 0);
    struct batch_source *first, *second;
    struct batch batch;

    (void)state;
    assert_ok(file_write(in("0.csv"), bytes_of("x\nnone\n")));
    assert_ok(split->open(split, &order, &first));
    assert_ok(split->open(split, &order, &second));
    struct status status = first->next(first, 1, &batch);
    assert_non_null(strstr(status.message, "that is bad record 1"));
    status = second->next(second, 1, &batch);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    assert_non_null(strstr(status.message, "0.csv': no good rows: 1 bad record: "));
    assert_non_null(strstr(status.message, "0.csv' line 2: column 'x': 'none' is not a number"));
    first->destroy(first);
    second->destroy(second);
    file_split_destroy(split);
}

static void files_of_bad_records_are_named_with_the_first(void **state)
{
    const struct batch_order order = { .repeat = true, .workers = 1 };
    struct data_split *split = make_split(2, 2, 0, -1, 9);
    struct batch_source *source;
    struct batch batch;

    (void)state;
    assert_ok(file_write(in("0.csv"), bytes_of("x\nnone\n2 3\n")));
    assert_ok(file_write(in("1.csv"), bytes_of("x\n-\n")));
    const char *want = "0.csv' and 1 more file: no good rows: 3 bad records, the first: '";
    struct status status = file_split_count(split);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    assert_non_null(strstr(status.message, want));
    assert_non_null(strstr(status.message, "0.csv' line 2: column 'x': 'none' is not a number"));
    assert_ok(split->open(split, &order, &source));
    status = source->next(source, 1, &batch);
    assert_non_null(strstr(status.message, want));
    source->destroy(source);
    file_split_destroy(split);
}

static void names_files_without_rows(void **state)
{
    static const struct {
        int files;
        const char *want;
    } cases[] = { { 1, "0.csv': no rows" }, { 2, "0.csv' and 1 more file: no rows" } };
    const struct batch_order order = { .repeat = true, .worker = 1, .workers = 3 };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct data_split *split = make_split(cases[i].files, 0, 0, -1, 0);
        struct batch_source *source;
        struct batch batch;
        assert_ok(split->open(split, &order, &source));
        struct status status = source->next(source, 1, &batch);
        assert_int_equal(status.code, STATUS_DATA_LOSS);
        assert_string_equal(strstr(status.message, "0.csv'"), cases[i].want);
        source->destroy(source);
        status = file_split_count(split);
        assert_string_equal(strstr(status.message, "0.csv'"), cases[i].want);
        file_split_destroy(split);
    }
}

static void a_bad_record_that_several_readers_meet_is_counted_once(void **state)
{
    (void)state;
    const struct batch_order order = { .repeat = true, .workers = 1 };
    struct data_split *split = make_split(1, 20, 0, 7, 1);
    struct batch_source *sources[3];
    int rows[60];

    for (size_t i = 0; i < COUNT(sources); i++) {
        assert_ok(split->open(split, &order, &sources[i]));
        assert_ok(sources[i]->seek(sources[i], 10));
    }
    for (size_t i = 0; i < COUNT(sources); i++) {
        assert_int_equal(take(sources[i], 60, rows), 60);
        assert_ok(sources[i]->seek(sources[i], 0));
        assert_int_equal(take(sources[i], 60, rows), 60);
        sources[i]->destroy(sources[i]);
    }
    assert_int_equal(file_split_bad_records(split), 1);
    file_split_destroy(split);
}

static void rows_are_counted(void **state)
{
    (void)state;
    struct data_split *split = make_split(3, 100, 16, 30, 1);

    assert_int_equal(split->rows, ROWS_UNKNOWN);
    assert_ok(file_split_count(split));
    assert_int_equal(split->rows, 100);
    file_split_destroy(split);
}

static void files_without_rows_are_an_error(void **state)
{
    (void)state;
    const struct batch_order order = { .repeat = true, .workers = 1 };
    struct data_split *split = make_split(2, 0, 16, -1, 0);
    struct batch_source *source;
    struct batch batch;

    assert_int_equal(file_split_count(split).code, STATUS_DATA_LOSS);
    assert_ok(split->open(split, &order, &source));
    assert_int_equal(source->next(source, 1, &batch).code, STATUS_DATA_LOSS);
    source->destroy(source);
    file_split_destroy(split);
}

static void other_rows_have_another_identity(void **state)
{
    (void)state;
    struct buffer texts[3] = { { 0 } };
    struct data_split *splits[3];

    for (int i = 0; i < 3; i++) {
        splits[i] = make_split(2, i == 2 ? 101 : 100, 16, -1, 0);
        assert_ok(splits[i]->identify(splits[i], &texts[i]));
        buffer_append_char(&texts[i], '\0');
        file_split_destroy(splits[i]);
    }
    assert_string_equal(texts[0].data, texts[1].data);
    assert_string_not_equal(texts[0].data, texts[2].data);
    assert_non_null(strstr(texts[0].data, "files=2"));
    for (int i = 0; i < 3; i++)
        buffer_finish(&texts[i]);
}

/* The images of two workers may be the same and their labels not. */
static void other_labels_have_another_identity(void **state)
{
    static const char *const names[] = { "label" };
    static const char images[] = "\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\1ab";
    static const char labels[2][10] = { "\0\0\x08\x01\0\0\0\2\1\1", "\0\0\x08\x01\0\0\0\2\1\2" };
    const char *path = in("t-images-idx3-ubyte");
    struct file_split_options options = { .paths = &path, .paths_count = 1, .warn = keep_warning };
    const struct row_request request = {
        .spec = { .name = "x", .dtype = DT_FLOAT, .shape = shape_of(-1, 1) },
        .names = names,
        .names_count = 1
    };
    struct buffer texts[2] = { { 0 } };
    struct data_split *split;
    struct schema schema;

    (void)state;
    assert_ok(schema_read(bytes_of("{\"columns\": [{\"name\": \"label\"}]}"), arena, &schema));
    assert_ok(row_layout_make(&schema, &request, 1, arena, &options.layout));
    assert_ok(file_write(path, (struct bytes){ images, sizeof images - 1 }));
    for (int i = 0; i < 2; i++) {
        assert_ok(file_write(in("t-labels-idx1-ubyte"), (struct bytes){ labels[i], 10 }));
        assert_ok(file_split_create(&options, &split));
        assert_ok(split->identify(split, &texts[i]));
        buffer_append_char(&texts[i], '\0');
        file_split_destroy(split);
    }
    assert_string_not_equal(texts[0].data, texts[1].data);
    for (int i = 0; i < 2; i++)
        buffer_finish(&texts[i]);
}

static void blocks_that_are_passed_unread_are_as_good_as_read(void **state)
{
    (void)state;
    static const int seeks[] = { 0, 5, 16, 33, 120, 249, 250, 251, 300, 500, 777, 60, 800, 33 };
    int expected[850], rows[50];

    for (int test = 0; test < 8; test++) {
        struct data_split *split =
            make_labels(test % 2 == 0 ? 1 : 3, 250, test < 4 ? 16 : 0, -1, test == 2 ? 70 : -1);
        const struct batch_order order = { .shuffle = true,
                                           .repeat = true,
                                           .seed = 3,
                                           .worker = (uint32_t)test / 2 % 2,
                                           .workers = 1 + (uint32_t)test / 2 % 2 };
        struct batch_source *source;
        assert_ok(split->open(split, &order, &source));
        assert_int_equal(take(source, 850, expected), 850);
        source->destroy(source);
        struct batch_source *again; /* goes on from where it is */
        assert_ok(split->open(split, &order, &again));
        for (size_t i = 0; i < COUNT(seeks); i++) {
            assert_ok(split->open(split, &order, &source));
            assert_ok(source->seek(source, (uint64_t)seeks[i]));
            assert_int_equal(take(source, 50, rows), 50);
            assert_memory_equal(rows, expected + seeks[i], sizeof rows);
            source->destroy(source);
            assert_ok(again->seek(again, (uint64_t)seeks[i]));
            assert_int_equal(take(again, 50, rows), 50);
            assert_memory_equal(rows, expected + seeks[i], sizeof rows);
        }
        again->destroy(again);
        file_split_destroy(split);
    }
}

/* That it is never met shows that the rows before it are not read. Later epochs meet it. */
/* Those who counted the rows know where every 1024th begins. */
static void seeks_by_counted_rows_are_as_good(void **state)
{
    (void)state;
    static const int seeks[] = { 0, 2100, 6200, 1023, 1024, 9999, 4000, 10020, 29000, 1030 };
    const struct batch_order order = { .workers = 1, .seed = 5, .shuffle = true, .repeat = true };
    struct data_split *plain = make_labels(2, 10000, 500, -1, -1),
                      *counted = make_labels(2, 10000, 500, -1, -1);
    struct batch_source *source, *other;
    int rows[30], expected[30];

    assert_ok(file_split_count(counted));
    assert_int_equal(counted->rows, 10000);
    assert_ok(plain->open(plain, &order, &source));
    assert_ok(counted->open(counted, &order, &other));
    for (size_t i = 0; i < COUNT(seeks); i++) {
        assert_ok(source->seek(source, (uint64_t)seeks[i]));
        assert_ok(other->seek(other, (uint64_t)seeks[i]));
        assert_int_equal(take(source, 30, expected), 30);
        assert_int_equal(take(other, 30, rows), 30);
        assert_memory_equal(rows, expected, sizeof rows);
    }
    source->destroy(source);
    other->destroy(other);
    file_split_destroy(plain);
    file_split_destroy(counted);
}

/* The file has no line end behind its last row, where the next one would be noted. */
static void the_end_is_found_by_counted_rows(void **state)
{
    (void)state;
    const struct batch_order order = { .workers = 1 };
    struct data_split *split = make_labels(1, 2048, 500, -1, -1);
    const char *path = in("0.svm");
    struct batch_source *source;
    struct buffer text = { 0 };
    int row;

    assert_ok(file_read(path, 1 << 20, &text));
    assert_ok(file_write(path, (struct bytes){ text.data, text.size - 1 }));
    buffer_finish(&text);
    assert_ok(file_split_count(split));
    assert_int_equal(split->rows, 2048);
    assert_ok(split->open(split, &order, &source));
    assert_ok(source->seek(source, 2048)); /* passes two blocks of 1024 rows */
    assert_int_equal(take(source, 1, &row), 0);
    assert_ok(source->seek(source, 2047));
    assert_int_equal(take(source, 2, &row), 1);
    assert_int_equal(row, 2047);
    source->destroy(source);
    file_split_destroy(split);
}

static void a_file_that_changed_since_it_was_counted_is_an_error(void **state)
{
    (void)state;
    const struct batch_order order = { .workers = 1 };
    struct data_split *split = make_labels(1, 5000, 500, -1, -1);
    struct batch_source *source;
    struct buffer text = { 0 };

    assert_ok(file_split_count(split));
    assert_ok(file_read(in("0.svm"), 0, &text)); /* as many bytes in one line */
    memset(text.data, '1', text.size - 1);
    assert_ok(file_write(in("0.svm"), (struct bytes){ text.data, text.size }));
    buffer_finish(&text);
    assert_ok(split->open(split, &order, &source));
    struct status status = source->seek(source, 4000);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    assert_non_null(strstr(status.message, "0.svm': has changed since its records were counted"));
    source->destroy(source);
    file_split_destroy(split);
}

static void a_file_of_another_size_is_an_error_in_the_next_epoch(void **state)
{
    (void)state;
    const struct batch_order order = { .workers = 1, .repeat = true };

    for (int more = 0; more < 2; more++) {
        struct data_split *split = make_split(2, 50, 0, -1, 0);
        struct batch_source *source;
        struct batch batch;
        int rows[50];
        assert_ok(split->open(split, &order, &source));
        assert_int_equal(take(source, 50, rows), 50);
        assert_ok(file_write(in("0.csv"), bytes_of(more ? "x\n0\n1\n" : "")));
        struct status status = source->next(source, 1, &batch);
        assert_int_equal(status.code, STATUS_DATA_LOSS);
        assert_non_null(strstr(status.message, more ? "bytes, and now has 6" : "now has 0"));
        source->destroy(source);
        file_split_destroy(split);
    }
}

static void a_seek_reads_no_row_that_it_passes(void **state)
{
    (void)state;
    struct data_split *split = make_labels(1, 100, 16, 20, -1);
    const struct batch_order order = { .shuffle = true, .repeat = true, .seed = 3, .workers = 1 };
    struct batch_source *source;
    struct batch batch;
    int rows[68];

    assert_ok(split->open(split, &order, &source));
    assert_ok(source->seek(source, 32));
    assert_int_equal(take(source, 68, rows), 68);
    for (int i = 0; i < 68; i++)
        assert_in_range(rows[i], 32, 99);
    assert_int_equal(source->next(source, 32, &batch).code, STATUS_DATA_LOSS);
    source->destroy(source);
    file_split_destroy(split);
}

/* Takes `batches` of 7 rows behind `seek`, and checks that each stays as it was until the one after
 * the next is taken. */
static void take_batches(struct batch_source *source, uint64_t seek, int batches, float *out)
{
    struct batch now, before = { 0 };

    assert_ok(source->seek(source, seek));
    for (int b = 0; b < batches; b++) {
        assert_ok(source->next(source, 7, &now));
        assert_int_equal(now.rows, 7);
        memcpy(out + 7 * b, now.columns[0].values.data, 7 * sizeof *out);
        if (b > 0)
            assert_memory_equal(out + 7 * (b - 1), before.columns[0].values.data, 7 * sizeof *out);
        before = now;
    }
}

static void a_thread_takes_the_same_rows_in_advance(void **state)
{
    (void)state;
    struct data_split *split = make_split(3, 500, 64, -1, 0);
    struct batch_order order = { .shuffle = true, .repeat = true, .seed = 5, .workers = 2 };
    static const uint64_t seeks[] = { 0, 90, 1234, 3 };
    float plain[7 * 200], ahead[7 * 200];
    struct batch_source *source, *other;

    assert_ok(split->open(split, &order, &source));
    source->keep = 2;
    order.ahead = 4;
    order.ahead_rows = 7;
    assert_ok(split->open(split, &order, &other));
    assert_true(other->keep >= 2);
    for (size_t i = 0; i < COUNT(seeks); i++) {
        take_batches(source, seeks[i], 200, plain);
        take_batches(other, seeks[i], 200, ahead);
        assert_memory_equal(plain, ahead, sizeof plain);
    }
    source->destroy(source);
    other->destroy(other);
    file_split_destroy(split);
}

static void a_thread_reports_a_bad_record_behind_the_rows_before_it(void **state)
{
    (void)state;
    struct data_split *split = make_split(1, 100, 0, 30, 0);
    const struct batch_order order = { .workers = 1, .ahead = 4, .ahead_rows = 7 };
    struct batch_source *source;
    struct batch batch;

    assert_ok(split->open(split, &order, &source));
    struct status status = source->next(source, 7, &batch);
    for (int b = 0; b < 4 && status_is_ok(status); b++)
        status = source->next(source, 7, &batch);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    assert_non_null(strstr(status.message, "0.csv' line 32"));
    source->destroy(source);
    file_split_destroy(split);
}

#define KEPT_TEST(i)                                                                              \
    {                                                                                             \
        kept_rows[i].label, kept_rows_are_those_of_the_file, directory_setup, directory_teardown, \
            (void *)(uintptr_t)&kept_rows[i]                                                      \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEPT_TEST(0),
        KEPT_TEST(1),
        KEPT_TEST(2),
        KEPT_TEST(3),
        KEPT_TEST(4),
        KEPT_TEST(5),
        KEPT_TEST(6),
        TEST_IN_DIRECTORY(rows_stay_in_order_without_shuffle),
        TEST_IN_DIRECTORY(a_sparse_column_is_read_without_its_zeros),
        TEST_IN_DIRECTORY(workers_share_the_records_of_a_file),
        TEST_IN_DIRECTORY(each_epoch_has_all_rows_in_an_order_of_its_own),
        TEST_IN_DIRECTORY(workers_share_the_rows),
        TEST_IN_DIRECTORY(workers_take_every_row_equally_often),
        TEST_IN_DIRECTORY(a_bad_record_that_several_readers_meet_is_counted_once),
        TEST_IN_DIRECTORY(seeking_is_as_good_as_taking),
        TEST_IN_DIRECTORY(blocks_that_are_passed_unread_are_as_good_as_read),
        TEST_IN_DIRECTORY(a_seek_reads_no_row_that_it_passes),
        TEST_IN_DIRECTORY(seeks_by_counted_rows_are_as_good),
        TEST_IN_DIRECTORY(the_end_is_found_by_counted_rows),
        TEST_IN_DIRECTORY(a_file_that_changed_since_it_was_counted_is_an_error),
        TEST_IN_DIRECTORY(a_file_of_another_size_is_an_error_in_the_next_epoch),
        TEST_IN_DIRECTORY(a_thread_takes_the_same_rows_in_advance),
        TEST_IN_DIRECTORY(a_thread_reports_a_bad_record_behind_the_rows_before_it),
        TEST_IN_DIRECTORY(a_reader_without_good_rows_says_why),
        TEST_IN_DIRECTORY(files_of_bad_records_are_named_with_the_first),
        TEST_IN_DIRECTORY(names_files_without_rows),
        TEST_IN_DIRECTORY(bad_records_are_reported_once_and_end_the_job_over_the_limit),
        TEST_IN_DIRECTORY(rows_are_counted),
        TEST_IN_DIRECTORY(files_without_rows_are_an_error),
        TEST_IN_DIRECTORY(other_rows_have_another_identity),
        TEST_IN_DIRECTORY(other_labels_have_another_identity),
    };
    return cmocka_run_group_tests_name("file_split", tests, NULL, NULL);
}
