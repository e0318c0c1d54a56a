/* Packs and unpacks the messages that carry values and gradients. */
#include "trainer/protocol/protocol_internal.h"

struct message pack_pull_request(const struct pull_request *request)
{
    PROTO(PullRequest) header = SLIPWAY__TRAINING__PULL_REQUEST__INIT;
    PROTO(Ticket) ticket;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    header.before = request->before;
    header.first_piece = request->first_piece;
    header.end_piece = request->end_piece;
    header.rows = request->rows;
    header.n_keys = request->keys.pieces_count;
    header.keys = (uint64_t *)(uintptr_t)request->keys.counts;
    header.evaluated = request->evaluated;
    return protocol_pack(&header);
}

struct status unpack_pull_request(const struct message *message, struct arena *arena,
                                  struct pull_request *out)
{
    PROTO(PullRequest) * header;

    TRY(PROTOCOL_UNPACK(message, pull_request, arena, &header));
    *out = (struct pull_request){ .ticket = ticket_from_proto(header->ticket, arena),
                                  .before = header->before,
                                  .first_piece = header->first_piece,
                                  .end_piece = header->end_piece,
                                  .rows = header->rows,
                                  .keys = { header->keys, header->n_keys },
                                  .evaluated = header->evaluated };
    return status_ok();
}

struct message pack_pull_reply(const struct pull_reply *reply)
{
    PROTO(PullReply) header = SLIPWAY__TRAINING__PULL_REPLY__INIT;
    PROTO(LossScale) scale;

    header.global_step = reply->global_step;
    header.sync = reply->sync;
    header.loss_scale = loss_scale_to_proto(&reply->loss_scale, &scale);
    return protocol_pack(&header);
}

struct status unpack_pull_reply(const struct message *message, struct arena *arena,
                                struct pull_reply *out)
{
    PROTO(PullReply) * header;

    TRY(PROTOCOL_UNPACK(message, pull_reply, arena, &header));
    *out = (struct pull_reply){ .global_step = header->global_step,
                                .sync = header->sync,
                                .loss_scale = loss_scale_from_proto(header->loss_scale) };
    return status_ok();
}

struct message pack_push_request(const struct push_request *request)
{
    PROTO(PushRequest) header = SLIPWAY__TRAINING__PUSH_REQUEST__INIT;
    PROTO(Ticket) ticket;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    header.sequence = request->sequence;
    header.local_step = request->local_step;
    header.pull = request->pull;
    header.first_piece = request->first_piece;
    header.end_piece = request->end_piece;
    header.rows = request->rows;
    header.pull_rows = request->pull_rows;
    header.ids_bytes = request->ids_bytes;
    header.turn = request->turn;
    header.n_keys = request->keys.pieces_count;
    header.keys = (uint64_t *)(uintptr_t)request->keys.counts;
    header.n_pull_keys = request->pull_keys.pieces_count;
    header.pull_keys = (uint64_t *)(uintptr_t)request->pull_keys.counts;
    header.n_totals = request->totals_count;
    header.totals = (double *)(uintptr_t)request->totals;
    header.overflowed = request->overflowed;
    return protocol_pack(&header);
}

struct status unpack_push_request(const struct message *message, struct arena *arena,
                                  struct push_request *out)
{
    PROTO(PushRequest) * header;

    TRY(PROTOCOL_UNPACK(message, push_request, arena, &header));
    *out = (struct push_request){ .ticket = ticket_from_proto(header->ticket, arena),
                                  .sequence = header->sequence,
                                  .local_step = header->local_step,
                                  .pull = header->pull,
                                  .first_piece = header->first_piece,
                                  .end_piece = header->end_piece,
                                  .rows = header->rows,
                                  .pull_rows = header->pull_rows,
                                  .ids_bytes = header->ids_bytes,
                                  .turn = header->turn,
                                  .keys = { header->keys, header->n_keys },
                                  .pull_keys = { header->pull_keys, header->n_pull_keys },
                                  .totals = header->totals,
                                  .totals_count = header->n_totals,
                                  .overflowed = header->overflowed };
    return status_ok();
}

struct message pack_push_reply(const struct push_reply *reply)
{
    PROTO(PushReply) header = SLIPWAY__TRAINING__PUSH_REPLY__INIT;
    PROTO(LossScale) scale;

    header.global_step = reply->global_step;
    header.repeated = reply->repeated;
    header.stop_step = reply->stop_step;
    header.loss_scale = loss_scale_to_proto(&reply->loss_scale, &scale);
    header.overflowed = reply->overflowed;
    return protocol_pack(&header);
}

struct status unpack_push_reply(const struct message *message, struct arena *arena,
                                struct push_reply *out)
{
    PROTO(PushReply) * header;

    TRY(PROTOCOL_UNPACK(message, push_reply, arena, &header));
    *out = (struct push_reply){ .global_step = header->global_step,
                                .stop_step = header->stop_step,
                                .repeated = header->repeated,
                                .loss_scale = loss_scale_from_proto(header->loss_scale),
                                .overflowed = header->overflowed };
    return status_ok();
}
