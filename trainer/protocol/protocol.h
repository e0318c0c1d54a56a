/*
 * protocol: the messages of proto/training.proto as structs of our own, and how they are packed.
 * Each request and reply has one function for packing and one for unpacking; the .proto file
 * explains the fields. Only the protocol's own files include protobuf-c.
 *
 *     struct pull_request request = { .ticket = &ticket };
 *     struct message message = pack_pull_request(&request);
 *
 *     struct pull_request request;
 *     TRY(unpack_pull_request(&message, arena, &request));
 *
 * Owner   a packed message owns its header and a copy of the struct; everything in an unpacked
 *         struct lives in `arena`
 * Errors  INTERNAL not such a message; RESOURCE_EXHAUSTED larger than the arena may be
 */
#ifndef TRAINER_PROTOCOL_PROTOCOL_H
#define TRAINER_PROTOCOL_PROTOCOL_H

#include "base/arena.h"
#include "rpc/message.h"
#include "tensor/constraint.h"
#include "trainer/optimizers/loss_scale.h"
#include "trainer/protocol/row_keys.h"
#include "trainer/protocol/row_place.h"
#include "trainer/protocol/share_table.h"

/* Incremented when training.proto changes incompatibly. */
#define PROTOCOL_VERSION 26

#define PS_PATH(method) "/slipway.training.ParameterServer/" method
#define PS_JOIN         PS_PATH("Join")
#define PS_CREATE       PS_PATH("Create")
#define PS_WRITE        PS_PATH("Write")
#define PS_OPEN         PS_PATH("Open")
#define PS_PULL         PS_PATH("Pull")
#define PS_PUSH         PS_PATH("Push")
#define PS_HOLD         PS_PATH("Hold")
#define PS_CUT          PS_PATH("Cut")
#define PS_READ         PS_PATH("Read")
#define PS_DROP         PS_PATH("Drop")
#define PS_FINISH       PS_PATH("Finish")
#define PS_AWAIT        PS_PATH("Await")
#define PS_HEARTBEAT    PS_PATH("Heartbeat")
#define PS_POST         PS_PATH("Post")
#define PS_FETCH        PS_PATH("Fetch")
#define PS_STOP         PS_PATH("Stop")
#define PS_PASS         PS_PATH("Pass")
#define PS_TAKE         PS_PATH("Take")
#define PS_TOTALS       PS_PATH("Totals")
#define TASK_IDENTIFY   "/slipway.training.Task/Identify"

/* Adds a payload to a packed message. The pieces are borrowed and must outlive it. */
struct message protocol_attach(struct message header, const struct bytes *pieces, int pieces_count);

/* The empty reply. */
struct message pack_done(void);

/* In a request, NULL if the sender has not set it. */
struct identity {
    const char *cluster, *task, *ps_list, *agreed; /* never NULL in an unpacked struct */
    uint32_t index, ps_index, protocol;
    uint64_t incarnation, placement_hash;
    bool reader;
};

struct ticket {
    uint32_t worker;
    uint64_t incarnation, generation, ps_incarnation;
    bool reader;
};

/* ---- tasks: protocol_tasks.c ---- */

struct join_request {
    const struct identity *identity;
    bool wait_until_created, again;
};

struct join_reply {
    uint64_t incarnation, generation, global_step, begin_step, stop_step;
    struct row_place place;
    bool finished, open, over, lead_is_limited, spare;
    const char *trains; /* NULL: ""; never NULL in an unpacked struct */
};

struct heartbeat_request {
    const struct identity *identity;
};

struct heartbeat_reply {
    uint64_t incarnation, generation, global_step;
    bool over;
    int code;
    const char *text, *note;
};

struct finish_request {
    const struct ticket *ticket;
    const struct identity *identity;
    int code;
    const char *text;
    bool job;
};

struct await_request {
    const struct ticket *ticket;
    bool job;
};

struct await_reply {
    int code;
    const char *text;
};

struct stop_request {
    const struct ticket *ticket;
};

struct stop_reply {
    uint64_t stop_step;
};

struct pass_request {
    const struct ticket *ticket;
    uint64_t sequence;
};

struct pass_reply {
    uint64_t until;
};

struct take_request {
    const struct ticket *ticket;
    uint64_t number;
    bool begins;
    uint64_t turn; /* 1 + the turn to keep; 0: none */
};

struct take_reply {
    struct turn_range share;
};

/* Limit of the totals in a push: those of 40 AUCs. */
#define TOTALS_MAX 16384

struct totals_request {
    const struct ticket *ticket;
};

struct totals_reply {
    uint64_t global_step;
    const double *totals; /* [totals_count] */
    size_t totals_count;
};

struct identify_reply {
    const char *cluster, *task, *ps_list, *version;
    uint64_t incarnation;
    uint32_t protocol;
};

