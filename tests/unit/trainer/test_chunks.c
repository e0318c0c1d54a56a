/* Pulls and pushes whose values are too large for one message and go in several chunks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "small_cluster.h"
#include "support/status.h"

#define STEPS 5

/* ---- the same bits ---- */

struct outcome {
    float w[SMALL_W], b[SMALL_B], slot[SMALL_W];
    int chunks; /* per pull or push of the chief */
};

struct worker_run {
    struct small_cluster *cluster;
    uint32_t index;
    size_t chunk_bytes;
    struct outcome *outcome; /* NULL: not recorded */
    pthread_t thread;
};

/* The gradients depend on the values, so a wrong value in a pull changes the result. */
static void run_steps(struct ps_client *client, uint32_t index)
{
    float w[SMALL_W], b[SMALL_B];
    const struct variable_gradient gradients[] = { { .values = w }, { .values = b } };

    assert_ok(client_pull(client));
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < SMALL_W; i++)
            w[i] = ((const float *)client->values[0])[i] * .3f + (float)(i + (int)index);
        for (int i = 0; i < SMALL_B; i++)
            b[i] = ((const float *)client->values[1])[i] * .7f - (float)(step * (int)(index + 1));
        assert_ok(client_push(client, gradients, step % 2 == 0));
        if (step % 2 != 0)
            assert_ok(client_pull(client));
    }
}

static void take_outcome(struct ps_client *client, struct outcome *out)
{
    struct client_snapshot snapshot;
    struct bytes chunk;

    assert_ok(client_pull(client));
    memcpy(out->w, client->values[0], sizeof out->w);
    memcpy(out->b, client->values[1], sizeof out->b);
    out->chunks = client->chunks_count;
    assert_ok(client_snapshot_begin(client, true, 20000, &snapshot));
    client_snapshot_select(&snapshot, 0, 1);
    for (size_t at = 0; at < sizeof out->slot; at += chunk.size) {
        assert_ok(snapshot.source.next(&snapshot.source, &chunk));
        memcpy((char *)out->slot + at, chunk.data, chunk.size);
    }
    client_snapshot_end(&snapshot);
}

static void *run_worker(void *context)
{
    struct worker_run *run = context;
    struct ps_client client;

    small_client_with(run->cluster, run->index, 50 + run->index, run->chunk_bytes, &client);
    assert_ok(client_join(&client, true, 20000));
    run_steps(&client, run->index);
    if (run->outcome != NULL)
        take_outcome(&client, run->outcome);
    client_finish(&client);
    return NULL;
}

static void run_job(int ps_count, bool sync, size_t chunk_bytes, struct outcome *out)
{
    const float first[SMALL_W] = { 1, 2, 3 };
    const void *const values[] = { first, first };
    struct client_job job = {
        .optimizer = "adam", .learning_rate = .5f, .workers = sync ? 3 : 1, .sync = sync
    };
    struct small_cluster cluster;
    struct ps_client chief;
    struct worker_run runs[3];

    small_start(&cluster, ps_count);
    small_client(&cluster, 0, 50, &chief); /* the same process as the worker of rank 0 */
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(client_create(&chief, &job, values));
    for (uint32_t i = 0; i < job.workers; i++) {
        /* One of three workers sends one message per push; the ps accepts both forms. */
        runs[i] = (struct worker_run){ .cluster = &cluster,
                                       .index = i,
                                       .chunk_bytes = i == 1 ? 0 : chunk_bytes,
                                       .outcome = i == 0 ? out : NULL };
        pthread_create(&runs[i].thread, NULL, run_worker, &runs[i]);
    }
    for (uint32_t i = 0; i < job.workers; i++)
        pthread_join(runs[i].thread, NULL);
    client_finish(&chief);
    small_stop(&cluster);
}

