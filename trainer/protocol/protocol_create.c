/* Packs and unpacks the messages that begin a generation of the job. */
#include "trainer/optimizers/optimizer.h"
#include "trainer/protocol/protocol_internal.h"

/* Allocates `count` messages of type `type` with their defaults, in protobuf-c's form of a
 * repeated field: an array of pointers. */
#define REPEATED(arena, type, init, count, out)                        \
    do {                                                               \
        PROTO(type) *rows_ = ARENA_ARRAY(arena, PROTO(type), (count)); \
        *(out) = ARENA_ARRAY(arena, PROTO(type) *, (count));           \
        for (size_t i_ = 0; i_ < (count); i_++) {                      \
            rows_[i_] = (PROTO(type))init;                             \
            (*(out))[i_] = &rows_[i_];                                 \
        }                                                              \
    } while (0)

static PROTO(Constraint) * pack_constraint(const struct created_piece *piece, struct arena *arena)
{
    const struct constraint *constraint = &piece->constraint;
    PROTO(Constraint) * out;

    if (constraint->kind == CONSTRAINT_NONE)
        return NULL;
    out = ARENA_NEW(arena, PROTO(Constraint));
    slipway__training__constraint__init(out);
    out->kind = (uint32_t)constraint->kind;
    out->low = constraint->low;
    out->high = constraint->high;
    out->rate = constraint->rate;
    out->axes = constraint->axes;
    out->n_dims = (size_t)piece->shape.rank;
    out->dims = ARENA_ARRAY(arena, uint64_t, out->n_dims);
    for (size_t d = 0; d < out->n_dims; d++)
        out->dims[d] = (uint64_t)piece->shape.dims[d];
    return out;
}

/* Does the optimizer of the piece take whole variables? */
static bool is_joined(const struct create_request *request, const struct created_piece *piece)
{
    size_t number = piece->optimizer;
    const char *name = number == 0                       ? request->optimizer
                       : number <= request->others_count ? request->others[number - 1].name
                                                         : "";
    const struct optimizer *optimizer = optimizer_find(name);

    return optimizer != NULL && optimizer->whole != NULL && piece->trainable && piece->keys == NULL;
}

static void pack_shape(const struct create_request *request, const struct created_piece *piece,
                       PROTO(Piece) * out, struct arena *arena)
{
    if (!is_joined(request, piece) && piece->power_iterations == 0)
        return;
    out->n_dims = (size_t)piece->shape.rank;
    out->dims = ARENA_ARRAY(arena, uint64_t, out->n_dims);
    for (size_t d = 0; d < out->n_dims; d++)
        out->dims[d] = (uint64_t)piece->shape.dims[d];
}

/* The shape's size is checked against the piece's, without overflow. */
static struct status unpack_shape(const uint64_t *dims, size_t rank, struct created_piece *out)
{
    uint64_t size = sizeof(float);

    out->shape = (struct shape){ .rank = rank <= SHAPE_RANK_MAX ? (int)rank : 0 };
    if (rank > SHAPE_RANK_MAX)
        size = UINT64_MAX;
    for (int d = 0; d < out->shape.rank; d++) {
        out->shape.dims[d] = (int64_t)dims[d];
        if (dims[d] > INT64_MAX || __builtin_mul_overflow(size, dims[d], &size))
            size = UINT64_MAX;
    }
    if (size == out->size_bytes)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "piece %u: rank %zu and shape %s, but %llu bytes",
                        out->id, rank, shape_text(&out->shape),
                        (unsigned long long)out->size_bytes);
}

static struct status unpack_constraint(const PROTO(Constraint) * from, struct created_piece *out)
{
    if (from->kind > CONSTRAINT_NORM || from->n_dims > SHAPE_RANK_MAX ||
        from->axes >> from->n_dims != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u: a constraint of kind %u, rank %zu and axes %#x", out->id,
                            from->kind, from->n_dims, from->axes);
    out->constraint = (struct constraint){ .kind = (enum constraint_kind)from->kind,
                                           .low = from->low,
                                           .high = from->high,
                                           .rate = from->rate,
                                           .axes = from->axes };
    return unpack_shape(from->dims, from->n_dims, out);
}

