#include "rpc/grpc_frame.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

#define PAYLOAD_TAG (char)(MESSAGE_PAYLOAD_FIELD << 3 | 2) /* wire type 2: length-delimited */

static size_t tag_size(size_t payload, char out[1 + VARINT_MAX])
{
    if (payload == 0)
        return 0;
    out[0] = PAYLOAD_TAG;
    return 1 + varint_put(out + 1, payload);
}

size_t grpc_frame_message_size(const struct message *message)
{
    char tag[1 + VARINT_MAX];
    size_t payload = message_payload_size(message);

    return message->header.size + tag_size(payload, tag) + payload;
}

void grpc_frame_init(struct grpc_frame *frame, struct message *message,
                     void (*gone)(struct grpc_frame *frame))
{
    size_t payload = message_payload_size(message);

    *frame = (struct grpc_frame){ .references = 1, .gone = gone, .message = message_move(message) };
    frame->tag_size = (unsigned char)tag_size(payload, frame->tag);
    size_t size = frame->message.header.size + frame->tag_size + payload;
    assert(size <= UINT32_MAX);
    for (int i = 0; i < 4; i++)
        frame->prefix[1 + i] = (unsigned char)(size >> (24 - 8 * i));
    frame->size = frame->left = GRPC_PREFIX_SIZE + size;
}

static void free_frame(struct grpc_frame *frame)
{
    free(frame);
}

struct grpc_frame *grpc_frame_create(struct message *message)
{
    struct grpc_frame *frame = xrealloc(NULL, sizeof *frame);

    grpc_frame_init(frame, message, free_frame);
    return frame;
}

struct grpc_frame *grpc_frame_create_unframed(const char *text)
{
    struct message message = { .header = bytes_of(text) };
    struct grpc_frame *frame = grpc_frame_create(&message);

    frame->segment = 1; /* skips the prefix */
    frame->size = frame->left = strlen(text);
    return frame;
}

void grpc_frame_acquire(struct grpc_frame *frame)
{
    assert(frame->references > 0);
    frame->references++;
}

void grpc_frame_release(struct grpc_frame *frame)
{
    if (frame == NULL || --frame->references > 0)
        return;
    message_release(&frame->message);
    frame->gone(frame);
}

static struct bytes segment(const struct grpc_frame *frame)
{
    const struct message *message = &frame->message;

    switch (frame->segment) {
    case 0:
        return (struct bytes){ (const char *)frame->prefix, GRPC_PREFIX_SIZE };
    case 1:
        return message->header;
    case 2:
        return (struct bytes){ frame->tag, frame->tag_size };
    default:
        assert(frame->segment - 3 < message->pieces_count);
        return message->pieces[frame->segment - 3];
    }
}

struct iovec grpc_frame_next_run(struct grpc_frame *frame, size_t max)
{
    struct bytes run = segment(frame);

    assert(frame->left > 0 && max > 0);
    while (frame->offset == run.size) {
        frame->segment++;
        frame->offset = 0;
        run = segment(frame);
    }
    run.data += frame->offset;
    run.size -= frame->offset;
    if (run.size > max)
        run.size = max;
    frame->offset += run.size;
    frame->left -= run.size;
    return (struct iovec){ (void *)(uintptr_t)run.data, run.size };
}

void grpc_frame_rewind(struct grpc_frame *frame)
{
    frame->segment = 0;
    frame->offset = 0;
    frame->left = frame->size;
}
