#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "small_cluster.h"
#include "support/status.h"
#include "trainer/job/worker.h"
#include "trainer/protocol/protocol.h"

static void assert_values(const struct ps_client *client, float w, float b)
{
    const float *values_w = client->values[0], *values_b = client->values[1];

    for (int i = 0; i < SMALL_W; i++)
        assert_true(values_w[i] == w);
    for (int i = 0; i < SMALL_B; i++)
        assert_true(values_b[i] == b);
}

static void a_push_is_applied_and_the_new_values_come_back(void **state)
{
    (void)state;
    for (int ps_count = 1; ps_count <= SMALL_PS_MAX; ps_count++) {
        struct small_cluster cluster;
        struct ps_client chief;
        small_start(&cluster, ps_count);
        small_client(&cluster, 0, 1, &chief);
        assert_ok(client_join(&chief, false, 1000));
        assert_ok(small_create(&chief, 1, false));
        assert_ok(client_pull(&chief));
        assert_values(&chief, 1, 2);
        assert_ok(client_push(&chief, all_ones, true));
        assert_values(&chief, .5f, 1.5f);
        assert_ok(client_push(&chief, all_ones, false));
        assert_ok(client_pull(&chief));
        assert_values(&chief, 0, 1);
        assert_int_equal(chief.global_step, 2);
        client_finish(&chief);
        small_stop(&cluster);
    }
}

static void a_push_sent_again_is_answered_but_not_applied_again(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 1, false));
    assert_ok(client_push(&chief, all_ones, true));
    chief.sequence--; /* as if the reply were lost */
    assert_ok(client_push(&chief, all_ones, true));
    assert_values(&chief, .5f, 1.5f);
    assert_int_equal(chief.global_step, 1);
    client_finish(&chief);
    small_stop(&cluster);
}

/* Values 1, and a gradient of 1: each update takes the rate of its step off, on both ps tasks. */
static void the_rate_of_a_schedule_is_that_of_the_global_step(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief;
    float w[SMALL_W], b[SMALL_B] = { 2, 2 };
    const void *values[] = { w, b };
    struct client_job job = {
        .optimizer = "sgd", .learning_rate = 1, .workers = 1, .global_step = 6
    };

    for (int i = 0; i < SMALL_W; i++)
        w[i] = 1;
    assert_ok(
        schedule_read("PiecewiseConstantDecay", (double[]){ 4, 8, 7, .25 }, 4, &job.schedule));
    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(client_create(&chief, &job, values));
    for (int i = 0; i < 2; i++) /* steps 6 and 7, the last ones before the boundary */
        assert_ok(client_push(&chief, all_ones, true));
    assert_values(&chief, 1 - 2 * 8, 2 - 2 * 8);
    assert_ok(client_push(&chief, all_ones, true));
    assert_values(&chief, 1 - 2 * 8 - .25f, 2 - 2 * 8 - .25f);
    job.schedule.values_count = 3;
    struct status status = client_create(&chief, &job, values);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "PiecewiseConstantDecay"));
    client_finish(&chief);
    small_stop(&cluster);
}

static void what_was_pulled_does_not_change_under_the_reader(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, other;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &other);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 2, false));
    assert_ok(client_join(&other, true, 1000));
    assert_ok(client_pull(&other));
    for (int i = 0; i < 3; i++)
        assert_ok(client_push(&chief, all_ones, true));
    assert_values(&other, 1, 2);
    assert_values(&chief, -.5f, .5f);
    client_finish(&chief);
    client_finish(&other);
    small_stop(&cluster);
}

