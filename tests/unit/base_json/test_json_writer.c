#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json_writer.h"

static void indents_each_member(void **state)
{
    struct buffer out = { 0 };
    struct json_writer writer = { .out = &out };
    (void)state;
    json_open(&writer, NULL, '{');
    json_write_text(&writer, "name", bytes_of("a"));
    json_open(&writer, "dims", '[');
    json_write_integer(&writer, NULL, -1);
    json_write_integer(&writer, NULL, INT64_MAX);
    json_close(&writer, ']');
    json_open(&writer, "none", '[');
    json_close(&writer, ']');
    json_open(&writer, "inner", '{');
    json_write_bool(&writer, "yes", true);
    json_write_null(&writer, "key");
    json_close(&writer, '}');
    json_close(&writer, '}');
    buffer_append_char(&out, '\0');
    assert_string_equal(out.data, "{\n"
                                  "  \"name\": \"a\",\n"
                                  "  \"dims\": [\n"
                                  "    -1,\n"
                                  "    9223372036854775807\n"
                                  "  ],\n"
                                  "  \"none\": [],\n"
                                  "  \"inner\": {\n"
                                  "    \"yes\": true,\n"
                                  "    \"key\": null\n"
                                  "  }\n"
                                  "}");
    buffer_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indents_each_member),
    };
    return cmocka_run_group_tests_name("json writer", tests, NULL, NULL);
}
