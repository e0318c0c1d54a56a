/*
 * ps_internal: the types and functions that the files of the ps share. The state of a ps is divided
 * into parts. Each part has one owner; the other files use the functions declared here with it:
 *
 *     generation   generation.c     the job's variables and training settings
 *     variables    variables.c      the slices and their updates
 *     membership   join.c           the members of the job, and calls that wait for the variables
 *     attendance   attendance.c     when each task was heard from, and what was logged
 *     pushes       push.c           pending gradients, and each worker's progress
 *     pace         pace.c           bounded staleness of an asynchronous job
 *     shares       shares.c         the rows assigned to each worker of an asynchronous job
 *     totals       totals.c         the sums of the training metrics over all workers
 *     scale        scale.c          the loss scale, and which steps it skips
 *     snapshots    cut.c, snapshot.c (snapshots.h)   who holds the ps, and the snapshots taken
 *     outcome      finish.c         how the job ended, and calls that wait for it
 *     board        board.c          notes that tasks leave for each other
 *
 * One lock guards all of it, except the slices, which have their own locks, and the variables,
 * which change only while no push can be applied. Call a function declared here with the lock held,
 * unless its comment says "without the lock". A function that answers a call runs without the lock,
 * because the caller may be in this process and continue at once. ASSERT_LOCKED checks that in
 * builds with asserts.
 */
#ifndef TRAINER_PS_INTERNAL_H
#define TRAINER_PS_INTERNAL_H

#include <assert.h>

#include "base/arena.h"
#include "trainer/ps/ps.h"
#include "trainer/ps/slice.h"
#include "trainer/protocol/protocol.h"
#include "trainer/protocol/row_ids.h"
#include "trainer/optimizers/schedule.h"

struct ps {
    struct ps_options options; /* do not change */
    pthread_mutex_t lock;      /* by ps_lock alone */
    pthread_t holder;          /* the thread that holds the lock, while it is held */
    bool locked, stopped;
    struct generation *generation;
    struct variables *variables;
    struct membership *membership;
    struct attendance *attendance;
    struct pushes *pushes;
    struct pace *pace;
    struct shares *shares;
    struct totals *totals;
    struct scale *scale;
    struct snapshots *snapshots;
    struct outcome *outcome;
    struct board *board;
};

void ps_lock(struct ps *ps);
void ps_unlock(struct ps *ps);
/* Waits for `condition`. The caller holds the lock, which is released during the wait. */
void ps_wait(struct ps *ps, pthread_cond_t *condition);
bool ps_is_locked(const struct ps *ps); /* by this thread */
#define ASSERT_LOCKED(ps) assert(ps_is_locked(ps))

/* Limit of the memory for reading a request's header: numbers and a task's identity. */
#define REQUEST_ARENA_MAX      ((size_t)1 << 20)
/* The same for a request whose texts or lists grow with the job: its pieces, its settings, the
 * text of its outcome. */
#define LONG_REQUEST_ARENA_MAX ((size_t)16 << 20)

/* ABORTED: the process of this ps is ending. */
struct status ps_check_running(const struct ps *ps);

/* Without the lock: sends the reply, which it owns, or the failure. */
void ps_answer(struct call *call, struct status status, struct message reply);

/* ---- Waiting calls (waiting.c). Embedded as the first member of each owner's struct. ---- */

struct waiting {
    struct waiting *next;
    struct call *call;
    struct message request;                  /* empty unless its payload is needed */
    void (*finish)(struct waiting *waiting); /* frees the members of the enclosing struct; NULL:
                                              * nothing to free */
};

void waiting_append(struct waiting **list, struct waiting *waiting);          /* at the end */
struct waiting *waiting_take(struct waiting **list, const struct call *call); /* NULL: not there */
/* Without the lock: answers and frees every call of a list. */
void waiting_fail_all(struct waiting *list, struct status why);

/* ---- Notes that tasks leave for each other (board.c). ---- */

struct board *board_create(void);
void board_destroy(struct board *board, struct budget *budget); /* NULL: none was charged */

