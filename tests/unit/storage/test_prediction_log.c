/* Tests that records are read as they were written, and that damaged ones are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "storage/prediction_log.h"

static struct bytes bytes_in(const struct buffer *buffer)
{
    return (struct bytes){ buffer->data, buffer->size };
}

static void a_record_is_read_as_it_was_written(void **state)
{
    static const char *const tags[] = { "serve", "cpu" };
    struct prediction_metadata metadata = { .model = bytes_of("m"),
                                            .signature = bytes_of("s"),
                                            .version = 7,
                                            .sampling_rate = 0.5,
                                            .tags = tags,
                                            .tags_count = 2,
                                            .timestamp_s = 1700000000 };
    struct buffer head = { 0 }, out = { 0 };
    struct prediction_log read;
    (void)state;
    prediction_metadata_put(&metadata, &head);
    /* The bytes that TensorFlow Serving's LogMetadata serializes to. */
    static const char expected[] = "\x0a\x0a\x0a\x01m\x12\x02\x08\x07\x1a\x01s"
                                   "\x12\x09\x09\0\0\0\0\0\0\xe0\x3f"
                                   "\x1a\x05serve\x1a\x03"
                                   "cpu\x20\x80\xe2\xcf\xaa\x06";
    assert_int_equal(head.size, sizeof expected - 1);
    assert_memory_equal(head.data, expected, head.size);
    struct prediction_log log = { .kind = PREDICTION_PREDICT,
                                  .metadata = bytes_in(&head),
                                  .request = bytes_of("request"),
                                  .response = { "", 0 },
                                  .has_response = true };
    prediction_log_put(&log, &out);
    assert_int_equal(out.size, prediction_log_size(&log));
    assert_true(prediction_log_read(bytes_in(&out), &read));
    assert_int_equal(read.kind, PREDICTION_PREDICT);
    assert_true(bytes_equal(read.metadata, bytes_in(&head)));
    assert_true(bytes_equal(read.request, bytes_of("request")));
    assert_true(read.has_response);
    assert_int_equal(read.response.size, 0);
    for (size_t size = 1; size < out.size; size++)
        if (size != head.size + 2) /* a record of metadata alone */
            assert_false(prediction_log_read((struct bytes){ out.data, size }, &read));
    buffer_finish(&head);
    buffer_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_record_is_read_as_it_was_written) };
    return cmocka_run_group_tests_name("prediction_log", tests, NULL, NULL);
}
