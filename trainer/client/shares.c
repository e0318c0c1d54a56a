#include "trainer/client/shares.h"

#include <stdlib.h>

#include "trainer/client/client_internal.h"

struct client_shares {
    pthread_mutex_t lock;
    struct turn_range *read; /* [read_count]: turns read but not yet pushed, in order */
    size_t read_count;
    /* The rest belongs to the reading thread. */
    struct turn_range share; /* what is left of the last share */
    struct call_group calls;
    struct ticket ticket;
    uint64_t number; /* of the last request */
    bool begins;     /* the next request returns all earlier turns */
};

struct client_shares *client_shares_create(struct clock *clock, struct call_retry retry)
{
    struct client_shares *shares = zalloc(sizeof *shares);

    pthread_mutex_init(&shares->lock, NULL);
    call_group_init(&shares->calls, clock, 1);
    shares->calls.retry = retry;
    return shares;
}

void client_shares_destroy(struct client_shares *shares)
{
    call_group_finish(&shares->calls);
    pthread_mutex_destroy(&shares->lock);
    free(shares->read);
    free(shares);
}

void client_shares_interrupt(struct client_shares *shares)
{
    call_group_cancel(&shares->calls);
}

void client_shares_begin(struct ps_client *client)
{
    struct client_shares *shares = client->shares;

    shares->read_count = 0;
    shares->share = (struct turn_range){ 0 };
    shares->ticket = client_ticket(client, 0);
    shares->begins = true;
}

/* ---- the thread that pushes ---- */

uint64_t client_pushed_turn(struct client_shares *shares)
{
    pthread_mutex_lock(&shares->lock);
    uint64_t turn = shares->read_count > 0 ? shares->read[0].first + 1 : 0;
    pthread_mutex_unlock(&shares->lock);
    return turn;
}

void client_turn_was_pushed(struct client_shares *shares)
{
    pthread_mutex_lock(&shares->lock);
    if (shares->read_count > 0) {
        struct turn_range *first = &shares->read[0];
        first->first++;
        if (--first->count == 0)
            memmove(first, first + 1, --shares->read_count * sizeof *first);
    }
    pthread_mutex_unlock(&shares->lock);
}

#define REPLIED_MS 2500 /* half of the time after which ps 0 reassigns turns */

/* With several ps tasks, if this worker's turn was reassigned while it was stopped or cut off,
 * only ps 0 would refuse its push. The others would apply it. */
struct status client_keep_turn(struct ps_client *client)
{
    int64_t since_ns = clock_now_ns(client->calls.clock) - (int64_t)REPLIED_MS * NS_PER_MS;
    uint64_t turn = client_pushed_turn(client->shares);
    struct ticket ticket = client_ticket(client, 0);
    const struct take_request header = { .ticket = &ticket, .turn = turn };

    if (turn == 0 || client->options.placement->ps_count == 1 || client->replied_ns > since_ns)
        return status_ok();
    struct message request = pack_take_request(&header), reply;
    TRY(client_call_single(client, 0, PS_TAKE, &request, &reply));
    message_release(&reply);
    return status_ok();
}

/* ---- the thread that reads ---- */

static void append(struct client_shares *shares, uint64_t turn)
{
    pthread_mutex_lock(&shares->lock);
    struct turn_range *last = shares->read_count > 0 ? &shares->read[shares->read_count - 1] : NULL;
    if (last != NULL && last->first + last->count == turn) {
        last->count++;
    } else {
        shares->read = xrealloc(shares->read, (shares->read_count + 1) * sizeof *shares->read);
        shares->read[shares->read_count++] = (struct turn_range){ turn, 1 };
    }
    pthread_mutex_unlock(&shares->lock);
}

static struct status take(struct ps_client *client)
{
    struct client_shares *shares = client->shares;
    const struct take_request header = { &shares->ticket, ++shares->number, shares->begins, 0 };
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct take_reply reply;
    struct status status;

    call_group_begin(&shares->calls);
    struct message request = pack_take_request(&header);
    call_group_add(&shares->calls, client->options.channels[0], PS_TAKE, &request,
                   client_deadline_ns(client, client->options.call_timeout_ms));
    TRY_OR(done, call_group_wait(&shares->calls));
    TRY_OR(done, unpack_take_reply(&shares->calls.replies[0], arena, &reply));
    shares->share = reply.share;
    shares->begins = false;
    status = status_ok();
done:
    arena_destroy(arena);
    return status_in(status, "ps 0, asked for rows");
}

struct status client_next_turn(struct ps_client *client, bool *found, uint64_t *turn)
{
    struct client_shares *shares = client->shares;

    if (shares->share.count == 0)
        TRY(take(client));
    *found = shares->share.count > 0;
    if (!*found)
        return status_ok();
    *turn = shares->share.first++;
    shares->share.count--;
    append(shares, *turn);
    return status_ok();
}
