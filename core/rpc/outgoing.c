#include "rpc/outgoing.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

#define PAYLOAD_TAG (char)(MESSAGE_PAYLOAD_FIELD << 3 | 2) /* a field of bytes */

static size_t tag_size(size_t payload, char out[1 + VARINT_MAX])
{
    if (payload == 0)
        return 0;
    out[0] = PAYLOAD_TAG;
    return 1 + varint_put(out + 1, payload);
}

size_t outgoing_message_size(const struct message *message)
{
    char tag[1 + VARINT_MAX];
    size_t payload = message_payload_size(message);

    return message->header.size + tag_size(payload, tag) + payload;
}

void outgoing_init(struct outgoing *outgoing, struct message *message,
                   void (*gone)(struct outgoing *outgoing))
{
    size_t payload = message_payload_size(message);

    *outgoing =
        (struct outgoing){ .references = 1, .gone = gone, .message = message_move(message) };
    outgoing->tag_size = (unsigned char)tag_size(payload, outgoing->tag);
    size_t size = outgoing->message.header.size + outgoing->tag_size + payload;
    assert(size <= UINT32_MAX);
    for (int i = 0; i < 4; i++)
        outgoing->prefix[1 + i] = (unsigned char)(size >> (24 - 8 * i));
    outgoing->size = outgoing->left = GRPC_PREFIX_SIZE + size;
}

static void free_outgoing(struct outgoing *outgoing)
{
    free(outgoing);
}

struct outgoing *outgoing_create(struct message *message)
{
    struct outgoing *outgoing = xrealloc(NULL, sizeof *outgoing);

    outgoing_init(outgoing, message, free_outgoing);
    return outgoing;
}

struct outgoing *outgoing_create_text(const char *text)
{
    struct message message = { .header = bytes_of(text) };
    struct outgoing *outgoing = outgoing_create(&message);

    outgoing->segment = 1; /* behind the prefix */
    outgoing->size = outgoing->left = strlen(text);
    return outgoing;
}

void outgoing_acquire(struct outgoing *outgoing)
{
    outgoing->references++;
}

void outgoing_release(struct outgoing *outgoing)
{
    if (outgoing == NULL || --outgoing->references > 0)
        return;
    message_release(&outgoing->message);
    outgoing->gone(outgoing);
}

static struct bytes segment(const struct outgoing *outgoing)
{
    const struct message *message = &outgoing->message;

    switch (outgoing->segment) {
    case 0:
        return (struct bytes){ (const char *)outgoing->prefix, GRPC_PREFIX_SIZE };
    case 1:
        return message->header;
    case 2:
        return (struct bytes){ outgoing->tag, outgoing->tag_size };
    default:
        assert(outgoing->segment - 3 < message->pieces_count);
        return message->pieces[outgoing->segment - 3];
    }
}

struct iovec outgoing_next(struct outgoing *outgoing, size_t max)
{
    struct bytes run = segment(outgoing);

    assert(outgoing->left > 0);
    while (outgoing->offset == run.size) {
        outgoing->segment++;
        outgoing->offset = 0;
        run = segment(outgoing);
    }
    run.data += outgoing->offset;
    run.size -= outgoing->offset;
    if (run.size > max)
        run.size = max;
    outgoing->offset += run.size;
    outgoing->left -= run.size;
    return (struct iovec){ (void *)(uintptr_t)run.data, run.size };
}

void outgoing_rewind(struct outgoing *outgoing)
{
    outgoing->segment = 0;
    outgoing->offset = 0;
    outgoing->left = outgoing->size;
}
