/* Synchronous steps with backup workers. The calls are sent by the test's thread, which decides
 * their order; a push that waits is answered by the one that completes the step. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "small_cluster.h"
#include "support/status.h"
#include "trainer/client/client_internal.h"
#include "support/test_group.h"

#define WORKERS 3
#define PS      2

/* A push to one ps. */
struct pushed {
    bool ended;
    enum status_code code;
    struct push_reply reply;
    struct client_call *call;
    float g[SMALL_W + SMALL_B];
    struct bytes payload;
};

struct fixture {
    struct small_cluster cluster;
    struct clock *clock;
    struct ps_client workers[WORKERS];
};

static void answered(void *context, struct status status, struct message *message)
{
    struct pushed *pushed = context;
    struct arena *arena = arena_create(0);

    pushed->ended = true;
    pushed->code = status.code;
    if (status_is_ok(status))
        assert_ok(unpack_push_reply(message, arena, &pushed->reply));
    arena_destroy(arena);
}

static size_t trained_bytes(const struct fixture *f, int ps)
{
    return placement_bytes(&f->cluster.placement, ps);
}

/* Pushes a gradient whose elements are all `g`, for the values of `step`. */
static void push(struct fixture *f, struct pushed *pushed, int ps, int w, uint64_t step, float g)
{
    struct ps_client *client = &f->workers[w];
    struct ticket ticket = client_ticket(client, ps);
    const struct push_request header = { .ticket = &ticket,
                                         .sequence = ++client->sequence,
                                         .local_step = step,
                                         .overflowed = isinf(g) ? client->scaling.scale : 0 };

    *pushed = (struct pushed){ 0 };
    for (size_t i = 0; i < COUNT(pushed->g); i++)
        pushed->g[i] = g;
    pushed->payload = (struct bytes){ (const char *)pushed->g, trained_bytes(f, ps) };
    struct message request = protocol_attach(pack_push_request(&header), &pushed->payload, 1);
    pushed->call =
        channel_start(f->cluster.channels[ps], PS_PUSH, &request, CLOCK_NEVER, answered, pushed);
}

/* Pulls from one ps. first: its first value; may be NULL. */
static struct pull_reply pull_from(struct fixture *f, int ps, float *first)
{
    struct ps_client *client = &f->workers[0];
    struct ticket ticket = client_ticket(client, ps);
    const struct pull_request header = { .ticket = &ticket };
    struct message request = pack_pull_request(&header), message = { 0 };
    struct arena *arena = arena_create(0);
    struct pull_reply reply;

    assert_ok(channel_call(f->cluster.channels[ps], PS_PULL, &request, CLOCK_NEVER, &message));
    struct payload_cursor payload = { .message = &message };
    if (first != NULL)
        payload_copy(&payload, first, sizeof *first);
    assert_ok(unpack_pull_reply(&message, arena, &reply));
    message_release(&message);
    arena_destroy(arena);
    return reply;
}

static float first_value(struct fixture *f, int ps)
{
    float value;

    pull_from(f, ps, &value);
    return value;
}

static void start_scaled(struct fixture *f, uint32_t backup, float scale)
{
    float w[SMALL_W] = { 0 }, b[SMALL_B] = { 0 };
    const void *values[] = { w, b };
    const struct client_job job = { .optimizer = "sgd",
                                    .learning_rate = 1,
                                    .workers = WORKERS,
                                    .sync = true,
                                    .backup_workers = backup,
                                    .loss_scale = { .scale = scale, .growth_steps = 1000 } };

    *f = (struct fixture){ .clock = clock_fake_create(NS_PER_S) };
    small_start_at(&f->cluster, PS, f->clock);
    for (uint32_t i = 0; i < WORKERS; i++) {
        small_client(&f->cluster, i, 1 + i, &f->workers[i]);
        assert_ok(client_join(&f->workers[i], i > 0, 1000));
        if (i == 0)
            assert_ok(client_create(&f->workers[0], &job, values));
    }
}

static void start(struct fixture *f, uint32_t backup)
{
    start_scaled(f, backup, 0);
}

static void stop(struct fixture *f)
{
    for (int i = 0; i < WORKERS; i++)
        client_finish(&f->workers[i]);
    small_stop(&f->cluster);
    clock_fake_destroy(f->clock);
}

static void release(struct pushed *pushed, int count)
{
    for (int i = 0; i < count; i++)
        client_call_release(pushed[i].call);
}

