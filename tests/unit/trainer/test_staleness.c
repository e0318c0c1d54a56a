/* Bounded staleness. Calls run in the test's thread, which decides the order of events; a pass that
 * waits is answered by the call that ends the wait, and the clock of the ps tasks is a fake. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "small_cluster.h"
#include "support/status.h"
#include "trainer/client/client_internal.h"
#include "trainer/job/worker.h"

#define WORKERS 3

/* A pass that was asked for. */
struct asked {
    bool ended;
    struct status status;
    uint64_t until;
    struct client_call *call;
};

struct fixture {
    struct small_cluster cluster;
    struct clock *clock;
    struct ps_client workers[WORKERS];
    struct asked asked[WORKERS];
};

static void answered(void *context, struct status status, struct message *message)
{
    struct asked *asked = context;
    struct arena *arena = arena_create(0);
    struct pass_reply reply = { 0 };

    asked->ended = true;
    asked->status = (struct status){ status.code, "" };
    if (status_is_ok(status))
        asked->status = unpack_pass_reply(message, arena, &reply);
    asked->until = reply.until;
    arena_destroy(arena);
}

/* Asks as worker w after its last push. True: the pass is given at once. */
static bool ask(struct fixture *f, int w)
{
    struct ps_client *client = &f->workers[w];
    struct ticket ticket = client_ticket(client, 0);
    const struct pass_request header = { &ticket, client->sequence };
    struct message request = pack_pass_request(&header);

    client_call_release(f->asked[w].call);
    f->asked[w] = (struct asked){ 0 };
    f->asked[w].call = channel_start(f->cluster.channels[0], PS_PASS, &request, CLOCK_NEVER,
                                     answered, &f->asked[w]);
    return f->asked[w].ended;
}

static void push(struct fixture *f, int w)
{
    assert_ok(client_push(&f->workers[w], all_ones, false));
}

static void heartbeat(struct fixture *f, int w)
{
    struct identity identity = client_identity(&f->workers[w].options, 0);
    const struct heartbeat_request header = { &identity };
    struct message request = pack_heartbeat_request(&header), reply = { 0 };

    assert_ok(channel_call(f->cluster.channels[0], PS_HEARTBEAT, &request, CLOCK_NEVER, &reply));
    message_release(&reply);
}

static void join(struct fixture *f, int w, uint64_t incarnation)
{
    small_client(&f->cluster, (uint32_t)w, incarnation, &f->workers[w]);
    assert_ok(client_join(&f->workers[w], w > 0, 1000));
}

static void start(struct fixture *f, uint32_t staleness, int joined)
{
    float w[SMALL_W] = { 0 }, b[SMALL_B] = { 0 };
    const void *values[] = { w, b };
    const struct client_job job = {
        .optimizer = "sgd", .learning_rate = .5f, .workers = WORKERS, .lead_max = staleness + 1
    };

    *f = (struct fixture){ .clock = clock_fake_create(NS_PER_S) };
    small_start_at(&f->cluster, 2, f->clock);
    join(f, 0, 1);
    assert_ok(client_create(&f->workers[0], &job, values));
    for (int i = 1; i < joined; i++)
        join(f, i, (uint64_t)i + 1);
}

static void stop(struct fixture *f)
{
    ps_stop(f->cluster.ps[0], status_error(STATUS_ABORTED, "the test is over"));
    for (int i = 0; i < WORKERS; i++) {
        if (f->workers[i].values != NULL)
            client_finish(&f->workers[i]);
        client_call_release(f->asked[i].call);
    }
    small_stop(&f->cluster);
    clock_fake_destroy(f->clock);
}

static void with_0_all_make_each_step_together(void **state)
{
    struct fixture f;
    (void)state;

    start(&f, 0, WORKERS);
    for (int step = 0; step < 3; step++) {
        for (int w = 0; w < WORKERS; w++)
            push(&f, w);
        assert_false(ask(&f, 0));
        assert_false(ask(&f, 1));
        assert_true(ask(&f, 2));
        assert_true(f.asked[0].ended && f.asked[1].ended);
    }
    stop(&f);
}

static void a_worker_may_be_ahead_by_the_bound_and_no_more(void **state)
{
    struct fixture f;
    (void)state;

    start(&f, 2, WORKERS);
    push(&f, 0);
    assert_true(ask(&f, 0));
    assert_int_equal(f.asked[0].until, 2);
    push(&f, 0);
    assert_true(ask(&f, 0));
    push(&f, 0);
    assert_false(ask(&f, 0)); /* 3 ahead */
    push(&f, 1);
    push(&f, 2);
    assert_false(f.asked[0].ended); /* whether ps 1 has these pushes is not known yet */
    assert_true(ask(&f, 1));
    assert_false(f.asked[0].ended); /* worker 2 may still be at 0 */
    push(&f, 2);                    /* so its first push is everywhere */
    assert_true(f.asked[0].ended);
    assert_int_equal(f.asked[0].status.code, STATUS_OK);
    assert_int_equal(f.asked[0].until, 3);
    stop(&f);
}