/* ---- Generation. ---- */

/* The part of the generation that other files may read. */
struct generation {
    uint64_t number;   /* 0: not created yet */
    uint64_t creator;  /* incarnation of the chief that created it */
    bool open;         /* its values are complete: workers may join */
    int64_t opened_ns; /* when it was opened for the first time; 0: not yet */
    char *agreed;      /* the chief's settings, which every worker must share; on the heap */
    uint64_t placement_hash, begin_step, stop_step;
    struct row_place place; /* at begin_step; for a synchronous job */
    bool sync;
    uint32_t sync_workers;
    uint32_t backup_workers; /* number of workers whose pushes a synchronous step can do without */
    uint32_t lead_max;       /* see pace.c: the maximum lead of a worker, plus 1; 0: unlimited */
};

struct generation *generation_create(void);
void generation_destroy(struct generation *generation);
const struct generation *ps_generation(const struct ps *ps);
void generation_forgive(struct ps *ps, int64_t stood_still_ns);
/* May the chief of this incarnation initialize the variables now? */
struct status generation_check_filling(const struct ps *ps, uint64_t number, uint64_t incarnation);

/* ---- Variables (variables.c, pull.c). Called without the lock, unless stated otherwise. ---- */

/* How some slices are trained. */
struct training_rule {
    const struct optimizer *optimizer;
    float rate;  /* for rule 0: the initial rate, if there is a schedule */
    float ratio; /* above 0: a multiple of rule 0's rate, which replaces its own */
    float settings[OPTIMIZER_SETTINGS_MAX];
    bool all_rows; /* a gradient of some rows also changes the others */
};

struct training {
    struct training_rule rules[OPTIMIZERS_MAX]; /* the first one is the job's */
    int rules_count;
    struct schedule schedule;  /* of rule 0's rate */
    uint64_t batches_per_step; /* counted by the schedule: gradient_accumulation_steps */
};

/* The index of a rule's first scalar in the concatenated scalars of all rules. */
int training_first_scalar(const struct training *training, int rule);

/* Changed only by variables.c, with the lock and while no push is being applied. Read it with
 * the lock, or while a push is being applied. */
struct variables {
    struct training training;
    struct slice *slices; /* in ascending order of ids; they never move */
    int slices_count;
    size_t gradient_bytes;     /* of all trainable slices without rows */
    size_t largest_bytes;      /* of one of them */
    size_t rows_largest_bytes; /* of one slice with rows */
    void *block;               /* initial values of all slices */
    void *slots_block;         /* their initial slots; NULL: not needed yet */
    int64_t paid_bytes;        /* from the budget */
    float *sum;                /* for a synchronous step: the size of the largest slice */
    bool keep_before;          /* the values before the last step: see slice.h */
    pthread_mutex_t measuring; /* held during an update by an optimizer that measures */
};

/* Pieces by id, in [first, end). */
struct piece_range {
    uint32_t first, end;
};
#define PIECES_END UINT32_MAX /* `end` if the range includes the last piece */

struct variables *variables_create(void);
void variables_destroy(struct variables *variables, struct budget *budget);
/* With the lock: checks the request, and creates the slices unless they exist. Existing slices
 * are kept. */
struct status variables_prepare(struct ps *ps, const struct create_request *request,
                                struct training *out);
/* With the lock, while no push is applied: begins a generation. */
void variables_begin(struct ps *ps, const struct create_request *request,
                     const struct training *training);
struct status variables_check_filled(const struct ps *ps); /* with the lock */
void variables_open(const struct ps *ps);                  /* with the lock, once they are
                                                            * initialized */
/* RESOURCE_EXHAUSTED: a hash table found no memory for a row. */
struct status variables_check_tables(const struct ps *ps);
/* Finds a slice; NULL: it is on another ps. */
struct slice *variables_find(const struct variables *variables, uint32_t id);
/* The index of the first slice whose id is `id` or more. */
int variables_find_from(const struct variables *variables, uint32_t id);
/* The bytes of all gradients for the pieces of a range that have no rows. */
size_t variables_gradient_bytes(const struct variables *variables, struct piece_range range);

