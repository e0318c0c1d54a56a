/* Ending the training of all tasks early: client_stop. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "small_cluster.h"
#include "support/status.h"
#include "trainer/job/worker.h"
#include "support/test_group.h"

#define LAST 1000
/* Of a job that the chief stops: nobody comes so far before its thread runs on a busy machine. */
#define FAR  1000000000

/* Pushes ones, and asks for the stop before the push after `stops_after` steps of its own. */
struct source {
    struct gradient_source source; /* first */
    struct ps_client *client;
    int steps, stops_after; /* 0: never */
};

static struct status step(struct gradient_source *base, const void *const *values,
                          const struct variable_gradient **gradients, float *loss)
{
    struct source *source = (struct source *)base;

    (void)values;
    *gradients = all_ones;
    *loss = 1;
    source->steps++;
    return status_ok();
}

static struct status stepped(void *context, uint64_t global_step, const float *loss)
{
    struct source *source = context;

    (void)global_step, (void)loss;
    return source->steps == source->stops_after ? client_stop(source->client) : status_ok();
}

struct task {
    pthread_t thread;
    struct ps_client client;
    struct source source;
    uint64_t last;
    struct progress progress;
    struct status status;
};

static void *train(void *context)
{
    struct task *task = context;
    const struct step_hook hook = { stepped, &task->source, NULL };

    task->status =
        worker_steps(&task->client, &task->source.source, task->last, &task->progress, &hook);
    return NULL;
}

static const struct row {
    const char *label;
    uint32_t workers;
    bool sync;
    int stops_after; /* the chief */
    uint64_t last;   /* 0: any */
} rows[] = {
    { "alone, at once", 1, true, 5, 5 },
    { "alone in an asynchronous job, at once", 1, false, 5, 5 },
    { "synchronous, all after the step under way", 3, true, 5, 6 },
    { "asynchronous, each after its push", 3, false, 5, 0 },
    { "never", 2, true, 0, LAST },
};

static void stops_all_workers(void **state)
{
    const struct row *row = *state;
    struct small_cluster cluster;
    struct task tasks[3] = { 0 };
    uint64_t last = row->stops_after > 0 ? FAR : LAST;

    small_start(&cluster, 2);
    for (uint32_t i = 0; i < row->workers; i++) {
        struct task *task = &tasks[i];
        small_client(&cluster, i, 1 + i, &task->client);
        task->last = last;
        task->source = (struct source){ .source = { .step = step },
                                        .client = &task->client,
                                        .stops_after = i == 0 ? row->stops_after : 0 };
        assert_ok(client_join(&task->client, i > 0, 1000));
        if (i == 0)
            assert_ok(small_create_until(&task->client, row->workers, row->sync, last));
    }
    for (uint32_t i = 0; i < row->workers; i++)
        assert_int_equal(pthread_create(&tasks[i].thread, NULL, train, &tasks[i]), 0);
    uint64_t pushed = 0;
    for (uint32_t i = 0; i < row->workers; i++) {
        pthread_join(tasks[i].thread, NULL);
        assert_ok(tasks[i].status);
        pushed += (uint64_t)tasks[i].source.steps;
        if (row->last != 0)
            assert_int_equal(tasks[i].client.global_step, row->last);
        assert_true(tasks[i].client.global_step >= tasks[i].client.stop_step);
    }
    /* No gradient is lost, and no worker makes more than the step under way. */
    assert_int_equal(ps_global_step(cluster.ps[0]), row->sync ? pushed / row->workers : pushed);
    if (row->stops_after > 0)
        assert_true(ps_global_step(cluster.ps[0]) <= tasks[0].client.stop_step + row->workers);
    for (uint32_t i = 0; i < row->workers; i++)
        client_finish(&tasks[i].client);
    small_stop(&cluster);
}

/* A task that joins afterwards learns it as well; the values of the stopping task stay. */
static void is_known_to_those_who_come_later(void **state)
{
    struct small_cluster cluster;
    struct ps_client chief, reader, late;
    (void)state;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &late);
    small_client(&cluster, 0, 3, &reader);
    reader.options.reader = true;
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create_until(&chief, 2, false, LAST));
    assert_ok(client_join(&reader, true, 1000));
    assert_ok(client_pull(&chief));
    assert_ok(client_push(&chief, all_ones, true));
    assert_ok(client_stop(&reader));
    assert_int_equal(reader.stop_step, 1);
    assert_ok(client_stop(&chief)); /* again changes nothing */
    assert_int_equal(chief.stop_step, 1);
    assert_true(((const float *)chief.values[0])[0] == .5f);
    assert_ok(client_join(&late, true, 1000));
    assert_int_equal(late.stop_step, 1);
    assert_int_equal(worker_last_step(&late, LAST), 1);
    assert_int_equal(worker_last_step(&chief, 0), 0);
    client_finish(&chief);
    client_finish(&reader);
    client_finish(&late);
    small_stop(&cluster);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(is_known_to_those_who_come_later),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, stops_all_workers);
    return test_group_run(&group, "stop early", NULL, NULL);
}
