/*
 * http2_internal: the types and functions that the files of http2 share. http2.c creates and ends a
 * connection and its streams, http2_read.c and http2_write.c move its bytes, http2_guard.c limits
 * its cost.
 */
#ifndef RPC_HTTP2_INTERNAL_H
#define RPC_HTTP2_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "base/loop.h"
#include "rpc/http2.h"
#include "rpc/write_queue.h"

/* A token bucket: time fills it, the peer's frames empty it. */
struct bucket {
    double tokens;
    int64_t at_ns;
};

/* The life of a connection, drawn in http2.c. */
enum http2_state { HTTP2_HANDSHAKE, HTTP2_GREETING, HTTP2_READY, HTTP2_FAILED, HTTP2_CLOSED };

/* The first line that a server gets, until HTTP/2's preface is complete. */
enum first_line { LINE_UNFINISHED, LINE_HTTP1, LINE_OTHER };

struct http2 {
    struct http2_options options;
    struct transport *transport;
    nghttp2_session *session;
    struct loop_watch *watch;
    uint32_t watched;
    struct loop_task flush;  /* at the end of the round */
    struct loop_timer timer; /* http2_guard.c */
    struct loop_timer rest;  /* continues reading in the next round */
    struct write_queue write_queue;
    nghttp2_nv *nvs; /* scratch space for a block of headers */
    int nvs_capacity;
    struct message_buffers *buffers;
    /* bytes besides messages, and the amount charged to the budget for them, in steps */
    size_t held, paid;
    struct list_link *streams; /* of struct http2_stream, the newest first */
    int streams_count;
    struct http2_stream *recent; /* the last one found: the next frame is mostly for the same */

    struct http2_stream *data_stream; /* of the current DATA frame; NULL: its bytes are dropped */
    size_t data_left;                 /* bytes of it still to come; 0 if it is padded */
    struct socket_buffer *read_into;  /* holds the bytes that nghttp2 looks at; NULL: elsewhere */
    size_t last_size;                 /* of the last message: the next one is mostly alike */
    size_t unfinished;                /* bytes of incomplete messages */
    size_t unconsumed;                /* received bytes without a WINDOW_UPDATE yet */
    size_t unsent;                    /* bytes of messages queued in streams */

    int64_t retired_ns; /* when it was sent GOAWAY because of its age; 0: not yet */
    int64_t created_ns, received_ns, written_ns, pinged_ns, round_trip_ns, idle_since_ns;
    struct bucket control;
    enum http2_state state;
    bool flush_deferred; /* to the end of the round */
    bool ping_sent;      /* and not answered */
    bool congested;      /* its side was notified, and waits for `eased` */
    bool lacks_preface;  /* the peer's first bytes are not those of HTTP/2 */
    bool is_foreign;     /* the peer got an answer in HTTP/1; the rest of its bytes is dropped */
    enum first_line first_line;
    int version_matched; /* characters of the version of HTTP/1 with which first_line ends */
    bool refuses;        /* the second GOAWAY after retired_ns, which refuses streams, was sent */
    int first_byte;      /* from the peer; -1: none came */
    size_t preface_left; /* bytes of the client's preface that a server has not received */
    uint32_t peer_error; /* of HTTP/2, which the peer was told that it has made; 0: none */
    enum http2_state failed_state; /* the state in which it failed */
    enum status_code why_code;     /* the reason */
    char *why;
};

/* Nothing is read or written any more. */
static inline bool http2_is_over(const struct http2 *http2)
{
    return http2->state >= HTTP2_FAILED;
}

/* http2.c */
void http2_enter(struct http2 *http2, enum http2_state state);
/* `lost` is called at the end of the round */
void http2_fail(struct http2 *http2, struct status why);
void http2_io_failed(struct http2 *http2, const char *what); /* with errno */
void http2_defer(struct http2 *http2);
void http2_drop_stream(struct http2_stream *stream, uint32_t error);
/* NULL: its side does not know it */
struct http2_stream *http2_find(struct http2 *http2, int32_t id);
struct http2_stream *http2_opened(struct http2 *http2, int32_t id);
void http2_add_stream(struct http2 *http2, struct http2_stream *stream);

/* http2_read.c */
/* Drops the rest of the stream. */
void http2_stop_listening(struct http2_stream *stream);
void http2_read(struct http2 *http2);
/* Reads, in the loop's next round, bytes that the transport has already taken from the descriptor,
 * which does not become readable for them. */
void http2_read_rest_soon(struct http2 *http2);
void http2_receive(struct http2 *http2, const char *data, size_t size);
void http2_set_read_callbacks(nghttp2_session_callbacks *callbacks);
void http2_consume(struct http2 *http2);

/* http2_write.c */
void http2_set_write_callbacks(nghttp2_session_callbacks *callbacks);
void http2_drop_queue(struct http2_stream *stream);

/* http2_guard.c */
void http2_guard_start(struct http2 *http2);
/* Counts a frame that costs us work and does nothing for a call; false: too many. */
bool http2_guard_frame(struct http2 *http2);

#endif