/* Reads the range of a request; an `end` of 0 means all pieces from `first` on.
 * INVALID_ARGUMENT: it is empty. */
struct status piece_range_read(uint32_t first, uint32_t end, struct piece_range *out);

/* ---- Rows (rows.c). Row numbers run through all slices with rows of this ps. ---- */

/* A list of rows in the payload of a request. */
struct row_list {
    const struct message *message;
    size_t offset;
    uint64_t count;
    size_t list_bytes, rows_bytes; /* set by row_list_check: the bytes of the numbers, and of
                                    * their rows */
};

/* INVALID_ARGUMENT: it cannot be decoded, or a row is in none of the pieces of the range, or
 * (with `trained`) in a piece that is not trained. */
struct status row_list_check(const struct variables *variables, struct piece_range range,
                             bool trained, struct row_list *list);
void row_list_read(const struct row_list *list, struct row_ids_reader *out);

/* Row numbers within one slice. Zero-initialise it; free `rows`. */
struct slice_rows {
    uint32_t *rows; /* [count], ascending */
    size_t count, capacity;
};

/* Reads the numbers up to the end of the slice, replacing the previous ones. */
void slice_rows_take(struct slice_rows *rows, const struct slice *slice,
                     struct row_ids_reader *reader);
/* The same, appending to the previous ones. Returns the number read. */
size_t slice_rows_append(struct slice_rows *rows, const struct slice *slice,
                         struct row_ids_reader *reader);

/* ---- Rows of many slices (row_work.c). ---- */

/* The rows of one slice. */
struct row_item {
    struct slice *slice;
    size_t first, count; /* index of its numbers in those of the work */
    const float *g;      /* of an update: the gradient [count, row], valid until the work is run */
    void *out;           /* of a copy: [count, row] */
};

typedef void row_work_body(void *context, const struct row_item *item, const uint32_t *rows);

/* Slices whose numbers have been read. They are processed together by all free processors; the
 * slices are independent of each other. Zero-initialise it, and set the fields up to `parts`. */
struct row_work {
    row_work_body *body; /* runs for one slice, in any thread */
    void *context;
    int parts; /* parts of a slice that the body reads: values, and maybe slots; determines the
                * cost */
    struct slice_rows numbers;
    struct row_item *items; /* [count] */
    size_t count, capacity;
};

/* Reads the slice's numbers. Set the rest of the item, which is valid until the next call. May
 * run the earlier items. */
struct row_item *row_work_add(struct row_work *work, struct slice *slice,
                              struct row_ids_reader *reader);
void row_work_run(struct row_work *work); /* runs all added items; the work is empty afterwards */
void row_work_finish(struct row_work *work);

/* ---- Keys (rows.c). ---- */

/* The lists of keys in the payload of a request: one for each slice with keys in its range, in
 * order, or none at all. Free with key_lists_finish. */
struct key_list_set {
    struct row_list *lists; /* [count] */
    size_t count;
    size_t list_bytes, rows_bytes; /* of all numbers, and of all their rows */
};

/* Finds the lists, which begin at this offset in the payload. INVALID_ARGUMENT: one cannot be
 * decoded or has a key of another ps, or there are too few or too many. The lists must be freed
 * in any case. */
struct status key_lists_check(const struct ps *ps, struct piece_range range,
                              const struct message *message, size_t offset,
                              const struct key_counts *counts, struct key_list_set *out);
void key_lists_finish(struct key_list_set *keys);
/* The message has moved. */
void key_lists_move(struct key_list_set *keys, const struct message *message);

/* The keys of one list. Zero-initialise it; free `keys`. */
struct slice_keys {
    int64_t *keys; /* [count], ascending */
    size_t count, capacity;
};

void slice_keys_take(struct slice_keys *keys, const struct row_list *list);

/* ---- Values for a reply (pull.c). ---- */

