#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/arena.h"
#include "rpc/grpc_frame_reader.h"
#include "rpc/message_inflate.h"
#include "support/test_group.h"

struct fixture {
    struct loop *loop;
    struct mailbox *mailbox;
    struct grpc_frame_reader reader;
};

static void note(void *context)
{
    (void)context;
}

static void open_incoming(struct fixture *fixture, bool payload)
{
    assert_true(status_is_ok(loop_create(&fixture->loop)));
    fixture->mailbox = mailbox_create(fixture->loop);
    fixture->reader =
        (struct grpc_frame_reader){ .buffers = message_buffers_create(fixture->mailbox, note, NULL),
                                    .message_max = 1 << 20,
                                    .payload = payload };
}

static void close_incoming(struct fixture *fixture)
{
    grpc_frame_reader_finish(&fixture->reader);
    message_buffers_close(fixture->reader.buffers);
    mailbox_close(fixture->mailbox);
    mailbox_release(fixture->mailbox);
    loop_destroy(fixture->loop);
}

/* The wire format of a message. */
static struct buffer wire_of(struct message *message)
{
    struct buffer wire = { 0 };
    struct grpc_frame *frame = grpc_frame_create(message);

    while (frame->left > 0) {
        struct iovec run = grpc_frame_next_run(frame, 7);
        buffer_append(&wire, run.iov_base, run.iov_len);
    }
    grpc_frame_release(frame);
    return wire;
}

/* Feeds the bytes in parts of `part` bytes and checks the messages that result. */
static void feed(struct fixture *fixture, const struct buffer *wire, size_t part, bool payload)
{
    int messages = 0;

    for (size_t at = 0; at < wire->size;) {
        size_t rest = wire->size - at, used;
        bool complete;
        assert_true(status_is_ok(grpc_frame_reader_feed(
            &fixture->reader, wire->data + at, rest < part ? rest : part, &used, &complete)));
        at += used;
        if (!complete)
            continue;
        struct message message = grpc_frame_reader_take(&fixture->reader);
        messages++;
        if (payload) {
            assert_true(bytes_equal(message.header, bytes_of("\x08\x01\x12\x03"
                                                             "abc")));
            assert_int_equal(message.pieces_count, 1);
            assert_true(bytes_equal(message.pieces[0], bytes_of("0123456789012345678901234567")));
            assert_int_equal((uintptr_t)message.pieces[0].data % MESSAGE_BUFFER_ALIGNMENT, 0);
        } else {
            assert_int_equal(message.header.size, 7 + 2 + 28);
            assert_int_equal(message.pieces_count, 0);
        }
        assert_true(message_buffers_held(fixture->reader.buffers) > 0);
        message_release(&message);
        assert_int_equal(message_buffers_held(fixture->reader.buffers), 0);
    }
    assert_int_equal(messages, 1);
    assert_int_equal(grpc_frame_reader_unfinished(&fixture->reader), 0);
}

static void a_message_may_be_cut_anywhere(void **state)
{
    (void)state;
    for (int payload = 0; payload < 2; payload++) {
        struct fixture fixture;
        open_incoming(&fixture, payload != 0);
        for (size_t part = 1; part < 50; part++) {
            struct bytes pieces[] = { bytes_of("01234567890123"), bytes_of("45678901234567") };
            struct message message = { .header = bytes_of("\x08\x01\x12\x03"
                                                          "abc"),
                                       .pieces = pieces,
                                       .pieces_count = 2 };
            struct buffer wire = wire_of(&message);
            feed(&fixture, &wire, part, payload != 0);
            buffer_finish(&wire);
        }
        close_incoming(&fixture);
    }
}

/* "hello", compressed by zlib. */
#define PACKED "\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15"

/* Feeds a compressed message that lacks its last `missing` bytes. */
static struct message take_packed(struct fixture *fixture, bool packed, size_t missing)
{
    struct buffer wire = { 0 };
    size_t size = sizeof PACKED - 1 - missing, used;
    bool complete;
    char prefix[] = { 1, 0, 0, 0, (char)size };

    fixture->reader.encoded = true;
    fixture->reader.packed = packed;
    buffer_append(&wire, prefix, sizeof prefix);
    buffer_append(&wire, PACKED, size);
    assert_true(status_is_ok(
        grpc_frame_reader_feed(&fixture->reader, wire.data, wire.size, &used, &complete)));
    assert_true(complete);
    buffer_finish(&wire);
    return grpc_frame_reader_take(&fixture->reader);
}

