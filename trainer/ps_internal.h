/*
 * ps_internal: what the files of the ps share: ps.c (the service, calls that wait), ps_join.c,
 * ps_create.c, ps_finish.c, ps_push.c (values and updates), ps_cut.c, ps_snapshot.c.
 */
#ifndef TRAINER_PS_INTERNAL_H
#define TRAINER_PS_INTERNAL_H

#include "base/arena.h"
#include "trainer/protocol.h"
#include "trainer/ps.h"
#include "trainer/slice.h"

/* A call that has to wait. `request` is kept where its payload is needed. */
struct waiting {
    struct waiting *next;
    struct call *call;
    struct message request;
    struct worker *worker; /* of a push or a join */
    uint64_t incarnation, sequence;
    uint32_t rank; /* of an await's caller */
    bool pull, job, hold;
    struct cutter *cutter; /* of a hold or a cut */
    struct ps *ps;
};

struct worker {
    bool joined, finished;
    uint32_t index;
    uint64_t incarnation;
    /* Of an asynchronous job: */
    uint64_t applied;   /* sequence of its last push that was applied or is being applied */
    uint64_t done;      /* of its last push that was applied: its repetitions may be answered */
    uint64_t permitted; /* while the ps is held: pushes up to this one are applied all the same */
};

/* What people have been told of a member (ps_news.c). */
enum member_said { MEMBER_UNKNOWN, MEMBER_NEW, MEMBER_HERE, MEMBER_SILENT, MEMBER_LEFT };

/* A task that trains, as it says itself that it is there. */
struct member {
    char name[32]; /* "worker 3"; "": never heard of */
    uint64_t incarnation;
    int64_t heard_ns;
    bool told;  /* the outcome */
    char *left; /* why it has failed; NULL: it has not. On the heap */
    enum member_said said;
};

struct snapshot {
    uint64_t id, number, global_step;
    struct slice_state *states; /* one per slice; NULL: no snapshot here */
};

/* Who takes snapshots: the chief, and apart from it a task that only reads. */
struct cutter {
    const struct worker *worker; /* whose snapshot `number` was begun last; NULL: nobody's */
    uint64_t number;             /* as it counts */
    bool slots;                  /* the cut asks for slots */
    int64_t heard_ns;            /* when it last held the ps, or read */
    struct snapshot snapshot;
};

struct ps {
    struct ps_options options;
    pthread_mutex_t lock; /* guards all below but the slices, which do not move once created and
                             have their own */

    uint64_t generation; /* 0: not created yet */
    uint64_t creator;    /* incarnation of the chief that created it */
    bool open;           /* its values are whole: workers may come in */
    int64_t opened_ns;   /* when they were so for the first time; 0: not yet */
    char *agreed; /* what the chief was given, and the workers must have been, too; on the heap */
    uint64_t placement_hash, begin_step, global_step, stop_step;
    const struct optimizer *optimizer;
    float rate, settings[OPTIMIZER_SETTINGS_MAX];
    struct slice *slices; /* in ascending order of ids */
    int slices_count;
    size_t gradient_bytes; /* of all trainable slices */
    size_t largest_bytes;  /* of one of them */
    void *block;           /* first values of all slices */
    int64_t paid_bytes;    /* from the budget */
    float *sum;            /* of a synchronous step: as large as the largest slice */

    bool sync;
    bool keep_before; /* the values before the last step: see slice.h */
    uint32_t sync_workers;
    uint64_t permitted_step; /* while a synchronous ps is held: it makes the steps up to this one */
    struct worker *workers;  /* [PS_WORKERS_MAX], by index */
    uint32_t workers_count;  /* the largest index that joined, + 1 */
    struct worker reader;    /* none of them: the task that only reads */

    struct member *members; /* [PS_WORKERS_MAX], by rank; NULL before the first beat */

    struct waiting *joins, *pushes, *awaits;
    int applying;                 /* pushes that are being applied, without the lock */
    pthread_cond_t idle;          /* applying has become 0 */
    struct cutter cutters[2];     /* of those that train, of the reader */
    struct cutter *held;          /* for whom no push is applied; NULL: they are */
    struct waiting *holds, *cuts; /* its own, or such as came again */
    uint64_t snapshots_taken;

