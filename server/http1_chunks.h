/*
 * http1_chunks: takes a chunked body (RFC 9112, 7.1) apart, whatever pieces it comes in.
 *
 *     5;name=value CR LF   hello CR LF   0 CR LF   trailer: x CR LF   CR LF
 *
 * Extensions and trailers are skipped and have a limit; a line must end with CR LF.
 */
#ifndef SERVER_HTTP1_CHUNKS_H
#define SERVER_HTTP1_CHUNKS_H

#include "base/bytes.h"

struct http1_chunks { /* zero-initialise it */
    enum {
        CHUNK_SIZE,
        CHUNK_EXTENSION,
        CHUNK_SIZE_LF,
        CHUNK_DATA,
        CHUNK_DATA_CR,
        CHUNK_DATA_LF,
        CHUNK_TRAILER_START,
        CHUNK_TRAILER,
        CHUNK_TRAILER_LF,
        CHUNK_LAST_LF,
        CHUNK_END,
    } state;
    uint64_t left;  /* of the chunk's data */
    int digits;     /* of its size */
    size_t skipped; /* bytes of this extension, or of the trailers */
};

enum http1_chunk {
    HTTP1_CHUNK_DATA,
    HTTP1_CHUNK_MORE, /* all of the input is used up */
    HTTP1_CHUNK_LAST, /* the body is whole */
    HTTP1_CHUNK_BROKEN,
};

/* Reads on; *input moves behind what was used. *data, of HTTP1_CHUNK_DATA: a view of the input. */
enum http1_chunk http1_chunks_next(struct http1_chunks *chunks, struct bytes *input,
                                   struct bytes *data);

#endif
