/*
 * client_totals: the totals of the training's metrics over all workers. A source of gradients adds
 * those of its batches to the client's, the next push takes them to ps 0, and ps 0 adds them up if
 * the push counts.
 *
 *     double *totals = client_keep_totals(&client, count);     before the first step
 *     totals[0] += 100;                                        with each batch
 *     TRY(client_read_totals(&client, all, &step));            of all workers
 */
#ifndef TRAINER_CLIENT_TOTALS_H
#define TRAINER_CLIENT_TOTALS_H

#include "trainer/client/client.h"

/* The totals of the batches since the last push, [count], which belong to the client. `count` is
 * the job's: client_job.totals_count. */
double *client_keep_totals(struct ps_client *client, size_t count);

/**
 * The totals of all pushes that count, since the generation began, and the step up to which they
 * are. Leaves client->values as they are. A generation that this client has created began with 0.
 *
 * Shapes  out [count], as many as the client keeps
 * Errors  as client_pull
 */
struct status client_read_totals(struct ps_client *client, double *out, uint64_t *global_step);

#endif