static void a_compressed_message_is_unpacked(void **state)
{
    (void)state;
    struct fixture fixture;
    open_incoming(&fixture, false);
    struct message message = take_packed(&fixture, false, 0);
    assert_int_equal(message.packed_max, 0);
    assert_true(bytes_equal(message.header, bytes_of("hello")));
    message_release(&message);
    close_incoming(&fixture);
}

static void or_later_by_who_gets_it(void **state)
{
    (void)state;
    struct fixture fixture;
    open_incoming(&fixture, false);
    struct message message = take_packed(&fixture, true, 0);
    assert_int_equal(message.packed_max, 1 << 20);
    assert_int_equal(message.header.size, sizeof PACKED - 1);
    assert_true(status_is_ok(message_unpack(&message)));
    assert_int_equal(message.packed_max, 0);
    assert_true(bytes_equal(message.header, bytes_of("hello")));
    assert_int_equal(message_buffers_held(fixture.reader.buffers), 5);
    assert_true(status_is_ok(message_unpack(&message))); /* unpacking twice changes nothing */
    message_release(&message);
    assert_int_equal(message_buffers_held(fixture.reader.buffers), 0);
    close_incoming(&fixture);
}

static void also_when_its_connection_is_gone(void **state)
{
    (void)state;
    struct fixture fixture;
    open_incoming(&fixture, false);
    struct message message = take_packed(&fixture, true, 0);
    close_incoming(&fixture);
    assert_true(status_is_ok(message_unpack(&message)));
    assert_true(bytes_equal(message.header, bytes_of("hello")));
    message_release(&message);
}

static void a_damaged_one_stays_as_it_is(void **state)
{
    (void)state;
    struct fixture fixture;
    open_incoming(&fixture, false);
    struct message message = take_packed(&fixture, true, 4);
    struct status status = message_unpack(&message);
    assert_int_equal(status.code, STATUS_INTERNAL);
    assert_string_equal(status.message, "a compressed message is damaged: it is cut short");
    assert_int_equal(message.header.size, sizeof PACKED - 5);
    message.packed_max = 3;
    assert_int_equal(message_unpack(&message).code, STATUS_INTERNAL);
    message_release(&message);
    message = take_packed(&fixture, true, 0);
    message.packed_max = 3;
    assert_int_equal(message_unpack(&message).code, STATUS_RESOURCE_EXHAUSTED);
    message_release(&message);
    close_incoming(&fixture);
}

/* Whether a message stays in the socket buffer or is copied. It has `size` bytes and is read in one
 * piece, except for its last `missing` bytes. */
static const struct stay_row {
    const char *label;
    size_t size, missing;
    bool may_stay, payload, elsewhere, stays;
} stay_rows[] = {
    { "stays", 3000, 0, true, false, false, true },
    { "the least that stays", 1024, 0, true, false, false, true },
    { "small: copied", 1023, 0, true, false, false, false },
    { "not all of it: copied", 3000, 1, true, false, false, false },
    { "its payload is wanted aligned: copied", 3000, 0, true, true, false, false },
    { "it may not: copied", 3000, 0, false, false, false, false },
    { "read to elsewhere: copied", 3000, 0, true, false, true, false },
};

static void a_message_stays_where_it_was_read_to(void **state)
{
    const struct stay_row *row = *state;
    struct socket_buffers *reading = socket_buffers_create();
    struct socket_buffer *piece = socket_buffers_next(reading);
    char *text = zalloc(row->size), *elsewhere = zalloc(SOCKET_BUFFER_BYTES);
    struct message message = { .header = { memset(text, 'x', row->size), row->size } };
    struct buffer wire = wire_of(&message);
    char *at = (row->elsewhere ? elsewhere : socket_buffer_data(piece)) + 77;
    struct fixture fixture;
    bool complete;
    size_t used;

    open_incoming(&fixture, row->payload);
    fixture.reader.may_stay = row->may_stay;
    fixture.reader.source = piece;
    memcpy(at, wire.data, wire.size);
    assert_true(status_is_ok(
        grpc_frame_reader_feed(&fixture.reader, at, wire.size - row->missing, &used, &complete)));
    assert_int_equal(used, wire.size - row->missing);
    assert_int_equal(complete, row->missing == 0);
    if (!complete)
        assert_true(status_is_ok(
            grpc_frame_reader_feed(&fixture.reader, at + used, row->missing, &used, &complete)));
    struct message got = grpc_frame_reader_take(&fixture.reader);
    assert_int_equal(got.header.data == at + GRPC_PREFIX_SIZE, row->stays);
    assert_true(message_buffers_held(fixture.reader.buffers) >= row->size);
    struct socket_buffer *next = socket_buffers_next(reading);
    assert_int_equal(next != piece, row->stays);
    memset(socket_buffer_data(next), 0, SOCKET_BUFFER_BYTES);
    socket_buffers_destroy(reading);
    assert_true(bytes_equal(got.header, (struct bytes){ text, row->size }));
    message_release(&got);
    assert_int_equal(message_buffers_held(fixture.reader.buffers), 0);
    close_incoming(&fixture);
    buffer_finish(&wire);
    free(elsewhere);
    free(text);
}

