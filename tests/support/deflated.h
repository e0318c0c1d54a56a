/*
 * deflated: compresses bytes to a gzip or zlib stream. A test that includes this links zlib.
 */
#ifndef SUPPORT_DEFLATED_H
#define SUPPORT_DEFLATED_H

#include <stdlib.h>
#include <zlib.h>

#include "base/bytes.h"

#define WINDOW_ZLIB 15
#define WINDOW_GZIP (15 + 16)

/* Appends the compressed stream to `out`. */
static inline void deflate_bytes(struct bytes bytes, int window_bits, struct buffer *out)
{
    z_stream stream = { 0 };
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    size_t room = deflateBound(&stream, bytes.size);
    buffer_reserve(out, room);
    stream.next_in = (Bytef *)(uintptr_t)bytes.data;
    stream.avail_in = (uInt)bytes.size;
    stream.next_out = (Bytef *)out->data + out->size;
    stream.avail_out = (uInt)room;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    out->size += stream.total_out;
    deflateEnd(&stream);
}

#endif
