#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/arena.h"
#include "rpc/incoming.h"
#include "rpc/inflate.h"

struct fixture {
    struct loop *loop;
    struct mailbox *mailbox;
    struct incoming incoming;
};

static void note(void *context)
{
    (void)context;
}

static void open_incoming(struct fixture *fixture, bool payload)
{
    assert_true(status_is_ok(loop_create(&fixture->loop)));
    fixture->mailbox = mailbox_create(fixture->loop);
    fixture->incoming = (struct incoming){ .blocks = blocks_create(fixture->mailbox, note, NULL),
                                           .message_max = 1 << 20,
                                           .payload = payload };
}

static void close_incoming(struct fixture *fixture)
{
    incoming_finish(&fixture->incoming);
    blocks_close(fixture->incoming.blocks);
    mailbox_close(fixture->mailbox);
    mailbox_release(fixture->mailbox);
    loop_destroy(fixture->loop);
}

/* The bytes of a message as it goes over the wire. */
static struct buffer wire_of(struct message *message)
{
    struct buffer wire = { 0 };
    struct outgoing *outgoing = outgoing_create(message);

    while (outgoing->left > 0) {
        struct iovec run = outgoing_next(outgoing, 7);
        buffer_append(&wire, run.iov_base, run.iov_len);
    }
    outgoing_release(outgoing);
    return wire;
}

