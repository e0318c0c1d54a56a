/*
 * client_internal: what the files of the client share: client.c (joining, pulling, pushing),
 * client_create.c (beginning a generation), client_snapshot.c.
 */
#ifndef TRAINER_CLIENT_INTERNAL_H
#define TRAINER_CLIENT_INTERNAL_H

#include "trainer/client.h"
#include "trainer/protocol.h"

/* Who asks that ps, in each request of a job that has begun. */
Slipway__Training__Ticket client_ticket(const struct client *client, int ps);

/* Who it says it is, to each ps. What it points to is the options'. */
Slipway__Training__Identity client_identity(const struct client_options *options, int ps);

/* How calls to a ps are sent again when they fail on the way. */
struct calls_retry client_retry(const struct client *client);

#endif