struct wanted_values {
    struct piece_range range;
    bool before;              /* as they were before the last step */
    bool evaluated;           /* a key without a row has the default value */
    struct row_list rows;     /* checked */
    struct key_list_set keys; /* checked; borrowed */
};

/* Adds values to *reply: whole slices by reference, rows as a copy. ABORTED: values from before
 * the last step were not kept; RESOURCE_EXHAUSTED: no memory for the rows. */
struct status attach_values(const struct ps *ps, const struct wanted_values *wanted,
                            struct message *reply);

/* ---- Membership. ---- */

struct worker {
    bool joined, finished;
    bool reader; /* the only reader: a task that only reads */
    uint32_t index;
    uint64_t incarnation;
    char name[32]; /* "worker 3" */
    /* The arguments of a worker that joined before the chief began: see membership_answer_joins. */
    uint64_t placement_hash;
    char *agreed; /* on the heap */
};

struct membership *membership_create(void);
void membership_destroy(struct membership *membership);

/* Admits a task that takes part in, or reads, the current generation. */
struct status ps_admit(struct ps *ps, const struct ticket *ticket, const struct worker **out);
/* The same, but refuses the reader. */
struct status ps_admit_worker(struct ps *ps, const struct ticket *ticket,
                              const struct worker **out);
/* Is this the process that has joined as this worker? */
struct status ps_check_member(const struct ps *ps, uint32_t index, uint64_t incarnation);
/* Fails if another process has joined in the caller's place. A restarted ps knows no tasks. */
struct status ps_check_place(const struct ps *ps, const struct identity *identity);
/* Does the caller belong to this job, and did it mean to call this ps? (identity.c) */
/* Checks the part that is independent of the model and the settings. */
struct status ps_check_job(const struct ps *ps, const struct identity *identity);
struct status ps_check_identity(const struct ps *ps, const struct identity *identity);
/* Does the caller have the chief's model and settings? OK while there is no generation.
 * (identity.c) */
struct status ps_check_settings(const struct ps *ps, const struct identity *identity);

uint32_t membership_count(const struct ps *ps); /* the largest index that joined, + 1 */
/* Finds a worker; NULL: nobody has joined with this index. The pointer stays valid. */
const struct worker *membership_find(const struct ps *ps, uint32_t index);
void membership_begin(struct ps *ps); /* a generation begins: nobody has finished */
void membership_finish(struct ps *ps, const struct worker *worker);
bool membership_all_finished(const struct ps *ps);
bool membership_any_finished(const struct ps *ps);
struct waiting *membership_take_joins(struct ps *ps);
/* Without the lock: answers joins. Refuses, and forgets, a worker whose settings differ from the
 * chief's, which were unknown when it joined. */
void membership_answer_joins(struct ps *ps, struct waiting *joins);

/* ---- Attendance. ---- */

/* The state of a member that was logged last. */
enum member_said { MEMBER_UNKNOWN, MEMBER_NEW, MEMBER_HERE, MEMBER_SILENT, MEMBER_LEFT };

/* A training task, as its heartbeats describe it. */
struct member {
    char name[32]; /* "worker 3" */
    uint64_t incarnation;
    int64_t heard_ns; /* 0: never */
    bool told;        /* the outcome */
    char *left;       /* its failure, on the heap; NULL: none */
    enum member_said said;
};

struct attendance *attendance_create(void);
void attendance_destroy(struct attendance *attendance);
/* Records a heartbeat, or the failure that a task reports. */
void attendance_hear(struct ps *ps, const struct identity *identity);
void attendance_touch(struct ps *ps, const struct worker *worker); /* records another call of the
                                                                    * task */
void attendance_leave(struct ps *ps, const struct identity *identity, const char *why);
void attendance_mark_told(struct ps *ps, uint32_t rank); /* the task was told the outcome, if
                                                          * there is one */
bool attendance_has_begun(const struct ps *ps);          /* has any task ever been heard from? */
/* NULL: never heard of. */
const struct member *attendance_find(const struct ps *ps, uint32_t rank);
/* Does this worker take part, and was it heard from in the last seconds? */
bool attendance_is_present(const struct ps *ps, const struct worker *worker);
/* Does the job need the task of this rank to continue? */
bool ps_is_needed(const struct ps *ps, uint32_t rank);

