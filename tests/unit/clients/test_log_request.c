/* Tests that a request of a log keeps all but what is asked for of its model_spec. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "clients/log_request.h"
#include "proto/wire.h"

/* { name: "m" version: 3 signature_name: "s" } */
static void put_spec(struct buffer *out, const char *name, int version)
{
    size_t spec = wire_open(out, 1);
    wire_put_bytes(out, 1, bytes_of(name));
    if (version > 0) {
        size_t opened = wire_open(out, 2);
        wire_put_varint(out, 1, (uint64_t)version);
        wire_close(out, opened);
    }
    wire_put_bytes(out, 3, bytes_of("s"));
    wire_close(out, spec);
}

/* "name:version:label:signature" of a spec. */
static void print_spec(struct bytes spec, char *text, size_t size)
{
    struct bytes parts[5] = { 0 };
    struct wire wire = wire_of(spec);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (field.number < 5)
            parts[field.number] = field.bytes;
    snprintf(text, size, "%.*s:%d:%.*s:%.*s", (int)parts[1].size, parts[1].data,
             parts[2].size > 0 ? parts[2].data[1] : 0, (int)parts[4].size, parts[4].data,
             (int)parts[3].size, parts[3].data);
}

/* The spec as it is sent; the rest of the message must stay. */
static const char *sent(struct bytes request, const struct client_target *target)
{
    static char text[64];
    struct prediction_log record = { .kind = PREDICTION_PREDICT, .request = request };
    struct buffer out = { 0 };
    bool rest = false;
    log_request_put(&record, target, &out);
    struct wire wire = wire_of((struct bytes){ out.data, out.size });
    struct wire_field field;
    text[0] = '\0';
    while (wire_next(&wire, &field)) {
        if (field.number == 1)
            print_spec(field.bytes, text, sizeof text);
        else
            rest = field.number == 2 && bytes_equal(field.bytes, bytes_of("rest"));
    }
    assert_false(wire.damaged);
    assert_true(rest);
    buffer_finish(&out);
    return text;
}

static void the_target_replaces_what_it_names(void **state)
{
    struct buffer request = { 0 };
    (void)state;
    put_spec(&request, "m", 3);
    wire_put_bytes(&request, 2, bytes_of("rest"));
    struct bytes bytes = { request.data, request.size };
    assert_string_equal(sent(bytes, &(struct client_target){ .version = -1 }), "m:3::s");
    assert_string_equal(sent(bytes, &(struct client_target){ .model = "n", .version = -1 }),
                        "n:3::s");
    assert_string_equal(sent(bytes, &(struct client_target){ .version = 7 }), "m:7::s");
    assert_string_equal(sent(bytes, &(struct client_target){ .version = -1, .label = "l" }),
                        "m:0:l:s");
    buffer_finish(&request);
}

static void a_request_without_a_spec_gets_one(void **state)
{
    struct buffer request = { 0 };
    (void)state;
    wire_put_bytes(&request, 2, bytes_of("rest"));
    assert_string_equal(sent((struct bytes){ request.data, request.size },
                             &(struct client_target){ .model = "n", .version = -1 }),
                        "n:0::");
    buffer_finish(&request);
}

static void each_task_of_a_multi_inference_is_redirected(void **state)
{
    struct buffer request = { 0 }, out = { 0 };
    (void)state;
    for (int i = 0; i < 2; i++) {
        size_t task = wire_open(&request, 1);
        put_spec(&request, "m", 0);
        wire_put_bytes(&request, 2, bytes_of("method"));
        wire_close(&request, task);
    }
    struct prediction_log record = { .kind = PREDICTION_MULTI_INFERENCE,
                                     .request = { request.data, request.size } };
    log_request_put(&record, &(struct client_target){ .model = "long name", .version = -1 }, &out);
    struct wire wire = wire_of((struct bytes){ out.data, out.size });
    struct wire_field field, spec;
    int tasks = 0;
    char text[64];
    while (wire_next(&wire, &field)) {
        struct wire task = wire_of(field.bytes);
        assert_true(wire_next(&task, &spec));
        print_spec(spec.bytes, text, sizeof text);
        assert_string_equal(text, "long name:0::s");
        tasks++;
    }
    assert_int_equal(tasks, 2);
    buffer_finish(&request);
    buffer_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_replaces_what_it_names),
        cmocka_unit_test(a_request_without_a_spec_gets_one),
        cmocka_unit_test(each_task_of_a_multi_inference_is_redirected),
    };
    return cmocka_run_group_tests_name("log_request", tests, NULL, NULL);
}
