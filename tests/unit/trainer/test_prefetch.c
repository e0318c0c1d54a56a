/* Batches made in a thread: the same ones, in the same order, with the same errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/container.h"
#include "support/status.h"
#include "trainer/data/prefetch.h"

#define ROWS     3
#define KEEP_MAX 8

/* Gives the numbers from 0 on, and fails or ends where it is told. */
struct numbers {
    struct batch_source source;
    float values[KEEP_MAX][ROWS];
    struct batch_column columns[KEEP_MAX];
    int current;
    int64_t next;            /* number */
    int64_t end, fail;       /* before this number; -1: never */
    _Atomic int64_t batches; /* made so far */
    int64_t row_numbers;     /* a row takes so many floats of the memory that it claims */
    size_t text_bytes;       /* or, if this is not 0, a text that claims so many bytes */
    struct bytes texts[ROWS];
    bool *destroyed;
};

static struct tensor texts_of(struct numbers *numbers)
{
    const struct shape shape = shape_of(ROWS, 1);

    for (int i = 0; i < ROWS; i++)
        numbers->texts[i] = (struct bytes){ "", numbers->text_bytes };
    return tensor_borrow(DT_STRING, &shape, numbers->texts);
}

static struct status numbers_next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct numbers *numbers = CONTAINER_OF(base, struct numbers, source);
    int64_t rows = 0;

    assert_int_equal(rows_max, ROWS);
    numbers->current = (numbers->current + 1) % (base->keep > 1 ? base->keep : 1);
    float *values = numbers->values[numbers->current];
    if (numbers->next == numbers->fail)
        return status_error(STATUS_DATA_LOSS, "number %d is bad", (int)numbers->next);
    for (; rows < ROWS && numbers->next != numbers->end; rows++)
        values[rows] = (float)numbers->next++;
    const struct shape shape = shape_of(rows, numbers->row_numbers);
    struct batch_column *column = &numbers->columns[numbers->current];
    *column = (struct batch_column){ .values = tensor_borrow(DT_FLOAT, &shape, values) };
    if (numbers->text_bytes > 0)
        column->values = texts_of(numbers);
    *out = (struct batch){ .rows = rows, .columns = column };
    atomic_fetch_add(&numbers->batches, 1);
    return status_ok();
}

static struct status numbers_seek(struct batch_source *base, uint64_t rows)
{
    CONTAINER_OF(base, struct numbers, source)->next = (int64_t)rows;
    return status_ok();
}

static void numbers_destroy(struct batch_source *base)
{
    struct numbers *numbers = CONTAINER_OF(base, struct numbers, source);

    *numbers->destroyed = true;
    free(numbers);
}

static bool destroyed;

static struct numbers *make_numbers(int64_t end, int64_t fail)
{
    struct numbers *numbers = zalloc(sizeof *numbers);

    numbers->source = (struct batch_source){
        .next = numbers_next, .seek = numbers_seek, .destroy = numbers_destroy, .keep_max = KEEP_MAX
    };
    numbers->end = end;
    numbers->fail = fail;
    numbers->row_numbers = 1;
    numbers->destroyed = &destroyed;
    destroyed = false;
    return numbers;
}

static struct batch_source *prefetch(struct numbers *numbers, int batches_max, size_t bytes_max)
{
    const struct prefetch_options options = { ROWS, batches_max, bytes_max };
    struct batch_source *source = prefetch_source(&numbers->source, 1, &options);

    assert_ptr_not_equal(source, &numbers->source);
    return source;
}

static void finish(struct batch_source *source)
{
    source->destroy(source);
    assert_true(destroyed);
}

/* The first number of a batch, which has `rows` of them in order. */
static float first_of(const struct batch *batch, int64_t rows)
{
    const float *values = batch->columns[0].values.data;

    assert_int_equal(batch->rows, rows);
    for (int64_t i = 1; i < rows; i++)
        assert_true(values[i] == values[0] + (float)i);
    return values[0];
}

static void batches_come_in_order_and_two_stay_valid(void **state)
{
    struct batch_source *source = prefetch(make_numbers(-1, -1), 4, 0);
    struct batch now, before = { 0 };
    (void)state;

    for (int i = 0; i < 2000; i++) {
        assert_ok(source->next(source, ROWS, &now));
        assert_true(first_of(&now, ROWS) == (float)(i * ROWS));
        if (i > 0)
            assert_true(first_of(&before, ROWS) == (float)((i - 1) * ROWS));
        before = now;
    }
    finish(source);
}

static void the_end_comes_after_the_last_row_and_again(void **state)
{
    struct batch_source *source = prefetch(make_numbers(7, -1), 4, 0);
    struct batch batch;
    (void)state;

    for (int i = 0; i < 3; i++) {
        assert_ok(source->next(source, ROWS, &batch));
        assert_true(first_of(&batch, i < 2 ? ROWS : 1) == (float)(i * ROWS));
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(source->next(source, ROWS, &batch));
        assert_int_equal(batch.rows, 0);
    }
    finish(source);
}

