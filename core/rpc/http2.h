/*
 * http2: one HTTP/2 connection that carries gRPC messages, at either end, over nghttp2. It has the
 * frames, flow control, limits and time-outs; the meaning of streams belongs to its side
 * (server_call.c, remote_reply.c).
 *
 * Everything written during a round of the loop is sent together at its end. Messages are sent
 * without copying them, and received where they stay. All of it belongs to the loop's thread.
 */
#ifndef RPC_HTTP2_H
#define RPC_HTTP2_H

#include "base/list.h"
#include "rpc/grpc_frame.h"
#include "rpc/grpc_frame_reader.h"
#include "rpc/transport.h"

#define HTTP2_FRAME_MAX ((1 << 24) - 1)

struct http2;

struct http2_limits {
    size_t message_max, held_max, unsent_max, metadata_max;
    int streams_max, frame_max;
    /* Milliseconds; 0: never. */
    int handshake_ms, idle_ms, stall_ms, keepalive_ms, keepalive_timeout_ms, age_ms, age_grace_ms;
    bool keepalive_idle;   /* even while there are no streams */
    struct budget *budget; /* charged for received messages; NULL: none */
};

/* The events of a stream that a side still wants while the peer has not ended it. */
enum http2_wants {
    HTTP2_WANTS_MESSAGES,
    HTTP2_WANTS_END,     /* messages are dropped, `ended` is called */
    HTTP2_WANTS_NOTHING, /* the rest is dropped */
};

/* One stream, which its side embeds first. The connection knows it from `opened` or http2_submit
 * until `closed`. */
struct http2_stream {
    struct http2 *http2;   /* NULL: on no connection */
    struct list_link link; /* in the connection's list */
    int32_t id;
    struct grpc_frame_reader reader;
    struct grpc_frame *queue, *queue_last; /* to be sent; a part of the first may be */
    size_t unsent;                         /* bytes in the queue */
    size_t metadata_size;                  /* bytes of received headers */
    size_t held;                           /* bytes charged by http2_hold_for */
    enum http2_wants wants;
    bool ended;          /* the peer has ended its half */
    bool ending;         /* we end our half after the queue is sent; either half may end first */
    bool asleep;         /* nghttp2 waits for http2_send or http2_end */
    bool patient;        /* the peer may be silent on it for any time */
    bool poor;           /* there was no memory for all of its headers */
    int64_t moved_ns;    /* when a byte last came or went */
    int64_t answered_ns; /* when the answer was complete before the request was; 0: it was not */
    size_t unconsumed;   /* received bytes without a WINDOW_UPDATE yet */
    const struct http2_header *trailers; /* while ending; owned by the side */
    int trailers_count;
};

struct http2_header {
    struct bytes name, value;
    bool passing;  /* the value changes each time, so it is not added to the peer's header table */
    bool constant; /* name and value are static: nghttp2 need not copy them */
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

#define HTTP2_LOST UINT32_MAX /* the error of streams whose connection was lost */

/* The functions of a side that a connection's events call. These may be NULL: opened, foreign,
 * sent, eased, ready, pinged, away. */
struct http2_side {
    bool server;
    /* A request begins; NULL refuses it. Server only. */
    struct http2_stream *(*opened)(struct http2 *http2);
    void (*header)(struct http2_stream *stream, struct bytes name, struct bytes value);
    void (*headers)(struct http2_stream *stream); /* all headers of a block were passed */
    void (*message)(struct http2_stream *stream, struct message *message); /* takes *message */
    /* of its content; nothing more is read */
    void (*failed)(struct http2_stream *stream, struct status status);
    void (*ended)(struct http2_stream *stream); /* the peer has ended its half */
    void (*sent)(struct http2_stream *stream);  /* everything queued is written */
    /* The stream is gone, and the side may free it. `error` is HTTP/2's, or HTTP2_LOST: see
     * http2_failure. */
    void (*closed)(struct http2_stream *stream, uint32_t error);
    /* A client of HTTP/1 has connected to a server: writes an answer into the buffer. */
    void (*foreign)(struct http2 *http2, struct buffer *answer);
    void (*eased)(struct http2 *http2);  /* after http2_is_congested returned true */
    void (*ready)(struct http2 *http2);  /* the peer's SETTINGS have arrived */
    void (*pinged)(struct http2 *http2); /* a PING was answered */
    /* The peer takes no new streams. It has not processed those above the last one it names; they
     * close next. */
    void (*away)(struct http2 *http2, const char *why);
    /* The connection is over and its streams are closed. The side destroys it, now or later. */
    void (*lost)(struct http2 *http2, struct status why);
};

struct http2_options {
    const struct http2_side *side;
    void *context;
    struct loop *loop;
    struct mailbox *mailbox; /* of that loop */
    const struct http2_limits *limits;
    struct socket_buffers *socket_buffers; /* shared by the connections of a loop */
    struct session_memory *memory;         /* the same */
    bool payload;                          /* split field 15 off replies (message.h) */
};

/* Takes the transport, whose descriptor is non-blocking, and starts the handshake. */
struct status http2_create(const struct http2_options *options, struct transport *transport,
                           struct http2 **out);
/* closes the streams, does not call `lost`; accepts NULL */
void http2_destroy(struct http2 *http2);

void *http2_context(const struct http2 *http2);
/* Passes on bytes that were read from the descriptor before it was handed over. */
void http2_feed(struct http2 *http2, struct bytes bytes);

/* Client: begins a stream. The headers are copied. */
struct status http2_submit(struct http2 *http2, struct http2_stream *stream,
                           const struct http2_header *headers, int count);
/* Server: sends the answer's headers; if `last`, nothing follows them. */
void http2_answer(struct http2_stream *stream, const struct http2_header *headers, int count,
                  bool last);
/* Queues a message, and takes a reference to it. */
void http2_send(struct http2_stream *stream, struct grpc_frame *message);
/* Ends our half of the stream after what is queued; trailers stay valid until `closed`. */
void http2_end(struct http2_stream *stream, const struct http2_header *trailers, int count);
/* Resets the stream at once. */
void http2_reset(struct http2_stream *stream, uint32_t error);
/* Copies the runs of the frame that wait to be written; the owner may then reuse its memory. */
void http2_detach_frame(struct http2 *http2, struct grpc_frame *message);

/* Sends GOAWAY; streams in flight continue. at_once: refuses new streams from now on; otherwise
 * accepts those in flight. */
void http2_go_away(struct http2 *http2, bool at_once);
void http2_ping(struct http2 *http2);

struct status http2_failure(const struct http2 *http2); /* why it is over */
/* of the transport; true even if it is over now */
bool http2_passed_handshake(const struct http2 *http2);
int http2_first_byte(const struct http2 *http2); /* received; -1: none was */
bool http2_has_room(const struct http2 *http2);  /* the peer reads what it asked for */
/* Does the peer not read what it asked for? `eased` is called when it reads again. */
bool http2_is_congested(struct http2 *http2);
int64_t http2_round_trip_ns(const struct http2 *http2); /* of the last PING; 0: none was answered */

/* Counts memory other than messages that the peer makes us keep for the stream, until it closes
 * or until http2_let_go_for. Returns false if the budget is exhausted. */
bool http2_hold_for(struct http2_stream *stream, size_t bytes);
void http2_let_go_for(struct http2_stream *stream, size_t bytes);

/* Writes now, instead of at the end of the round. */
void http2_flush(struct http2 *http2);

#endif