/* ---- Pushes. ---- */

struct pushes *pushes_create(void);
void pushes_destroy(struct pushes *pushes);
uint64_t pushes_step(const struct ps *ps);  /* updates applied so far */
uint64_t pushes_begun(const struct ps *ps); /* including those being applied */
bool pushes_is_idle(const struct ps *ps);   /* true if no push is being applied */
void pushes_wait_until_idle(struct ps *ps);
bool pushes_is_empty(const struct ps *ps); /* true if no push waits */
/* Have all chunks of this worker's next push arrived? */
bool pushes_has_whole(const struct ps *ps, uint32_t index);
struct waiting *pushes_take_all(struct ps *ps);
/* Another process replaces this worker. Returns the pushes of the previous process, which no
 * longer count. */
struct waiting *pushes_forget(struct ps *ps, const struct worker *worker);
void pushes_begin(struct ps *ps, uint64_t step); /* a generation */
/* Without the lock: applies and answers pushes until none can be applied. */
void ps_pump(struct ps *ps);

/* For a snapshot: from now on applies only the permitted pushes. */
void pushes_hold(struct ps *ps);
void pushes_release(struct ps *ps);
void pushes_permit(struct ps *ps, const struct applied_push *until);
void pushes_permit_step(struct ps *ps, uint64_t step); /* of a synchronous job */
bool pushes_reached(const struct ps *ps);              /* have all permitted pushes been applied? */
/* The last push of this worker that was applied or is being applied. */
uint64_t pushes_applied(const struct ps *ps, const struct worker *worker);

/* ---- Pace. ---- */

struct pace *pace_create(void);
void pace_destroy(struct pace *pace);
void pace_begin(struct ps *ps);                             /* a generation */
void pace_join(struct ps *ps, const struct worker *worker); /* it has got its place */
struct waiting *pace_take_all(struct ps *ps);
/* Another process replaces this worker. Returns the calls of the previous process. */
struct waiting *pace_forget(struct ps *ps, const struct worker *worker);
/* Takes the passes that can be granted now. */
struct waiting *pace_due(struct ps *ps);
void pace_answer(struct waiting *due);   /* without the lock */
void pace_check(struct ps *ps);          /* both, without the lock */
bool pace_is_empty(const struct ps *ps); /* true if no worker waits */
/* Appends the workers that others wait for. */
void pace_note(const struct ps *ps, struct buffer *out);

/* ---- Shares. ---- */

struct shares *shares_create(void);
void shares_destroy(struct shares *shares);
/* INVALID_ARGUMENT: the position of a job that assigns its rows is invalid. */
struct status shares_check(const struct create_request *request);
void shares_begin(struct ps *ps, const struct create_request *request); /* a generation; checked */
/* Another process replaces this worker. */
void shares_forget(struct ps *ps, const struct worker *worker);
/* ABORTED: not the worker's next turn. It was reassigned because the worker had gone silent. */
struct status shares_check_turn(const struct ps *ps, const struct worker *worker, uint64_t turn);
void shares_count(struct ps *ps, const struct worker *worker, uint64_t turn); /* it counts */
/* Has this worker no turn, because all are assigned? */
bool shares_is_idle(const struct ps *ps, const struct worker *worker);
/* On the heap; NULL if the job does not assign its rows. */
void shares_position(const struct ps *ps, uint64_t **numbers, size_t *count);

/* ---- Totals of the training's metrics. ---- */

struct push;
struct totals *totals_create(void);
void totals_destroy(struct totals *totals);
struct status totals_check(const struct create_request *request); /* INVALID_ARGUMENT: too many */
void totals_begin(struct ps *ps, const struct create_request *request); /* a generation; checked */
/* Copies the totals of a request. INVALID_ARGUMENT: a different number than the job has. */
struct status totals_take(const struct ps *ps, const struct push_request *request,
                          struct push *push);
