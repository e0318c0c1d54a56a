/* Who gets which turns of the rows, and which count. Calls run in the test's thread, which decides
 * the order of events, and the clock of the ps tasks is a fake. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "small_cluster.h"
#include "support/status.h"
#include "trainer/client/client_internal.h"
#include "trainer/client/shares.h"
#include "trainer/job/worker.h"
#include "support/test_group.h"

#define WORKERS 3
#define STEPS   40

struct fixture {
    struct small_cluster cluster;
    struct clock *clock;
    struct ps_client workers[WORKERS];
};

static const float zeros[SMALL_W];
static const void *const initial_values[] = { zeros, zeros };

static const struct client_job small_job = { .optimizer = "sgd",
                                             .learning_rate = .5f,
                                             .workers = WORKERS,
                                             .rows_per_turn = 10,
                                             .turns_per_share = 4,
                                             .stop_step = STEPS };

static void join(struct fixture *f, int w, uint64_t incarnation)
{
    if (f->workers[w].values != NULL)
        client_finish(&f->workers[w]);
    small_client(&f->cluster, (uint32_t)w, incarnation, &f->workers[w]);
    assert_ok(client_join(&f->workers[w], false, 1000));
    client_shares_begin(&f->workers[w]);
}

static void start(struct fixture *f, int ps_count, int workers, const struct client_job *job)
{
    *f = (struct fixture){ .clock = clock_fake_create(NS_PER_S) };
    small_start_at(&f->cluster, ps_count, f->clock);
    join(f, 0, 1);
    assert_ok(client_create(&f->workers[0], job, initial_values));
    for (int w = 0; w < workers; w++)
        join(f, w, (uint64_t)w + 1);
}

static void stop(struct fixture *f)
{
    for (int w = 0; w < WORKERS; w++)
        if (f->workers[w].values != NULL)
            client_finish(&f->workers[w]);
    small_stop(&f->cluster);
    clock_fake_destroy(f->clock);
}

#define NONE UINT64_MAX

static uint64_t next(struct fixture *f, int w)
{
    uint64_t turn;
    bool found;

    assert_ok(client_next_turn(&f->workers[w], &found, &turn));
    return found ? turn : NONE;
}

static struct status push(struct fixture *f, int w)
{
    return client_push(&f->workers[w], all_ones, false);
}

static void heartbeat(struct fixture *f, int w)
{
    struct identity identity = client_identity(&f->workers[w].options, 0);
    const struct heartbeat_request header = { &identity };
    struct message request = pack_heartbeat_request(&header), reply = { 0 };

    assert_ok(channel_call(f->cluster.channels[0], PS_HEARTBEAT, &request, CLOCK_NEVER, &reply));
    message_release(&reply);
}

static void each_worker_gets_shares_of_its_own(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 2, 2, &small_job);
    for (uint64_t turn = 0; turn < 4; turn++) {
        assert_int_equal(next(&f, 0), turn);
        assert_int_equal(next(&f, 1), 4 + turn);
    }
    assert_int_equal(next(&f, 0), 8);
    stop(&f);
}

/* Each turn counts once, and there are as many as steps. */
static void a_job_has_a_turn_for_each_step(void **state)
{
    struct fixture f;
    int counted[STEPS] = { 0 };

    (void)state;
    start(&f, 2, WORKERS, &small_job);
    for (int made = 0; made < STEPS;)
        for (int w = 0; w < WORKERS; w++) {
            uint64_t turn = next(&f, w);
            if (turn == NONE)
                continue;
            counted[turn]++;
            assert_ok(push(&f, w));
            made++;
        }
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(counted[i], 1);
    for (int w = 0; w < WORKERS; w++)
        assert_int_equal(next(&f, w), NONE);
    assert_int_equal(ps_global_step(f.cluster.ps[0]), STEPS);
    stop(&f);
}

static void shares_are_smaller_towards_the_end(void **state)
{
    struct fixture f;
    struct client_job job = small_job;
    uint64_t last = 0;

    (void)state;
    job.stop_step = 10;
    start(&f, 1, 2, &job);
    for (uint64_t turn = next(&f, 0); turn != NONE; turn = next(&f, 0))
        last = turn;
    assert_int_equal(last, 9);
    stop(&f);
    start(&f, 1, 2, &job);
    assert_int_equal(next(&f, 0), 0); /* and 1: (10 - 0) / 4 */
    assert_int_equal(next(&f, 1), 2); /* and 3: (10 - 2) / 4 */
    assert_int_equal(next(&f, 0), 1);
    assert_int_equal(next(&f, 0), 4); /* alone: (10 - 4) / 4 */
    assert_int_equal(next(&f, 1), 3);
    assert_int_equal(next(&f, 1), 5);
    stop(&f);
}

