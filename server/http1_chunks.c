#include "server/http1_chunks.h"

#define DIGITS_MAX  15 /* they fit 64 bits */
#define SKIPPED_MAX 4096

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_size(struct http1_chunks *chunks, char c)
{
    int digit = hex(c);
    if (digit >= 0) {
        chunks->left = chunks->left << 4 | (unsigned)digit;
        return ++chunks->digits <= DIGITS_MAX;
    }
    chunks->state = c == '\r' ? CHUNK_SIZE_LF : CHUNK_EXTENSION;
    return chunks->digits > 0 && (c == '\r' || c == ';' || c == ' ' || c == '\t');
}

/* Up to the CR that ends the line, of an extension or a trailer. */
static bool skip(struct http1_chunks *chunks, char c, int next)
{
    if (c == '\r')
        chunks->state = next;
    return c != '\n' && c != '\0' && ++chunks->skipped <= SKIPPED_MAX;
}

static bool take(struct http1_chunks *chunks, char c, char wanted, int next)
{
    chunks->state = next;
    return c == wanted;
}

static bool begin_chunk(struct http1_chunks *chunks, char c)
{
    *chunks = (struct http1_chunks){ .state = CHUNK_SIZE };
    return c == '\n';
}

/* One byte of the framing. False: it does not belong there. */
static bool take_framing(struct http1_chunks *chunks, char c)
{
    switch (chunks->state) {
    case CHUNK_SIZE:
        return take_size(chunks, c);
    case CHUNK_EXTENSION:
        return skip(chunks, c, CHUNK_SIZE_LF);
    case CHUNK_SIZE_LF:
        return take(chunks, c, '\n', chunks->left > 0 ? CHUNK_DATA : CHUNK_TRAILER_START);
    case CHUNK_DATA_CR:
        return take(chunks, c, '\r', CHUNK_DATA_LF);
    case CHUNK_DATA_LF:
        return begin_chunk(chunks, c);
    case CHUNK_TRAILER_START:
        if (c == '\r')
            return take(chunks, c, '\r', CHUNK_LAST_LF);
        chunks->state = CHUNK_TRAILER;
        return skip(chunks, c, CHUNK_TRAILER_LF);
    case CHUNK_TRAILER:
        return skip(chunks, c, CHUNK_TRAILER_LF);
    case CHUNK_TRAILER_LF:
        return take(chunks, c, '\n', CHUNK_TRAILER_START);
    case CHUNK_LAST_LF:
        return take(chunks, c, '\n', CHUNK_END);
    case CHUNK_DATA:
    case CHUNK_END:
        break;
    }
    return false;
}

static void take_data(struct http1_chunks *chunks, struct bytes *input, struct bytes *data)
{
    size_t size = input->size < chunks->left ? input->size : (size_t)chunks->left;
    *data = (struct bytes){ input->data, size };
    *input = (struct bytes){ input->data + size, input->size - size };
    chunks->left -= size;
    if (chunks->left == 0)
        chunks->state = CHUNK_DATA_CR;
}

enum http1_chunk http1_chunks_next(struct http1_chunks *chunks, struct bytes *input,
                                   struct bytes *data)
{
    while (chunks->state != CHUNK_END) {
        if (input->size == 0)
            return HTTP1_CHUNK_MORE;
        if (chunks->state == CHUNK_DATA) {
            take_data(chunks, input, data);
            return HTTP1_CHUNK_DATA;
        }
        if (!take_framing(chunks, *input->data))
            return HTTP1_CHUNK_BROKEN;
        *input = (struct bytes){ input->data + 1, input->size - 1 };
    }
    return HTTP1_CHUNK_LAST;
}