static void strangers_are_refused_with_their_names(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, late, foreign;

    small_start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    /* no variables yet */
    assert_int_equal(client_push(&chief, all_ones, false).code, STATUS_ABORTED);
    chief.sequence = 0;
    assert_ok(small_create(&chief, 1, false));
    chief.generation = 2;
    struct status status = client_push(&chief, all_ones, false);
    assert_int_equal(status.code, STATUS_ABORTED);
    assert_non_null(strstr(status.message, "generation 2"));
    chief.generation = 1;

    small_client(&cluster, 0, 9, &late); /* another process as the chief */
    assert_ok(client_join(&late, true, 1000));
    status = client_push(&chief, all_ones, false);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "replaced"));
    status = client_join(&chief, true, 1000); /* the replaced process may not come back */
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "replaced"));

    small_client(&cluster, 1, 3, &foreign);
    foreign.options.cluster = "another";
    status = client_join(&foreign, true, 1000);
    assert_int_equal(status.code, STATUS_PERMISSION_DENIED);
    assert_non_null(strstr(status.message, "'test'"));
    assert_non_null(strstr(status.message, "'another'"));
    foreign.options.cluster = "test";
    foreign.options.ps_list = "b:1,a:1";
    status = client_join(&foreign, true, 1000);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "another order than ps 0: b:1,a:1 there, a:1,b:1 here"));
    foreign.options.ps_list = "a:1,c:1";
    status = client_join(&foreign, true, 1000);
    assert_int_equal(status.code, STATUS_PERMISSION_DENIED);
    assert_non_null(strstr(status.message, "the job with the ps tasks a:1,c:1"));
    foreign.options.ps_list = "B:1,a:1";
    status = client_join(&foreign, true, 1000);
    assert_non_null(strstr(status.message, "another order than ps 0: B:1,a:1 there"));
    foreign.options.ps_list = "A:1,b:1"; /* the same hosts */
    cluster.placement.hash++;
    status = client_join(&foreign, true, 1000);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "another model or placement"));
    cluster.placement.hash--;
    foreign.options.agreed = "seed=2 workers=1";
    status = client_join(&foreign, true, 1000);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "was given seed=2, the chief : it must be the same"));
    foreign.options.reader = true;
    assert_ok(client_join(&foreign, true, 1000));
    client_finish(&chief);
    client_finish(&late);
    client_finish(&foreign);
    small_stop(&cluster);
}

struct answer {
    enum status_code code; /* OK: none yet */
    char text[256];
};

static void answered(void *context, struct status status, struct message *reply)
{
    struct answer *answer = context;

    (void)reply;
    answer->code = status.code;
    snprintf(answer->text, sizeof answer->text, "%s", status.message);
}

/* It joins before the chief has begun, so its settings can only be compared later. */
static void a_worker_that_waits_for_the_chief_is_refused_for_other_settings(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, again;
    struct answer answer = { 0 };

    small_start(&cluster, 1);
    struct identity identity = { .cluster = "test",
                                 .task = "worker 1",
                                 .ps_list = "a:1,b:1",
                                 .agreed = "seed=2 workers=2",
                                 .index = 1,
                                 .incarnation = 1,
                                 .protocol = PROTOCOL_VERSION,
                                 .placement_hash = cluster.placement.hash };
    struct join_request request = { .identity = &identity, .wait_until_created = true };
    struct message message = pack_join_request(&request);
    struct client_call *call =
        channel_start(cluster.channels[0], PS_JOIN, &message,
                      clock_deadline_ns(clock_monotonic(), 20000), answered, &answer);
    assert_int_equal(answer.code, STATUS_OK);
    small_client(&cluster, 0, 1, &chief);
    chief.options.agreed = "seed=1 workers=2";
    assert_ok(client_join(&chief, false, 20000));
    assert_ok(small_create(&chief, 2, false));
    assert_int_equal(answer.code, STATUS_FAILED_PRECONDITION);
    assert_string_equal(answer.text,
                        "worker 1 was given seed=2, the chief seed=1: it must be the same");
    small_client(&cluster, 1, 2, &again);
    again.options.agreed = "seed=1 workers=2";
    assert_ok(client_join(&again, true, 20000));
    client_call_release(call);
    client_finish(&chief);
    client_finish(&again);
    small_stop(&cluster);
}

/* An asynchronous job goes on without a worker that fails, unless the data are damaged. */
static void a_worker_with_damaged_data_ends_the_job(void **state)
{
    (void)state;
    static const enum status_code codes[] = { STATUS_INTERNAL, STATUS_DATA_LOSS };
    struct small_cluster cluster;
    struct ps_client chief, worker;
    struct status outcome;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 20000));
    assert_ok(small_create(&chief, 3, false));
    for (uint32_t i = 0; i < 2; i++) {
        small_client(&cluster, 1 + i, 1, &worker);
        assert_ok(client_join(&worker, true, 20000));
        assert_ok(client_report(&worker, status_error(codes[i], "line 3 is bad"), false));
        assert_int_equal(ps_outcome(cluster.ps[0], &outcome), i);
        client_finish(&worker);
    }
    assert_true(ps_outcome(cluster.ps[1], &outcome));
    assert_int_equal(outcome.code, STATUS_DATA_LOSS);
    assert_string_equal(outcome.message, "worker ended: line 3 is bad");
    client_finish(&chief);
    small_stop(&cluster);
}

/* A task that claims to be the chief decides how much memory a ps needs, so the ps checks its
 * budget. */
