/*
 * client_internal: what the files of the client share: client.c (joining), client_create.c
 * (beginning a generation), client_values.c (pulling, pushing), client_snapshot.c, client_end.c.
 */
#ifndef TRAINER_CLIENT_INTERNAL_H
#define TRAINER_CLIENT_INTERNAL_H

#include "trainer/client.h"
#include "trainer/protocol.h"

/* Who asks that ps, in each request of a job that has begun. */
Slipway__Training__Ticket client_ticket(const struct client *client, int ps);

/* Who it says it is, to each ps. What it points to is the options'. */
Slipway__Training__Identity client_identity(const struct client_options *options, int ps);

/* What a reply may cost to read. */
#define REPLY_ARENA_MAX ((size_t)16 << 20)

int64_t client_deadline_ns(const struct client *client, int64_t timeout_ms);

/* One more of the calls that client->calls waits for. */
void client_call_ps(struct client *client, int ps, const char *path, struct message *request,
                    int64_t deadline_ns);

/* The reply of a ps but for its payload; *out lives in `arena`. */
struct status client_reply(const struct client *client, int ps,
                           const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
                           void *out);

/* ABORTED if a ps is not what it was when this client joined it. For a wait that only ends when
 * other tasks act: these may have been told already. Uses none of client->calls. */
struct status client_look(void *client);
#define CLIENT_LOOK_MS 1000

/* How calls to a ps are sent again when they fail on the way. */
struct calls_retry client_retry(const struct client *client);

#endif
