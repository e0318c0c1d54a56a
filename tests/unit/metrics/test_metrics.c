#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/metrics/reading.h"
#include "server/metrics/page.h"

#define THREADS 8
#define ROUNDS  20000

static struct metric_series *requests(const char *model, const char *status)
{
    return metric_series(METRIC_TF_REQUEST_COUNT, METRIC_LABELS(bytes_of(model), bytes_of(status)));
}

static struct metric_series *latency(const char *model)
{
    return metric_series(METRIC_TF_REQUEST_LATENCY,
                         METRIC_LABELS(bytes_of(model), bytes_of("Predict"), bytes_of("GRPC")));
}

static void *add_many(void *context)
{
    const struct metric_series *const *series = context;
    for (int i = 0; i < ROUNDS; i++) {
        metric_add(series[0], 1);
        metric_observe(series[1], (uint64_t)i % 100);
    }
    return NULL;
}

static void sums_what_many_threads_add(void **state)
{
    const struct metric_series *series[] = { requests("threads", "OK"), latency("threads") };
    pthread_t threads[THREADS];
    (void)state;
    for (int round = 0; round < 2;
         round++) { /* the second one goes on with the copies of the first */
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, add_many, series), 0);
        uint64_t last = 0;
        for (int i = 0; i < 1000; i++) { /* a scrape meanwhile never sees a count go back */
            uint64_t now = metric_value(series[0]);
            assert_true(now >= last);
            last = now;
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    assert_int_equal(metric_value(series[0]), 2 * THREADS * ROUNDS);
    assert_int_equal(metric_value(series[1]), 2 * THREADS * ROUNDS);
    uint32_t sum = series[1]->slot + metric_rows[METRIC_TF_REQUEST_LATENCY].buckets.count + 1;
    assert_int_equal(slots_sum(sum), (uint64_t)2 * THREADS * ROUNDS / 100 * 4950);
}

static void finds_a_series_again(void **state)
{
    (void)state;
    assert_ptr_equal(requests("a", "OK"), requests("a", "OK"));
    assert_ptr_not_equal(requests("a", "OK"), requests("a", "INTERNAL"));
    /* the border between two labels counts */
    assert_ptr_not_equal(requests("ab", "c"), requests("a", "bc"));
}

/* The bucket of a value. A limit itself belongs to the next bucket in TensorFlow's histograms. */
static uint32_t bucket_of(const struct metric_series *series, uint64_t value)
{
    uint64_t before[METRIC_BUCKETS_MAX + 1];
    uint32_t count = metric_rows[series->metric].buckets.count;
    for (uint32_t i = 0; i <= count; i++)
        before[i] = slots_sum(series->slot + i);
    metric_observe(series, value);
    for (uint32_t i = 0; i <= count; i++)
        if (slots_sum(series->slot + i) != before[i])
            return i;
    fail();
    return 0;
}

static void puts_values_in_their_buckets(void **state)
{
    struct metric_series *theirs = latency("buckets");
    struct metric_series *rows = metric_series(
        METRIC_BATCH_ROWS, METRIC_LABELS(bytes_of("m"), bytes_of("1"), bytes_of("s")));
    struct metric_series *load =
        metric_series(METRIC_MODEL_LOAD_SECONDS, METRIC_LABELS(bytes_of("m")));
    (void)state;
    assert_int_equal(bucket_of(theirs, 0), 0);
    assert_int_equal(bucket_of(theirs, 9), 0);
    assert_int_equal(bucket_of(theirs, 10), 1);
    assert_int_equal(bucket_of(theirs, 18), 2);
    assert_int_equal(bucket_of(theirs, 32), 2); /* below 32.4 */
    assert_int_equal(bucket_of(theirs, 33), 3);
    assert_int_equal(bucket_of(theirs, UINT64_MAX), 33);
    assert_int_equal(bucket_of(rows, 1), 0);
    assert_int_equal(bucket_of(rows, 2), 1);
    assert_int_equal(bucket_of(rows, 3), 2);
    assert_int_equal(bucket_of(rows, 1025), 11);
    assert_int_equal(bucket_of(load, 1000000), 0); /* 1 ms in nanoseconds */
    assert_int_equal(bucket_of(load, 1000001), 1);
}

