#include "trainer/client/totals.h"

#include "trainer/client/client_internal.h"

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

struct status client_read_totals(struct ps_client *client, double *out, uint64_t *global_step)
{
    struct ticket ticket = client_ticket(client, 0);
    const struct totals_request header = { &ticket };
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct message request = pack_totals_request(&header), answer = { 0 };
    struct totals_reply reply;
    struct status status;

    TRY_OR(done, client_call_single(client, 0, PS_TOTALS, &request, &answer));
    TRY_OR(done, unpack_totals_reply(&answer, arena, &reply));
    status = take_reply(client, &reply, out, global_step);
done:
    message_release(&answer);
    status = status_hold(status);
    arena_destroy(arena);
    return status_in(status_resume(status), "ps 0, asked for the totals of metrics");
}
