/* When a round has collected as much as may run at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/inference.h"

#define MANY 1000

static const struct row {
    const char *label;
    int64_t rows, columns; /* of the only input, numbers of 4 bytes */
    int64_t took_ns;       /* such a call, when it was measured */
    bool batch_ready;
    int calls; /* that fill the round */
} cases[] = {
    { "64 rows, one a call", 1, 4, 1000, true, 64 },
    { "64 rows, more a call", 10, 4, 1000, true, 7 },
    { "cheap runs: 80 KiB of inputs", 1, 1024, 1000, true, 20 },
    { "also where each runs alone", 1, 1024, 1000, false, 20 },
    { "one of more than that", 1, 30000, 1000, true, 1 },
    { "dear runs gain more from a larger batch", 1, 1024, 50000, true, 64 },
    { "dear runs, each alone: a millisecond", 1, 4, 50000, false, 20 },
};

static void fills(void **state)
{
    const struct row *row = *state;
    struct signature signature = { .inputs_count = 1 };
    struct callable callable = { .signature = &signature };
    struct shape shape = shape_of(row->rows, row->columns);
    struct tensor input = tensor_borrow(DT_FLOAT, &shape, NULL);
    struct inference_options options = { .batch_ready = row->batch_ready, .threads = 1 };
    struct inference_call calls[MANY];
    struct inference *inference;
    int count = 0;

    assert_true(status_is_ok(loop_create(&options.loop)));
    assert_true(status_is_ok(inference_create(&options, &inference)));
    callable_measured(&callable, row->rows, row->took_ns);
    while (count < MANY && !inference_is_full(inference)) {
        calls[count] =
            (struct inference_call){ .callable = &callable, .inputs = &input, .rows = row->rows };
        inference_submit(inference, &calls[count++]);
    }
    assert_int_equal(count, row->calls);
    for (int i = 0; i < count; i++)
        inference_forget(inference, &calls[i]);
    assert_false(inference_is_full(inference));
    inference_destroy(inference);
    loop_destroy(options.loop);
}

int main(void)
{
    struct CMUnitTest tests[COUNT(cases)];

    for (size_t i = 0; i < COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].label,
                                        .test_func = fills,
                                        .initial_state = (void *)(uintptr_t)&cases[i] };
    return cmocka_run_group_tests_name("inference", tests, NULL, NULL);
}
