/* A snapshot while a push has reached only some ps tasks. The clock stands still until a channel
 * moves it, so each snapshot runs out of time at the same place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "small_cluster.h"
#include "support/status.h"

#define PS 2

/* Fails the next cuts at their deadline. Passes on everything else. */
struct late_channel {
    struct channel channel; /* first */
    struct channel *inner;
    enum status_code code; /* of the cuts that fail */
    int fails;             /* this many more */
};

static struct client_call *late_begin(struct channel *channel, const char *path,
                                      struct message *request, const struct call_options *options,
                                      reply_function *done, void *context)
{
    struct late_channel *late = (struct late_channel *)channel;
    struct message nothing = { 0 };

    if (strcmp(path, PS_CUT) != 0 || late->fails == 0)
        return channel_begin(late->inner, path, request, options, done, context);
    late->fails--;
    clock_fake_advance(channel->clock, options->deadline_ns - clock_now_ns(channel->clock));
    message_release(request);
    done(context, status_error(late->code, "too late"), &nothing);
    return NULL;
}

static const struct channel_type late_type = { .begin = late_begin };

struct torn_push {
    struct small_cluster cluster;
    struct clock *clock;
    struct channel *monotonic[PS];
    struct late_channel late; /* to ps 1 */
    struct ps_client chief, worker;
};

static struct torn_push *start(bool sync)
{
    struct torn_push *torn = zalloc(sizeof *torn);
    struct small_cluster *cluster = &torn->cluster;

    torn->clock = clock_fake_create(NS_PER_S);
    small_start_at(cluster, PS, torn->clock);
    for (int i = 0; i < PS; i++) {
        torn->monotonic[i] = cluster->channels[i];
        cluster->channels[i] = loopback_open(&ps_service, cluster->ps[i], torn->clock);
    }
    torn->late = (struct late_channel){ .channel = { .type = &late_type, .clock = torn->clock },
                                        .inner = cluster->channels[1] };
    cluster->channels[1] = &torn->late.channel;
    small_client(cluster, 0, 1, &torn->chief);
    small_client(cluster, 1, 2, &torn->worker);
    assert_ok(client_join(&torn->chief, false, 1000));
    assert_ok(small_create(&torn->chief, 2, sync));
    assert_ok(client_join(&torn->worker, true, 1000));
    return torn;
}

static void stop(struct torn_push *torn)
{
    client_finish(&torn->chief);
    client_finish(&torn->worker);
    torn->cluster.channels[1] = torn->late.inner;
    for (int i = 0; i < PS; i++)
        channel_close(torn->monotonic[i]);
    small_stop(&torn->cluster);
    clock_fake_destroy(torn->clock);
    free(torn);
}

/* Starts the part of the first push that goes to one ps. */
static void push_to(const struct torn_push *torn, int ps, const struct ps_client *client,
                    struct call_group *calls)
{
    const struct placement *placement = &torn->cluster.placement;
    struct push_request header = { 0 };
    struct ticket ticket = { .worker = client->options.index,
                             .incarnation = client->options.incarnation,
                             .generation = 1 };
    struct bytes gradients = { (const char *)ones, 0 };

    for (int i = 0; i < placement->pieces_count; i++)
        if (placement->pieces[i].ps == ps)
            gradients.size += placement->pieces[i].size;
    header.ticket = &ticket;
    header.sequence = 1;
    struct message request = protocol_attach(pack_push_request(&header), &gradients, 1);
    call_group_init(calls, torn->clock, 1);
    call_group_begin(calls);
    call_group_add(calls, torn->cluster.channels[ps], PS_PUSH, &request, CLOCK_NEVER);
}

static void is_taken_without_the_push_if_a_ps_gave_it_up_at_the_deadline(void **state)
{
    struct torn_push *torn = start(false);
    struct client_snapshot snapshot;
    struct call_group push;

    (void)state;
    push_to(torn, 0, &torn->worker, &push);
    assert_ok(call_group_wait(&push));
    torn->late.code = STATUS_NOT_FOUND;
    torn->late.fails = 1;
    assert_ok(client_snapshot_begin(&torn->chief, false, 20000, &snapshot));
    client_snapshot_end(&snapshot);
    int64_t began_ns = clock_now_ns(torn->clock);
    assert_ok(
        client_snapshot_begin(&torn->chief, false, -1, &snapshot)); /* nor does a later one wait */
    assert_int_equal(clock_now_ns(torn->clock), began_ns);
    client_snapshot_end(&snapshot);
    call_group_finish(&push);
    stop(torn);
}

static void of_a_torn_step_names_the_worker_whose_push_is_missing(void **state)
{
    struct torn_push *torn = start(true);
    struct client_snapshot snapshot;
    struct call_group chiefs[PS], workers;
    char whom[100];

    (void)state;
    for (int ps = 0; ps < PS; ps++)
        push_to(torn, ps, &torn->chief, &chiefs[ps]);
    push_to(torn, 0, &torn->worker, &workers);
    assert_ok(call_group_wait(&workers));
    client_describe_wait(&torn->worker, 1, whom, sizeof whom); /* ps 1 learns the worker's name */
    torn->late.code = STATUS_DEADLINE_EXCEEDED;
    torn->late.fails = 2;
    struct status status = client_snapshot_begin(&torn->chief, false, 20000, &snapshot);
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
    assert_string_equal(status.message, "snapshot: ps 1 is at step 0 and another ps at step 1, "
                                        "waiting for worker (last heard from 25 s ago) to push for "
                                        "step 1");
    call_group_cancel(&chiefs[1]);
    for (int ps = 0; ps < PS; ps++)
        call_group_finish(&chiefs[ps]);
    call_group_finish(&workers);
    stop(torn);
}