void totals_add(struct ps *ps, const struct push *push); /* the push counts */

/* ---- The scale of the loss. ---- */

struct scale *scale_create(void);
void scale_destroy(struct scale *scale);
void scale_begin(struct ps *ps, const struct create_request *request); /* a generation; checked */
/* The current scale, or that before the last step. */
struct loss_scale scale_state(const struct ps *ps, bool before);
/* INVALID_ARGUMENT: the push has overflowed, but the job has no loss scaling. */
struct status scale_check_push(const struct ps *ps, const struct push_request *request);
void scale_take(struct ps *ps, struct push *batch);        /* called when the batch is applied: sets
                                                     * batch->skips */
void scale_count(struct ps *ps, const struct push *batch); /* it was applied */
/* The number of the first `step` steps that were not skipped: the iterations of Keras'
 * optimizers. */
uint64_t scale_updates(const struct ps *ps, uint64_t step);

/* The chunks of one push, in the order of their pieces (apply.c). */
struct push {
    struct waiting waiting; /* first; `next` is the next chunk */
    const struct worker *worker;
    uint64_t incarnation, sequence;
    uint64_t local_step;      /* for a synchronous job: the step of the values that it was
                               * computed from */
    uint64_t turn;            /* 1 + the turn of its rows; 0: none */
    struct piece_range range; /* the pieces that this chunk has gradients for */
    bool pull;
    float overflowed; /* the scale at which its gradients were not finite; 0: they are finite */
    float rate;       /* for the first push of a batch, once taken: the learning rate of its step */
    uint64_t step;    /* for the first push of a batch, once taken: the number of its update */
    bool skips;       /* for the first push of a batch, once taken: it trains nothing */
    struct row_list rows, pull_rows; /* rows with gradients here, and rows wanted in the answer */
    struct key_list_set keys, pull_keys; /* the same of keys */
    double *totals;                      /* of metrics, on the heap; NULL: none in this chunk */
    struct push *next_push;              /* of a batch */
};

/* Without the lock: applies one push, or those of a synchronous step, in the order of workers. */
void push_apply(struct variables *variables, const struct push *batch);

/* ---- Snapshots. ---- */

struct snapshots *snapshots_create(void);
void snapshots_destroy(struct ps *ps);
/* Takes the holds and cuts that can be answered now. */
struct waiting *snapshots_due(struct ps *ps);
void snapshots_answer(struct ps *ps, struct waiting *due); /* without the lock */
/* Ends a hold. Returns the calls that wait for it; the caller must fail them. */
struct waiting *snapshots_let_go(struct ps *ps);
/* Ends what this process has begun. Returns the calls that wait for it; the caller must fail
 * them. */
struct waiting *snapshots_forget(struct ps *ps, const struct worker *worker);
struct waiting *snapshots_forget_all(struct ps *ps);

/* ---- Outcome. ---- */

struct outcome *outcome_create(void);
void outcome_destroy(struct outcome *outcome);
bool outcome_is_known(const struct ps *ps);
struct status outcome_status(const struct ps *ps); /* OK while it is unknown. Its text stays
                                                    * valid */
/* CANCELLED: the job has ended with a failure. */
struct status outcome_check(const struct ps *ps);
struct waiting *outcome_take_awaits(struct ps *ps); /* all, whatever they wait for */

/* Sets the outcome, unless there is one. Returns the calls that it ends, for ps_tell. */
struct ending {
    struct waiting *joins, *pushes, *awaits;
};
struct ending outcome_set(struct ps *ps, enum status_code code, const char *text);
void ps_tell(struct ps *ps, struct ending *ending); /* without the lock */

/* ---- The methods, without the lock. ---- */

method_function ps_join, ps_create_variables, ps_write, ps_open, ps_finish, ps_await, ps_beat,
    ps_post, ps_fetch;
method_function ps_pull, ps_push, ps_hold, ps_cut, ps_read_snapshot, ps_drop, ps_stop_early,
    ps_pass, ps_take, ps_totals;

#endif