    bool over; /* the outcome is known */
    int outcome;
    char *outcome_text;
    bool stopped;
};

/* With the lock: is this a task that takes part, or reads, in the current generation? */
struct status ps_admit(struct ps *ps, const Slipway__Training__Ticket *ticket, struct worker **out);
/* The same, and it does not only read. */
struct status ps_admit_worker(struct ps *ps, const Slipway__Training__Ticket *ticket,
                              struct worker **out);

/* With the lock: is this the process that has the worker's place? */
struct status ps_check_member(struct ps *ps, uint32_t index, uint64_t incarnation);

/* With the lock: has nobody else its place? A ps that was started anew knows nobody. */
struct status ps_check_place(struct ps *ps, const Slipway__Training__Identity *identity);

/* With the lock: is the caller of this job, and does it take this ps for what it is? */
struct status ps_check_identity(const struct ps *ps, const Slipway__Training__Identity *identity);
/* With the lock. */
struct message ps_join_reply(struct ps *ps, const struct worker *worker);

struct waiting *waiting_create(struct ps *ps, struct call *call);
/* With the lock: puts a waiting call at the end of a list; takes it out again (NULL: it is not
 * there). */
void waiting_append(struct waiting **list, struct waiting *waiting);
struct waiting *waiting_take(struct waiting **list, const struct call *call);
/* With the lock: the pushes of a worker's process that wait, of sequences up to `until`. */
struct waiting *pushes_take(struct ps *ps, const struct worker *worker, uint64_t until);
/* Without the lock: answers and frees every call of a list. */
void waiting_fail_all(struct waiting *list, struct status why);

/* Without the lock: the header of the reply, or why there is none. */
void ps_answer(struct call *call, struct status status, const void *header);

/* Forgets a waiting call whose client has left: the `left` of call_when_left, for joins, pushes and
 * awaits. */
void ps_forget(void *context, struct call *call);

/* Without the lock: applies what may be applied now, answers it, and so on until there is nothing.
 */
void ps_pump(struct ps *ps);

/* With the lock: takes the holds and cuts whose time has come. Without: answers them. */
struct waiting *ps_cuts_due(struct ps *ps);
void ps_answer_cuts(struct ps *ps, struct waiting *due);

/* With the lock: ends a hold; those who still wait for it are the caller's to fail. */
struct waiting *ps_let_go(struct ps *ps);

struct cutter *ps_cutter(struct ps *ps, const struct worker *worker);
/* With the lock: what a process had begun ends; those who wait for it are the caller's to fail. */
struct waiting *ps_cutter_leave(struct ps *ps, struct cutter *cutter);

struct slice *ps_find_slice(struct ps *ps, uint32_t id); /* NULL: it is on another ps */

/* With the lock: have all workers that joined made their last step, or left? */
bool ps_all_finished(const struct ps *ps);

/* With the lock: the outcome, unless there is one. Those whom it concerns: for ps_tell. */
struct ending {
    struct waiting *joins, *pushes, *awaits;
};
struct ending ps_set_outcome(struct ps *ps, enum status_code code, const char *text);
void ps_tell(struct ps *ps, struct ending *ending);         /* without the lock */
struct status ps_over_status(struct status outcome);        /* for whoever calls after a failure */
void ps_answer_joins(struct ps *ps, struct waiting *joins); /* without the lock */
void ps_mark_told(struct ps *ps, uint32_t rank);            /* with the lock */

/* With the lock: of a rank below PS_WORKERS_MAX. */
struct member *ps_member(struct ps *ps, uint32_t rank);
/* With the lock: a task says that it is there; or, with the reason, that it goes. */
void ps_hear(struct ps *ps, const Slipway__Training__Identity *identity);
void ps_leave(struct ps *ps, const Slipway__Training__Identity *identity, const char *why);
/* With the lock: can the job not go on without the task of this rank? */
bool ps_is_needed(const struct ps *ps, uint32_t rank);

/* The methods of the other files. */
method_function ps_join, ps_create_variables, ps_write, ps_open, ps_finish, ps_await, ps_beat;
method_function ps_pull, ps_push, ps_hold, ps_cut, ps_read_snapshot, ps_drop;
void ps_snapshot_drop(struct ps *ps, struct snapshot *snapshot); /* with the lock */

#endif