static void workers_that_end_or_come_late_hold_nobody_back(void **state)
{
    struct fixture f;
    (void)state;

    start(&f, 0, 2);
    push(&f, 0);
    push(&f, 0);
    push(&f, 1);
    push(&f, 1);
    assert_false(ask(&f, 0));
    assert_ok(client_report(&f.workers[1], status_ok(), false));
    assert_true(f.asked[0].ended);
    join(&f, 2, 9); /* begins where the slowest is: at 2 */
    push(&f, 0);
    assert_false(ask(&f, 0));
    push(&f, 2);
    assert_true(ask(&f, 2));
    assert_true(f.asked[0].ended);
    stop(&f);
}

static void nobody_waits_for_a_silent_worker(void **state)
{
    struct fixture f;
    (void)state;

    start(&f, 0, 2);
    heartbeat(&f, 0);
    heartbeat(&f, 1);
    push(&f, 0);
    assert_false(ask(&f, 0));
    clock_fake_advance(f.clock, 4 * (int64_t)NS_PER_S);
    heartbeat(&f, 0);
    ps_watch(f.cluster.ps[0], clock_now_ns(f.clock), 1000000, 1000000);
    assert_false(f.asked[0].ended);
    clock_fake_advance(f.clock, 2 * (int64_t)NS_PER_S);
    ps_watch(f.cluster.ps[0], clock_now_ns(f.clock), 1000000, 1000000);
    assert_true(f.asked[0].ended);
    heartbeat(&f, 1); /* it is back, one step behind */
    push(&f, 0);
    heartbeat(&f, 0);
    assert_false(ask(&f, 0));
    stop(&f);
}

static void a_replaced_worker_and_a_new_generation_end_the_wait(void **state)
{
    struct fixture f;
    (void)state;

    start(&f, 0, 2);
    push(&f, 1);
    assert_false(ask(&f, 1));
    client_finish(&f.workers[1]);
    join(&f, 1, 77);
    assert_int_equal(f.asked[1].status.code, STATUS_ABORTED);
    push(&f, 1);
    assert_false(ask(&f, 1));
    assert_ok(small_create(&f.workers[0], 2, false));
    assert_int_equal(f.asked[1].status.code, STATUS_ABORTED);
    stop(&f);
}

static void refuses_a_pass_for_pushes_that_it_has_not_applied(void **state)
{
    struct fixture f;
    (void)state;

    start(&f, 0, 1);
    f.workers[0].sequence = 1000;
    assert_true(ask(&f, 0));
    assert_int_equal(f.asked[0].status.code, STATUS_INVALID_ARGUMENT);
    stop(&f);
}

/* ---- whole workers ---- */

struct source {
    struct gradient_source source; /* first */
    struct racer *racer;
};

struct racer {
    struct source source;
    struct ps_client *client;
    struct race *race;
    int index;
    pthread_t thread;
    struct status status;
};

/* Checks at each step how far the workers are apart. */
struct race {
    pthread_mutex_t lock;
    int made[WORKERS]; /* steps whose values have been taken */
    int apart;         /* at most */
    struct racer racers[WORKERS];
};

static struct status step(struct gradient_source *base, const void *const *values,
                          const struct variable_gradient **gradients, float *loss)
{
    struct racer *racer = ((struct source *)base)->racer;
    struct race *race = racer->race;

    (void)values;
    pthread_mutex_lock(&race->lock);
    for (int i = 0; i < WORKERS; i++)
        if (race->made[racer->index] - race->made[i] > race->apart)
            race->apart = race->made[racer->index] - race->made[i];
    race->made[racer->index]++;
    pthread_mutex_unlock(&race->lock);
    *gradients = all_ones;
    *loss = 1;
    return status_ok();
}

static void *run(void *context)
{
    struct racer *racer = context;
    struct progress progress = { 0 };

    racer->status = worker_steps(racer->client, &racer->source.source, 300, &progress, NULL);
    status_ignore(client_report(racer->client, status_ok(), false));
    return NULL;
}

/* When a worker computes step c + 1, the others have made at least c - 2 steps, and are computing
 * the next one at least, unless they have not yet begun to. */
static void keeps_running_workers_together(void **state)
{
    struct fixture f;
    struct race race = { 0 };
    (void)state;

    start(&f, 2, WORKERS);
    pthread_mutex_init(&race.lock, NULL);
    for (int i = 0; i < WORKERS; i++) {
        struct racer *racer = &race.racers[i];
        *racer = (struct racer){ .client = &f.workers[i], .race = &race, .index = i };
        racer->source = (struct source){ { .step = step }, racer };
        assert_int_equal(pthread_create(&racer->thread, NULL, run, racer), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(race.racers[i].thread, NULL);
        assert_ok(race.racers[i].status);
    }
    assert_true(ps_global_step(f.cluster.ps[0]) >= 300);
    assert_true(race.apart <= 2);
    pthread_mutex_destroy(&race.lock);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_0_all_make_each_step_together),
        cmocka_unit_test(a_worker_may_be_ahead_by_the_bound_and_no_more),
        cmocka_unit_test(workers_that_end_or_come_late_hold_nobody_back),
        cmocka_unit_test(nobody_waits_for_a_silent_worker),
        cmocka_unit_test(a_replaced_worker_and_a_new_generation_end_the_wait),
        cmocka_unit_test(refuses_a_pass_for_pushes_that_it_has_not_applied),
        cmocka_unit_test(keeps_running_workers_together),
    };

    return cmocka_run_group_tests_name("staleness", tests, NULL, NULL);
}
