/* Packs and unpacks the messages that begin a generation of the job. */
#include "trainer/shared/protocol_internal.h"

/* `count` messages of type `type`, each with its defaults, as protobuf-c wants a repeated field: an
 * array of pointers. */
#define REPEATED(arena, type, init, count, out)                        \
    do {                                                               \
        PROTO(type) *rows_ = ARENA_ARRAY(arena, PROTO(type), (count)); \
        *(out) = ARENA_ARRAY(arena, PROTO(type) *, (count));           \
        for (size_t i_ = 0; i_ < (count); i_++) {                      \
            rows_[i_] = (PROTO(type))init;                             \
            (*(out))[i_] = &rows_[i_];                                 \
        }                                                              \
    } while (0)

struct message pack_create_request(const struct create_request *request)
{
    PROTO(CreateRequest) header = SLIPWAY__TRAINING__CREATE_REQUEST__INIT;
    PROTO(Identity) identity;
    struct arena *arena = arena_create(0);

    header.identity = identity_to_proto(request->identity, &identity);
    header.generation = request->generation;
    header.optimizer = TEXT(request->optimizer);
    header.learning_rate = request->learning_rate;
    header.schedule = TEXT(request->schedule);
    header.n_schedule_values = request->schedule_values_count;
    header.schedule_values = (double *)(uintptr_t)request->schedule_values;
    header.workers = request->workers;
    header.sync = request->sync;
    header.global_step = request->global_step;
    header.stop_step = request->stop_step;
    header.keep_before = request->keep_before;
    header.n_scalars = request->scalars_count;
    header.scalars = (float *)(uintptr_t)request->scalars;
    header.n_settings = request->settings_count;
    REPEATED(arena, Setting, SLIPWAY__TRAINING__SETTING__INIT, header.n_settings, &header.settings);
    for (size_t i = 0; i < header.n_settings; i++) {
        header.settings[i]->name = TEXT(request->settings[i].name);
        header.settings[i]->value = request->settings[i].value;
    }
    header.n_pieces = request->pieces_count;
    REPEATED(arena, Piece, SLIPWAY__TRAINING__PIECE__INIT, header.n_pieces, &header.pieces);
    for (size_t i = 0; i < header.n_pieces; i++) {
        const struct created_piece *piece = &request->pieces[i];
        header.pieces[i]->id = piece->id;
        header.pieces[i]->size_bytes = piece->size_bytes;
        header.pieces[i]->trainable = piece->trainable;
        header.pieces[i]->continues = piece->continues;
        header.pieces[i]->row_bytes = piece->row_bytes;
        header.pieces[i]->dtype = piece->dtype;
    }
    struct message message = protocol_pack(&header);
    arena_destroy(arena);
    return message;
}

struct status unpack_create_request(const struct message *message, struct arena *arena,
                                    struct create_request *out)
{
    PROTO(CreateRequest) * header;
    void *memory;

    TRY(PROTOCOL_UNPACK(message, create_request, arena, &header));
    TRY(arena_reserve(arena, header->n_settings * sizeof *out->settings, &memory));
    struct created_setting *settings = memory;
    for (size_t i = 0; i < header->n_settings; i++)
        settings[i] =
            (struct created_setting){ header->settings[i]->name, header->settings[i]->value };
    TRY(arena_reserve(arena, header->n_pieces * sizeof *out->pieces, &memory));
    struct created_piece *pieces = memory;
    for (size_t i = 0; i < header->n_pieces; i++)
        pieces[i] = (struct created_piece){ .id = header->pieces[i]->id,
                                            .size_bytes = header->pieces[i]->size_bytes,
                                            .trainable = header->pieces[i]->trainable,
                                            .continues = header->pieces[i]->continues,
                                            .row_bytes = header->pieces[i]->row_bytes,
                                            .dtype = header->pieces[i]->dtype };
    *out = (struct create_request){
        .identity = identity_from_proto(header->identity, arena),
        .generation = header->generation,
        .global_step = header->global_step,
        .stop_step = header->stop_step,
        .optimizer = header->optimizer,
        .learning_rate = header->learning_rate,
        .settings = settings,
        .settings_count = header->n_settings,
        .pieces = pieces,
        .pieces_count = header->n_pieces,
        .scalars = header->scalars,
        .scalars_count = header->n_scalars,
        .schedule = header->schedule,
        .schedule_values = header->schedule_values,
        .schedule_values_count = header->n_schedule_values,
        .workers = header->workers,
        .sync = header->sync,
        .keep_before = header->keep_before,
    };
    return status_ok();
}

struct message pack_create_reply(const struct create_reply *reply)
{
    PROTO(CreateReply) header = SLIPWAY__TRAINING__CREATE_REPLY__INIT;

    header.incarnation = reply->incarnation;
    return protocol_pack(&header);
}

struct message pack_write_request(const struct write_request *request)
{
    PROTO(WriteRequest) header = SLIPWAY__TRAINING__WRITE_REQUEST__INIT;

    header.generation = request->generation;
    header.incarnation = request->incarnation;
    header.piece = request->piece;
    header.part = request->part;
    header.offset = request->offset;
    return protocol_pack(&header);
}

struct status unpack_write_request(const struct message *message, struct arena *arena,
                                   struct write_request *out)
{
    PROTO(WriteRequest) * header;

    TRY(PROTOCOL_UNPACK(message, write_request, arena, &header));
    *out = (struct write_request){ .generation = header->generation,
                                   .incarnation = header->incarnation,
                                   .piece = header->piece,
                                   .part = header->part,
                                   .offset = header->offset };
    return status_ok();
}

struct message pack_open_request(const struct open_request *request)
{
    PROTO(OpenRequest) header = SLIPWAY__TRAINING__OPEN_REQUEST__INIT;

    header.generation = request->generation;
    header.incarnation = request->incarnation;
    return protocol_pack(&header);
}

struct status unpack_open_request(const struct message *message, struct arena *arena,
                                  struct open_request *out)
{
    PROTO(OpenRequest) * header;

    TRY(PROTOCOL_UNPACK(message, open_request, arena, &header));
    *out = (struct open_request){ .generation = header->generation,
                                  .incarnation = header->incarnation };
    return status_ok();
}