static void takes_the_mean_of_the_first_and_drops_late_ones(void **state)
{
    struct pushed pushed[6];
    struct fixture f;
    (void)state;

    start(&f, 1);
    push(&f, &pushed[0], 0, 2, 0, 4);
    assert_false(pushed[0].ended);
    push(&f, &pushed[1], 0, 0, 0, 2);
    assert_true(pushed[0].ended && pushed[1].ended);
    assert_int_equal(pushed[0].reply.global_step, 1);
    assert_true(first_value(&f, 0) == -3);
    push(&f, &pushed[2], 0, 1, 0, 100); /* late */
    assert_true(pushed[2].ended && pushed[2].reply.repeated);
    assert_int_equal(pushed[2].reply.global_step, 1);
    assert_true(first_value(&f, 0) == -3);
    push(&f, &pushed[3], 0, 1, 1, 1); /* it takes part in the next step */
    push(&f, &pushed[4], 0, 2, 1, 3);
    assert_true(pushed[3].ended && pushed[4].ended && !pushed[3].reply.repeated);
    assert_true(first_value(&f, 0) == -5);
    push(&f, &pushed[5], 0, 0, 0, 100); /* late by two steps */
    assert_true(pushed[5].reply.repeated && pushed[5].reply.global_step == 2);
    assert_true(first_value(&f, 0) == -5);
    release(pushed, 6);
    stop(&f);
}

/* A worker that was late at ps 0 knows a step that ps 1 has not made yet. */
static void a_push_for_a_later_step_waits_for_it(void **state)
{
    struct pushed pushed[4];
    struct fixture f;
    (void)state;

    start(&f, 1);
    push(&f, &pushed[0], 1, 1, 1, 8);
    assert_false(pushed[0].ended);
    push(&f, &pushed[1], 1, 0, 0, 2);
    assert_false(pushed[1].ended);
    assert_true(first_value(&f, 1) == 0);
    push(&f, &pushed[2], 1, 2, 0, 4);
    assert_true(pushed[1].ended && pushed[2].ended && !pushed[0].ended);
    assert_true(first_value(&f, 1) == -3);
    push(&f, &pushed[3], 1, 0, 1, 2);
    assert_true(pushed[0].ended && pushed[3].ended);
    assert_true(first_value(&f, 1) == -8);
    release(pushed, 4);
    stop(&f);
}

/* Worker 0 dies after its push for step 1 has reached ps 0 only. Worker 1, which was slow, is late
 * at ps 0 by two steps. If it went on with the step of ps 0, ps 1 would wait for ever. */
static void a_late_worker_makes_the_step_that_a_dead_one_left(void **state)
{
    struct pushed pushed[3];
    struct fixture f;
    (void)state;

    start(&f, 2);
    push(&f, &pushed[0], 0, 0, 0, 1);
    push(&f, &pushed[1], 1, 0, 0, 1);
    push(&f, &pushed[2], 0, 0, 1, 1);
    assert_ok(client_push(&f.workers[1], all_ones, false));
    assert_int_equal(f.workers[1].global_step, 1);
    assert_true(first_value(&f, 0) == -2 && first_value(&f, 1) == -1);
    assert_ok(client_push(&f.workers[1], all_ones, false));
    assert_int_equal(f.workers[1].global_step, 2);
    assert_true(first_value(&f, 0) == -2 && first_value(&f, 1) == -2);
    release(pushed, 3);
    stop(&f);
}

/* The same of worker 1, which was started again. */
static void a_restarted_worker_makes_the_step_that_a_dead_one_left(void **state)
{
    struct pushed pushed;
    struct fixture f;
    (void)state;

    start(&f, 2);
    push(&f, &pushed, 0, 0, 0, 1);
    assert_ok(client_pull(&f.workers[1]));
    assert_int_equal(f.workers[1].global_step, 0);
    assert_ok(client_push(&f.workers[1], all_ones, false));
    assert_int_equal(f.workers[1].global_step, 1);
    assert_true(first_value(&f, 0) == -1 && first_value(&f, 1) == -1);
    release(&pushed, 1);
    stop(&f);
}

/* ---- steps that are skipped ---- */

/* Worker 0's gradients overflow, and it dies after they have reached ps 0. */
static void all_ps_tasks_skip_the_steps_that_ps_0_skips(void **state)
{
    struct pushed pushed;
    struct fixture f;
    (void)state;

    start_scaled(&f, 2, 8);
    assert_ok(client_pull(&f.workers[0]));
    assert_ok(client_pull(&f.workers[1]));
    push(&f, &pushed, 0, 0, 0, INFINITY);
    assert_true(pushed.ended && pushed.reply.overflowed == 8);
    assert_ok(client_push(&f.workers[1], all_ones, false)); /* it is late at ps 0 */
    assert_int_equal(f.workers[1].global_step, 1);
    assert_true(first_value(&f, 0) == 0 && first_value(&f, 1) == 0);
    assert_true(f.workers[1].scaling.scale == 4 && f.workers[1].scaling.skipped == 1);
    assert_ok(client_push(&f.workers[1], all_ones, false));
    assert_true(first_value(&f, 0) == -1 && first_value(&f, 1) == -1);
    release(&pushed, 1);
    stop(&f);
}

