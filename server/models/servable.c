#include "server/models/servable.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/container.h"
#include "base/memory.h"
#include "server/models/load_metrics.h"
#include "server/models/model_limits.h"

#define SWEEPS_MAX 3 /* runs that stay idle for more sweeps are freed */

static _Thread_local int thread_number;

void servable_number_thread(int number)
{
    thread_number = number;
}

void callable_init(struct callable *callable, struct servable *servable,
                   const struct signature *signature)
{
    callable->servable = servable;
    callable->signature = signature;
    pthread_mutex_init(&callable->idle.lock, NULL);
}

static void make_plan(struct callable *callable, struct servable *servable)
{
    const struct signature *signature = callable->signature;
    callable->status = savedmodel_plan(servable->model, signature, &callable->plan);
    if (!status_is_ok(callable->status)) {
        callable->plan = NULL;
        callable->status = status_keep(servable->arena, callable->status);
        return;
    }
    callable->predictable = plan_cost_is_predictable(callable->plan);
    callable->batches = callable->predictable && plan_batch_pays(callable->plan);
}

static struct status cannot_answer(const struct callable *callable)
{
    return status_error(callable->status.code, "signature '%s': %s", callable->signature->name,
                        callable->status.message);
}

/* False if an input is a sparse or composite tensor, which no request can give. */
static bool can_be_requested(const struct signature *signature)
{
    for (int i = 0; i < signature->inputs_count; i++)
        if (!status_is_ok(signature_check_named(&signature->inputs[i])))
            return false;
    return true;
}

/* A version that cannot answer must not replace one that can. Its default signature must work,
 * unless TensorFlow Serving cannot answer it either; otherwise, at least one signature must. */
static struct status check_answers(struct servable *servable)
{
    const struct callable *failed = servable_callable(servable, bytes_of(SIGNATURE_DEFAULT));
    if (failed != NULL && can_be_requested(failed->signature))
        return failed->plan == NULL ? cannot_answer(failed) : status_ok();
    for (int i = 0; i < servable->callables_count; i++) {
        const struct callable *callable = &servable->callables[i];
        if (!signature_is_callable(callable->signature))
            continue;
        if (callable->plan != NULL)
            return status_ok();
        if (failed == NULL)
            failed = callable;
    }
    return failed != NULL ? cannot_answer(failed) : status_ok();
}

static _Atomic uint64_t loaded;

static struct status load(const char *name, int64_t version, const char *directory,
                          const struct savedmodel_options *options, struct servable **out)
{
    struct savedmodel *model;
    int64_t began_ns = clock_now_ns(clock_monotonic());
    TRY(savedmodel_load(directory, options, &model));
    int64_t planning_ns = clock_now_ns(clock_monotonic());
    struct status status = savedmodel_plan_all(model);
    if (!status_is_ok(status)) {
        savedmodel_destroy(model);
        return status;
    }
    load_metrics_planned(savedmodel_signatures_count(model),
                         clock_now_ns(clock_monotonic()) - planning_ns);
    struct servable *servable = zalloc(sizeof *servable);
    servable->arena = arena_create(0);
    servable->name = arena_strdup(servable->arena, name);
    servable->version = version;
    servable->serial = atomic_fetch_add(&loaded, 1) + 1;
    servable->model = model;
    servable->callables_count = savedmodel_signatures_count(model);
    servable->callables = ARENA_ARRAY(servable->arena, struct callable, servable->callables_count);
    for (int i = 0; i < servable->callables_count; i++) {
        callable_init(&servable->callables[i], servable, savedmodel_signature_at(model, i));
        make_plan(&servable->callables[i], servable);
    }
    atomic_init(&servable->references, 1);
    status = check_answers(servable);
    if (!status_is_ok(status)) {
        servable_destroy(servable);
        return status;
    }
    load_metrics_loaded(servable, directory, clock_now_ns(clock_monotonic()) - began_ns);
    *out = servable;
    return status_ok();
}

void servable_divide(struct servable *servable, int loops)
{
    servable->loops = loops;
    servable->own = memory_alloc_lines(sizeof *servable->own * (size_t)loops);
    for (int i = 0; i < servable->callables_count; i++) {
        struct callable *callable = &servable->callables[i];
        callable->own = memory_alloc_lines(sizeof *callable->own * (size_t)loops);
        for (int j = 0; j < loops; j++)
            pthread_mutex_init(&callable->own[j].idle.lock, NULL);
    }
}

static bool has_own(const struct servable *servable)
{
    return thread_number > 0 && servable != NULL && thread_number <= servable->loops;
}

static void count_reference(struct servable *servable, int by, memory_order order)
{
    if (!has_own(servable)) {
        atomic_fetch_add_explicit(&servable->references, by, order);
        return;
    }
    _Atomic int *count = &servable->own[thread_number - 1].count;
    int now = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, now + by, memory_order_release);
}

struct servable *servable_acquire(struct servable *servable)
{
    count_reference(servable, 1, memory_order_relaxed);
    return servable;
}

void servable_release(struct servable *servable)
{
    if (servable != NULL)
        count_reference(servable, -1, memory_order_release);
}

