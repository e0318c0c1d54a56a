/*
 * post: where a task stands: its name, its loop, its server at its own address, TLS, and the
 * channels from there.
 */
#ifndef TRAINER_POST_H
#define TRAINER_POST_H

#include "rpc/remote.h"
#include "rpc/server.h"
#include "trainer/identify.h"
#include "trainer/task.h"

struct post {
    const struct task_options *options;
    struct arena *arena;
    const char *name, *ps_list; /* "worker 3"; "" where it does not know all */
    struct task_identity identity;
    struct loop *loop;
    struct rpc_server *server;
    struct tls *server_tls, *client_tls;
    const char **peers; /* [ps count]: "ps 1 at host:2222" */
};

/* Channels to all ps tasks, for threads that wait in the same loop. */
struct post_lines {
    int count;
    struct shared_loop *shared;
    struct channel **channels; /* [count] */
};

/* With everything but a listening server and channels. post_close also after a failure. */
struct status post_open(struct post *post, const struct task_options *options);
/* At its own address, if the map has one. budget: of the requests, which then may be as large as a
 * message can be; NULL: they are small. */
struct status post_listen(struct post *post, struct budget *budget);
/* Nothing is sent yet. post_disconnect also after a failure. */
struct status post_connect(struct post *post, struct post_lines *out);
void post_disconnect(struct post_lines *lines);
void post_close(struct post *post);
/* How it ended, with a text on the heap, which it frees. */
struct status post_ended(enum status_code code, char *text);

/* Tells in the log, once, when what is sent can be read on the way. */
void post_warn_of_plaintext(const struct post *post);

/* Why a channel is not connected, with the resolved address; "" where it is. */
void post_describe(struct channel *channel, char *out, size_t size);

#endif
