/*
 * client_internal: functions shared by the files of the client: client.c (joining), create.c
 * (beginning a generation), chunks.c, values.c (pulling, pushing), rows.c, keys.c, shares.c,
 * totals.c, presence.c, snapshot.c, report_end.c.
 */
#ifndef TRAINER_CLIENT_CLIENT_INTERNAL_H
#define TRAINER_CLIENT_CLIENT_INTERNAL_H

#include "trainer/client/client.h"
#include "trainer/protocol/protocol.h"

/* The ticket of this client in requests to that ps, valid once the job has begun. */
struct ticket client_ticket(const struct ps_client *client, int ps);

/* The identity of this client in requests to that ps. Points into the options. */
struct identity client_identity(const struct ps_client_options *options, int ps);

/* Makes client->chunks and client->chunk_of. */
void client_make_chunks(struct ps_client *client);

/* ---- variables by rows (rows.c) ---- */

/* After client_make_chunks. */
void client_rows_init(struct ps_client *client);
void client_rows_finish(struct ps_client *client);

/* Begins a pull or push: checks the wanted rows (if `pull`) and those of the gradients (NULL: no
 * push), and finds their pieces. */
struct status client_rows_begin(struct ps_client *client, bool pull,
                                const struct variable_gradient *gradients);

void client_clear_selected_rows(struct ps_client *client); /* after client_select_rows */
/* The wanted rows become the rows of client->values. */
void client_hold_wanted(struct ps_client *client);

/* The size of a piece in a reply. */
size_t client_reply_bytes(const struct ps_client *client, const struct piece *piece);

/* Appends the wanted or pushed row numbers of a chunk to its list. Returns their number. */
uint64_t client_list_wanted(struct ps_client *client, int chunk);
uint64_t client_list_pushed(struct ps_client *client, int chunk,
                            const struct variable_gradient *gradients);

/* ---- variables by keys (keys.c): called from, or next to, the functions above ---- */

static inline const struct placed_variable *client_variable_of(const struct ps_client *client,
                                                               const struct piece *piece)
{
    return &client->options.placement->variables[piece->variable];
}

static inline bool client_is_by_keys(const struct ps_client *client, const struct piece *piece)
{
    return client_variable_of(client, piece)->by_keys;
}

void client_keys_init(struct ps_client *client);
void client_keys_finish(struct ps_client *client);
struct status client_keys_begin(struct ps_client *client, bool pull,
                                const struct variable_gradient *gradients);
/* Appends the keys of a chunk to its list, after its rows. */
struct key_counts client_list_wanted_keys(struct ps_client *client, int chunk);
struct key_counts client_list_pushed_keys(struct ps_client *client, int chunk);
/* The pushed rows of a piece. */
struct bytes client_keys_gradient(const struct ps_client *client, const struct piece *piece,
                                  const struct variable_gradient *gradient);
size_t client_keys_reply_bytes(const struct ps_client *client, const struct piece *piece);
/* Scatters the rows of a piece from a reply into the variable's value. */
void client_keys_scatter(const struct ps_client *client, const struct piece *piece,
                         struct payload_cursor *payload, char *out);

/* ---- shares (shares.c), beside the functions of shares.h ---- */

struct client_shares *client_shares_create(struct clock *clock, struct call_retry retry);
void client_shares_destroy(struct client_shares *shares);
void client_shares_interrupt(struct client_shares *shares);
/* 1 + the turn of the next push; 0: none. */
uint64_t client_pushed_turn(struct client_shares *shares);
void client_turn_was_pushed(struct client_shares *shares);
/* Renews this task's turn before a push, if ps 0 has not replied for some time. ABORTED: the
 * turn was given to another worker. */
struct status client_keep_turn(struct ps_client *client);

/* Called after a push has carried them (totals.c). */
void client_clear_totals(struct ps_client *client);

/* The bytes of a chunk's list so far. */
struct bytes client_list_bytes(const struct ps_client *client, int chunk);

/* Limit of the memory for reading a reply. */
#define REPLY_ARENA_MAX ((size_t)16 << 20)

int64_t client_deadline_ns(const struct ps_client *client, int64_t timeout_ms);

/* Adds a call to client->calls. */
void client_call_ps(struct ps_client *client, int ps, const char *path, struct message *request,
                    int64_t deadline_ns);
/* Calls one ps outside of `calls`, whose replies hold the values. *reply belongs to the caller.
 * CANCELLED: client_interrupt. */
struct status client_call_single(struct ps_client *client, int ps, const char *path,
                                 struct message *request, struct message *reply);

/* ABORTED if a ps was restarted or has another generation than when this client joined it. Call
 * it during a wait that only other tasks can end, because they may have noticed already. Does
 * not use client->calls. */
struct status client_check_generation(void *client);
#define CLIENT_LOOK_MS 1000

/* Retries of calls that fail on the way to a ps. */
struct call_retry client_retry(const struct ps_client *client);

#endif