static void variables_are_paid_from_the_budget_and_only_the_chief_makes_them(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct budget budget = { .limit_bytes = 1000 };
    struct ps_client chief, worker;

    for (int enough = 0; enough < 2; enough++) {
        small_start(&cluster, 1);
        struct ps_options options = {
            .cluster = "test", .incarnation = 100, .ps_list = "a:1,b:1", .budget = &budget
        };
        struct ps *ps = ps_create(&options);
        struct channel *own = cluster.channels[0],
                       *channel = loopback_open(&ps_service, ps, clock_monotonic());
        cluster.channels[0] = channel;
        small_client(&cluster, 0, 1, &chief);
        small_client(&cluster, 1, 1, &worker);
        assert_ok(client_join(&worker, false, 1000));
        assert_int_equal(small_create(&worker, 2, false).code, STATUS_PERMISSION_DENIED);
        assert_ok(client_join(&chief, false, 1000));
        budget.limit_bytes = enough ? 216 : 215; /* 64 + 8 bytes, three times */
        struct status status = small_create(&chief, 2, false);
        assert_int_equal(status.code, enough ? STATUS_OK : STATUS_RESOURCE_EXHAUSTED);
        if (!enough)
            assert_non_null(strstr(status.message, "--memory_budget_bytes"));
        /* a later generation needs two slots, and copies of them for a snapshot */
        for (int slots = 0; enough && slots < 2; slots++) {
            const struct client_job adam = { .optimizer = "adam", .workers = 2 };
            budget.limit_bytes = slots ? 504 : 503;
            status = client_create(&chief, &adam, (const void *const[]){ ones, ones });
            assert_int_equal(status.code, slots ? STATUS_OK : STATUS_RESOURCE_EXHAUSTED);
        }
        client_finish(&chief);
        client_finish(&worker);
        channel_close(channel);
        ps_destroy(ps);
        assert_int_equal(atomic_load(&budget.used_bytes), 0);
        cluster.channels[0] = own;
        small_stop(&cluster);
    }
}

/* `late` joins after the last step is on all ps tasks; `between` joins when ps 1 has made that step
 * and ps 0 has not. */
static void who_joins_after_the_last_step_is_told_so_and_not_waited_for(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, late, between;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &between);
    small_client(&cluster, 2, 3, &late);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create_until(&chief, 3, false, 1));
    struct channel *first = cluster.channels[0];
    struct channel *cut_off = loopback_open(&ps_service, cluster.ps[0], clock_monotonic());
    loopback_break(cut_off);
    cluster.channels[0] = cut_off;
    chief.options.call_timeout_ms = 100; /* the client retries for this time */
    assert_int_equal(client_push(&chief, all_ones, false).code, STATUS_UNAVAILABLE);
    chief.options.call_timeout_ms = 20000;
    cluster.channels[0] = first;
    assert_ok(client_join(&between, true, 1000));
    assert_false(between.finished);
    chief.sequence--;
    assert_ok(client_push(&chief, all_ones, true)); /* reaches ps 0 as well */
    assert_ok(client_join(&late, true, 1000));
    assert_true(late.finished);
    assert_ok(client_report(&chief, status_ok(), false));
    assert_int_equal(client_await(&chief, false, 50).code, STATUS_DEADLINE_EXCEEDED);
    assert_ok(client_report(&between, status_ok(), false));
    assert_ok(client_await(&chief, false, 1000));
    client_finish(&chief);
    client_finish(&late);
    client_finish(&between);
    channel_close(cut_off);
    small_stop(&cluster);
}

struct pusher {
    struct small_cluster *cluster;
    uint32_t index;
    int pushes;
    _Atomic bool *stop;
    float first; /* the value of every gradient element */
    int done;
    pthread_t thread;
};

static void *push_all(void *context)
{
    struct pusher *pusher = context;
    struct ps_client client;
    float gradient[SMALL_W];
    const struct variable_gradient gradients[] = { { .values = gradient }, { .values = gradient } };

    for (int i = 0; i < SMALL_W; i++)
        gradient[i] = pusher->first;
    small_client(pusher->cluster, pusher->index, 50 + pusher->index, &client);
    assert_ok(client_join(&client, true, 20000));
    while (pusher->done < pusher->pushes || (pusher->stop != NULL && !atomic_load(pusher->stop))) {
        assert_ok(client_push(&client, gradients, true));
        pusher->done++;
    }
    assert_ok(client_report(&client, status_ok(), false));
    client_finish(&client);
    return NULL;
}

