/*
 * shares: the turns that ps 0 has assigned to this task (trainer/protocol/share_table.h).
 *
 *     client_shares_begin(client);                          after joining: the rows restart
 *     TRY(client_next_turn(client, &found, &turn));         the thread that reads rows ahead
 *     TRY(client_push(client, gradients, true));            for the earliest turn not yet pushed
 *
 * Threads  one thread may call client_next_turn while another one pushes; neither may run during
 *          client_shares_begin
 */
#ifndef TRAINER_CLIENT_SHARES_H
#define TRAINER_CLIENT_SHARES_H

#include "trainer/client/client.h"

/* Returns this task's turns to ps 0; they will not be pushed. */
void client_shares_begin(struct ps_client *client);

/**
 * The next turn to read. *found is false if all turns up to the last step are assigned: ask again
 * later, because a task that has some may be lost.
 *
 * Errors  ABORTED join again; CANCELLED client_interrupt
 */
struct status client_next_turn(struct ps_client *client, bool *found, uint64_t *turn);

#endif
