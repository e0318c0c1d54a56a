/*
 * http2_internal: what the files of http2 share: http2.c makes and ends a connection and its
 * streams, http2_read.c and http2_write.c move its bytes, http2_guard.c watches what it costs.
 */
#ifndef RPC_HTTP2_INTERNAL_H
#define RPC_HTTP2_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "base/loop.h"
#include "rpc/http2.h"
#include "rpc/output.h"

/* Fills by time, empties by what the peer does. */
struct bucket {
    double tokens;
    int64_t at_ns;
};

struct http2 {
    struct http2_options options;
    struct transport *transport;
    nghttp2_session *session;
    struct loop_watch *watch;
    uint32_t watched;
    struct loop_task flush;  /* at the end of the round */
    struct loop_timer timer; /* http2_guard.c */
    struct loop_timer rest;  /* reads on in the next round */
    struct output output;
    nghttp2_nv *nvs; /* scratch for a block of headers */
    int nvs_capacity;
    struct blocks *blocks;
    size_t held, paid;            /* small things, and what the budget was asked for: in steps */
    struct http2_stream *streams; /* the newest first */
    int streams_count;
    struct http2_stream *recent; /* the last that was looked for: the next is mostly the same */

    struct http2_stream
        *data_stream;              /* of the DATA frame under way; NULL: nobody wants its bytes */
    size_t data_left;              /* bytes of it to come; 0 also where there is padding */
    struct reading_piece *reading; /* what is looked at was read to here; NULL: elsewhere */
    size_t last_size;              /* of the last message: the next is mostly alike */
    size_t unfinished;             /* bytes of messages under way */
    size_t unconsumed;             /* received, not told to the peer that it may send more */
    size_t unsent;                 /* bytes of messages queued, not in `output` yet */

    int64_t retired_ns; /* told to go because of its age; 0: not yet */
    int64_t created_ns, received_ns, written_ns, pinged_ns, round_trip_ns, idle_since_ns;
    struct bucket control;
    bool shaken, ready, deferred, ping_waits, congested, refuses, over, leaving;
    int first_byte;            /* of the peer; -1: nothing came */
    enum status_code why_code; /* it is over, and this is why */
    char *why;
};

/* http2.c */
void http2_fail(struct http2 *http2,
                struct status why); /* `lost` is told at the end of the round */
void http2_io_failed(struct http2 *http2, const char *what); /* by errno */
void http2_defer(struct http2 *http2);
void http2_drop_stream(struct http2_stream *stream, uint32_t error);
struct http2_stream *http2_find(struct http2 *http2, int32_t id); /* NULL: not one of its side's */
/* Counts memory that the peer causes, other than messages. False: the budget has no more. */
bool http2_hold(struct http2 *http2, size_t bytes);
struct http2_stream *http2_opened(struct http2 *http2, int32_t id);
void http2_add_stream(struct http2 *http2, struct http2_stream *stream);

/* http2_read.c */
void http2_read(struct http2 *http2);
void http2_receive(struct http2 *http2, const char *data, size_t size);
void http2_set_read_callbacks(nghttp2_session_callbacks *callbacks);
void http2_consume(struct http2 *http2);

/* http2_write.c */
void http2_set_write_callbacks(nghttp2_session_callbacks *callbacks);
void http2_drop_queue(struct http2_stream *stream);

/* http2_guard.c */
void http2_guard_start(struct http2 *http2);
/* A frame that costs us something and does nothing for a call; false: too many. */
bool http2_guard_frame(struct http2 *http2);

#endif