static void no_update_of_many_workers_is_lost(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief;
    struct pusher pushers[3];

    small_start(&cluster, 3);
    for (uint32_t i = 0; i < 3; i++) { /* they wait for the variables */
        pushers[i] =
            (struct pusher){ .cluster = &cluster, .index = i + 1, .pushes = 200, .first = 1 };
        pthread_create(&pushers[i].thread, NULL, push_all, &pushers[i]);
    }
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 4, false));
    assert_ok(client_report(&chief, status_ok(), false));
    for (int i = 0; i < 3; i++)
        pthread_join(pushers[i].thread, NULL);
    assert_ok(client_await(&chief, false, 20000)); /* all workers have reported their end */
    assert_ok(client_pull(&chief));
    assert_values(&chief, 1 - 600 * .5f, 2 - 600 * .5f);
    assert_int_equal(chief.global_step, 600);
    client_finish(&chief);
    small_stop(&cluster);
}

/* The sum of 1e8, 1 and -1e8 depends on the order in float32. */
static void a_synchronous_step_sums_in_the_order_of_workers(void **state)
{
    (void)state;
    float expected = 0;

    for (int round = 0; round < 20; round++) {
        struct small_cluster cluster;
        struct ps_client chief;
        struct pusher pushers[3];
        const float first[3] = { 1e8f, 1, -1e8f };
        int ps_count = 1 + round % SMALL_PS_MAX;
        small_start(&cluster, ps_count);
        small_client(&cluster, 0, 50, &chief); /* the same process as the pusher of rank 0 */
        assert_ok(client_join(&chief, false, 1000));
        assert_ok(small_create(&chief, 3, true));
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t index = (i + (uint32_t)round) % 3; /* another order of arrival in each round */
            pushers[index] = (struct pusher){
                .cluster = &cluster, .index = index, .pushes = 5, .first = first[index]
            };
            pthread_create(&pushers[index].thread, NULL, push_all, &pushers[index]);
        }
        for (int i = 0; i < 3; i++)
            pthread_join(pushers[i].thread, NULL);
        assert_ok(client_pull(&chief));
        const float *w = chief.values[0];
        if (round == 0)
            expected = w[0];
        assert_int_equal(chief.global_step, 5);
        for (int i = 0; i < SMALL_W; i++)
            assert_memory_equal(&w[i], &expected, sizeof expected);
        client_finish(&chief);
        small_stop(&cluster);
    }
    /* (1e8 + 1) - 1e8 is 0 in float32, so w has not moved. Another order would have moved it. */
    assert_true(expected == 1);
}

static void read_selected(struct client_snapshot *snapshot, float *out, size_t size)
{
    struct bytes chunk;
    size_t got = 0;

    for (;;) {
        assert_ok(snapshot->source.next(&snapshot->source, &chunk));
        if (chunk.size == 0)
            break;
        assert_true(got + chunk.size <= size);
        memcpy((char *)out + got, chunk.data, chunk.size);
        got += chunk.size;
    }
    assert_int_equal(got, size);
}

static void read_variable(struct client_snapshot *snapshot, const char *name, float *out,
                          size_t size)
{
    assert_ok(snapshot->source.begin(&snapshot->source, name));
    read_selected(snapshot, out, size);
}

/*
 * Every element of w starts at 1 and every element of b at 2. A push adds the same number to all of
 * them. In a consistent snapshot every element of w is therefore exactly 1 less than those of b.
 */
static void a_snapshot_under_concurrent_pushes_is_consistent(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief;
    struct pusher pushers[2];
    _Atomic bool stop = false;
    uint64_t before = 0;

    small_start(&cluster, 3);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 2, false));
    for (uint32_t i = 0; i < 2; i++) {
        pushers[i] =
            (struct pusher){ .cluster = &cluster, .index = i + 1, .stop = &stop, .first = .5f };
        pthread_create(&pushers[i].thread, NULL, push_all, &pushers[i]);
    }
    while (ps_global_step(cluster.ps[0]) == 0) /* the pushers may start late */
        usleep(200);
    for (int round = 0; round < 50; round++) {
        struct client_snapshot snapshot;
        float w[SMALL_W], b[SMALL_B];
        assert_ok(client_snapshot_begin(&chief, false, 10000, &snapshot));
        usleep(200); /* lets training go on */
        read_variable(&snapshot, "b", b, sizeof b);
        read_variable(&snapshot, "w", w, sizeof w);
        for (int i = 0; i < SMALL_W; i++)
            assert_true(w[i] == b[i % SMALL_B] - 1);
        assert_true(w[0] == 1 - .25f * (float)snapshot.global_step);
        assert_true(snapshot.global_step >= before);
        before = snapshot.global_step;
        client_snapshot_end(&snapshot);
    }
    assert_true(before > 0);
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(pushers[i].thread, NULL);
    client_finish(&chief);
    small_stop(&cluster);
}

