/* Which pushes count for the metrics over all workers: those that are applied, each once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "small_cluster.h"
#include "support/status.h"
#include "trainer/client/client_internal.h"
#include "trainer/client/shares.h"
#include "trainer/client/totals.h"

#define WORKERS 2
#define TOTALS  3

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
                                             .totals_count = TOTALS,
                                             .stop_step = 40 };

static void start(struct fixture *f, int ps_count, const struct client_job *job)
{
    *f = (struct fixture){ .clock = clock_fake_create(NS_PER_S) };
    small_start_at(&f->cluster, ps_count, f->clock);
    for (uint32_t w = 0; w < WORKERS; w++) {
        small_client(&f->cluster, w, 1 + w, &f->workers[w]);
        assert_ok(client_join(&f->workers[w], false, 1000));
        if (w == 0)
            assert_ok(client_create(&f->workers[0], job, initial_values));
        client_shares_begin(&f->workers[w]);
        client_keep_totals(&f->workers[w], job->totals_count);
    }
}

static void stop(struct fixture *f)
{
    for (int w = 0; w < WORKERS; w++)
        client_finish(&f->workers[w]);
    small_stop(&f->cluster);
    clock_fake_destroy(f->clock);
}

/* Computes a batch with these totals. */
static void compute(struct fixture *f, int w, double total)
{
    for (int i = 0; i < TOTALS; i++)
        f->workers[w].totals[i] += total * (i + 1);
}

static void take_turn(struct fixture *f, int w)
{
    uint64_t turn;
    bool found;

    assert_ok(client_next_turn(&f->workers[w], &found, &turn));
    assert_true(found);
}

static void expect(struct fixture *f, double total, uint64_t step)
{
    double totals[TOTALS];
    uint64_t at;

    assert_ok(client_read_totals(&f->workers[0], totals, &at));
    for (int i = 0; i < TOTALS; i++)
        assert_true(totals[i] == total * (i + 1));
    assert_int_equal(at, step);
}

static void those_of_all_workers_add_up(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 2, &small_job);
    for (int i = 0; i < 3; i++)
        for (int w = 0; w < WORKERS; w++) {
            take_turn(&f, w);
            compute(&f, w, 1 << (2 * i + w));
            assert_ok(client_push(&f.workers[w], all_ones, false));
        }
    expect(&f, 63, 6);
    stop(&f);
}

/* A push of a worker's process, with totals that are all `total`. */
static struct status push_raw(struct fixture *f, int w, uint64_t sequence, uint64_t local_step,
                              const double *totals, size_t totals_count)
{
    struct ticket ticket = client_ticket(&f->workers[w], 0);
    const struct push_request header = { .ticket = &ticket,
                                         .sequence = sequence,
                                         .local_step = local_step,
                                         .totals = totals,
                                         .totals_count = totals_count };
    static const float all[SMALL_W + SMALL_B];
    const struct bytes gradient = { (const char *)all, sizeof all };
    struct message reply = { 0 };

    struct message request = protocol_attach(pack_push_request(&header), &gradient, 1);
    struct status status =
        channel_call(f->cluster.channels[0], PS_PUSH, &request, CLOCK_NEVER, &reply);
    message_release(&reply);
    return status;
}

static void a_push_that_comes_twice_counts_once(void **state)
{
    const double totals[TOTALS] = { 1, 2, 3 };
    struct fixture f;

    (void)state;
    start(&f, 1, &small_job);
    for (int i = 0; i < 3; i++)
        assert_ok(push_raw(&f, 1, 1, 0, totals, TOTALS));
    expect(&f, 1, 1);
    stop(&f);
}

static void a_late_push_of_a_job_with_backup_workers_does_not_count(void **state)
{
    const double totals[TOTALS] = { 1, 2, 3 };
    struct client_job job = small_job;
    struct fixture f;

    (void)state;
    job.turns_per_share = 0;
    job.sync = true;
    job.backup_workers = 1;
    start(&f, 1, &job);
    assert_ok(push_raw(&f, 1, 1, 0, totals, TOTALS));
    assert_ok(push_raw(&f, 0, 1, 0, totals, TOTALS));
    expect(&f, 1, 1);
    stop(&f);
}

static void a_push_that_is_refused_does_not_count(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 1, &small_job);
    take_turn(&f, 1);
    compute(&f, 1, 1);
    struct ps_client *worker = &f.workers[1];
    struct ps_client again = { 0 };
    small_client(&f.cluster, 1, 20, &again); /* its successor */
    assert_ok(client_join(&again, false, 1000));
    assert_int_equal(client_push(worker, all_ones, false).code, STATUS_FAILED_PRECONDITION);
    client_finish(&again);
    expect(&f, 0, 0);
    stop(&f);
}

static void a_batch_that_was_not_pushed_is_forgotten(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 1, &small_job);
    compute(&f, 1, 100);
    assert_ok(client_join(&f.workers[1], false, 1000));
    compute(&f, 1, 1);
    assert_ok(client_push(&f.workers[1], all_ones, false));
    expect(&f, 1, 1);
    stop(&f);
}

static void a_generation_begins_with_none(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 1, &small_job);
    compute(&f, 1, 1);
    assert_ok(client_push(&f.workers[1], all_ones, false));
    assert_ok(client_create(&f.workers[0], &small_job, initial_values));
    expect(&f, 0, 0);
    stop(&f);
}

static void refuses_another_number_of_totals(void **state)
{
    static const double totals[TOTALS + 1];
    struct client_job job = small_job;
    struct fixture f;

    (void)state;
    start(&f, 1, &small_job);
    for (size_t count = 1; count <= TOTALS + 1; count++)
        if (count != TOTALS)
            assert_int_equal(push_raw(&f, 1, 1, 0, totals, count).code, STATUS_INVALID_ARGUMENT);
    job.totals_count = TOTALS_MAX + 1;
    assert_int_equal(client_create(&f.workers[0], &job, initial_values).code,
                     STATUS_INVALID_ARGUMENT);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_of_all_workers_add_up),
        cmocka_unit_test(a_push_that_comes_twice_counts_once),
        cmocka_unit_test(a_late_push_of_a_job_with_backup_workers_does_not_count),
        cmocka_unit_test(a_push_that_is_refused_does_not_count),
        cmocka_unit_test(a_batch_that_was_not_pushed_is_forgotten),
        cmocka_unit_test(a_generation_begins_with_none),
        cmocka_unit_test(refuses_another_number_of_totals),
    };

    return cmocka_run_group_tests_name("totals", tests, NULL, NULL);
}