/* Of Post and of Fetch. */
struct note_request {
    const struct identity *identity;
    const char *key;
};

struct fetch_reply {
    bool found;
};

struct message pack_note_request(const struct note_request *request);
struct message pack_fetch_reply(const struct fetch_reply *reply);
struct status unpack_note_request(const struct message *message, struct arena *arena,
                                  struct note_request *out);
struct status unpack_fetch_reply(const struct message *message, struct arena *arena,
                                 struct fetch_reply *out);
struct message pack_join_request(const struct join_request *request);
struct message pack_join_reply(const struct join_reply *reply);
struct message pack_heartbeat_request(const struct heartbeat_request *request);
struct message pack_heartbeat_reply(const struct heartbeat_reply *reply);
struct message pack_finish_request(const struct finish_request *request);
struct message pack_await_request(const struct await_request *request);
struct message pack_await_reply(const struct await_reply *reply);
struct message pack_stop_request(const struct stop_request *request);
struct message pack_stop_reply(const struct stop_reply *reply);
struct message pack_pass_request(const struct pass_request *request);
struct message pack_pass_reply(const struct pass_reply *reply);
struct message pack_take_request(const struct take_request *request);
struct message pack_take_reply(const struct take_reply *reply);
struct message pack_totals_request(const struct totals_request *request);
struct message pack_totals_reply(const struct totals_reply *reply);
struct message pack_identify_reply(const struct identify_reply *reply);
struct status unpack_join_request(const struct message *message, struct arena *arena,
                                  struct join_request *out);
struct status unpack_join_reply(const struct message *message, struct arena *arena,
                                struct join_reply *out);
struct status unpack_heartbeat_request(const struct message *message, struct arena *arena,
                                       struct heartbeat_request *out);
struct status unpack_heartbeat_reply(const struct message *message, struct arena *arena,
                                     struct heartbeat_reply *out);
struct status unpack_finish_request(const struct message *message, struct arena *arena,
                                    struct finish_request *out);
struct status unpack_await_request(const struct message *message, struct arena *arena,
                                   struct await_request *out);
struct status unpack_await_reply(const struct message *message, struct arena *arena,
                                 struct await_reply *out);
struct status unpack_stop_request(const struct message *message, struct arena *arena,
                                  struct stop_request *out);
struct status unpack_stop_reply(const struct message *message, struct arena *arena,
                                struct stop_reply *out);
struct status unpack_pass_request(const struct message *message, struct arena *arena,
                                  struct pass_request *out);
struct status unpack_pass_reply(const struct message *message, struct arena *arena,
                                struct pass_reply *out);
struct status unpack_take_request(const struct message *message, struct arena *arena,
                                  struct take_request *out);
struct status unpack_take_reply(const struct message *message, struct arena *arena,
                                struct take_reply *out);
struct status unpack_totals_request(const struct message *message, struct arena *arena,
                                    struct totals_request *out);
struct status unpack_totals_reply(const struct message *message, struct arena *arena,
                                  struct totals_reply *out);
struct status unpack_identify_reply(const struct message *message, struct arena *arena,
                                    struct identify_reply *out);

/* ---- a generation of the job begins: protocol_create.c ---- */

#define PIECE_FLOAT 1 /* DT_FLOAT */

/* The hash table that a piece is a part of. */
struct created_keys {
    uint32_t ps_count;
    struct row_keys_spec spec;
};

struct created_piece {
    uint32_t id;
    uint64_t size_bytes, row_bytes;
    uint32_t dtype;
    bool trainable, continues;
    bool averaged;
    double momentum; /* averaged */
    struct constraint constraint;
    /* Above 0: an update first divides it by spectral_divide with this many iterations. The next
     * piece is the vector. */
    uint32_t power_iterations;
    /* set if it is constrained or divided, or if its optimizer takes whole variables */
    struct shape shape;
    const struct created_keys *keys; /* NULL: its rows are not keyed */
    uint32_t optimizer;              /* 0: the job's; otherwise other_optimizers[optimizer - 1] */
};

struct create_request {
    const struct identity *identity;
    uint64_t generation, global_step, stop_step;
    const char *optimizer;
    float learning_rate;
    const struct setting_value *settings;  /* [settings_count] */
    const struct created_piece *pieces;    /* [pieces_count] */
    const float *scalars;                  /* [scalars_count] */
    const struct optimizer_choice *others; /* [others_count] */
    size_t settings_count, pieces_count, scalars_count, others_count;
    const char *trains;            /* as in struct join_reply */
    const char *schedule;          /* of the learning rate; "": constant */
    const double *schedule_values; /* [schedule_values_count] */
    size_t schedule_values_count;
    uint32_t workers, batches_per_step, backup_workers, lead_max;
    bool sync, keep_before, all_rows;
    uint64_t turns_per_share;
    struct row_place place;
    uint32_t totals_count;
    const uint64_t *position; /* [position_count] */
    size_t position_count;
    struct loss_scale loss_scale;
};