static void a_job_learns_the_same_bits_in_any_number_of_chunks(void **state)
{
    static const size_t sizes[] = { 1, 16, 24, 32, 48 };
    int most = 0;
    (void)state;

    for (int sync = 0; sync <= 1; sync++)
        for (int ps_count = 1; ps_count <= 3; ps_count++) {
            struct outcome whole, cut;
            run_job(ps_count, sync, 0, &whole);
            assert_int_equal(whole.chunks, ps_count);
            for (size_t i = 0; i < COUNT(sizes); i++) {
                run_job(ps_count, sync, sizes[i], &cut);
                most = cut.chunks > most ? cut.chunks : most;
                assert_memory_equal(cut.w, whole.w, sizeof cut.w);
                assert_memory_equal(cut.b, whole.b, sizeof cut.b);
                assert_memory_equal(cut.slot, whole.slot, sizeof cut.slot);
            }
        }
    assert_true(most >= 4);
}

/* ---- single chunks ---- */

/* The ps has the pieces 0, 1 and 2 of "w", 16 bytes each, and 3 of "b". */

struct pair {
    struct small_cluster cluster;
    struct ps_client chief, other; /* incarnations 10 and 11 */
};

static int start_pair(void **state, bool sync)
{
    struct pair *pair = calloc(1, sizeof *pair);

    small_start(&pair->cluster, 1);
    assert_int_equal(pair->cluster.placement.pieces_count, 4);
    small_client(&pair->cluster, 0, 10, &pair->chief);
    small_client(&pair->cluster, 1, 11, &pair->other);
    assert_ok(client_join(&pair->chief, false, 1000));
    assert_ok(small_create(&pair->chief, 1 + !sync, sync));
    assert_ok(client_join(&pair->other, true, 1000));
    *state = pair;
    return 0;
}

static int start(void **state)
{
    return start_pair(state, false);
}

static int start_sync(void **state)
{
    return start_pair(state, true);
}

static int stop(void **state)
{
    struct pair *pair = *state;

    client_finish(&pair->chief);
    client_finish(&pair->other);
    small_stop(&pair->cluster);
    free(pair);
    return 0;
}

/* A chunk of a push, with gradients of 1. `released`: the ps no longer needs its bytes. */
struct sent {
    struct bytes piece;
    _Atomic bool released;
    struct message header;
    struct call_group calls;
};

static void note_released(void *owner)
{
    struct sent *sent = owner;

    message_release(&sent->header);
    sent->released = true;
}

static void send_chunk(struct pair *pair, uint64_t incarnation, uint64_t sequence, uint32_t first,
                       uint32_t end, size_t size, struct sent *sent)
{
    struct push_request header = { 0 };
    struct ticket ticket = { 0 };

    ticket.incarnation = incarnation;
    ticket.generation = 1;
    header.ticket = &ticket;
    header.sequence = sequence;
    header.pull = true;
    header.first_piece = first;
    header.end_piece = end;
    sent->piece = (struct bytes){ (const char *)ones, size };
    sent->released = false;
    sent->header = pack_push_request(&header);
    call_group_init(&sent->calls, clock_monotonic(), 1);
    call_group_begin(&sent->calls);
    struct message request = { .header = sent->header.header,
                               .pieces = &sent->piece,
                               .pieces_count = 1,
                               .release = note_released,
                               .owner = sent };
    call_group_add(&sent->calls, pair->cluster.channels[0], PS_PUSH, &request,
                   clock_deadline_ns(clock_monotonic(), 20000));
}

/* Waits for the answer: `size` bytes of floats that all equal `value`. */
static void assert_answer(struct sent *sent, size_t size, float value)
{
    struct payload_cursor payload = { .message = &sent->calls.replies[0] };
    float values[SMALL_W + SMALL_B];

    assert_ok(call_group_wait(&sent->calls));
    assert_true(sent->released);
    assert_int_equal(message_payload_size(&sent->calls.replies[0]), size);
    payload_copy(&payload, values, size);
    for (size_t i = 0; i < size / sizeof(float); i++)
        assert_true(values[i] == value);
    call_group_finish(&sent->calls);
}

static void assert_values(struct pair *pair, float w, float b)
{
    assert_ok(client_pull(&pair->other));
    for (int i = 0; i < SMALL_W; i++)
        assert_true(((const float *)pair->other.values[0])[i] == w);
    for (int i = 0; i < SMALL_B; i++)
        assert_true(((const float *)pair->other.values[1])[i] == b);
}

