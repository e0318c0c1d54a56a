/* Packs and unpacks the messages about tasks: joining, heartbeats and the outcome. */
#include "trainer/protocol/protocol_internal.h"

struct message pack_join_request(const struct join_request *request)
{
    PROTO(JoinRequest) header = SLIPWAY__TRAINING__JOIN_REQUEST__INIT;
    PROTO(Identity) identity;

    header.identity = identity_to_proto(request->identity, &identity);
    header.wait_until_created = request->wait_until_created;
    header.again = request->again;
    return protocol_pack(&header);
}

struct status unpack_join_request(const struct message *message, struct arena *arena,
                                  struct join_request *out)
{
    PROTO(JoinRequest) * header;

    TRY(PROTOCOL_UNPACK(message, join_request, arena, &header));
    *out = (struct join_request){ .identity = identity_from_proto(header->identity, arena),
                                  .wait_until_created = header->wait_until_created,
                                  .again = header->again };
    return status_ok();
}

struct message pack_join_reply(const struct join_reply *reply)
{
    PROTO(JoinReply) header = SLIPWAY__TRAINING__JOIN_REPLY__INIT;

    header.incarnation = reply->incarnation;
    header.generation = reply->generation;
    header.global_step = reply->global_step;
    header.finished = reply->finished;
    header.open = reply->open;
    header.begin_step = reply->begin_step;
    header.stop_step = reply->stop_step;
    header.row_readers = reply->place.readers;
    header.reader_rows = reply->place.rows;
    header.units = reply->place.units;
    header.over = reply->over;
    header.lead_is_limited = reply->lead_is_limited;
    header.spare = reply->spare;
    header.trains = reply->trains != NULL ? TEXT(reply->trains) : header.trains;
    return protocol_pack(&header);
}

struct status unpack_join_reply(const struct message *message, struct arena *arena,
                                struct join_reply *out)
{
    PROTO(JoinReply) * header;

    TRY(PROTOCOL_UNPACK(message, join_reply, arena, &header));
    *out =
        (struct join_reply){ .incarnation = header->incarnation,
                             .generation = header->generation,
                             .global_step = header->global_step,
                             .finished = header->finished,
                             .open = header->open,
                             .begin_step = header->begin_step,
                             .stop_step = header->stop_step,
                             .place = { header->row_readers, header->reader_rows, header->units },
                             .over = header->over,
                             .lead_is_limited = header->lead_is_limited,
                             .spare = header->spare,
                             .trains = header->trains };
    return status_ok();
}

struct message pack_heartbeat_request(const struct heartbeat_request *request)
{
    PROTO(HeartbeatRequest) header = SLIPWAY__TRAINING__HEARTBEAT_REQUEST__INIT;
    PROTO(Identity) identity;

    header.identity = identity_to_proto(request->identity, &identity);
    return protocol_pack(&header);
}

struct status unpack_heartbeat_request(const struct message *message, struct arena *arena,
                                       struct heartbeat_request *out)
{
    PROTO(HeartbeatRequest) * header;

    TRY(PROTOCOL_UNPACK(message, heartbeat_request, arena, &header));
    *out = (struct heartbeat_request){ .identity = identity_from_proto(header->identity, arena) };
    return status_ok();
}

struct message pack_heartbeat_reply(const struct heartbeat_reply *reply)
{
    PROTO(HeartbeatReply) header = SLIPWAY__TRAINING__HEARTBEAT_REPLY__INIT;

    header.incarnation = reply->incarnation;
    header.generation = reply->generation;
    header.global_step = reply->global_step;
    header.over = reply->over;
    header.code = reply->code;
    header.text = TEXT(reply->text);
    header.note = TEXT(reply->note);
    return protocol_pack(&header);
}

struct status unpack_heartbeat_reply(const struct message *message, struct arena *arena,
                                     struct heartbeat_reply *out)
{
    PROTO(HeartbeatReply) * header;

    TRY(PROTOCOL_UNPACK(message, heartbeat_reply, arena, &header));
    *out = (struct heartbeat_reply){ .incarnation = header->incarnation,
                                     .generation = header->generation,
                                     .global_step = header->global_step,
                                     .over = header->over,
                                     .code = header->code,
                                     .text = header->text,
                                     .note = header->note };
    return status_ok();
}

struct message pack_finish_request(const struct finish_request *request)
{
    PROTO(FinishRequest) header = SLIPWAY__TRAINING__FINISH_REQUEST__INIT;
    PROTO(Ticket) ticket;
    PROTO(Identity) identity;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    header.identity = identity_to_proto(request->identity, &identity);
    header.code = request->code;
    header.text = TEXT(request->text);
    header.job = request->job;
    return protocol_pack(&header);
}

