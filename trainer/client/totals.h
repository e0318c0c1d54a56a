/*
 * totals: the totals of the training's metrics over all workers. A source of gradients adds
 * the totals of its batches to the client's, the next push carries them to ps 0, and ps 0 sums them
 * over the pushes that it applies.
 *
 *     double *totals = client_keep_totals(&client, count);     before the first step
 *     totals[0] += 100;                                        with each batch
 *     TRY(client_read_totals(&client, all, &step));            of all workers
 */
#ifndef TRAINER_CLIENT_TOTALS_H
#define TRAINER_CLIENT_TOTALS_H

#include "trainer/client/client.h"

/* The totals of the batches since the last push, [count]; the client owns them. `count` is the
 * job's: client_job.totals_count. */
double *client_keep_totals(struct ps_client *client, size_t count);

/**
 * Reads the totals of all applied pushes since the generation began, and their step. Leaves
 * client->values unchanged. A generation that this client created began with 0.
 *
 * Shapes  out [count], as many as the client keeps
 * Errors  as client_pull
 */
struct status client_read_totals(struct ps_client *client, double *out, uint64_t *global_step);

#endif