static void a_push_is_applied_when_its_last_chunk_is_there(void **state)
{
    struct pair *pair = *state;
    struct sent first, middle, last;

    send_chunk(pair, 10, 1, 3, 0, 8, &last); /* in any order */
    send_chunk(pair, 10, 1, 0, 2, 32, &first);
    assert_values(pair, 1, 2);
    assert_ok(client_push(&pair->other, all_ones, false)); /* another worker's push does not wait */
    assert_values(pair, .5f, 1.5f);
    assert_false(first.released);
    send_chunk(pair, 10, 1, 2, 3, 16, &middle);
    assert_answer(&first, 32, 0);
    assert_answer(&middle, 16, 0);
    assert_answer(&last, 8, 1);
    assert_values(pair, 0, 1);
    assert_int_equal(ps_global_step(pair->cluster.ps[0]), 2);
}

static void a_worker_lost_between_two_chunks_leaves_nothing(void **state)
{
    struct pair *pair = *state;
    struct sent first, last, again;

    send_chunk(pair, 10, 1, 0, 2, 32, &first);
    call_group_cancel(&first.calls); /* as a broken connection does */
    assert_int_equal(call_group_wait(&first.calls).code, STATUS_CANCELLED);
    assert_true(first.released);
    send_chunk(pair, 10, 1, 2, 0, 24, &last);
    assert_values(pair, 1, 2);
    assert_int_equal(ps_global_step(pair->cluster.ps[0]), 0);
    send_chunk(pair, 10, 1, 0, 2, 32, &again); /* the same process repeats its chunk */
    assert_answer(&again, 32, .5f);
    call_group_finish(&first.calls);
    assert_ok(call_group_wait(&last.calls));
    call_group_finish(&last.calls);
    assert_values(pair, .5f, 1.5f);
}

static void a_process_that_takes_the_place_of_a_lost_one_has_none_of_its_chunks(void **state)
{
    struct pair *pair = *state;
    struct sent first, last, own;
    struct ps_client later;

    send_chunk(pair, 10, 1, 0, 2, 32, &first);
    small_client(&pair->cluster, 0, 12, &later);
    assert_ok(client_join(&later, true, 1000));
    assert_int_equal(call_group_wait(&first.calls).code, STATUS_ABORTED);
    assert_true(first.released);
    send_chunk(pair, 12, 1, 2, 0, 24, &last);
    assert_int_equal(ps_global_step(pair->cluster.ps[0]), 0);
    send_chunk(pair, 12, 1, 0, 2, 32, &own);
    assert_answer(&own, 32, .5f);
    call_group_finish(&first.calls);
    assert_ok(call_group_wait(&last.calls));
    call_group_finish(&last.calls);
    client_finish(&later);
}

static void a_chunk_that_comes_twice_is_applied_once_and_answered_twice(void **state)
{
    struct pair *pair = *state;
    struct sent first, again, last, late;

    send_chunk(pair, 10, 1, 0, 2, 32, &first);
    send_chunk(pair, 10, 1, 0, 2, 32, &again);
    assert_int_equal(ps_global_step(pair->cluster.ps[0]), 0);
    send_chunk(pair, 10, 1, 2, 0, 24, &last);
    assert_answer(&first, 32, .5f);
    assert_answer(&again, 32, .5f);
    assert_ok(call_group_wait(&last.calls));
    send_chunk(pair, 10, 1, 0, 1, 16, &late);
    assert_answer(&late, 16, .5f);
    assert_int_equal(ps_global_step(pair->cluster.ps[0]), 1);
    call_group_finish(&last.calls);
}

