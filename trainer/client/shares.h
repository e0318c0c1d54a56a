/*
 * shares: the turns that ps 0 has given this task (trainer/protocol/share_table.h).
 *
 *     client_shares_begin(client);                          after joining: the rows begin anew
 *     TRY(client_next_turn(client, &found, &turn));         the thread that reads rows, in advance
 *     TRY(client_push(client, gradients, true));            of the earliest turn not pushed yet
 *
 * Threads  one may call client_next_turn while another one pushes; none may while
 *          client_shares_begin runs
 */
#ifndef TRAINER_CLIENT_SHARES_H
#define TRAINER_CLIENT_SHARES_H

#include "trainer/client/client.h"

/* Gives back what this task has been given: it is not going to be pushed. */
void client_shares_begin(struct ps_client *client);

/**
 * The turn whose rows are read next. *found is false if all turns up to the last step are given
 * out: ask again later, because a task that has some may be lost.
 *
 * Errors  ABORTED join again; CANCELLED client_interrupt
 */
struct status client_next_turn(struct ps_client *client, bool *found, uint64_t *turn);

#endif