/* One push of ones to Adam makes m 0.1 and v 0.001; the beta powers are those of the next push. */
static void a_snapshot_has_the_slots_of_its_moment(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief;
    struct client_snapshot snapshot;
    const float *first[] = { ones, ones };
    float m[SMALL_W], v[SMALL_W];
    struct client_job job = { .optimizer = "adam", .learning_rate = .5f, .workers = 1 };

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(client_create(&chief, &job, (const void *const *)first));
    assert_ok(client_push(&chief, all_ones, false));
    assert_ok(client_snapshot_begin(&chief, true, 20000, &snapshot));
    for (int i = 0; i < 3; i++) /* pushes during the snapshot must not change it */
        assert_ok(client_push(&chief, all_ones, true));
    client_snapshot_select(&snapshot, 0, 1);
    read_selected(&snapshot, m, sizeof m);
    client_snapshot_select(&snapshot, 0, 2);
    read_selected(&snapshot, v, sizeof v);
    for (int i = 0; i < SMALL_W; i++) {
        assert_true(m[i] == 1 - .9f);
        assert_true(v[i] == 1 - .999f);
    }
    assert_true(snapshot.scalars[0] == .9f * .9f);
    assert_true(snapshot.scalars[1] == .999f * .999f);
    assert_int_equal(snapshot.global_step, 1);
    client_snapshot_end(&snapshot);
    assert_ok(client_snapshot_begin(&chief, false, 20000, &snapshot));
    struct bytes chunk;
    client_snapshot_select(&snapshot, 0, 1);
    assert_int_equal(snapshot.source.next(&snapshot.source, &chunk).code, STATUS_NOT_FOUND);
    client_snapshot_end(&snapshot);
    client_finish(&chief);
    small_stop(&cluster);
}

/* A worker dies after its push has reached ps 0 and before it reaches ps 1. A snapshot waits for
 * the rest of that push, but not for ever. */
static void half_a_push_of_a_dead_worker_does_not_stop_a_snapshot(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, dying;
    struct client_snapshot snapshot;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &dying);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 2, false));
    assert_ok(client_join(&dying, true, 1000));
    struct channel *second = cluster.channels[1];
    struct channel *cut_off = loopback_open(&ps_service, cluster.ps[1], clock_monotonic());
    loopback_break(cut_off);
    cluster.channels[1] = cut_off;
    dying.options.call_timeout_ms = 50;
    assert_int_equal(client_push(&dying, all_ones, false).code, STATUS_UNAVAILABLE);
    cluster.channels[1] = second;
    assert_ok(client_snapshot_begin(&chief, false, 1000, &snapshot));
    client_snapshot_end(&snapshot);
    assert_ok(client_push(&chief, all_ones, true)); /* training goes on */
    struct clock *clock = clock_monotonic();
    int64_t began_ns = clock_now_ns(clock);
    assert_ok(client_snapshot_begin(&chief, false, -1,
                                    &snapshot)); /* does not wait for that push again */
    assert_true(clock_now_ns(clock) - began_ns < 4 * NS_PER_S);
    client_snapshot_end(&snapshot);
    client_finish(&chief);
    client_finish(&dying);
    channel_close(cut_off);
    small_stop(&cluster);
}

static void *push_three(void *context)
{
    struct ps_client *client = context;

    for (int i = 0; i < 3; i++)
        assert_ok(client_push(client, all_ones, true));
    return NULL;
}

/* The gradient depends on the values, so a wrong value in a pull changes the result. */
static struct status push_thrice_the_values(struct ps_client *client)
{
    float w[SMALL_W], b[SMALL_B];
    const struct variable_gradient gradients[] = { { .values = w }, { .values = b } };

    for (int i = 0; i < SMALL_W; i++)
        w[i] = 3 * ((const float *)client->values[0])[i];
    for (int i = 0; i < SMALL_B; i++)
        b[i] = 3 * ((const float *)client->values[1])[i];
    return client_push(client, gradients, true);
}

/* Returns `value` after three steps with the gradients 1 (chief) and 3 * value (worker). */
static float after_three_steps(float value)
{
    for (int i = 0; i < 3; i++)
        value -= .5f * ((1 + 3 * value) / 2);
    return value;
}

