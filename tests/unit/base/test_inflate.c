#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/container.h"
#include "base/inflate.h"
#include "support/deflated.h"

#define TEXT_SIZE 1000

static struct bytes text(void)
{
    static char data[TEXT_SIZE];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * i >> 5);
    return (struct bytes){ data, sizeof data };
}

struct destination {
    struct inflate_output output;
    struct buffer memory;
    size_t step; /* 0: grow fails */
};

static struct status grow(struct inflate_output *output)
{
    struct destination *destination = CONTAINER_OF(output, struct destination, output);
    assert_int_equal(output->size, output->capacity);
    assert_true(output->size <= output->limit);
    if (destination->step == 0)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no room");
    destination->memory.size = output->size;
    assert_true(buffer_try_reserve(&destination->memory, output->size + destination->step));
    output->data = destination->memory.data;
    output->capacity = destination->memory.capacity;
    return status_ok();
}

static enum inflate_result inflate_to(struct destination *destination, enum inflate_format format,
                                      struct bytes *input, size_t limit)
{
    enum inflate_result result;
    destination->output = (struct inflate_output){ .limit = limit, .grow = grow };
    assert_true(status_is_ok(inflate_stream(format, input, &destination->output, &result)));
    return result;
}

static enum inflate_result result_of(enum inflate_format format, struct bytes input, size_t limit)
{
    struct destination destination = { .step = 64 };
    enum inflate_result result = inflate_to(&destination, format, &input, limit);
    assert_int_equal(result == INFLATE_DAMAGED, destination.output.damage != NULL);
    buffer_finish(&destination.memory);
    return result;
}

static struct bytes bytes_in(const struct buffer *buffer)
{
    return (struct bytes){ buffer->data, buffer->size };
}

static void a_stream_comes_back(void **state)
{
    static const struct {
        int window_bits;
        enum inflate_format format;
    } rows[] = {
        { WINDOW_GZIP, INFLATE_GZIP },
        { WINDOW_ZLIB, INFLATE_EITHER },
        { WINDOW_GZIP, INFLATE_EITHER },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct destination destination = { .step = 7 };
        struct buffer packed = { 0 };
        deflate_bytes(text(), rows[i].window_bits, &packed);
        buffer_append_text(&packed, "rest");
        struct bytes input = bytes_in(&packed);
        assert_int_equal(inflate_to(&destination, rows[i].format, &input, TEXT_SIZE), INFLATE_END);
        struct bytes out = { destination.output.data, destination.output.size };
        assert_true(bytes_equal(out, text()));
        assert_true(bytes_equal(input, bytes_of("rest")));
        buffer_finish(&destination.memory);
        buffer_finish(&packed);
    }
}

static void the_limit_is_the_largest_size(void **state)
{
    struct buffer packed = { 0 };
    (void)state;
    deflate_bytes(text(), WINDOW_GZIP, &packed);
    assert_int_equal(result_of(INFLATE_GZIP, bytes_in(&packed), TEXT_SIZE), INFLATE_END);
    for (size_t limit = 0; limit < TEXT_SIZE; limit++)
        assert_int_equal(result_of(INFLATE_GZIP, bytes_in(&packed), limit), INFLATE_TOO_LARGE);
    buffer_finish(&packed);
}

static void every_prefix_is_cut_short(void **state)
{
    struct buffer packed = { 0 };
    (void)state;
    deflate_bytes(text(), WINDOW_GZIP, &packed);
    for (size_t size = 0; size < packed.size; size++)
        assert_int_equal(result_of(INFLATE_GZIP, (struct bytes){ packed.data, size }, TEXT_SIZE),
                         INFLATE_CUT_SHORT);
    buffer_finish(&packed);
}

static void damage_and_the_other_format_are_found(void **state)
{
    struct buffer gzip = { 0 }, zlib = { 0 };
    (void)state;
    deflate_bytes(text(), WINDOW_GZIP, &gzip);
    deflate_bytes(text(), WINDOW_ZLIB, &zlib);
    assert_int_equal(result_of(INFLATE_GZIP, bytes_in(&zlib), TEXT_SIZE), INFLATE_DAMAGED);
    gzip.data[gzip.size - 8] ^= 1; /* the checksum */
    assert_int_equal(result_of(INFLATE_GZIP, bytes_in(&gzip), TEXT_SIZE), INFLATE_DAMAGED);
    buffer_finish(&gzip);
    buffer_finish(&zlib);
}

static enum inflate_result members_to(struct destination *destination, struct bytes *input,
                                      size_t limit)
{
    enum inflate_result result;
    destination->output = (struct inflate_output){ .limit = limit, .grow = grow };
    assert_true(status_is_ok(inflate_members(input, &destination->output, &result)));
    return result;
}

/* The text in two members, an empty one between them; then what is no member. */
static void members_follow_each_other(void **state)
{
    struct buffer packed = { 0 };
    size_t half = TEXT_SIZE / 2, whole;
    (void)state;
    deflate_bytes((struct bytes){ text().data, half }, WINDOW_GZIP, &packed);
    deflate_bytes(bytes_of(""), WINDOW_GZIP, &packed);
    deflate_bytes((struct bytes){ text().data + half, half }, WINDOW_GZIP, &packed);
    whole = packed.size;
    buffer_append_text(&packed, "rest");
    for (size_t limit = 0; limit <= TEXT_SIZE; limit++) {
        struct destination destination = { .step = 7 };
        struct bytes input = bytes_in(&packed);
        assert_int_equal(members_to(&destination, &input, limit),
                         limit < TEXT_SIZE ? INFLATE_TOO_LARGE : INFLATE_END);
        if (limit == TEXT_SIZE) {
            struct bytes out = { destination.output.data, destination.output.size };
            assert_true(bytes_equal(out, text()));
            assert_true(bytes_equal(input, bytes_of("rest")));
        }
        buffer_finish(&destination.memory);
    }
    struct destination cut = { .step = 64 };
    struct bytes input = { packed.data, whole - 1 };
    assert_int_equal(members_to(&cut, &input, TEXT_SIZE), INFLATE_CUT_SHORT);
    buffer_finish(&cut.memory);
    packed.data[whole - 8] ^= 1; /* the last checksum */
    struct destination damaged = { .step = 64 };
    input = bytes_in(&packed);
    assert_int_equal(members_to(&damaged, &input, TEXT_SIZE), INFLATE_DAMAGED);
    buffer_finish(&damaged.memory);
    buffer_finish(&packed);
}

static void a_failure_to_grow_is_returned(void **state)
{
    struct destination destination = { .output = { .limit = 1, .grow = grow } };
    struct bytes input = bytes_of("");
    enum inflate_result result;
    (void)state;
    struct status status = inflate_stream(INFLATE_GZIP, &input, &destination.output, &result);
    assert_string_equal(status.message, "no room");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_comes_back),
        cmocka_unit_test(the_limit_is_the_largest_size),
        cmocka_unit_test(every_prefix_is_cut_short),
        cmocka_unit_test(damage_and_the_other_format_are_found),
        cmocka_unit_test(members_follow_each_other),
        cmocka_unit_test(a_failure_to_grow_is_returned),
    };
    return cmocka_run_group_tests_name("inflate", tests, NULL, NULL);
}