/* As a source whose rows others give out: it has none now, and some later. */
static void rows_may_come_after_an_end(void **state)
{
    struct numbers *numbers = make_numbers(7, -1);
    struct batch_source *source = prefetch(numbers, 4, 0);
    struct batch batch;
    (void)state;

    for (int i = 0; i < 4; i++)
        assert_ok(source->next(source, ROWS, &batch));
    assert_int_equal(batch.rows, 0);
    numbers->end = 10;
    assert_ok(source->next(source, ROWS, &batch));
    assert_true(first_of(&batch, ROWS) == 7);
    assert_ok(source->next(source, ROWS, &batch));
    assert_int_equal(batch.rows, 0);
    finish(source);
}

static void an_error_comes_after_the_rows_before_it_and_again(void **state)
{
    struct batch_source *source = prefetch(make_numbers(-1, 6), 4, 0);
    struct batch batch;
    (void)state;

    for (int i = 0; i < 2; i++) {
        assert_ok(source->next(source, ROWS, &batch));
        assert_true(first_of(&batch, ROWS) == (float)(i * ROWS));
    }
    for (int i = 0; i < 2; i++) {
        struct status status = source->next(source, ROWS, &batch);
        assert_int_equal(status.code, STATUS_DATA_LOSS);
        assert_string_equal(status.message, "number 6 is bad");
    }
    finish(source);
}

static void an_error_that_nobody_takes_is_freed(void **state)
{
    struct numbers *numbers = make_numbers(-1, 6);
    struct batch_source *source = prefetch(numbers, 4, 0);
    struct batch batch;
    (void)state;

    assert_ok(source->next(source, ROWS, &batch));
    finish(source);
}

static void a_seek_forgets_what_was_made(void **state)
{
    struct batch_source *source = prefetch(make_numbers(-1, 600), 4, 0);
    struct batch batch;
    (void)state;

    assert_ok(source->seek(source, 30));
    for (int i = 0; i < 50; i++) {
        assert_ok(source->next(source, ROWS, &batch));
        assert_true(first_of(&batch, ROWS) == (float)(30 + i * ROWS));
        if (i % 10 == 9) {
            assert_ok(source->seek(source, (uint64_t)i));
            assert_ok(source->next(source, ROWS, &batch));
            assert_true(first_of(&batch, ROWS) == (float)i);
            assert_ok(source->seek(source, (uint64_t)(30 + (i + 1) * ROWS)));
        }
    }
    assert_ok(source->seek(source, 600));
    assert_int_equal(source->next(source, ROWS, &batch).code, STATUS_DATA_LOSS);
    assert_ok(source->seek(source, 0));
    assert_ok(source->next(source, ROWS, &batch));
    assert_true(first_of(&batch, ROWS) == 0);
    finish(source);
}

static void no_more_is_made_than_may_be(void **state)
{
    static const struct {
        int batches_max;
        size_t bytes_max;
        int64_t ahead;
        size_t text_bytes, more_bytes;
    } rows[] = {
        { 1, 0, 1, 0, 0 },
        { 4, 0, 4, 0, 0 },
        { 100, 0, KEEP_MAX - 2, 0, 0 },
        { 4, 100, 1, 0, 0 },
        { 4, 5000000, 2, 0, 0 },
        { 4, 5000000, 2, 400000, 0 },
        { 4, 0, 4, 0, 999 },
        { 4, 9000000, 2, 0, 999999 },
    };
    (void)state;

    for (size_t r = 0; r < COUNT(rows); r++) {
        struct numbers *numbers = make_numbers(-1, -1);
        numbers->row_numbers = 100000; /* 1.2 MB a batch */
        numbers->text_bytes = rows[r].text_bytes;
        numbers->source.more_bytes = rows[r].more_bytes;
        struct batch_source *source = prefetch(numbers, rows[r].batches_max, rows[r].bytes_max);
        struct batch batch;
        for (int64_t i = 1; i < 200; i++) {
            assert_ok(source->next(source, ROWS, &batch));
            assert_in_range(atomic_load(&numbers->batches), i, i + rows[r].ahead);
        }
        finish(source);
    }
}

static void a_source_that_keeps_too_little_is_left_as_it_is(void **state)
{
    struct numbers *numbers = make_numbers(-1, -1);
    (void)state;

    numbers->source.keep_max = 2;
    assert_ptr_equal(prefetch_source(&numbers->source, 1, &(struct prefetch_options){ ROWS, 4, 0 }),
                     &numbers->source);
    numbers->source.keep_max = KEEP_MAX;
    assert_ptr_equal(prefetch_source(&numbers->source, 1, &(struct prefetch_options){ ROWS, 0, 0 }),
                     &numbers->source);
    finish(&numbers->source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_come_in_order_and_two_stay_valid),
        cmocka_unit_test(the_end_comes_after_the_last_row_and_again),
        cmocka_unit_test(rows_may_come_after_an_end),
        cmocka_unit_test(an_error_comes_after_the_rows_before_it_and_again),
        cmocka_unit_test(an_error_that_nobody_takes_is_freed),
        cmocka_unit_test(a_seek_forgets_what_was_made),
        cmocka_unit_test(no_more_is_made_than_may_be),
        cmocka_unit_test(a_source_that_keeps_too_little_is_left_as_it_is),
    };
    return cmocka_run_group_tests_name("prefetch", tests, NULL, NULL);
}