struct status unpack_finish_request(const struct message *message, struct arena *arena,
                                    struct finish_request *out)
{
    PROTO(FinishRequest) * header;

    TRY(PROTOCOL_UNPACK(message, finish_request, arena, &header));
    *out = (struct finish_request){ .ticket = ticket_from_proto(header->ticket, arena),
                                    .identity = identity_from_proto(header->identity, arena),
                                    .code = header->code,
                                    .text = header->text,
                                    .job = header->job };
    return status_ok();
}

struct message pack_await_request(const struct await_request *request)
{
    PROTO(AwaitRequest) header = SLIPWAY__TRAINING__AWAIT_REQUEST__INIT;
    PROTO(Ticket) ticket;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    header.job = request->job;
    return protocol_pack(&header);
}

struct status unpack_await_request(const struct message *message, struct arena *arena,
                                   struct await_request *out)
{
    PROTO(AwaitRequest) * header;

    TRY(PROTOCOL_UNPACK(message, await_request, arena, &header));
    *out = (struct await_request){ .ticket = ticket_from_proto(header->ticket, arena),
                                   .job = header->job };
    return status_ok();
}

struct message pack_await_reply(const struct await_reply *reply)
{
    PROTO(AwaitReply) header = SLIPWAY__TRAINING__AWAIT_REPLY__INIT;

    header.code = reply->code;
    header.text = TEXT(reply->text);
    return protocol_pack(&header);
}

struct status unpack_await_reply(const struct message *message, struct arena *arena,
                                 struct await_reply *out)
{
    PROTO(AwaitReply) * header;

    TRY(PROTOCOL_UNPACK(message, await_reply, arena, &header));
    *out = (struct await_reply){ .code = header->code, .text = header->text };
    return status_ok();
}

struct message pack_stop_request(const struct stop_request *request)
{
    PROTO(StopRequest) header = SLIPWAY__TRAINING__STOP_REQUEST__INIT;
    PROTO(Ticket) ticket;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    return protocol_pack(&header);
}

struct status unpack_stop_request(const struct message *message, struct arena *arena,
                                  struct stop_request *out)
{
    PROTO(StopRequest) * header;

    TRY(PROTOCOL_UNPACK(message, stop_request, arena, &header));
    *out = (struct stop_request){ .ticket = ticket_from_proto(header->ticket, arena) };
    return status_ok();
}

struct message pack_stop_reply(const struct stop_reply *reply)
{
    PROTO(StopReply) header = SLIPWAY__TRAINING__STOP_REPLY__INIT;

    header.stop_step = reply->stop_step;
    return protocol_pack(&header);
}

struct status unpack_stop_reply(const struct message *message, struct arena *arena,
                                struct stop_reply *out)
{
    PROTO(StopReply) * header;

    TRY(PROTOCOL_UNPACK(message, stop_reply, arena, &header));
    *out = (struct stop_reply){ .stop_step = header->stop_step };
    return status_ok();
}

struct message pack_pass_request(const struct pass_request *request)
{
    PROTO(PassRequest) header = SLIPWAY__TRAINING__PASS_REQUEST__INIT;
    PROTO(Ticket) ticket;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    header.sequence = request->sequence;
    return protocol_pack(&header);
}

struct status unpack_pass_request(const struct message *message, struct arena *arena,
                                  struct pass_request *out)
{
    PROTO(PassRequest) * header;

    TRY(PROTOCOL_UNPACK(message, pass_request, arena, &header));
    *out = (struct pass_request){ .ticket = ticket_from_proto(header->ticket, arena),
                                  .sequence = header->sequence };
    return status_ok();
}

struct message pack_pass_reply(const struct pass_reply *reply)
{
    PROTO(PassReply) header = SLIPWAY__TRAINING__PASS_REPLY__INIT;

    header.until = reply->until;
    return protocol_pack(&header);
}

struct status unpack_pass_reply(const struct message *message, struct arena *arena,
                                struct pass_reply *out)
{
    PROTO(PassReply) * header;

    TRY(PROTOCOL_UNPACK(message, pass_reply, arena, &header));
    *out = (struct pass_reply){ .until = header->until };
    return status_ok();
}

struct message pack_take_request(const struct take_request *request)
{
    PROTO(TakeRequest) header = SLIPWAY__TRAINING__TAKE_REQUEST__INIT;
    PROTO(Ticket) ticket;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    header.number = request->number;
    header.begins = request->begins;
    header.turn = request->turn;
    return protocol_pack(&header);
}

struct status unpack_take_request(const struct message *message, struct arena *arena,
                                  struct take_request *out)
{
    PROTO(TakeRequest) * header;