/* Feeds in parts of `part` bytes; the messages that come are checked to be the same. */
static void feed(struct fixture *fixture, const struct buffer *wire, size_t part, bool payload)
{
    int messages = 0;

    for (size_t at = 0; at < wire->size;) {
        size_t rest = wire->size - at, used;
        bool complete;
        assert_true(status_is_ok(incoming_feed(&fixture->incoming, wire->data + at,
                                               rest < part ? rest : part, &used, &complete)));
        at += used;
        if (!complete)
            continue;
        struct message message = incoming_take(&fixture->incoming);
        messages++;
        if (payload) {
            assert_true(bytes_equal(message.header, bytes_of("\x08\x01\x12\x03"
                                                             "abc")));
            assert_int_equal(message.pieces_count, 1);
            assert_true(bytes_equal(message.pieces[0], bytes_of("0123456789012345678901234567")));
            assert_int_equal((uintptr_t)message.pieces[0].data % BLOCK_ALIGNMENT, 0);
        } else {
            assert_int_equal(message.header.size, 7 + 2 + 28);
            assert_int_equal(message.pieces_count, 0);
        }
        assert_true(blocks_held(fixture->incoming.blocks) > 0);
        message_release(&message);
        assert_int_equal(blocks_held(fixture->incoming.blocks), 0);
    }
    assert_int_equal(messages, 1);
    assert_int_equal(incoming_unfinished(&fixture->incoming), 0);
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

/* "hello", by zlib. */
#define PACKED "\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15"

/* Feeds a compressed message that lacks its last `missing` bytes. */
static struct message take_packed(struct fixture *fixture, bool packed, size_t missing)
{
    struct buffer wire = { 0 };
    size_t size = sizeof PACKED - 1 - missing, used;
    bool complete;
    char prefix[] = { 1, 0, 0, 0, (char)size };

    fixture->incoming.encoded = true;
    fixture->incoming.packed = packed;
    buffer_append(&wire, prefix, sizeof prefix);
    buffer_append(&wire, PACKED, size);
    assert_true(
        status_is_ok(incoming_feed(&fixture->incoming, wire.data, wire.size, &used, &complete)));
    assert_true(complete);
    buffer_finish(&wire);
    return incoming_take(&fixture->incoming);
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
    assert_int_equal(blocks_held(fixture.incoming.blocks), 5);
    assert_true(status_is_ok(message_unpack(&message))); /* it is plain now */
    message_release(&message);
    assert_int_equal(blocks_held(fixture.incoming.blocks), 0);
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

/* Where a message of `size` that was read in one piece, but for its last `missing` bytes, is put.
 */
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
    struct reading *reading = reading_create();
    struct reading_piece *piece = reading_next(reading);
    char *text = zalloc(row->size), *elsewhere = zalloc(READING_BYTES);
    struct message message = { .header = { memset(text, 'x', row->size), row->size } };
    struct buffer wire = wire_of(&message);
    char *at = (row->elsewhere ? elsewhere : reading_data(piece)) + 77;
    struct fixture fixture;
    bool complete;
    size_t used;

    open_incoming(&fixture, row->payload);
    fixture.incoming.may_stay = row->may_stay;
    fixture.incoming.reading = piece;
    memcpy(at, wire.data, wire.size);
    assert_true(status_is_ok(
        incoming_feed(&fixture.incoming, at, wire.size - row->missing, &used, &complete)));
    assert_int_equal(used, wire.size - row->missing);
    assert_int_equal(complete, row->missing == 0);
    if (!complete)
        assert_true(status_is_ok(
            incoming_feed(&fixture.incoming, at + used, row->missing, &used, &complete)));
    struct message got = incoming_take(&fixture.incoming);
    assert_int_equal(got.header.data == at + GRPC_PREFIX_SIZE, row->stays);
    assert_true(blocks_held(fixture.incoming.blocks) >= row->size);
    struct reading_piece *next = reading_next(reading);
    assert_int_equal(next != piece, row->stays);
    memset(reading_data(next), 0, READING_BYTES);
    reading_destroy(reading);
    assert_true(bytes_equal(got.header, (struct bytes){ text, row->size }));
    message_release(&got);
    assert_int_equal(blocks_held(fixture.incoming.blocks), 0);
    close_incoming(&fixture);
    buffer_finish(&wire);
    free(elsewhere);
    free(text);
}

static const struct odd_row {
    const char *label;
    struct bytes wire;
    enum status_code code;
    size_t header; /* of the message when there is one: nothing is split off */
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
        incoming_feed(&fixture.incoming, row->wire.data, row->wire.size, &used, &complete);
    assert_int_equal(status.code, row->code);
    if (status_is_ok(status) && complete) {
        struct message message = incoming_take(&fixture.incoming);
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
    fixture.incoming.message_max = UINT32_MAX;
    assert_true(
        status_is_ok(incoming_feed(&fixture.incoming, "\0\xf0\0\0\0abc", 8, &used, &complete)));
    assert_non_null(incoming_room(&fixture.incoming, &room));
    assert_true(room < (size_t)64 << 20);
    assert_int_equal(incoming_unfinished(&fixture.incoming), 3);
    close_incoming(&fixture);
}

int main(void)
{
    struct CMUnitTest tests[6 + COUNT(odd) + COUNT(stay_rows)] = {
        cmocka_unit_test(a_message_may_be_cut_anywhere),
        cmocka_unit_test(a_claimed_size_costs_nothing_until_it_comes),
        cmocka_unit_test(a_compressed_message_is_unpacked),
        cmocka_unit_test(or_later_by_who_gets_it),
        cmocka_unit_test(also_when_its_connection_is_gone),
        cmocka_unit_test(a_damaged_one_stays_as_it_is),
    };
    for (size_t i = 0; i < COUNT(odd); i++)
        tests[6 + i] = (struct CMUnitTest){ .name = odd[i].label,
                                            .test_func = odd_bytes_are_an_error_or_a_header,
                                            .initial_state = (void *)(uintptr_t)&odd[i] };
    for (size_t i = 0; i < COUNT(stay_rows); i++)
        tests[6 + COUNT(odd) + i] =
            (struct CMUnitTest){ .name = stay_rows[i].label,
                                 .test_func = a_message_stays_where_it_was_read_to,
                                 .initial_state = (void *)(uintptr_t)&stay_rows[i] };
    return cmocka_run_group_tests_name("incoming", tests, NULL, NULL);
}