static void removes_the_series_of_an_owner(void **state)
{
    struct metric_owner first = { 0 }, second = { 0 };
    const struct bytes *labels = METRIC_LABELS(bytes_of("owned"), bytes_of("1"), bytes_of("s"));
    struct metric_series *series = metric_series_owned(METRIC_BATCH_ROWS, labels, &first);
    size_t before, after;
    (void)state;
    metric_observe(series, 5);
    assert_ptr_equal(metric_series_owned(METRIC_BATCH_ROWS, labels, &first), series);
    assert_ptr_equal(metric_series_owned(METRIC_BATCH_ROWS, labels, &second), series);
    free(metrics_list(METRIC_BATCH_ROWS, &before));
    metric_owner_release(&first);
    assert_int_equal(metric_value(series), 1); /* the second owner still has it */
    metric_owner_release(&second);
    free(metrics_list(METRIC_BATCH_ROWS, &after));
    assert_int_equal(after, before - 1);
    /* its slots are used again, and are zero */
    series = metric_series_owned(METRIC_BATCH_ROWS, labels, &first);
    assert_int_equal(metric_value(series), 0);
    metric_owner_release(&first);
}

static void keeps_for_a_page_what_is_removed_meanwhile(void **state)
{
    struct metric_owner owner = { 0 }, next = { 0 };
    const struct bytes *labels = METRIC_LABELS(bytes_of("paged"), bytes_of("1"), bytes_of("s"));
    struct metric_series *series = metric_series_owned(METRIC_BATCH_ROWS, labels, &owner);
    struct metrics_reading first = { 0 }, second = { 0 };
    (void)state;
    metric_observe(series, 5);
    metrics_begin_page(&first);
    metrics_begin_page(&second);
    metric_owner_release(&owner);
    struct metric_series *same = metric_series_owned(METRIC_BATCH_ROWS, labels, &next);
    assert_ptr_not_equal(same, series);
    assert_int_equal(metric_value(same), 0);
    metrics_end_page(&second);
    assert_int_equal(metric_value(series), 1);
    assert_true(bytes_equal(series->labels[0], bytes_of("paged")));
    metrics_end_page(&first);
    metric_owner_release(&next);
}

/* There is always a page being printed, as with many scrapers. Counts the slots that a thousand
 * versions take. */
static void frees_what_is_removed_while_pages_overlap(void **state)
{
    struct metrics_reading pages[2] = { { 0 } };
    uint32_t first = 0, last = 0;
    (void)state;
    metrics_begin_page(&pages[0]);
    for (int i = 0; i < 1000; i++) {
        struct metric_owner owner = { 0 };
        char version[16];
        snprintf(version, sizeof version, "%d", i);
        last = metric_series_owned(
                   METRIC_BATCH_ROWS,
                   METRIC_LABELS(bytes_of("overlap"), bytes_of(version), bytes_of("s")), &owner)
                   ->slot;
        if (i == 0)
            first = last;
        metric_owner_release(&owner);
        metrics_begin_page(&pages[(i + 1) % 2]);
        metrics_end_page(&pages[i % 2]);
        assert_true(last < first + 2 * SLOTS_BLOCK);
    }
    metrics_end_page(&pages[0]);
}

#define PAGES 50

static _Atomic bool pages_are_printed;

/* Versions that are loaded, counted and unloaded. */
static void *swap_versions(void *context)
{
    const char *model = context;
    for (int i = 0; !pages_are_printed; i++) {
        struct metric_owner owner = { 0 };
        char version[16];
        snprintf(version, sizeof version, "%d", i % 10);
        metric_observe(
            metric_series_owned(METRIC_BATCH_ROWS,
                                METRIC_LABELS(bytes_of(model), bytes_of(version), bytes_of("s")),
                                &owner),
            7);
        metric_owner_release(&owner);
    }
    return NULL;
}

/* For the sanitizers, above all. */
static void prints_pages_while_series_come_and_go(void **state)
{
    static const char *const models[] = { "a", "b" };
    pthread_t threads[COUNT(models)];
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, swap_versions, (void *)models[i]), 0);
    for (int i = 0; i < PAGES; i++) {
        struct buffer page = { 0 };
        metrics_print(&page);
        buffer_append_char(&page, '\0');
        const char *count = strstr(page.data, "slipway_batch_rows_count{model=\"a\"");
        if (count != NULL) /* removed before it is printed, it keeps its value */
            assert_true(strchr(count, '}')[2] <= '1');
        buffer_finish(&page);
    }
    pages_are_printed = true;
    for (size_t i = 0; i < COUNT(models); i++)
        pthread_join(threads[i], NULL);
}