/* ---- two at a time ---- */

#define ALL_BYTES ((int64_t)(SMALL_W + SMALL_B) * 4)

/* A ps with a budget, and three clients that take snapshots of it. */
struct paid_cluster {
    struct small_cluster cluster;
    struct budget budget;
    struct ps_client chief, second, reader;
    _Atomic bool taken; /* the snapshot of take_second */
};

static struct paid_cluster *start_paid(void)
{
    struct paid_cluster *paid = zalloc(sizeof *paid);
    const struct ps_options options = {
        .cluster = "test", .incarnation = 100, .ps_list = "a:1,b:1", .budget = &paid->budget
    };

    paid->budget = (struct budget){ .limit_bytes = 1 << 20, .lock = PTHREAD_MUTEX_INITIALIZER };
    small_start(&paid->cluster, 1);
    channel_close(paid->cluster.channels[0]);
    ps_destroy(paid->cluster.ps[0]);
    paid->cluster.ps[0] = ps_create(&options);
    paid->cluster.channels[0] = loopback_open(&ps_service, paid->cluster.ps[0], clock_monotonic());
    small_client(&paid->cluster, 0, 1, &paid->chief);
    small_client(&paid->cluster, 0, 1, &paid->second);
    paid->second.options.second = true;
    small_client(&paid->cluster, 1, 2, &paid->reader);
    paid->reader.options.reader = true;
    assert_ok(client_join(&paid->chief, false, 1000));
    assert_ok(small_create(&paid->chief, 1, false));
    assert_ok(client_join(&paid->second, true, 1000));
    assert_ok(client_join(&paid->reader, true, 1000));
    return paid;
}

static void stop_paid(struct paid_cluster *paid)
{
    client_finish(&paid->chief);
    client_finish(&paid->second);
    client_finish(&paid->reader);
    small_stop(&paid->cluster);
    free(paid);
}

/* An update that finds two snapshots of its values writes a third copy. */
static void a_second_one_is_charged(void **state)
{
    struct paid_cluster *paid = start_paid();
    struct client_snapshot first, second;
    int64_t before = paid->budget.used_bytes;

    (void)state;
    assert_ok(client_snapshot_begin(&paid->chief, true, 1000, &first));
    assert_int_equal(paid->budget.used_bytes, before);
    assert_ok(client_snapshot_begin(&paid->second, false, 1000, &second));
    assert_int_equal(paid->budget.used_bytes, before + ALL_BYTES);
    client_snapshot_end(&first);
    assert_ok(client_snapshot_begin(&paid->chief, true, 1000, &first)); /* in place of the first */
    assert_int_equal(paid->budget.used_bytes, before + ALL_BYTES);
    client_snapshot_end(&first);
    client_snapshot_end(&second);
    assert_int_equal(paid->budget.used_bytes, before);
    stop_paid(paid);
}

static void *take_second(void *context)
{
    struct paid_cluster *paid = context;
    struct client_snapshot snapshot;

    assert_ok(client_snapshot_begin(&paid->second, false, 1000, &snapshot));
    paid->taken = true;
    client_snapshot_end(&snapshot);
    return NULL;
}

static void a_second_one_waits_if_the_budget_lacks_memory_for_it(void **state)
{
    struct paid_cluster *paid = start_paid();
    struct client_snapshot first;
    pthread_t thread;

    (void)state;
    assert_ok(client_snapshot_begin(&paid->chief, true, 1000, &first));
    paid->budget.limit_bytes = paid->budget.used_bytes + ALL_BYTES - 1;
    pthread_create(&thread, NULL, take_second, paid);
    clock_sleep(clock_monotonic(), 100);
    assert_ok(client_push(&paid->chief, all_ones, false)); /* training goes on meanwhile */
    assert_false(paid->taken);
    client_snapshot_end(&first);
    pthread_join(thread, NULL);
    assert_true(paid->taken);
    stop_paid(paid);
}

static void that_of_a_reader_yields_to_the_chief(void **state)
{
    struct paid_cluster *paid = start_paid();
    struct client_snapshot first, other;
    struct bytes chunk;

    (void)state;
    paid->budget.limit_bytes = paid->budget.used_bytes + ALL_BYTES - 1;
    assert_ok(client_snapshot_begin(&paid->reader, false, 1000, &other));
    assert_ok(client_snapshot_begin(&paid->chief, false, 1000, &first));
    assert_ok(other.source.begin(&other.source, "w"));
    assert_int_equal(other.source.next(&other.source, &chunk).code, STATUS_ABORTED);
    client_snapshot_end(&other);
    assert_int_equal(client_snapshot_begin(&paid->reader, false, 1000, &other).code,
                     STATUS_ABORTED);
    client_snapshot_end(&first);
    stop_paid(paid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_taken_without_the_push_if_a_ps_gave_it_up_at_the_deadline),
        cmocka_unit_test(of_a_torn_step_names_the_worker_whose_push_is_missing),
        cmocka_unit_test(a_second_one_is_charged),
        cmocka_unit_test(a_second_one_waits_if_the_budget_lacks_memory_for_it),
        cmocka_unit_test(that_of_a_reader_yields_to_the_chief),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
