#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/metrics/page.h"

static char *text_of(void (*print)(struct buffer *))
{
    struct buffer out = { 0 };
    print(&out);
    buffer_append_char(&out, '\0');
    return out.data;
}

static void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("the page lacks:\n%s\nin\n%s", part, text);
}

/* The text of TensorFlow Serving's exporter for the same metrics. */
static void prints_as_tensorflow_serving(void **state)
{
    struct metric_series *latency =
        metric_series(METRIC_TF_REQUEST_LATENCY,
                      METRIC_LABELS(bytes_of("m"), bytes_of("Predict"), bytes_of("GRPC")));
    (void)state;
    metric_add(metric_series(METRIC_TF_REQUEST_COUNT, METRIC_LABELS(bytes_of("m"), bytes_of("OK"))),
               3);
    metric_add(metric_series(METRIC_TF_REQUEST_COUNT,
                             METRIC_LABELS(bytes_of("a\\b\"c"), bytes_of("NOT_FOUND"))),
               1);
    metric_add(metric_series(METRIC_TF_WRAPPED_RUN_COUNT, METRIC_NO_LABELS), 2);
    metric_observe(latency, 5);
    metric_observe(latency, 1234567);
    metric_observe(metric_series(METRIC_TF_INPUT_BATCH_SIZE, METRIC_NO_LABELS), 3);
    char *text = text_of(metrics_print_tensorflow);
    assert_holds(text, "# TYPE :tensorflow:serving:request_count counter\n"
                       ":tensorflow:serving:request_count{model_name=\"a\\\\b\\\"c\",status="
                       "\"NOT_FOUND\"} 1\n"
                       ":tensorflow:serving:request_count{model_name=\"m\",status=\"OK\"} 3\n"
                       "# TYPE :tensorflow:serving:request_example_count_total counter\n"
                       "# TYPE :tensorflow:serving:request_example_counts histogram\n"
                       "# TYPE :tensorflow:serving:request_latency histogram\n"
                       ":tensorflow:serving:request_latency_bucket{model_name=\"m\",API=\"Predict\""
                       ",entrypoint=\"GRPC\",le=\"10\"} 1\n"
                       ":tensorflow:serving:request_latency_bucket{model_name=\"m\",API=\"Predict\""
                       ",entrypoint=\"GRPC\",le=\"18\"} 1\n"
                       ":tensorflow:serving:request_latency_bucket{model_name=\"m\",API=\"Predict\""
                       ",entrypoint=\"GRPC\",le=\"32.4\"} 1\n"
                       ":tensorflow:serving:request_latency_bucket{model_name=\"m\",API=\"Predict\""
                       ",entrypoint=\"GRPC\",le=\"58.32\"} 1\n");
    assert_holds(text, "entrypoint=\"GRPC\",le=\"1.47476e+09\"} 2\n"
                       ":tensorflow:serving:request_latency_bucket{model_name=\"m\",API=\"Predict\""
                       ",entrypoint=\"GRPC\",le=\"+Inf\"} 2\n"
                       ":tensorflow:serving:request_latency_sum{model_name=\"m\",API=\"Predict\","
                       "entrypoint=\"GRPC\"} 1.23457e+06\n"
                       ":tensorflow:serving:request_latency_count{model_name=\"m\",API=\"Predict\","
                       "entrypoint=\"GRPC\"} 2\n");
    assert_holds(text, "# TYPE :tensorflow:serving:batching_session:wrapped_run_count counter\n"
                       ":tensorflow:serving:batching_session:wrapped_run_count{} 2\n");
    assert_holds(text,
                 ":tensorflow:serving:batching_session:input_batch_size_bucket{le=\"2\"} 0\n"
                 ":tensorflow:serving:batching_session:input_batch_size_bucket{le=\"4\"} 1\n");
    assert_holds(text, ":tensorflow:serving:batching_session:input_batch_size_sum{} 3\n");
    assert_null(strstr(text, "# HELP"));
    assert_null(strstr(text, "slipway"));
    free(text);
}

static void rows_of_tensorflow_are_in_order(void **state)
{
    (void)state;
    for (int i = 1; i < METRIC_COUNT && metric_rows[i].name[0] == '/'; i++)
        if (strcmp(metric_rows[i - 1].name, metric_rows[i].name) >= 0)
            fail_msg("rows.def: %s is listed before %s", metric_rows[i - 1].name,
                     metric_rows[i].name);
}

static void collect(void *context, struct metrics_page *page)
{
    metrics_sample(page, METRIC_CONNECTIONS, METRIC_LABELS(bytes_of("http\n2")),
                   *(double *)context);
    metrics_sample(page, METRIC_CONNECTIONS, METRIC_LABELS(bytes_of("http")), 1);
    metrics_sample(page, METRIC_CONNECTIONS, METRIC_LABELS(bytes_of("i\x8b\"\xc3\xa9\xc3\\")), 2);
    metrics_sample(page, METRIC_PROCESS_START, METRIC_NO_LABELS, 1700000000.25);
}

static void prints_ours_with_help(void **state)
{
    static double value = 4294967297;
    static struct metrics_collector collector = { .collect = collect, .context = &value };
    struct metric_series *load =
        metric_series(METRIC_MODEL_LOAD_SECONDS, METRIC_LABELS(bytes_of("m")));
    (void)state;
    metric_observe(load, 1500000);
    char *text = text_of(metrics_print);
    assert_null(strstr(text, "slipway_connections"));
    free(text);
    metrics_add_collector(&collector);
    text = text_of(metrics_print);
    assert_holds(text,
                 "# HELP slipway_connections Open connections.\n"
                 "# TYPE slipway_connections gauge\n"
                 "slipway_connections{protocol=\"http\"} 1\n"
                 "slipway_connections{protocol=\"http\\n2\"} 4294967297\n"
                 "slipway_connections{protocol=\"i\xef\xbf\xbd\\\"\xc3\xa9\xef\xbf\xbd\\\\\"} 2\n");
    assert_holds(text, "process_start_time_seconds 1700000000.25\n");
    assert_holds(text, "slipway_model_load_seconds_bucket{model=\"m\",le=\"0.001\"} 0\n"
                       "slipway_model_load_seconds_bucket{model=\"m\",le=\"0.002\"} 1\n");
    assert_holds(text, "slipway_model_load_seconds_sum{model=\"m\"} 0.0015\n"
                       "slipway_model_load_seconds_count{model=\"m\"} 1\n");
    assert_null(strstr(text, "tensorflow"));
    assert_null(strstr(text, "slipway_requests_total")); /* it has no sample */
    free(text);
}

/* What `promtool check metrics` complains about. */
static void ours_follow_the_rules_of_prometheus(void **state)
{
    (void)state;
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct metric_row *row = &metric_rows[i];
        if (row->name[0] == '/') {
            assert_null(row->help);
            continue;
        }
        size_t size = strlen(row->name);
        bool total = size > 6 && strcmp(row->name + size - 6, "_total") == 0;
        assert_non_null(row->help);
        assert_int_equal(total, row->kind == METRIC_COUNTER);
        assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz_"), size);
        assert_int_equal(row->kind == METRIC_HISTOGRAM, row->buckets.count > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_as_tensorflow_serving),
        cmocka_unit_test(rows_of_tensorflow_are_in_order),
        cmocka_unit_test(prints_ours_with_help),
        cmocka_unit_test(ours_follow_the_rules_of_prometheus),
    };
    return cmocka_run_group_tests_name("metrics page", tests, NULL, NULL);
}