/* NULL for NULL. */
static PROTO(Keys) * keys_to_proto(const struct created_keys *keys, PROTO(Keys) * out)
{
    if (keys == NULL)
        return NULL;
    *out = (PROTO(Keys))SLIPWAY__TRAINING__KEYS__INIT;
    out->ps_count = keys->ps_count;
    out->seed = keys->spec.seed;
    out->initializer = (uint32_t)keys->spec.initializer;
    out->a = keys->spec.a;
    out->b = keys->spec.b;
    out->min_count = keys->spec.min_count;
    out->probability = keys->spec.probability;
    out->ttl_steps = keys->spec.ttl_steps;
    out->bytes_max = keys->spec.bytes_max;
    return out;
}

static struct created_keys keys_from_proto(const PROTO(Keys) * keys)
{
    return (struct created_keys){ .ps_count = keys->ps_count,
                                  .spec = { .seed = keys->seed,
                                            .initializer = (enum key_initializer)keys->initializer,
                                            .a = keys->a,
                                            .b = keys->b,
                                            .min_count = keys->min_count,
                                            .probability = keys->probability,
                                            .ttl_steps = keys->ttl_steps,
                                            .bytes_max = keys->bytes_max } };
}

/* The result lives in the arena. */
static PROTO(Setting) *
    *pack_settings(const struct setting_value *settings, size_t count, struct arena *arena)
{
    PROTO(Setting) * *out;

    REPEATED(arena, Setting, SLIPWAY__TRAINING__SETTING__INIT, count, &out);
    for (size_t i = 0; i < count; i++) {
        out[i]->name = TEXT(settings[i].name);
        out[i]->value = settings[i].value;
    }
    return out;
}

static void pack_others(const struct create_request *request, PROTO(CreateRequest) * header,
                        struct arena *arena)
{
    header->n_other_optimizers = request->others_count;
    REPEATED(arena, OtherOptimizer, SLIPWAY__TRAINING__OTHER_OPTIMIZER__INIT, request->others_count,
             &header->other_optimizers);
    for (size_t i = 0; i < request->others_count; i++) {
        const struct optimizer_choice *from = &request->others[i];
        header->other_optimizers[i]->name = TEXT(from->name);
        header->other_optimizers[i]->learning_rate = from->learning_rate;
        header->other_optimizers[i]->rate_ratio = from->rate_ratio;
        header->other_optimizers[i]->all_rows = from->all_rows;
        header->other_optimizers[i]->n_settings = (size_t)from->settings_count;
        header->other_optimizers[i]->settings =
            pack_settings(from->settings, (size_t)from->settings_count, arena);
    }
}

struct message pack_create_request(const struct create_request *request)
{
    PROTO(CreateRequest) header = SLIPWAY__TRAINING__CREATE_REQUEST__INIT;
    PROTO(Identity) identity;
    PROTO(LossScale) scale;
    struct arena *arena = arena_create(0);
    PROTO(Keys) *keys = ARENA_ARRAY(arena, PROTO(Keys), request->pieces_count);

    header.identity = identity_to_proto(request->identity, &identity);
    header.generation = request->generation;
    header.optimizer = TEXT(request->optimizer);
    header.learning_rate = request->learning_rate;
    header.trains = request->trains != NULL ? TEXT(request->trains) : header.trains;
    header.schedule = TEXT(request->schedule);
    header.batches_per_step = request->batches_per_step;
    header.n_schedule_values = request->schedule_values_count;
    header.schedule_values = (double *)(uintptr_t)request->schedule_values;
    header.workers = request->workers;
    header.backup_workers = request->backup_workers;
    header.lead_max = request->lead_max;
    header.sync = request->sync;
    header.global_step = request->global_step;
    header.stop_step = request->stop_step;
    header.keep_before = request->keep_before;
    header.all_rows = request->all_rows;
    header.turns_per_share = request->turns_per_share;
    header.row_readers = request->place.readers;
    header.reader_rows = request->place.rows;
    header.units = request->place.units;
    header.totals_count = request->totals_count;
    header.n_position = request->position_count;
    header.position = (uint64_t *)(uintptr_t)request->position;
    header.loss_scale = loss_scale_to_proto(&request->loss_scale, &scale);
    header.n_scalars = request->scalars_count;
    header.scalars = (float *)(uintptr_t)request->scalars;
    header.n_settings = request->settings_count;
    header.settings = pack_settings(request->settings, request->settings_count, arena);
    pack_others(request, &header, arena);
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
        header.pieces[i]->averaged = piece->averaged;
        header.pieces[i]->momentum = piece->momentum;
        header.pieces[i]->constraint = pack_constraint(piece, arena);
        pack_shape(request, piece, header.pieces[i], arena);
        header.pieces[i]->keys = keys_to_proto(piece->keys, &keys[i]);
        header.pieces[i]->optimizer = piece->optimizer;
        header.pieces[i]->power_iterations = piece->power_iterations;
    }
    struct message message = protocol_pack(&header);
    arena_destroy(arena);
    return message;
}

