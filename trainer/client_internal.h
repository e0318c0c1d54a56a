/* client_internal: what client.c and client_snapshot.c share. */
#ifndef TRAINER_CLIENT_INTERNAL_H
#define TRAINER_CLIENT_INTERNAL_H

#include "trainer/client.h"
#include "trainer/protocol.h"

/* Who asks, in each request of a job that has begun. */
Slipway__Training__Ticket client_ticket(const struct client *client);

#endif