static void a_worker_that_is_started_again_gives_back_what_it_has_not_made(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 2, 2, &small_job);
    assert_int_equal(next(&f, 1), 0);
    assert_ok(push(&f, 1));
    assert_int_equal(next(&f, 1), 1); /* is never pushed */
    join(&f, 1, 77);
    for (uint64_t turn = 1; turn < 4; turn++)
        assert_int_equal(next(&f, 0), turn);
    assert_int_equal(next(&f, 0), 4);
    stop(&f);
}

/* As after a step that failed. */
static void a_worker_that_begins_anew_gives_it_back_as_well(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 2, 2, &small_job);
    assert_int_equal(next(&f, 1), 0);
    assert_int_equal(next(&f, 1), 1);
    assert_ok(push(&f, 1));
    client_shares_begin(&f.workers[1]);
    assert_int_equal(next(&f, 1), 1);
    stop(&f);
}

static void the_turns_of_a_silent_worker_go_to_others(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 2, 2, &small_job);
    heartbeat(&f, 0);
    heartbeat(&f, 1);
    assert_int_equal(next(&f, 1), 0);
    clock_fake_advance(f.clock, 6 * (int64_t)NS_PER_S);
    heartbeat(&f, 0);
    assert_int_equal(next(&f, 0), 0);
    heartbeat(&f, 1); /* it is back, with a turn that is not its own any more */
    f.workers[1].replied_ns = 0;
    assert_int_equal(push(&f, 1).code, STATUS_ABORTED);
    for (int ps = 0; ps < 2; ps++)
        assert_int_equal(ps_global_step(f.cluster.ps[ps]), 0);
    assert_ok(push(&f, 0));
    for (int ps = 0; ps < 2; ps++)
        assert_int_equal(ps_global_step(f.cluster.ps[ps]), 1);
    stop(&f);
}

/* Its turn was its own when it asked: it gets the time that a heartbeat would have given it. */
static void a_silent_worker_keeps_a_turn_that_nobody_else_has(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 2, 2, &small_job);
    heartbeat(&f, 0);
    heartbeat(&f, 1);
    assert_int_equal(next(&f, 1), 0);
    clock_fake_advance(f.clock, 6 * (int64_t)NS_PER_S);
    assert_ok(client_keep_turn(&f.workers[1]));
    heartbeat(&f, 0);
    assert_int_equal(next(&f, 0), 4);
    assert_ok(push(&f, 1));
    for (int ps = 0; ps < 2; ps++)
        assert_int_equal(ps_global_step(f.cluster.ps[ps]), 1);
    stop(&f);
}

static void a_repeated_request_gets_the_same_share(void **state)
{
    struct fixture f;
    struct arena *arena = arena_create(0);

    (void)state;
    start(&f, 1, 1, &small_job);
    struct ticket ticket = client_ticket(&f.workers[0], 0);
    for (int i = 0; i < 3; i++) {
        const struct take_request header = { &ticket, i < 2 ? 1 : 2, false, 0 };
        struct message request = pack_take_request(&header), message = { 0 };
        struct take_reply reply;
        assert_ok(channel_call(f.cluster.channels[0], PS_TAKE, &request, CLOCK_NEVER, &message));
        assert_ok(unpack_take_reply(&message, arena, &reply));
        assert_int_equal(reply.share.first, i < 2 ? 0 : 4);
        message_release(&message);
    }
    arena_destroy(arena);
    stop(&f);
}

static void a_job_goes_on_where_its_snapshot_was(void **state)
{
    struct fixture f;
    struct client_snapshot snapshot;
    struct client_job job = small_job;

    (void)state;
    start(&f, 2, 2, &small_job);
    assert_int_equal(next(&f, 0), 0);
    assert_int_equal(next(&f, 1), 4);
    assert_ok(push(&f, 1));
    assert_ok(client_snapshot_begin(&f.workers[0], true, 1000, &snapshot));
    assert_ok(push(&f, 0)); /* is forgotten */
    const uint64_t expected[] = { 8, 0, 4, 5, 3 };
    assert_int_equal(snapshot.position_count, 5);
    assert_memory_equal(snapshot.position, expected, sizeof expected);
    job.global_step = snapshot.global_step;
    job.position = snapshot.position;
    job.position_count = snapshot.position_count;
    assert_ok(client_create(&f.workers[0], &job, initial_values));
    client_snapshot_end(&snapshot);
    assert_int_equal(push(&f, 1).code, STATUS_ABORTED); /* of the generation before */
    join(&f, 1, 2);
    client_shares_begin(&f.workers[0]);
    for (uint64_t turn = 0; turn < 4; turn++)
        assert_int_equal(next(&f, 0), turn);
    for (uint64_t turn = 5; turn < 9; turn++)
        assert_int_equal(next(&f, 1), turn);
    stop(&f);
}