static const struct odd_row {
    const char *label;
    struct bytes wire;
    enum status_code code;
    size_t header; /* of the resulting message, which has no pieces */
} odd[] = {
#define WIRE(text)            \
    {                         \
        text, sizeof text - 1 \
    }
    { "compressed, unsaid how", WIRE("\1\0\0\0\1x"), STATUS_INTERNAL, 0 },
    { "neither", WIRE("\2\0\0\0\1x"), STATUS_INTERNAL, 0 },
    { "too large", WIRE("\0\0\x10\0\1x"), STATUS_RESOURCE_EXHAUSTED, 0 },
    { "4 GiB", WIRE("\0\xff\xff\xff\xffx"), STATUS_RESOURCE_EXHAUSTED, 0 },
    { "field 15 is not the last", WIRE("\0\0\0\0\5\x7a\1x\x08\1"), STATUS_OK, 5 },
    { "field 15 ends behind the message", WIRE("\0\0\0\0\3\x7a\2x"), STATUS_OK, 3 },
    { "field 15 is a number", WIRE("\0\0\0\0\2\x78\1"), STATUS_OK, 2 },
    { "a field ends behind the message", WIRE("\0\0\0\0\3\x0a\x7fx"), STATUS_OK, 3 },
    { "a length of 2^64 - 1", WIRE("\0\0\0\0\x0b\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),
      STATUS_OK, 11 },
    { "an endless varint", WIRE("\0\0\0\0\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
      STATUS_OK, 11 },
    { "a group", WIRE("\0\0\0\0\1\x0b"), STATUS_OK, 1 },
    { "nothing", WIRE("\0\0\0\0\0"), STATUS_OK, 0 },
};

static void odd_bytes_are_an_error_or_a_header(void **state)
{
    const struct odd_row *row = *state;
    struct fixture fixture;
    size_t used;
    bool complete;

    open_incoming(&fixture, true);
    struct status status =
        grpc_frame_reader_feed(&fixture.reader, row->wire.data, row->wire.size, &used, &complete);
    assert_int_equal(status.code, row->code);
    if (status_is_ok(status) && complete) {
        struct message message = grpc_frame_reader_take(&fixture.reader);
        assert_int_equal(message.header.size, row->header);
        assert_int_equal(message.pieces_count, 0);
        message_release(&message);
    }
    close_incoming(&fixture);
}

static void a_claimed_size_costs_nothing_until_it_comes(void **state)
{
    (void)state;
    struct fixture fixture;
    size_t used, room = 0;
    bool complete;

    open_incoming(&fixture, true);
    fixture.reader.message_max = UINT32_MAX;
    assert_true(status_is_ok(
        grpc_frame_reader_feed(&fixture.reader, "\0\xf0\0\0\0abc", 8, &used, &complete)));
    assert_non_null(grpc_frame_reader_room(&fixture.reader, &room));
    assert_true(room < (size_t)64 << 20);
    assert_int_equal(grpc_frame_reader_unfinished(&fixture.reader), 3);
    close_incoming(&fixture);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_message_may_be_cut_anywhere),
        cmocka_unit_test(a_claimed_size_costs_nothing_until_it_comes),
        cmocka_unit_test(a_compressed_message_is_unpacked),
        cmocka_unit_test(or_later_by_who_gets_it),
        cmocka_unit_test(also_when_its_connection_is_gone),
        cmocka_unit_test(a_damaged_one_stays_as_it_is),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, odd, label, odd_bytes_are_an_error_or_a_header);
    ADD_ROWS(&group, stay_rows, label, a_message_stays_where_it_was_read_to);
    return test_group_run(&group, "grpc_frame_reader", NULL, NULL);
}