/* A worker dies after its push has reached ps 0 and before it reaches ps 1. Its successor repeats
 * the push for ps 1, so that both ps tasks make the step with the same gradients. */
static void a_push_that_reached_half_of_the_ps_tasks_is_made_again(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, dying, again;
    pthread_t thread;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &dying);
    small_client(&cluster, 1, 3, &again);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 2, true));
    assert_ok(client_join(&dying, true, 1000));
    assert_ok(client_pull(&dying));
    pthread_create(&thread, NULL, push_three, &chief);
    struct channel *cut_off = loopback_open(&ps_service, cluster.ps[1], clock_monotonic());
    loopback_break(cut_off);
    struct channel *half[] = { cluster.channels[0], cut_off };
    dying.options.channels = half;
    dying.options.call_timeout_ms = 1000;
    assert_int_equal(push_thrice_the_values(&dying).code, STATUS_UNAVAILABLE);
    assert_int_equal(ps_global_step(cluster.ps[0]), 1);
    assert_int_equal(ps_global_step(cluster.ps[1]), 0);
    assert_ok(client_join(&again, true, 1000));
    assert_false(again.finished);
    assert_ok(client_pull(&again));
    assert_true(again.torn);
    assert_int_equal(again.global_step, 0);
    while (again.global_step < 3)
        assert_ok(push_thrice_the_values(&again));
    pthread_join(thread, NULL);
    assert_ok(client_pull(&again));
    assert_false(again.torn);
    assert_int_equal(ps_global_step(cluster.ps[0]), 3);
    assert_int_equal(ps_global_step(cluster.ps[1]), 3);
    for (int i = 0; i < SMALL_W; i++)
        assert_true(((const float *)again.values[0])[i] == after_three_steps(1));
    for (int i = 0; i < SMALL_B; i++)
        assert_true(((const float *)again.values[1])[i] == after_three_steps(2));
    client_finish(&chief);
    client_finish(&dying);
    client_finish(&again);
    channel_close(cut_off);
    small_stop(&cluster);
}

/* The chief has announced the end of the job and left, and then ps 0 has restarted. */
static void an_outcome_that_ps_0_has_forgotten_is_learnt_from_another(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client worker;
    struct progress progress = { 0 };
    struct worker_options options = { .start_timeout_ms = 60000, .recovery_timeout_ms = 60000 };
    struct status outcome;

    small_start(&cluster, 2);
    small_client(&cluster, 1, 2, &worker);
    ps_end(cluster.ps[1], status_ok());
    assert_ok(worker_run(&worker, NULL, &options, &progress));
    assert_true(worker.told);
    assert_true(ps_outcome(cluster.ps[0], &outcome));
    assert_ok(outcome);
    client_finish(&worker);
    small_stop(&cluster);
}

/* A snapshot that fails releases its holds on the ps tasks. */
static void a_failed_snapshot_does_not_stop_training(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief;
    struct client_snapshot snapshot;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 1, false));
    struct channel *second = cluster.channels[1];
    struct channel *cut_off = loopback_open(&ps_service, cluster.ps[1], clock_monotonic());
    loopback_break(cut_off);
    cluster.channels[1] = cut_off;
    chief.options.call_timeout_ms = 100;
    assert_int_equal(client_snapshot_begin(&chief, false, 100, &snapshot).code, STATUS_UNAVAILABLE);
    cluster.channels[1] = second;
    chief.options.call_timeout_ms = 1000;
    assert_ok(client_push(&chief, all_ones, true));
    assert_values(&chief, .5f, 1.5f);
    client_finish(&chief);
    channel_close(cut_off);
    small_stop(&cluster);
}

/* The old process of a restarted ps. */
struct gone {
    struct ps *ps;
    struct channel *channel;
};

static struct gone restart_ps(struct small_cluster *cluster, int index)
{
    struct gone gone = { cluster->ps[index], cluster->channels[index] };
    struct ps_options options = {
        .cluster = "test", .index = (uint32_t)index, .incarnation = 200, .ps_list = "a:1,b:1"
    };

    loopback_break(gone.channel);
    cluster->ps[index] = ps_create(&options);
    cluster->channels[index] = loopback_open(&ps_service, cluster->ps[index], clock_monotonic());
    return gone;
}

struct rejoin {
    struct ps_client *client;
    enum status_code code;
};

static void *run_rejoin(void *context)
{
    struct rejoin *rejoin = context;

    do /* until all ps tasks are in the same generation */
        rejoin->code = client_join(rejoin->client, true, 20000).code;
    while (rejoin->code == STATUS_UNAVAILABLE);
    return NULL;
}

