/* A run: the state of one execution, which the next one reuses. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/steps.h"

#define ARENA_KEPT_BYTES ((size_t)1 << 20) /* of the arena (strings), kept for the next run */

static uint64_t now_ns(void)
{
    return (uint64_t)clock_now_ns(clock_monotonic());
}

/* Differs for runs that are made at the same moment. */
static uint64_t fresh_seed(void)
{
    static _Atomic uint64_t counter;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec) ^
           (atomic_fetch_add(&counter, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

struct run *run_create(size_t memory_limit_bytes)
{
    struct run *run = zalloc(sizeof *run);
    run->arena = arena_create(memory_limit_bytes);
    run->pool = tensor_pool_create(memory_limit_bytes);
    run->memory_max = memory_limit_bytes;
    run->random = fresh_seed();
    return run;
}

void run_charge(struct run *run, struct budget *budget)
{
    arena_charge(run->arena, budget);
    tensor_pool_charge(run->pool, budget);
}

void run_lend_feeds(struct run *run)
{
    run->lends_feeds = true;
}

void run_set_deadline(struct run *run, uint64_t deadline_ns)
{
    run->deadline_ns = deadline_ns;
}

void run_set_check(struct run *run, struct status (*check)(const void *context),
                   const void *context)
{
    run->check = check;
    run->check_context = context;
}

void run_set_profile(struct run *run, struct run_profile *profile)
{
    run->profile = profile;
}

void run_set_limits(struct run *run, const struct work_limits *limits)
{
    if (limits == NULL)
        return;
    if (limits->timeout_ms > 0)
        run->deadline_ns = now_ns() + (uint64_t)limits->timeout_ms * NS_PER_MS;
    run->kept_max = limits->memory_bytes;
    run_set_check(run, limits->check, limits->context);
}

struct tensor_pool *run_pool(struct run *run)
{
    return run->pool;
}

void run_reset(struct run *run)
{
    run->grown_bytes = 0;
    arena_reset(run->arena);
    tensor_pool_forget_limit(run->pool);
}

bool run_hit_limit(const struct run *run)
{
    return arena_hit_limit(run->arena) || tensor_pool_hit_limit(run->pool);
}

void run_settle(struct run *run)
{
    run->grown_bytes = 0;
    tensor_pool_forget_limit(run->pool);
    if (arena_held(run->arena) > ARENA_KEPT_BYTES)
        arena_trim(run->arena);
    else
        arena_reset(run->arena);
    tensor_pool_settle(run->pool);
}

static void frame_finish(struct run_frame *frame)
{
    free(frame->storage);
    free(frame->values);
    *frame = (struct run_frame){ 0 };
}

void run_destroy(struct run *run)
{
    if (run == NULL)
        return;
    for (int i = 0; i < RUN_FRAMES; i++)
        frame_finish(&run->frames[i]);
    free(run->named);
    tensor_pool_destroy(run->pool);
    arena_destroy(run->arena);
    free(run);
}

void run_release_named(struct run *run)
{
    while (run->named_count > 0)
        object_release(run->named[--run->named_count]);
}

struct status run_check(const struct run *run)
{
    if (run->deadline_ns != 0 && now_ns() > run->deadline_ns)
        return status_error(STATUS_DEADLINE_EXCEEDED, "the deadline passed while the model ran");
    return run->check != NULL ? run->check(run->check_context) : status_ok();
}

static void frame_init(struct run_frame *frame, const struct plan *plan)
{
    uint32_t count = plan->slots_count;
    frame_finish(frame);
    frame->serial = plan->serial;
    frame->slots_count = count;
    frame->storage = zalloc((count + 1) * sizeof *frame->storage);
    frame->values = zalloc((count + 1) * sizeof *frame->values);
    for (uint32_t slot = 0; slot < count; slot++)
        frame->values[slot] =
            plan->constants[slot] != NULL ? plan->constants[slot] : &frame->storage[slot];
}

struct run_frame *run_find_frame(struct run *run, const struct plan *plan)
{
    struct run_frame *oldest = &run->frames[0];
    run->clock++;
    for (int i = 0; i < RUN_FRAMES; i++) {
        struct run_frame *frame = &run->frames[i];
        if (frame->serial == plan->serial) {
            frame->used = run->clock;
            return frame;
        }
        if (frame->used < oldest->used)
            oldest = frame;
    }
    frame_init(oldest, plan);
    oldest->used = run->clock;
    return oldest;
}