static void nobody_waits_for_a_worker_without_rows(void **state)
{
    struct fixture f;
    struct client_job job = small_job;

    (void)state;
    job.stop_step = 4;
    job.lead_max = 1; /* all workers make each step together */
    start(&f, 1, 2, &job);
    for (int i = 0; i < 4; i++)
        assert_int_equal(next(&f, 0), i);
    assert_int_equal(next(&f, 1), NONE);
    assert_ok(push(&f, 0));
    assert_ok(client_pass(&f.workers[0]));
    stop(&f);
}

/* A source without rows, while another worker ends the training. */
struct idle_source {
    struct gradient_source source; /* first */
    struct ps_client *other;
    int asked;
};

static struct status step_without_rows(struct gradient_source *base, const void *const *values,
                                       const struct variable_gradient **gradients, float *loss)
{
    struct idle_source *source = (struct idle_source *)base;

    (void)values;
    (void)loss;
    *gradients = NULL;
    if (source->asked++ == 0)
        assert_ok(client_stop(source->other));
    return source->asked < 20 ? status_ok() : status_error(STATUS_INTERNAL, "it never ends");
}

struct last_step {
    uint64_t global_step;
    bool has_loss;
    int calls;
};

static struct status keep_step(void *context, uint64_t global_step, const float *loss)
{
    struct last_step *last = context;

    last->global_step = global_step;
    last->has_loss = loss != NULL;
    last->calls++;
    return status_ok();
}

/* So does its hook: a chief evaluates and logs the last step even if others have made them all. */
static void a_worker_without_rows_learns_of_the_end(void **state)
{
    struct fixture f;
    struct last_step last = { 0 };
    const struct step_hook hook = { keep_step, &last, NULL };
    struct idle_source idle = { .source = { .step = step_without_rows } };
    struct progress progress = { 0 };

    (void)state;
    start(&f, 2, 2, &small_job);
    next(&f, 0);
    assert_ok(push(&f, 0));
    idle.other = &f.workers[0];
    assert_ok(worker_steps(&f.workers[1], &idle.source, STEPS, &progress, &hook));
    assert_int_equal(f.workers[1].global_step, 1);
    assert_int_equal(last.calls, 1);
    assert_int_equal(last.global_step, 1);
    assert_false(last.has_loss);
    stop(&f);
}

static const struct row {
    const char *label;
    bool sync;
    size_t position_count;
    enum status_code code;
} bad_jobs[] = {
    { "refuses to share the rows of a synchronous job", true, 0, STATUS_INVALID_ARGUMENT },
    { "refuses a position that is none", false, 2, STATUS_INVALID_ARGUMENT },
};

static void refuses_a_job(void **state)
{
    const struct row *row = *state;
    const uint64_t position[] = { 3, 1 };
    struct fixture f = { .clock = clock_fake_create(NS_PER_S) };
    struct client_job job = small_job;

    small_start_at(&f.cluster, 1, f.clock);
    join(&f, 0, 1);
    job.sync = row->sync;
    job.position = position;
    job.position_count = row->position_count;
    assert_int_equal(client_create(&f.workers[0], &job, initial_values).code, row->code);
    stop(&f);
}

static void a_job_that_shares_no_rows_says_so(void **state)
{
    struct fixture f;
    struct client_job job = small_job;
    uint64_t turn;
    bool found;

    (void)state;
    job.turns_per_share = 0;
    start(&f, 1, 1, &job);
    assert_int_equal(client_next_turn(&f.workers[0], &found, &turn).code,
                     STATUS_FAILED_PRECONDITION);
    stop(&f);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(each_worker_gets_shares_of_its_own),
        cmocka_unit_test(a_job_has_a_turn_for_each_step),
        cmocka_unit_test(shares_are_smaller_towards_the_end),
        cmocka_unit_test(a_worker_that_is_started_again_gives_back_what_it_has_not_made),
        cmocka_unit_test(a_worker_that_begins_anew_gives_it_back_as_well),
        cmocka_unit_test(the_turns_of_a_silent_worker_go_to_others),
        cmocka_unit_test(a_silent_worker_keeps_a_turn_that_nobody_else_has),
        cmocka_unit_test(a_repeated_request_gets_the_same_share),
        cmocka_unit_test(a_job_goes_on_where_its_snapshot_was),
        cmocka_unit_test(nobody_waits_for_a_worker_without_rows),
        cmocka_unit_test(a_worker_without_rows_learns_of_the_end),
        cmocka_unit_test(a_job_that_shares_no_rows_says_so),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, bad_jobs, label, refuses_a_job);
    return test_group_run(&group, "shares", NULL, NULL);
}
