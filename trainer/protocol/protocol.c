#include "trainer/protocol/protocol_internal.h"

#include <stdlib.h>

struct message protocol_pack(const void *header)
{
    struct buffer buffer = { 0 };

    proto_pack(header, &buffer);
    return (struct message){ .header = { buffer.data, buffer.size },
                             .release = free,
                             .owner = buffer.data };
}

struct message protocol_attach(struct message header, const struct bytes *pieces, int pieces_count)
{
    header.pieces = pieces;
    header.pieces_count = pieces_count;
    return header;
}

struct message pack_done(void)
{
    return (struct message){ .header = { "", 0 } };
}

struct status protocol_unpack(const struct message *message,
                              const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
                              void *out)
{
    return status_in(proto_unpack(descriptor, message->header, arena, out), "%s",
                     descriptor->short_name);
}

PROTO(Identity) * identity_to_proto(const struct identity *identity, PROTO(Identity) * out)
{
    if (identity == NULL)
        return NULL;
    *out = (PROTO(Identity))SLIPWAY__TRAINING__IDENTITY__INIT;
    out->cluster = TEXT(identity->cluster);
    out->task = TEXT(identity->task);
    out->index = identity->index;
    out->incarnation = identity->incarnation;
    out->ps_list = TEXT(identity->ps_list);
    out->placement_hash = identity->placement_hash;
    out->ps_index = identity->ps_index;
    out->protocol = identity->protocol;
    out->reader = identity->reader;
    out->agreed = identity->agreed != NULL ? TEXT(identity->agreed) : out->agreed;
    return out;
}

const struct identity *identity_from_proto(const PROTO(Identity) * identity, struct arena *arena)
{
    if (identity == NULL)
        return NULL;
    struct identity *out = ARENA_NEW(arena, struct identity);
    *out = (struct identity){ .cluster = identity->cluster,
                              .task = identity->task,
                              .ps_list = identity->ps_list,
                              .agreed = identity->agreed,
                              .index = identity->index,
                              .ps_index = identity->ps_index,
                              .protocol = identity->protocol,
                              .incarnation = identity->incarnation,
                              .placement_hash = identity->placement_hash,
                              .reader = identity->reader };
    return out;
}

PROTO(Ticket) * ticket_to_proto(const struct ticket *ticket, PROTO(Ticket) * out)
{
    if (ticket == NULL)
        return NULL;
    *out = (PROTO(Ticket))SLIPWAY__TRAINING__TICKET__INIT;
    out->worker = ticket->worker;
    out->incarnation = ticket->incarnation;
    out->generation = ticket->generation;
    out->ps_incarnation = ticket->ps_incarnation;
    out->reader = ticket->reader;
    return out;
}

const struct ticket *ticket_from_proto(const PROTO(Ticket) * ticket, struct arena *arena)
{
    if (ticket == NULL)
        return NULL;
    struct ticket *out = ARENA_NEW(arena, struct ticket);
    *out = (struct ticket){ .worker = ticket->worker,
                            .incarnation = ticket->incarnation,
                            .generation = ticket->generation,
                            .ps_incarnation = ticket->ps_incarnation,
                            .reader = ticket->reader };
    return out;
}

PROTO(LossScale) * loss_scale_to_proto(const struct loss_scale *state, PROTO(LossScale) * out)
{
    if (state->scale == 0)
        return NULL;
    *out = (PROTO(LossScale))SLIPWAY__TRAINING__LOSS_SCALE__INIT;
    out->scale = state->scale;
    out->growth_steps = state->growth_steps;
    out->finite_steps = state->finite_steps;
    out->skipped = state->skipped;
    return out;
}

struct loss_scale loss_scale_from_proto(const PROTO(LossScale) * state)
{
    if (state == NULL)
        return (struct loss_scale){ 0 };
    return (struct loss_scale){ .scale = state->scale,
                                .growth_steps = state->growth_steps,
                                .finite_steps = state->finite_steps,
                                .skipped = state->skipped };
}