static void takes_no_memory_for_versions_that_come_and_go(void **state)
{
    uint32_t slot = 0, highest = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct metric_owner owner = { 0 };
        char version[16];
        snprintf(version, sizeof version, "%d", i);
        slot = metric_series_owned(
                   METRIC_BATCH_ROWS,
                   METRIC_LABELS(bytes_of("swapped"), bytes_of(version), bytes_of("s")), &owner)
                   ->slot;
        metric_owner_release(&owner);
        if (i == 0)
            highest = slot;
        assert_int_equal(slot, highest);
    }
}

static void bounds_the_names_of_clients(void **state)
{
    char name[200];
    int kept = 0;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "made up %d", i);
        struct bytes label = metric_client_name(bytes_of(name));
        kept += bytes_equal(label, bytes_of(name));
        if (!bytes_equal(label, bytes_of(name)))
            assert_true(bytes_equal(label, bytes_of(METRIC_OTHER)));
    }
    assert_int_equal(kept, 98); /* and two of the test before */
    assert_true(bytes_equal(metric_client_name(bytes_of("made up 7")), bytes_of("made up 7")));
}

static void refuses_names_that_break_a_page(void **state)
{
    char name[129];
    (void)state;
    memset(name, 'x', sizeof name);
    assert_true(bytes_equal(metric_client_name((struct bytes){ name, 129 }), bytes_of("(other)")));
    assert_int_equal(metric_client_name((struct bytes){ name, 128 }).size, 128);
    assert_true(bytes_equal(metric_client_name(bytes_of("a\xff")), bytes_of("(other)")));
    assert_true(bytes_equal(metric_client_name(bytes_of("a\nb")), bytes_of("(other)")));
    assert_int_equal(metric_client_name((struct bytes){ NULL, 0 }).size, 0);
}

/* As HandleReloadConfigRequest reads it: the first series in the order of its labels. */
static void tells_the_first_value(void **state)
{
    (void)state;
    assert_int_equal(metric_first_value(bytes_of("/tensorflow/cc/saved_model/load_latency")), 0);
    metric_add(metric_series(METRIC_TF_LOAD_LATENCY, METRIC_LABELS(bytes_of("/m/2"))), 20);
    metric_add(metric_series(METRIC_TF_LOAD_LATENCY, METRIC_LABELS(bytes_of("/m/1"))), 10);
    assert_int_equal(metric_first_value(bytes_of("/tensorflow/cc/saved_model/load_latency")), 10);
    assert_int_equal(metric_first_value(bytes_of("/tensorflow/serving/request_latency")), 0);
    assert_int_equal(metric_first_value(bytes_of("no such metric")), 0);
}

static void counts_what_does_not_fit_as_other(void **state)
{
    char model[32];
    struct metric_series *series = NULL;
    (void)state;
    for (int i = 0; i < 40000; i++) { /* 35 slots each: more than there are */
        snprintf(model, sizeof model, "m%d", i);
        series = latency(model);
        metric_observe(series, 1);
    }
    assert_true(bytes_equal(series->labels[0], bytes_of(METRIC_OTHER)));
    uint64_t others = metric_value(series);
    assert_true(others > 0 && others < 40000);
    assert_int_equal(metric_value(metric_series(METRIC_SERIES_DROPPED, METRIC_NO_LABELS)), others);
    /* what was found before goes on */
    assert_int_equal(metric_value(latency("m0")), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_what_many_threads_add),
        cmocka_unit_test(finds_a_series_again),
        cmocka_unit_test(puts_values_in_their_buckets),
        cmocka_unit_test(removes_the_series_of_an_owner),
        cmocka_unit_test(keeps_for_a_page_what_is_removed_meanwhile),
        cmocka_unit_test(frees_what_is_removed_while_pages_overlap),
        cmocka_unit_test(prints_pages_while_series_come_and_go),
        cmocka_unit_test(takes_no_memory_for_versions_that_come_and_go),
        cmocka_unit_test(refuses_names_that_break_a_page),
        cmocka_unit_test(bounds_the_names_of_clients),
        cmocka_unit_test(tells_the_first_value),
        cmocka_unit_test(counts_what_does_not_fit_as_other),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