static struct status unpack_piece(const PROTO(Piece) * from, struct created_piece *out)
{
    *out = (struct created_piece){ .id = from->id,
                                   .size_bytes = from->size_bytes,
                                   .trainable = from->trainable,
                                   .continues = from->continues,
                                   .row_bytes = from->row_bytes,
                                   .dtype = from->dtype,
                                   .averaged = from->averaged,
                                   .momentum = from->momentum,
                                   .optimizer = from->optimizer,
                                   .power_iterations = from->power_iterations };
    if (from->n_dims > 0)
        TRY(unpack_shape(from->dims, from->n_dims, out));
    return from->constraint != NULL ? unpack_constraint(from->constraint, out) : status_ok();
}

static struct status unpack_settings(PROTO(Setting) *const *from, size_t count, struct arena *arena,
                                     const struct setting_value **out)
{
    struct setting_value *settings;
    void *memory;

    TRY(arena_reserve(arena, count * sizeof *settings, &memory));
    settings = memory;
    for (size_t i = 0; i < count; i++)
        settings[i] = (struct setting_value){ from[i]->name, from[i]->value };
    *out = settings;
    return status_ok();
}

static struct status unpack_others(const PROTO(CreateRequest) * header, struct arena *arena,
                                   const struct optimizer_choice **out)
{
    struct optimizer_choice *others;
    void *memory;

    TRY(arena_reserve(arena, header->n_other_optimizers * sizeof *others, &memory));
    others = memory;
    for (size_t i = 0; i < header->n_other_optimizers; i++) {
        const PROTO(OtherOptimizer) *from = header->other_optimizers[i];
        others[i] = (struct optimizer_choice){ .name = from->name,
                                               .learning_rate = from->learning_rate,
                                               .rate_ratio = from->rate_ratio,
                                               .all_rows = from->all_rows,
                                               .settings_count = (int)from->n_settings };
        TRY(unpack_settings(from->settings, from->n_settings, arena, &others[i].settings));
    }
    *out = others;
    return status_ok();
}

struct status unpack_create_request(const struct message *message, struct arena *arena,
                                    struct create_request *out)
{
    PROTO(CreateRequest) * header;
    void *memory;

    TRY(PROTOCOL_UNPACK(message, create_request, arena, &header));
    const struct setting_value *settings;
    TRY(unpack_settings(header->settings, header->n_settings, arena, &settings));
    const struct optimizer_choice *others;
    TRY(unpack_others(header, arena, &others));
    TRY(arena_reserve(arena, header->n_pieces * sizeof *out->pieces, &memory));
    struct created_piece *pieces = memory;
    TRY(arena_reserve(arena, header->n_pieces * sizeof(struct created_keys), &memory));
    struct created_keys *keys = memory;
    for (size_t i = 0; i < header->n_pieces; i++) {
        TRY(unpack_piece(header->pieces[i], &pieces[i]));
        if (header->pieces[i]->keys == NULL)
            continue;
        keys[i] = keys_from_proto(header->pieces[i]->keys);
        pieces[i].keys = &keys[i];
    }
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
        .others = others,
        .others_count = header->n_other_optimizers,
        .trains = header->trains,
        .schedule = header->schedule,
        .batches_per_step = header->batches_per_step,
        .schedule_values = header->schedule_values,
        .schedule_values_count = header->n_schedule_values,
        .workers = header->workers,
        .backup_workers = header->backup_workers,
        .lead_max = header->lead_max,
        .sync = header->sync,
        .keep_before = header->keep_before,
        .all_rows = header->all_rows,
        .turns_per_share = header->turns_per_share,
        .place = { header->row_readers, header->reader_rows, header->units },
        .totals_count = header->totals_count,
        .position = header->position,
        .position_count = header->n_position,
        .loss_scale = loss_scale_from_proto(header->loss_scale),
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
    header.keys = request->keys;
    header.waiting = request->waiting;
    header.slots = request->slots;
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
                                   .offset = header->offset,
                                   .keys = header->keys,
                                   .waiting = header->waiting,
                                   .slots = header->slots };
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
