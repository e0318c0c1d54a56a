/*
 * snapshot: a consistent snapshot of the job: all values, and perhaps the slots, of one step.
 *
 *     TRY(client_snapshot_begin(&client, true, timeout_ms, &snapshot));
 *     … snapshot.source, or the functions below …
 *     client_snapshot_end(&snapshot);
 */
#ifndef TRAINER_CLIENT_SNAPSHOT_H
#define TRAINER_CLIENT_SNAPSHOT_H

#include "savedmodel/save.h"
#include "trainer/client/client.h"
#include "trainer/client/key_values.h"
#include "trainer/optimizers/loss_scale.h"
#include "trainer/optimizers/optimizer.h"

/* A consistent snapshot as a source of values for the exporter. Reading a value that is NaN or
 * infinite fails with OUT_OF_RANGE: it is neither exported nor saved. */
struct client_snapshot {
    struct value_source source; /* first */
    struct ps_client *client;
    uint64_t number;                /* identifies the snapshot to the ps tasks */
    uint64_t *ids;                  /* by ps */
    uint64_t global_step;           /* the cut's */
    float scalars[JOB_SCALARS_MAX]; /* of all optimizers, concatenated; only with slots */
    uint64_t *position; /* the position in the rows, as in share_table.h: [position_count]; NULL:
                         * none */
    size_t position_count;
    struct loss_scale loss_scale;
    int trained_part;          /* the part of a trained variable that source.begin reads: 0 */
    int variable, part, piece; /* what `next` reads */
    size_t offset;
    struct message chunk;
    struct key_values table; /* what source.next reads instead, if it is open */
};

/**
 * Cuts all ps tasks at the same push. slots: include the optimizer's slots and scalars of the same
 * step.
 *
 * Waits a few seconds for an asynchronous push that has reached only some ps tasks, then up to
 * timeout_ms for a snapshot without that push. Waits the whole timeout for a synchronous step. If
 * the ps tasks lack memory for a snapshot beside one that is being read, waits up to 10 minutes for
 * the end of that one.
 *
 * Errors  DEADLINE_EXCEEDED; its text names the worker whose push a synchronous step lacks.
 *         RESOURCE_EXHAUSTED no memory in these 10 minutes
 */
struct status client_snapshot_begin(struct ps_client *client, bool slots, int64_t timeout_ms,
                                    struct client_snapshot *out);

/* Like source.begin, for any part of a variable: 0 its values, 1, 2, … the optimizer's slots.
 * source.next then reads it. */
void client_snapshot_select(struct client_snapshot *snapshot, int variable, int part);
/* Reads rows of all variables by rows or keys: rows[v] into out[v], [count, row]; both arrays
 * are [variables_count]. A key without a row has the default value. Leaves client->values
 * unchanged. OUT_OF_RANGE: a value is NaN or infinite. */
struct status client_snapshot_read_rows(struct client_snapshot *snapshot,
                                        const struct row_ids *rows, struct buffer *out);
/* One part (row_keys.h) of a shard of a variable by keys, valid until the next one is read. */
struct status client_snapshot_read_keys(struct client_snapshot *snapshot, int variable,
                                        uint32_t shard, enum key_part part, struct bytes *out);
/* Releases the snapshot. Makes calls that may fail: to keep an earlier failure's text, call
 * status_hold first. */
void client_snapshot_end(struct client_snapshot *snapshot);

#endif