/* All tasks go back together, including the ps that did not restart. Requests of the generation
 * before are rejected. */
static void a_new_generation_voids_all_of_the_one_before(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, worker;
    struct client_snapshot snapshot;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &worker);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 2, false));
    assert_ok(client_join(&worker, true, 1000));
    for (int i = 0; i < 3; i++)
        assert_ok(client_push(&worker, all_ones, true));
    assert_ok(client_snapshot_begin(&chief, true, 20000, &snapshot));
    struct gone gone = restart_ps(&cluster, 1);
    struct status status = client_push(&worker, all_ones, true);
    assert_int_equal(status.code, STATUS_ABORTED);
    assert_non_null(strstr(status.message, "ps 1 was restarted"));
    struct rejoin rejoin = { .client = &worker };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_rejoin, &rejoin), 0);
    assert_ok(client_join(&chief, false, 1000));
    assert_false(chief.open);
    assert_int_equal(chief.generation_seen, 1);
    assert_ok(small_create(&chief, 2, false));
    pthread_join(thread, NULL);
    assert_int_equal(rejoin.code, STATUS_OK);
    assert_int_equal(worker.generation, 2);
    assert_ok(client_pull(&worker));
    assert_values(&worker, 1, 2);
    assert_int_equal(worker.global_step, 0);
    assert_ok(client_push(&worker, all_ones, true));
    assert_values(&worker, .5f, 1.5f);

    worker.generation = 1; /* a late push of the generation before */
    worker.sequence = 7;
    status = client_push(&worker, all_ones, true);
    assert_int_equal(status.code, STATUS_ABORTED);
    assert_ok(client_join(&chief, true, 1000));
    assert_ok(client_pull(&chief));
    assert_values(&chief, .5f, 1.5f);
    client_finish(&chief);
    client_finish(&worker);
    free(snapshot.ids);
    channel_close(gone.channel);
    ps_destroy(gone.ps);
    small_stop(&cluster);
}

/* A worker has made its last step and waits for the outcome. If the job goes back, the worker has
 * steps to repeat. Its PS_AWAIT may reach a ps only after the chief has created the variables
 * again. */
static void who_awaits_the_end_is_told_that_the_job_has_gone_back(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, worker;

    small_start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &worker);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 2, false));
    assert_ok(client_join(&worker, true, 1000));
    assert_ok(client_report(&worker, status_ok(), false));
    struct gone gone = restart_ps(&cluster, 0);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 2, false));
    struct status status = client_await(&worker, true, 1000);
    assert_int_equal(status.code, STATUS_ABORTED);
    assert_non_null(strstr(status.message, "was restarted"));
    assert_ok(client_join(&worker, true, 1000));
    assert_false(worker.finished);
    assert_ok(small_create(&chief, 2, false)); /* on the same ps */
    assert_int_equal(client_await(&worker, true, 1000).code, STATUS_ABORTED);
    client_finish(&chief);
    client_finish(&worker);
    channel_close(gone.channel);
    ps_destroy(gone.ps);
    small_stop(&cluster);
}

struct waiting_push {
    struct ps_client *client;
    enum status_code code;
    char text[200];
};

static void *run_push(void *context)
{
    struct waiting_push *push = context;
    struct status status = client_push(push->client, all_ones, true);

    push->code = status.code;
    snprintf(push->text, sizeof push->text, "%s", status.message);
    return NULL;
}

static void a_push_that_waits_is_told_that_the_job_goes_back(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, worker;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &worker);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 2, true));
    assert_ok(client_join(&worker, true, 1000));
    struct waiting_push push = { .client = &worker };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_push, &push), 0);
    usleep(20000); /* most likely the push waits for the chief's */
    assert_ok(small_create(&chief, 2, true));
    pthread_join(thread, NULL);
    assert_int_equal(push.code, STATUS_ABORTED);
    assert_true(strstr(push.text, "goes back to step 0") != NULL ||
                strstr(push.text, "generation") != NULL ||
                strstr(push.text, "no variables") != NULL);
    client_finish(&chief);
    client_finish(&worker);
    small_stop(&cluster);
}

static struct status begin_nothing(struct client_state *state, int variable, int part, bool *has)
{
    (void)state;
    (void)variable;
    (void)part;
    *has = false;
    return status_ok();
}