    TRY(PROTOCOL_UNPACK(message, take_request, arena, &header));
    *out = (struct take_request){ .ticket = ticket_from_proto(header->ticket, arena),
                                  .number = header->number,
                                  .begins = header->begins,
                                  .turn = header->turn };
    return status_ok();
}

struct message pack_take_reply(const struct take_reply *reply)
{
    PROTO(TakeReply) header = SLIPWAY__TRAINING__TAKE_REPLY__INIT;

    header.first = reply->share.first;
    header.count = reply->share.count;
    return protocol_pack(&header);
}

struct status unpack_take_reply(const struct message *message, struct arena *arena,
                                struct take_reply *out)
{
    PROTO(TakeReply) * header;

    TRY(PROTOCOL_UNPACK(message, take_reply, arena, &header));
    *out = (struct take_reply){ { header->first, header->count } };
    return status_ok();
}

struct message pack_totals_request(const struct totals_request *request)
{
    PROTO(TotalsRequest) header = SLIPWAY__TRAINING__TOTALS_REQUEST__INIT;
    PROTO(Ticket) ticket;

    header.ticket = ticket_to_proto(request->ticket, &ticket);
    return protocol_pack(&header);
}

struct status unpack_totals_request(const struct message *message, struct arena *arena,
                                    struct totals_request *out)
{
    PROTO(TotalsRequest) * header;

    TRY(PROTOCOL_UNPACK(message, totals_request, arena, &header));
    *out = (struct totals_request){ .ticket = ticket_from_proto(header->ticket, arena) };
    return status_ok();
}

struct message pack_totals_reply(const struct totals_reply *reply)
{
    PROTO(TotalsReply) header = SLIPWAY__TRAINING__TOTALS_REPLY__INIT;

    header.global_step = reply->global_step;
    header.n_totals = reply->totals_count;
    header.totals = (double *)(uintptr_t)reply->totals;
    return protocol_pack(&header);
}

struct status unpack_totals_reply(const struct message *message, struct arena *arena,
                                  struct totals_reply *out)
{
    PROTO(TotalsReply) * header;

    TRY(PROTOCOL_UNPACK(message, totals_reply, arena, &header));
    *out = (struct totals_reply){ .global_step = header->global_step,
                                  .totals = header->totals,
                                  .totals_count = header->n_totals };
    return status_ok();
}

struct message pack_identify_reply(const struct identify_reply *reply)
{
    PROTO(IdentifyReply) header = SLIPWAY__TRAINING__IDENTIFY_REPLY__INIT;

    header.cluster = TEXT(reply->cluster);
    header.task = TEXT(reply->task);
    header.ps_list = TEXT(reply->ps_list);
    header.incarnation = reply->incarnation;
    header.protocol = reply->protocol;
    header.version = TEXT(reply->version);
    return protocol_pack(&header);
}

struct status unpack_identify_reply(const struct message *message, struct arena *arena,
                                    struct identify_reply *out)
{
    PROTO(IdentifyReply) * header;

    TRY(PROTOCOL_UNPACK(message, identify_reply, arena, &header));
    *out = (struct identify_reply){ .cluster = header->cluster,
                                    .task = header->task,
                                    .ps_list = header->ps_list,
                                    .incarnation = header->incarnation,
                                    .protocol = header->protocol,
                                    .version = header->version };
    return status_ok();
}

/* ---- notes ---- */

struct message pack_note_request(const struct note_request *request)
{
    PROTO(NoteRequest) header = SLIPWAY__TRAINING__NOTE_REQUEST__INIT;
    PROTO(Identity) identity;

    header.identity = identity_to_proto(request->identity, &identity);
    header.key = TEXT(request->key);
    return protocol_pack(&header);
}

struct message pack_fetch_reply(const struct fetch_reply *reply)
{
    PROTO(FetchReply) header = SLIPWAY__TRAINING__FETCH_REPLY__INIT;

    header.found = reply->found;
    return protocol_pack(&header);
}

struct status unpack_note_request(const struct message *message, struct arena *arena,
                                  struct note_request *out)
{
    PROTO(NoteRequest) * header;

    TRY(PROTOCOL_UNPACK(message, note_request, arena, &header));
    *out = (struct note_request){ identity_from_proto(header->identity, arena), header->key };
    return status_ok();
}

struct status unpack_fetch_reply(const struct message *message, struct arena *arena,
                                 struct fetch_reply *out)
{
    PROTO(FetchReply) * header;

    TRY(PROTOCOL_UNPACK(message, fetch_reply, arena, &header));
    *out = (struct fetch_reply){ .found = header->found };
    return status_ok();
}