/* The shared count is read first. It does not grow once the manager no longer finds the
 * servable, whereas a loop that has cached it still acquires references. A
 * reference that the sum misses has therefore been released. */
int servable_references(const struct servable *servable)
{
    int count = atomic_load_explicit(&servable->references, memory_order_acquire);
    for (int i = 0; i < servable->loops; i++)
        count += atomic_load_explicit(&servable->own[i].count, memory_order_acquire);
    return count;
}

static void free_idle(struct idle_run *idle)
{
    while (idle != NULL) {
        struct idle_run *next = idle->next;
        run_destroy(idle->run);
        free(idle);
        idle = next;
    }
}

/* Frees all idle runs, or only those that have been idle for long, which are at the end. */
static void free_runs(struct idle_runs *idle, bool stale)
{
    pthread_mutex_lock(&idle->lock);
    struct idle_run **at = &idle->first;
    while (stale && *at != NULL && ++(*at)->sweeps <= SWEEPS_MAX)
        at = &(*at)->next;
    struct idle_run *taken = *at;
    *at = NULL;
    pthread_mutex_unlock(&idle->lock);
    free_idle(taken);
}

static int loops_of(const struct callable *callable)
{
    return callable->own != NULL ? callable->servable->loops : 0;
}

static void give_back(struct budget_holder *holder, bool stale)
{
    struct callable *callable = CONTAINER_OF(holder, struct callable, holder);
    free_runs(&callable->idle, stale);
    for (int i = 0; i < loops_of(callable); i++)
        free_runs(&callable->own[i].idle, stale);
}

void servable_charge(struct servable *servable, struct budget *budget)
{
    for (int i = 0; i < servable->callables_count; i++) {
        struct callable *callable = &servable->callables[i];
        callable->budget = budget;
        callable->holder.give_back = give_back;
        budget_hold(budget, &callable->holder);
    }
}

void servable_batch(struct servable *servable, const struct batching *batching)
{
    for (int i = 0; i < servable->callables_count; i++)
        servable->callables[i].queue.batching = batching;
}

void callable_finish(struct callable *callable)
{
    free_idle(callable->idle.first);
    pthread_mutex_destroy(&callable->idle.lock);
    for (int i = 0; i < loops_of(callable); i++) {
        free_idle(callable->own[i].idle.first);
        pthread_mutex_destroy(&callable->own[i].idle.lock);
    }
    free(callable->own);
}

void servable_destroy(struct servable *servable)
{
    if (servable == NULL)
        return;
    for (int i = 0; i < servable->callables_count; i++) {
        struct callable *callable = &servable->callables[i];
        if (callable->budget != NULL)
            budget_forget(callable->budget, &callable->holder);
        callable_finish(callable);
        for (int protocol = 0; protocol < SERVABLE_PROTOCOLS_MAX; protocol++)
            free(callable->counted[protocol]);
    }
    metric_owner_release(&servable->series);
    model_gate_release(servable->gate);
    savedmodel_destroy(servable->model);
    arena_destroy(servable->arena);
    free(servable->own);
    free(servable);
}

const struct servable_loader servable_loader = { load, servable_destroy };

struct callable *servable_callable(struct servable *servable, struct bytes signature_name)
{
    if (signature_name.size == 0)
        signature_name = bytes_of(SIGNATURE_DEFAULT);
    for (int i = 0; i < servable->callables_count; i++)
        if (bytes_equal(signature_name, bytes_of(servable->callables[i].signature->name)))
            return &servable->callables[i];
    return NULL;
}

struct status callable_check_predict(const struct callable *callable)
{
    static const char *const methods[] = { SIGNATURE_PREDICT, SIGNATURE_CLASSIFY,
                                           SIGNATURE_REGRESS };
    if (BYTES_FIND(bytes_of(callable->signature->method), methods) >= 0)
        return status_ok();
    return status_error(STATUS_INTERNAL,
                        "Expected prediction signature method_name to be one of {%s, %s, %s}. Was: "
                        "%s",
                        methods[0], methods[1], methods[2], callable->signature->method);
}

static struct idle_runs *idle_runs_of(struct callable *callable)
{
    return has_own(callable->servable) ? &callable->own[thread_number - 1].idle : &callable->idle;
}

struct run *callable_take_run(struct callable *callable, size_t memory_limit_bytes)
{
    struct idle_runs *runs = idle_runs_of(callable);
    pthread_mutex_lock(&runs->lock);
    struct idle_run *idle = runs->first;
    if (idle != NULL)
        runs->first = idle->next;
    pthread_mutex_unlock(&runs->lock);
    struct run *run = idle != NULL ? idle->run : run_create(memory_limit_bytes);
    if (idle == NULL && callable->budget != NULL)
        run_charge(run, callable->budget);
    free(idle);
    return run;
}

void callable_give_run(struct callable *callable, struct run *run)
{
    struct idle_runs *runs = idle_runs_of(callable);
    struct idle_run *idle = zalloc(sizeof *idle);
    run_settle(run);
    idle->run = run;
    pthread_mutex_lock(&runs->lock);
    idle->next = runs->first;
    runs->first = idle;
    pthread_mutex_unlock(&runs->lock);
}
