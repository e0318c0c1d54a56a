#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include "server/rest/media.h"

static void takes_exact_types_of_bodies_only(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum media media;
    } rows[] = {
        { NULL, MEDIA_JSON },
        { "", MEDIA_JSON },
        { "application/json", MEDIA_JSON },
        { "application/x-www-form-urlencoded", MEDIA_JSON },
        { "text/plain", MEDIA_JSON },
        { "application/octet-stream", MEDIA_OCTETS },
        { "Application/Octet-Stream; q=1", MEDIA_OCTETS },
        { "application/octet-streams", MEDIA_JSON },
        { "application/x-npy", MEDIA_NPY },
        { "application/x-protobuf;x", MEDIA_PROTOBUF },
        { "application/protobuf", MEDIA_JSON },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(media_of_body(rows[i].header), rows[i].media);
}

static void takes_the_first_known_type_that_the_client_accepts(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum media media;
    } rows[] = {
        { NULL, MEDIA_JSON },
        { "*/*", MEDIA_JSON },
        { "application/x-npy", MEDIA_NPY },
        { "text/html, application/octet-stream;q=0.5, application/json", MEDIA_OCTETS },
        { "application/json,application/x-npy", MEDIA_JSON },
        { ",, application/x-protobuf", MEDIA_PROTOBUF },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(media_of_answer(rows[i].header), rows[i].media);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_exact_types_of_bodies_only),
        cmocka_unit_test(takes_the_first_known_type_that_the_client_accepts),
    };
    return cmocka_run_group_tests_name("media", tests, NULL, NULL);
}