static void chunks_of_two_pushes_are_not_mixed(void **state)
{
    struct pair *pair = *state;
    struct sent first, last, rest;

    send_chunk(pair, 10, 1, 0, 2, 32, &first);
    send_chunk(pair, 10, 2, 2, 0, 24, &last);
    assert_int_equal(ps_global_step(pair->cluster.ps[0]), 0);
    send_chunk(pair, 10, 2, 0, 2, 32, &rest);
    assert_answer(&rest, 32, .5f);
    assert_answer(&first, 32, .5f); /* of an earlier push than the applied one */
    assert_ok(call_group_wait(&last.calls));
    call_group_finish(&last.calls);
}

static void a_chunk_of_no_pieces_or_of_other_bytes_is_refused(void **state)
{
    static const struct {
        uint32_t first, end;
        size_t size;
        const char *text;
    } rows[] = {
        { 2, 2, 0, "pieces from 2 up to, but not including, 2: must be" },
        { 3, 1, 0, "pieces from 3 up to" },
        { UINT32_MAX, 0, 0, "pieces from 4294967295 up to" },
        { 0, 2, 24, "gradients of 24 bytes, but the pieces that ps 0 trains have 32" },
        { 3, 0, 16, "gradients of 16 bytes, but the pieces that ps 0 trains have 8" },
        { 7, 0, 4, "gradients of 4 bytes, but the pieces that ps 0 trains have 0" },
        { 0, 0, 48, "gradients of 48 bytes, but the pieces that ps 0 trains have 56" },
    };
    struct pair *pair = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sent sent;
        send_chunk(pair, 10, 1, rows[i].first, rows[i].end, rows[i].size, &sent);
        struct status status = call_group_wait(&sent.calls);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, rows[i].text));
        assert_true(sent.released);
        call_group_finish(&sent.calls);
    }
}

/* ---- a step between two chunks of a pull ---- */

/* A channel to the ps that lets the chief make a step before the second pull. */
struct stepping {
    struct channel channel; /* first */
    struct pair *pair;
    int pulls;
};

static struct client_call *stepping_begin(struct channel *channel, const char *path,
                                          struct message *request,
                                          const struct call_options *options, reply_function *done,
                                          void *context)
{
    struct stepping *stepping = (struct stepping *)channel;
    struct channel *below = stepping->pair->cluster.channels[0];

    if (strcmp(path, PS_PULL) == 0 && ++stepping->pulls == 2)
        assert_ok(client_push(&stepping->pair->chief, all_ones, false));
    return channel_begin(below, path, request, options, done, context);
}

static void a_pull_of_a_synchronous_job_is_of_one_step(void **state)
{
    static const struct channel_type type = { .begin = stepping_begin };
    struct pair *pair = *state;
    struct stepping stepping = { .channel = { &type, clock_monotonic(), NULL }, .pair = pair };
    struct channel *channels[] = { &stepping.channel };
    struct ps_client reader;

    small_client_with(&pair->cluster, 2, 12, 32, &reader);
    reader.options.reader = true;
    reader.options.channels = channels;
    assert_ok(client_join(&reader, true, 1000));
    struct status status = client_pull(&reader);
    assert_int_equal(status.code, STATUS_ABORTED);
    assert_non_null(strstr(status.message, "made a step between two chunks"));
    assert_ok(client_pull(&reader)); /* no step comes between */
    for (int i = 0; i < SMALL_W; i++)
        assert_true(((const float *)reader.values[0])[i] == .5f);
    client_finish(&reader);
}

#define CHUNKS_TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_learns_the_same_bits_in_any_number_of_chunks),
        CHUNKS_TEST(a_push_is_applied_when_its_last_chunk_is_there),
        CHUNKS_TEST(a_worker_lost_between_two_chunks_leaves_nothing),
        CHUNKS_TEST(a_process_that_takes_the_place_of_a_lost_one_has_none_of_its_chunks),
        CHUNKS_TEST(a_chunk_that_comes_twice_is_applied_once_and_answered_twice),
        CHUNKS_TEST(chunks_of_two_pushes_are_not_mixed),
        CHUNKS_TEST(a_chunk_of_no_pieces_or_of_other_bytes_is_refused),
        cmocka_unit_test_setup_teardown(a_pull_of_a_synchronous_job_is_of_one_step, start_sync,
                                        stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
