/* Packs and unpacks the messages about snapshots. */
#include <stdlib.h>

#include "trainer/protocol/protocol_internal.h"

/* Rows in protobuf-c's form of a repeated field: an array of pointers to messages. */
struct applied_rows {
    PROTO(Applied) * rows;
    PROTO(Applied) * *pointers;
};

static struct applied_rows rows_to_proto(const struct applied_push *pushes, size_t count)
{
    struct applied_rows out = { zalloc((count + 1) * sizeof *out.rows),
                                zalloc((count + 1) * sizeof *out.pointers) };

    for (size_t i = 0; i < count; i++) {
        out.rows[i] = (PROTO(Applied))SLIPWAY__TRAINING__APPLIED__INIT;
        out.rows[i].worker = pushes[i].worker;
        out.rows[i].incarnation = pushes[i].incarnation;
        out.rows[i].sequence = pushes[i].sequence;
        out.pointers[i] = &out.rows[i];
    }
    return out;
}

static void free_rows(struct applied_rows *rows)
{
    free(rows->rows);
    free(rows->pointers);
}

static struct status rows_from_proto(PROTO(Applied) *const *rows, size_t count, struct arena *arena,
                                     const struct applied_push **out)
{
    void *memory;

    TRY(arena_reserve(arena, count * sizeof **out, &memory));
    struct applied_push *pushes = memory;
    for (size_t i = 0; i < count; i++)
        pushes[i] = (struct applied_push){ .worker = rows[i]->worker,
                                           .incarnation = rows[i]->incarnation,
                                           .sequence = rows[i]->sequence };
    *out = pushes;
    return status_ok();
}

struct message pack_hold_reply(const struct hold_reply *reply)
{
    PROTO(HoldReply) header = SLIPWAY__TRAINING__HOLD_REPLY__INIT;
    struct applied_rows rows = rows_to_proto(reply->applied, reply->applied_count);

    header.applied = rows.pointers;
    header.n_applied = reply->applied_count;
    header.sync = reply->sync;
    header.global_step = reply->global_step;
    struct message message = protocol_pack(&header);
    free_rows(&rows);
    return message;
}

struct status unpack_hold_reply(const struct message *message, struct arena *arena,
                                struct hold_reply *out)
{
    PROTO(HoldReply) * header;

    TRY(PROTOCOL_UNPACK(message, hold_reply, arena, &header));
    *out = (struct hold_reply){ .applied_count = header->n_applied,
                                .sync = header->sync,
                                .global_step = header->global_step };
    return rows_from_proto(header->applied, header->n_applied, arena, &out->applied);
}

struct message pack_cut_request(const struct cut_request *request)
{
    PROTO(CutRequest) header = SLIPWAY__TRAINING__CUT_REQUEST__INIT;
    PROTO(Ticket) ticket;
    struct applied_rows rows = rows_to_proto(request->until, request->until_count);

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    header.until = rows.pointers;
    header.n_until = request->until_count;
    header.slots = request->slots;
    header.second = request->second;
    header.number = request->number;
    header.until_step = request->until_step;
    struct message message = protocol_pack(&header);
    free_rows(&rows);
    return message;
}

struct status unpack_cut_request(const struct message *message, struct arena *arena,
                                 struct cut_request *out)
{
    PROTO(CutRequest) * header;

    TRY(PROTOCOL_UNPACK(message, cut_request, arena, &header));
    *out = (struct cut_request){ .ticket = ticket_from_proto(header->ticket, arena),
                                 .until_count = header->n_until,
                                 .slots = header->slots,
                                 .second = header->second,
                                 .number = header->number,
                                 .until_step = header->until_step };
    return rows_from_proto(header->until, header->n_until, arena, &out->until);
}

struct message pack_cut_reply(const struct cut_reply *reply)
{
    PROTO(CutReply) header = SLIPWAY__TRAINING__CUT_REPLY__INIT;
    PROTO(LossScale) scale;

    header.snapshot = reply->snapshot;
    header.global_step = reply->global_step;
    header.scalars = (float *)(uintptr_t)reply->scalars;
    header.n_scalars = reply->scalars_count;
    header.position = (uint64_t *)(uintptr_t)reply->position;
    header.n_position = reply->position_count;
    header.loss_scale = loss_scale_to_proto(&reply->loss_scale, &scale);
    return protocol_pack(&header);
}

struct status unpack_cut_reply(const struct message *message, struct arena *arena,
                               struct cut_reply *out)
{
    PROTO(CutReply) * header;

    TRY(PROTOCOL_UNPACK(message, cut_reply, arena, &header));
    *out = (struct cut_reply){ .snapshot = header->snapshot,
                               .global_step = header->global_step,
                               .scalars = header->scalars,
                               .scalars_count = header->n_scalars,
                               .position = header->position,
                               .position_count = header->n_position,
                               .loss_scale = loss_scale_from_proto(header->loss_scale) };
    return status_ok();
}

struct message pack_hold_request(const struct hold_request *request)
{
    PROTO(HoldRequest) header = SLIPWAY__TRAINING__HOLD_REQUEST__INIT;
    PROTO(Ticket) ticket;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    header.number = request->number;
    header.second = request->second;
    return protocol_pack(&header);
}

struct status unpack_hold_request(const struct message *message, struct arena *arena,
                                  struct hold_request *out)
{
    PROTO(HoldRequest) * header;

    TRY(PROTOCOL_UNPACK(message, hold_request, arena, &header));
    *out = (struct hold_request){ .ticket = ticket_from_proto(header->ticket, arena),
                                  .number = header->number,
                                  .second = header->second };
    return status_ok();
}

struct message pack_read_request(const struct read_request *request)
{
    PROTO(ReadRequest) header = SLIPWAY__TRAINING__READ_REQUEST__INIT;

    header.snapshot = request->snapshot;
    header.piece = request->piece;
    header.offset = request->offset;
    header.size = request->size;
    header.part = request->part;
    header.rows = request->rows;
    header.shard = request->shard;
    header.end_piece = request->end_piece;
    header.n_keys = request->keys.pieces_count;
    header.keys = (uint64_t *)(uintptr_t)request->keys.counts;
    return protocol_pack(&header);
}

struct status unpack_read_request(const struct message *message, struct arena *arena,
                                  struct read_request *out)
{
    PROTO(ReadRequest) * header;

    TRY(PROTOCOL_UNPACK(message, read_request, arena, &header));
    *out = (struct read_request){ .snapshot = header->snapshot,
                                  .piece = header->piece,
                                  .offset = header->offset,
                                  .size = header->size,
                                  .part = header->part,
                                  .rows = header->rows,
                                  .shard = header->shard,
                                  .end_piece = header->end_piece,
                                  .keys = { header->keys, header->n_keys } };
    return status_ok();
}

struct message pack_drop_request(const struct drop_request *request)
{
    PROTO(DropRequest) header = SLIPWAY__TRAINING__DROP_REQUEST__INIT;
    PROTO(Ticket) ticket;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    header.number = request->number;
    header.second = request->second;
    return protocol_pack(&header);
}

struct status unpack_drop_request(const struct message *message, struct arena *arena,
                                  struct drop_request *out)
{
    PROTO(DropRequest) * header;

    TRY(PROTOCOL_UNPACK(message, drop_request, arena, &header));
    *out = (struct drop_request){ .ticket = ticket_from_proto(header->ticket, arena),
                                  .number = header->number,
                                  .second = header->second };
    return status_ok();
}
