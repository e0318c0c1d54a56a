/* Batches of the turns that someone gives out, read in order and sought where they are not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/container.h"
#include "support/status.h"
#include "trainer/data/share_source.h"

#define ROWS 5

/* Gives the numbers from 0 on. */
struct numbers {
    struct batch_source source;
    float first;
    struct batch_column column;
    uint64_t next;
    int seeks, fails;
};

static struct status numbers_next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct numbers *numbers = CONTAINER_OF(base, struct numbers, source);
    const struct shape shape = shape_of(1);

    assert_int_equal(rows_max, ROWS);
    if (numbers->fails-- > 0)
        return status_error(STATUS_DATA_LOSS, "bad");
    numbers->first = (float)numbers->next;
    numbers->next += ROWS;
    numbers->column.values = tensor_borrow(DT_FLOAT, &shape, &numbers->first);
    *out = (struct batch){ .rows = ROWS, .columns = &numbers->column };
    return status_ok();
}

static struct status numbers_seek(struct batch_source *base, uint64_t rows)
{
    struct numbers *numbers = CONTAINER_OF(base, struct numbers, source);

    numbers->next = rows;
    numbers->seeks++;
    return status_ok();
}

static void numbers_destroy(struct batch_source *base)
{
    (void)base;
}

/* Gives out these turns. */
struct list {
    const int *turns; /* -1: none at present; -2: the end */
    int begins;
};

static struct status give(void *context, bool *found, uint64_t *turn)
{
    struct list *list = context;

    assert_true(*list->turns >= -1);
    *found = *list->turns >= 0;
    *turn = (uint64_t)*list->turns++;
    return status_ok();
}

static void begin(void *context)
{
    ((struct list *)context)->begins++;
}

static struct batch_source *open_source(struct numbers *numbers, struct list *list,
                                        uint32_t batches)
{
    const struct turn_source turns = { give, begin, list };

    *numbers = (struct numbers){ .source = { .next = numbers_next,
                                             .seek = numbers_seek,
                                             .destroy = numbers_destroy,
                                             .keep_max = 1 } };
    return share_source(&numbers->source, &turns, ROWS, batches);
}

static void reads_turns_that_follow_each_other_without_a_seek(void **state)
{
    static const int turns[] = { 0, 1, 2, 7, 8, 3, -2 };
    struct numbers numbers;
    struct list list = { turns, 0 };
    struct batch_source *source = open_source(&numbers, &list, 2);
    struct batch batch;

    (void)state;
    for (int i = 0; i < 12; i++) {
        assert_ok(source->next(source, ROWS, &batch));
        assert_int_equal(batch.rows, ROWS);
        assert_true(numbers.first == (float)((turns[i / 2] * 2 + i % 2) * ROWS));
    }
    assert_int_equal(numbers.seeks, 3);
    source->destroy(source);
}

static void gives_no_rows_while_there_is_no_turn(void **state)
{
    static const int turns[] = { 0, -1, -1, 1, -2 };
    static const int64_t rows[] = { ROWS, 0, 0, ROWS };
    struct numbers numbers;
    struct list list = { turns, 0 };
    struct batch_source *source = open_source(&numbers, &list, 1);
    struct batch batch;

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_ok(source->next(source, ROWS, &batch));
        assert_int_equal(batch.rows, rows[i]);
    }
    assert_int_equal(numbers.seeks, 1);
    source->destroy(source);
}

static void a_seek_drops_the_turn(void **state)
{
    static const int turns[] = { 4, 6, -2 };
    struct numbers numbers;
    struct list list = { turns, 0 };
    struct batch_source *source = open_source(&numbers, &list, 3);
    struct batch batch;

    (void)state;
    assert_ok(source->next(source, ROWS, &batch));
    assert_ok(source->seek(source, 123));
    assert_int_equal(list.begins, 1);
    assert_ok(source->next(source, ROWS, &batch));
    assert_true(numbers.first == 6 * 3 * ROWS);
    source->destroy(source);
}

/* After a failure, the position of the source below is unknown. */
static void seeks_after_a_failure(void **state)
{
    static const int turns[] = { 0, 1, -2 };
    struct numbers numbers;
    struct list list = { turns, 0 };
    struct batch_source *source = open_source(&numbers, &list, 1);
    struct batch batch;

    (void)state;
    numbers.fails = 1;
    assert_int_equal(source->next(source, ROWS, &batch).code, STATUS_DATA_LOSS);
    assert_ok(source->next(source, ROWS, &batch));
    assert_true(numbers.first == ROWS);
    assert_int_equal(numbers.seeks, 2);
    source->destroy(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_turns_that_follow_each_other_without_a_seek),
        cmocka_unit_test(gives_no_rows_while_there_is_no_turn),
        cmocka_unit_test(a_seek_drops_the_turn),
        cmocka_unit_test(seeks_after_a_failure),
    };

    return cmocka_run_group_tests_name("share_source", tests, NULL, NULL);
}