static void only_whole_values_are_opened_and_only_the_chief_writes(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief, other;
    struct client_job job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1 };
    struct client_state nothing = { .begin = begin_nothing };

    small_start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &other);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(client_join(&other, false, 1000));
    struct status status = client_begin(&chief, &job, &nothing);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "only 0 of the 16 bytes"));
    assert_ok(small_create(&chief, 1, false));
    other.generation_seen = 1; /* as if it had joined before the chief */
    assert_int_equal(small_create(&other, 1, false).code, STATUS_PERMISSION_DENIED);
    assert_ok(client_pull(&chief));
    assert_values(&chief, 1, 2);
    client_finish(&chief);
    client_finish(&other);
    small_stop(&cluster);
}

static void a_damaged_request_is_refused(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief;
    static const char *const paths[] = {
        PS_JOIN, PS_CREATE, PS_WRITE, PS_OPEN, PS_PULL,   PS_PUSH,
        PS_HOLD, PS_CUT,    PS_READ,  PS_DROP, PS_FINISH, PS_AWAIT
    };

    small_start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 1, false));
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct message request = { .header = { "\x0a\xff\xff", 3 } }, reply;
        struct status status =
            channel_call(cluster.channels[0], paths[i], &request, CLOCK_NEVER, &reply);
        assert_int_equal(status.code, STATUS_INTERNAL);
    }
    struct bytes few = { "abcd", 4 };
    struct push_request header = { 0 };
    struct ticket ticket = { 0 };
    struct message reply;
    ticket.incarnation = 1;
    ticket.generation = 1;
    header.ticket = &ticket;
    header.sequence = 1;
    struct message request = protocol_attach(pack_push_request(&header), &few, 1);
    struct status status =
        channel_call(cluster.channels[0], PS_PUSH, &request, CLOCK_NEVER, &reply);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "4 bytes"));
    client_finish(&chief);
    small_stop(&cluster);
}

/* The ticket is a worker's, and the index of the identity is beyond all workers. */
static void a_task_that_ends_under_an_index_beyond_all_workers_is_refused(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief;
    struct ticket ticket = { .incarnation = 1, .generation = 1 };
    struct message reply;

    small_start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create(&chief, 1, false));
    struct identity identity = { "test", "worker", "a:1,b:1", "", .index = UINT32_MAX / 2 };
    struct finish_request header = {
        .ticket = &ticket, .identity = &identity, .code = STATUS_INTERNAL, .text = "?"
    };
    struct message request = pack_finish_request(&header);
    struct status status =
        channel_call(cluster.channels[0], PS_FINISH, &request, CLOCK_NEVER, &reply);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "must be below 4096"));
    client_finish(&chief);
    small_stop(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_push_is_applied_and_the_new_values_come_back),
        cmocka_unit_test(a_push_sent_again_is_answered_but_not_applied_again),
        cmocka_unit_test(the_rate_of_a_schedule_is_that_of_the_global_step),
        cmocka_unit_test(what_was_pulled_does_not_change_under_the_reader),
        cmocka_unit_test(strangers_are_refused_with_their_names),
        cmocka_unit_test(a_worker_that_waits_for_the_chief_is_refused_for_other_settings),
        cmocka_unit_test(a_worker_with_damaged_data_ends_the_job),
        cmocka_unit_test(variables_are_paid_from_the_budget_and_only_the_chief_makes_them),
        cmocka_unit_test(who_joins_after_the_last_step_is_told_so_and_not_waited_for),
        cmocka_unit_test(no_update_of_many_workers_is_lost),
        cmocka_unit_test(a_synchronous_step_sums_in_the_order_of_workers),
        cmocka_unit_test(a_snapshot_under_concurrent_pushes_is_consistent),
        cmocka_unit_test(a_snapshot_has_the_slots_of_its_moment),
        cmocka_unit_test(half_a_push_of_a_dead_worker_does_not_stop_a_snapshot),
        cmocka_unit_test(a_push_that_reached_half_of_the_ps_tasks_is_made_again),
        cmocka_unit_test(an_outcome_that_ps_0_has_forgotten_is_learnt_from_another),
        cmocka_unit_test(a_failed_snapshot_does_not_stop_training),
        cmocka_unit_test(a_new_generation_voids_all_of_the_one_before),
        cmocka_unit_test(who_awaits_the_end_is_told_that_the_job_has_gone_back),
        cmocka_unit_test(a_push_that_waits_is_told_that_the_job_goes_back),
        cmocka_unit_test(only_whole_values_are_opened_and_only_the_chief_writes),
        cmocka_unit_test(a_damaged_request_is_refused),
        cmocka_unit_test(a_task_that_ends_under_an_index_beyond_all_workers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