#define INFINITIES INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY

static const float infinite[SMALL_W] = { INFINITIES, INFINITIES };
static const struct variable_gradient overflowed[] = { { .values = infinite },
                                                       { .values = infinite } };

/* An overflow that is too late for the step of ps 0 skips it nowhere, and no ps applies it. */
static void a_late_overflow_skips_no_step(void **state)
{
    struct pushed pushed;
    struct fixture f;
    (void)state;

    start_scaled(&f, 2, 8);
    for (int i = 0; i < WORKERS; i++)
        assert_ok(client_pull(&f.workers[i]));
    push(&f, &pushed, 0, 0, 0, 1);
    f.workers[1].scaling.overflowed = true;
    assert_ok(client_push(&f.workers[1], overflowed, true));
    assert_int_equal(f.workers[1].global_step, 0); /* of ps 1 */
    assert_true(first_value(&f, 0) == -1 && first_value(&f, 1) == 0);
    assert_ok(client_push(&f.workers[1], all_ones, true));
    assert_int_equal(f.workers[1].global_step, 1);
    assert_true(first_value(&f, 0) == -1 && first_value(&f, 1) == -1);
    assert_true(f.workers[1].scaling.scale == 8 && f.workers[1].scaling.skipped == 0);
    release(&pushed, 1);
    stop(&f);
}

/* A channel to ps 1 over which worker 0 makes a step between the first pull and the second. */
struct meddling_channel {
    struct channel channel; /* first */
    struct fixture *f;
    struct pushed pushed;
    int pulls;
};

static struct client_call *meddle_begin(struct channel *channel, const char *path,
                                        struct message *request, const struct call_options *options,
                                        reply_function *done, void *context)
{
    struct meddling_channel *meddling = (struct meddling_channel *)channel;
    struct fixture *f = meddling->f;

    if (strcmp(path, PS_PULL) == 0 && ++meddling->pulls == 2)
        push(f, &meddling->pushed, 1, 0, 0, 1);
    return channel_begin(f->cluster.channels[1], path, request, options, done, context);
}

static const struct channel_type meddling_type = { .begin = meddle_begin };

static void assert_all_are(const struct ps_client *client, float wanted)
{
    const float *w = client->values[0], *b = client->values[1];

    for (int i = 0; i < SMALL_W; i++)
        assert_true(w[i] == wanted);
    for (int i = 0; i < SMALL_B; i++)
        assert_true(b[i] == wanted);
}

/* Its overflowed gradients came too late, so that it pulls: each ps answers in several messages,
 * between which others may make a step. */
static void a_late_worker_counts_the_earliest_step_of_its_values(void **state)
{
    struct pushed pushed;
    struct fixture f;
    (void)state;

    for (int meddles = 0; meddles <= 1; meddles++) {
        start_scaled(&f, 2, 8);
        struct meddling_channel meddling = { .channel = { .type = &meddling_type }, .f = &f };
        struct channel *channels[PS] = { f.cluster.channels[0], &meddling.channel };
        struct ps_client *late = &f.workers[1];
        client_finish(late);
        small_client_with(&f.cluster, 1, 2, 1, late);
        assert_ok(client_join(late, true, 1000));
        assert_true(late->chunks_count > PS + 1);
        assert_ok(client_pull(&f.workers[0]));
        assert_ok(client_pull(late));
        push(&f, &pushed, 0, 0, 0, 1);
        late->scaling.overflowed = true;
        if (meddles)
            late->options.channels = channels;
        assert_ok(client_push(late, overflowed, true));
        assert_int_equal(late->global_step, 0); /* that of the first message of ps 1 */
        assert_ok(client_push(late, all_ones, true));
        assert_int_equal(late->global_step, 1);
        assert_all_are(late, -1);
        assert_true(first_value(&f, 0) == -1 && first_value(&f, 1) == -1);
        if (meddles)
            release(&meddling.pushed, 1);
        release(&pushed, 1);
        stop(&f);
    }
}

#define STEPS 200

struct pushing {
    struct ps_client *client;
    pthread_t thread;
};

/* One push in five overflows; how the workers' pushes meet is left to chance. */
static void *make_steps(void *context)
{
    struct ps_client *client = ((struct pushing *)context)->client;

    for (int i = 0; client->global_step < STEPS; i++) {
        client->scaling.overflowed = i % 5 == (int)client->options.index;
        assert_ok(client_push(client, client->scaling.overflowed ? overflowed : all_ones, true));
    }
    return NULL;
}

