/*
 * http2: one connection of HTTP/2 that carries gRPC messages, either side of it, over nghttp2. What
 * streams mean is its side's (server.c, remote.c): here are frames, flow control, limits and
 * time-outs.
 *
 * What a round of the loop brings is written together at its end. Messages are written from where
 * they lie, and read to where they stay. Everything belongs to the loop's thread.
 */
#ifndef RPC_HTTP2_H
#define RPC_HTTP2_H

#include "rpc/incoming.h"
#include "rpc/outgoing.h"
#include "rpc/transport.h"

#define HTTP2_FRAME_MAX ((1 << 24) - 1)

struct http2;

struct http2_limits {
    size_t message_max, held_max, unsent_max, metadata_max;
    int streams_max, frame_max;
    /* Milliseconds; 0: never. */
    int handshake_ms, idle_ms, stall_ms, keepalive_ms, keepalive_timeout_ms, age_ms, age_grace_ms;
    bool keepalive_idle;   /* also while there are no streams */
    struct budget *budget; /* of messages received; NULL: none */
};

/* One stream. Its side embeds this first; the connection knows it from open or submit until
 * `closed`. */
struct http2_stream {
    struct http2 *http2; /* NULL: not or no longer on a connection */
    struct http2_stream *next, *previous;
    int32_t id;
    struct incoming incoming;
    struct outgoing *queue, *queue_last; /* to be sent, the first perhaps in part */
    size_t unsent;                       /* bytes of them */
    size_t metadata_size;                /* of the headers received */
    size_t held;                         /* of the connection's: see http2_hold */
    bool poor;                           /* there was no memory for all of its headers */
    bool deaf;                           /* what still comes is thrown away, */
    bool awaited;                        /* but its end is told */
    bool ending, ended;                  /* nothing is to be queued any more; the peer said so */
    bool asleep;                         /* nghttp2 waits for http2_send or http2_end */
    bool patient;                        /* may be silent for as long as it likes */
    int64_t moved_ns;                    /* when its last byte came or went */
    size_t unconsumed;                   /* received, not told to the peer that it may send more */
    const struct http2_header *trailers; /* while ending; the side's own */
    int trailers_count;
};

struct http2_header {
    struct bytes name, value;
    bool passing;  /* the value is another each time: not worth a place in the peer's table */
    bool constant; /* name and value live as long as the program: nobody copies them */
};

#define HTTP2_TEXT(text)      \
    {                         \
        text, sizeof text - 1 \
    }
#define HTTP2_HEADER(name_, value_)                \
    {                                              \
        .name = HTTP2_TEXT(name_), .value = value_ \
    }

#define HTTP2_CONSTANT(name_, value_)                                            \
    {                                                                            \
        .name = HTTP2_TEXT(name_), .value = HTTP2_TEXT(value_), .constant = true \
    }

#define HTTP2_LOST UINT32_MAX /* a stream's end by that of its connection */

/* What a side does with a connection's events. What it need not hear of may be NULL: opened, sent,
 * eased, ready, pinged, away. */
struct http2_side {
    bool server;
    /* A request begins; NULL: refused. Server only. */
    struct http2_stream *(*opened)(struct http2 *http2);
    void (*header)(struct http2_stream *stream, struct bytes name, struct bytes value);
    void (*headers)(struct http2_stream *stream); /* all of a block are there */
    void (*message)(struct http2_stream *stream, struct message *message); /* takes it */
    void (*failed)(struct http2_stream *stream, struct status status); /* nothing more is read */
    void (*ended)(struct http2_stream *stream);                        /* the peer has said all */
    void (*sent)(struct http2_stream *stream); /* all that was queued is on its way */
    /* The stream is gone; `error`: HTTP/2's code. The side may free it. */
    void (*closed)(struct http2_stream *stream, uint32_t error); /* HTTP2_LOST: http2_why says */
    void (*eased)(struct http2 *http2);                          /* it is not congested any more */
    void (*ready)(struct http2 *http2);  /* the handshake is done, the peer's SETTINGS are here */
    void (*pinged)(struct http2 *http2); /* a PING was answered */
    /* The peer takes no new streams; those above `last` were not looked at, and are closed next. */
    void (*away)(struct http2 *http2, const char *why);
    /* The connection is over; its streams were closed. The side destroys it, now or later. */
    void (*lost)(struct http2 *http2, struct status why);
};

struct http2_options {
    const struct http2_side *side;
    void *context;
    struct loop *loop;
    struct mailbox *mailbox; /* into that loop */
    const struct http2_limits *limits;
    struct reading *reading;       /* shared by a loop's connections, */
    struct session_memory *memory; /* as this is */
    bool payload;                  /* of replies: incoming.h */
};

/* Takes the transport, whose descriptor is non-blocking, and begins the handshake. */
struct status http2_create(const struct http2_options *options, struct transport *transport,
                           struct http2 **out);
void http2_destroy(struct http2 *http2); /* streams are closed, `lost` is not told; accepts NULL */

void *http2_context(const struct http2 *http2);
/* Bytes that were read from the descriptor before it was handed over. */
void http2_feed(struct http2 *http2, struct bytes bytes);

/* Client: begins a stream. The headers need not live on. */
struct status http2_submit(struct http2 *http2, struct http2_stream *stream,
                           const struct http2_header *headers, int count);
/* Server: the answer's headers; with `last` there is nothing else. */
void http2_answer(struct http2_stream *stream, const struct http2_header *headers, int count,
                  bool last);
/* Queues a message: a reference of it. */
void http2_send(struct http2_stream *stream, struct outgoing *message);
/* After what is queued the stream ends; with trailers, which live on until it is closed. */
void http2_end(struct http2_stream *stream, const struct http2_header *trailers, int count);
/* Ends it at once. */
void http2_reset(struct http2_stream *stream, uint32_t error);
/* What of the message waits to be written is copied: its memory is its owner's again. */
void http2_let_go(struct http2 *http2, struct outgoing *message);

/* Tells the peer to go; what is in flight goes on. at_once: takes no new streams from now on, else
 * those that are on their way still come. */
void http2_go_away(struct http2 *http2, bool at_once);
void http2_ping(struct http2 *http2);

struct status http2_why(const struct http2 *http2); /* it is over */
int http2_streams(const struct http2 *http2);
bool http2_is_shaken(const struct http2 *http2); /* the transport's handshake is done */
int http2_first_byte(const struct http2 *http2); /* that came from the peer; -1: none has */
bool http2_is_ready(const struct http2 *http2);
bool http2_has_room(const struct http2 *http2); /* its peer reads what it asked for */
/* The opposite; `eased` comes when it is not so any more. */
bool http2_is_congested(struct http2 *http2);
int64_t http2_round_trip_ns(const struct http2 *http2); /* of the last PING; 0: none yet */

/* Writes what there is to write now, not at the end of the round. */
void http2_flush(struct http2 *http2);

#endif