struct create_reply {
    uint64_t incarnation;
};

struct write_request {
    uint64_t generation, incarnation, offset;
    uint32_t piece, part;
    uint64_t keys;
    bool waiting;
    uint32_t slots;
};

struct open_request {
    uint64_t generation, incarnation;
};

struct message pack_create_request(const struct create_request *request);
struct message pack_create_reply(const struct create_reply *reply);
struct message pack_write_request(const struct write_request *request);
struct message pack_open_request(const struct open_request *request);
struct status unpack_create_request(const struct message *message, struct arena *arena,
                                    struct create_request *out);
struct status unpack_write_request(const struct message *message, struct arena *arena,
                                   struct write_request *out);
struct status unpack_open_request(const struct message *message, struct arena *arena,
                                  struct open_request *out);

/* ---- values and gradients: protocol_values.c ---- */

/* The number of keys that a message has for each piece by keys. */
struct key_counts {
    const uint64_t *counts; /* [pieces_count] */
    size_t pieces_count;
};

struct pull_request {
    const struct ticket *ticket;
    bool before;
    uint32_t first_piece, end_piece;
    uint64_t rows;
    struct key_counts keys;
    bool evaluated;
};

struct pull_reply {
    uint64_t global_step;
    bool sync;
    struct loss_scale loss_scale;
};

struct push_request {
    const struct ticket *ticket;
    uint64_t sequence, local_step;
    bool pull;
    uint32_t first_piece, end_piece;
    uint64_t rows, pull_rows, ids_bytes;
    uint64_t turn; /* 1 + its number; 0: none */
    struct key_counts keys, pull_keys;
    const double *totals; /* [totals_count] */
    size_t totals_count;
    float overflowed;
};

struct push_reply {
    uint64_t global_step, stop_step;
    bool repeated;
    struct loss_scale loss_scale;
    float overflowed;
};

struct message pack_pull_request(const struct pull_request *request);
struct message pack_pull_reply(const struct pull_reply *reply);
struct message pack_push_request(const struct push_request *request);
struct message pack_push_reply(const struct push_reply *reply);
struct status unpack_pull_request(const struct message *message, struct arena *arena,
                                  struct pull_request *out);
struct status unpack_pull_reply(const struct message *message, struct arena *arena,
                                struct pull_reply *out);
struct status unpack_push_request(const struct message *message, struct arena *arena,
                                  struct push_request *out);
struct status unpack_push_reply(const struct message *message, struct arena *arena,
                                struct push_reply *out);

/* ---- snapshots: protocol_snapshot.c ---- */

struct applied_push {
    uint32_t worker;
    uint64_t incarnation, sequence;
};

struct hold_request {
    const struct ticket *ticket;
    uint64_t number;
    bool second;
};

struct hold_reply {
    const struct applied_push *applied; /* [applied_count] */
    size_t applied_count;
    bool sync;
    uint64_t global_step;
};

struct cut_request {
    const struct ticket *ticket;
    const struct applied_push *until; /* [until_count] */
    size_t until_count;
    bool slots, second;
    uint64_t number, until_step;
};

struct cut_reply {
    uint64_t snapshot, global_step;
    const float *scalars; /* [scalars_count] */
    size_t scalars_count;
    const uint64_t *position; /* [position_count] */
    size_t position_count;
    struct loss_scale loss_scale;
};

struct read_request {
    uint64_t snapshot, offset, size;
    uint32_t piece, part, shard;
    uint64_t rows;
    uint32_t end_piece; /* with `piece`: the pieces that `keys` counts */
    struct key_counts keys;
};

struct drop_request {
    const struct ticket *ticket;
    uint64_t number;
    bool second;
};

struct message pack_hold_request(const struct hold_request *request);
struct message pack_hold_reply(const struct hold_reply *reply);
struct message pack_cut_request(const struct cut_request *request);
struct message pack_cut_reply(const struct cut_reply *reply);
struct message pack_read_request(const struct read_request *request);
struct message pack_drop_request(const struct drop_request *request);
struct status unpack_hold_request(const struct message *message, struct arena *arena,
                                  struct hold_request *out);
struct status unpack_hold_reply(const struct message *message, struct arena *arena,
                                struct hold_reply *out);
struct status unpack_cut_request(const struct message *message, struct arena *arena,
                                 struct cut_request *out);
struct status unpack_cut_reply(const struct message *message, struct arena *arena,
                               struct cut_reply *out);
struct status unpack_read_request(const struct message *message, struct arena *arena,
                                  struct read_request *out);
struct status unpack_drop_request(const struct message *message, struct arena *arena,
                                  struct drop_request *out);

#endif