/* Each step that is not skipped lowers every element by 1, on each ps. */
static void workers_at_once_leave_all_ps_tasks_alike(void **state)
{
    struct pushing pushing[WORKERS];
    struct pull_reply replies[PS];
    struct fixture f;
    (void)state;

    start_scaled(&f, 1, 1e30f);
    for (int i = 0; i < WORKERS; i++) {
        assert_ok(client_pull(&f.workers[i]));
        pushing[i].client = &f.workers[i];
        assert_int_equal(pthread_create(&pushing[i].thread, NULL, make_steps, &pushing[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(pushing[i].thread, NULL);
    for (int ps = 0; ps < PS; ps++) {
        assert_true(first_value(&f, ps) == first_value(&f, 0));
        replies[ps] = pull_from(&f, ps, NULL);
        assert_int_equal(replies[ps].global_step, STEPS);
        assert_int_equal(replies[ps].loss_scale.skipped, replies[0].loss_scale.skipped);
        assert_true(replies[ps].loss_scale.scale == replies[0].loss_scale.scale);
    }
    assert_true(replies[0].loss_scale.skipped > 0);
    assert_true(first_value(&f, 0) == (float)replies[0].loss_scale.skipped - STEPS);
    stop(&f);
}

static void without_backup_workers_all_are_needed(void **state)
{
    struct pushed pushed[4];
    struct fixture f;
    (void)state;

    start(&f, 0);
    push(&f, &pushed[0], 0, 0, 0, 1);
    push(&f, &pushed[1], 0, 1, 0, 1);
    assert_false(pushed[0].ended || pushed[1].ended);
    push(&f, &pushed[2], 0, 2, 0, 1);
    assert_true(pushed[0].ended && pushed[1].ended && pushed[2].ended);
    push(&f, &pushed[3], 0, 2, 5, 1);
    assert_int_equal(pushed[3].code, STATUS_ABORTED);
    release(pushed, 4);
    stop(&f);
}

/* ---- lost workers ---- */

static void heartbeat(struct fixture *f, int w)
{
    struct identity identity = client_identity(&f->workers[w].options, 0);
    const struct heartbeat_request header = { &identity };
    struct message request = pack_heartbeat_request(&header), reply = { 0 };

    assert_ok(channel_call(f->cluster.channels[0], PS_HEARTBEAT, &request, CLOCK_NEVER, &reply));
    message_release(&reply);
}

static const struct loss {
    const char *label;
    uint32_t backup;
    bool silent[WORKERS];
    bool over;
} losses[] = {
    { "a spare worker may be lost", 1, { false, true, false }, false },
    { "of two, only one is spare", 1, { false, true, true }, true },
    { "two spare ones", 2, { false, true, true }, false },
    { "the chief is never spare", 2, { true, false, false }, true },
    { "no worker is spare", 0, { false, false, true }, true },
};

static void ends_the_job_if_more_workers_are_lost_than_are_spare(void **state)
{
    const struct loss *loss = *state;
    struct status outcome;
    struct fixture f;

    start(&f, loss->backup);
    for (int i = 0; i < WORKERS; i++)
        heartbeat(&f, i);
    clock_fake_advance(f.clock, 10 * (int64_t)NS_PER_S);
    for (int i = 0; i < WORKERS; i++)
        if (!loss->silent[i])
            heartbeat(&f, i);
    ps_watch(f.cluster.ps[0], clock_now_ns(f.clock), 5000, 1000000);
    assert_int_equal(ps_outcome(f.cluster.ps[0], &outcome), loss->over);
    stop(&f);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(takes_the_mean_of_the_first_and_drops_late_ones),
        cmocka_unit_test(a_push_for_a_later_step_waits_for_it),
        cmocka_unit_test(a_late_worker_makes_the_step_that_a_dead_one_left),
        cmocka_unit_test(a_restarted_worker_makes_the_step_that_a_dead_one_left),
        cmocka_unit_test(all_ps_tasks_skip_the_steps_that_ps_0_skips),
        cmocka_unit_test(a_late_overflow_skips_no_step),
        cmocka_unit_test(a_late_worker_counts_the_earliest_step_of_its_values),
        cmocka_unit_test(workers_at_once_leave_all_ps_tasks_alike),
        cmocka_unit_test(without_backup_workers_all_are_needed),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, losses, label, ends_the_job_if_more_workers_are_lost_than_are_spare);
    return test_group_run(&group, "backup workers", NULL, NULL);
}
