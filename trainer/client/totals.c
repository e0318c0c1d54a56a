#include "trainer/client/totals.h"

#include <stdlib.h>

#include "trainer/client/internal.h"

double *client_keep_totals(struct ps_client *client, size_t count)
{
    assert(client->totals == NULL && count > 0);
    client->totals = zalloc(count * sizeof *client->totals);
    client->totals_count = count;
    return client->totals;
}

void client_clear_totals(struct ps_client *client)
{
    for (size_t i = 0; i < client->totals_count; i++)
        client->totals[i] = 0;
}

static struct status take_reply(const struct ps_client *client, const struct totals_reply *reply,
                                double *out, uint64_t *global_step)
{
    if (reply->totals_count != client->totals_count)
        return status_error(STATUS_INTERNAL, "ps 0 has %zu totals of metrics, and not %zu",
                            reply->totals_count, client->totals_count);
    memcpy(out, reply->totals, reply->totals_count * sizeof *out);
    *global_step = reply->global_step;
    return status_ok();
}

/* Makes a call of its own, since client->values are in the replies of client->calls. */
struct status client_read_totals(struct ps_client *client, double *out, uint64_t *global_step)
{
    struct ticket ticket = client_ticket(client, 0);
    const struct totals_request header = { &ticket };
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct totals_reply reply;
    struct call_group *calls = &client->side_calls;
    struct status status;

    call_group_begin(calls);
    struct message request = pack_totals_request(&header);
    call_group_add(calls, client->options.channels[0], PS_TOTALS, &request,
                   client_deadline_ns(client, client->options.call_timeout_ms));
    TRY_OR(done, call_group_wait(calls));
    TRY_OR(done, unpack_totals_reply(&calls->replies[0], arena, &reply));
    status = take_reply(client, &reply, out, global_step);
done:
    status = status_hold(status);
    arena_destroy(arena);
    return status_in(status_resume(status), "ps 0, asked for the totals of metrics");
}
