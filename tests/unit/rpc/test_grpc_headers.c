#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "rpc/grpc_headers.h"

static const struct timeout_row {
    const char *text;
    int64_t ns; /* -1: malformed */
} timeouts[] = {
    { "1n", 1 },
    { "100m", 100 * NS_PER_MS },
    { "99999999u", 99999999000 },
    { "5S", 5 * NS_PER_S },
    { "2M", 120 * NS_PER_S },
    { "99999999H", INT64_MAX }, /* overflows: no deadline */
    { "0S", 0 },
    { "", -1 },
    { "m", -1 },
    { "10", -1 },
    { "1s", -1 },
    { "-1m", -1 },
    { "1 m", -1 },
    { "123456789m", -1 }, /* nine digits */
};

static void timeouts_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(timeouts); i++) {
        int64_t ns = -1;
        bool good = grpc_timeout_parse(bytes_of(timeouts[i].text), &ns);
        if (good != (timeouts[i].ns >= 0) || ns != timeouts[i].ns)
            fail_msg("'%s': %d, %lld", timeouts[i].text, good, (long long)ns);
    }
}

static void timeouts_are_printed_as_finely_as_eight_digits_say(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = { { 1, "1n" },
                 { -5, "1n" },
                 { 99999999, "99999999n" },
                 { 100000000, "100000u" },
                 { 100000001, "100001u" }, /* rounds up */
                 { 3600 * NS_PER_S, "3600000m" },
                 { INT64_MAX - 1, "2562048H" } };
    char text[GRPC_TIMEOUT_MAX];

    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t size = grpc_timeout_print(rows[i].ns, text);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(size, strlen(text));
    }
}

static void messages_survive_the_wire(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wire;
    } rows[] = { { "plain words", "plain words" },
                 { "100 %", "100 %25" },
                 { "two\nlines", "two%0Alines" },
                 { "\xc3\xa9", "%C3%A9" },
                 { "", "" } };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buffer wire = { 0 }, back = { 0 };
        grpc_message_encode(rows[i].text, &wire);
        assert_true(bytes_equal((struct bytes){ wire.data, wire.size }, bytes_of(rows[i].wire)));
        grpc_message_decode((struct bytes){ wire.data, wire.size }, &back);
        assert_true(bytes_equal((struct bytes){ back.data, back.size }, bytes_of(rows[i].text)));
        buffer_finish(&wire);
        buffer_finish(&back);
    }
}

static void what_is_no_escape_stays(void **state)
{
    (void)state;
    static const char *const rows[] = { "%", "%4", "%zz", "100%", "%%", "a%4" };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buffer back = { 0 };
        grpc_message_decode(bytes_of(rows[i]), &back);
        assert_true(bytes_equal((struct bytes){ back.data, back.size }, bytes_of(rows[i])));
        buffer_finish(&back);
    }
}

static void content_types_are_told_apart(void **state)
{
    (void)state;
    assert_true(is_grpc_content_type(bytes_of("application/grpc")));
    assert_true(is_grpc_content_type(bytes_of("application/grpc+proto")));
    assert_true(is_grpc_content_type(bytes_of("application/grpc;charset=utf-8")));
    assert_false(is_grpc_content_type(bytes_of("application/grpc-web")));
    assert_false(is_grpc_content_type(bytes_of("application/json")));
    assert_false(is_grpc_content_type(bytes_of("application/grp")));
}

static void codes_are_gRPC_s(void **state)
{
    (void)state;
    assert_int_equal(grpc_status_parse(bytes_of("0")), STATUS_OK);
    assert_int_equal(grpc_status_parse(bytes_of("16")), STATUS_UNAUTHENTICATED);
    assert_int_equal(grpc_status_parse(bytes_of("17")), STATUS_UNKNOWN);
    assert_int_equal(grpc_status_parse(bytes_of("")), STATUS_UNKNOWN);
    assert_int_equal(grpc_status_parse(bytes_of("1x")), STATUS_UNKNOWN);
    assert_int_equal(grpc_status_of_http(404), STATUS_UNIMPLEMENTED);
    assert_int_equal(grpc_status_of_http(503), STATUS_UNAVAILABLE);
    assert_int_equal(grpc_status_of_http(418), STATUS_UNKNOWN);
    assert_int_equal(grpc_status_of_reset(7), STATUS_UNAVAILABLE);
    assert_int_equal(grpc_status_of_reset(8), STATUS_CANCELLED);
    assert_int_equal(grpc_status_of_reset(11), STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(grpc_status_of_reset(2), STATUS_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeouts_are_read),
        cmocka_unit_test(timeouts_are_printed_as_finely_as_eight_digits_say),
        cmocka_unit_test(messages_survive_the_wire),
        cmocka_unit_test(what_is_no_escape_stays),
        cmocka_unit_test(content_types_are_told_apart),
        cmocka_unit_test(codes_are_gRPC_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
