/* Variables that are pulled and pushed by rows, over a few ps tasks in one process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>

#include "base/arena.h"
#include "small_cluster.h"
#include "support/status.h"
#include "trainer/ps/variables.h"

/* "emb": 20 rows of 2 floats; "bias": 30 rows of 1; "frozen": 6 rows of 2, not trained; "w": as a
 * whole. In pieces of 16 bytes, so 2 rows of emb and 4 of bias each. */
enum { EMB, FROZEN, W, BIAS, VARIABLES };
static const struct placed_variable rows_variables[VARIABLES] = {
    [EMB] = { .name = "emb",
              .dtype = DT_FLOAT,
              .shape = { .rank = 2, .dims = { 20, 2 } },
              .trainable = true,
              .by_rows = true },
    [FROZEN] = { .name = "frozen",
                 .dtype = DT_FLOAT,
                 .shape = { .rank = 2, .dims = { 6, 2 } },
                 .by_rows = true },
    [W] = { .name = "w",
            .dtype = DT_FLOAT,
            .shape = { .rank = 2, .dims = { 6, 2 } },
            .trainable = true },
    [BIAS] = { .name = "bias",
               .dtype = DT_FLOAT,
               .shape = { .rank = 1, .dims = { 30 } },
               .trainable = true,
               .by_rows = true },
};
#define ELEMENTS_MAX 40
#define STEPS        6

static int rows_of(int v)
{
    return (int)rows_variables[v].shape.dims[0];
}

static int row_floats(int v)
{
    return rows_variables[v].shape.rank > 1 ? (int)rows_variables[v].shape.dims[1] : 1;
}

static float initial_values[VARIABLES][ELEMENTS_MAX];

static int fill_first_values(void **state)
{
    (void)state;
    for (int v = 0; v < VARIABLES; v++)
        for (int i = 0; i < ELEMENTS_MAX; i++)
            initial_values[v][i] = (float)(i + 1) * .1f - (float)v;
    return 0;
}

static struct status create(struct ps_client *chief, const struct client_job *job)
{
    const void *values[VARIABLES];

    for (int v = 0; v < VARIABLES; v++)
        values[v] = initial_values[v];
    return client_create(chief, job, values);
}

static void start(struct small_cluster *cluster, int ps_count)
{
    small_start_placed(cluster, ps_count, rows_variables, VARIABLES, NULL, NULL, 0);
}

/* ---- a worker, whose gradients depend on the values ---- */

/* The rows of one step. */
struct batch {
    int64_t ids[VARIABLES][ELEMENTS_MAX];
    struct row_ids rows[VARIABLES];
    float g[VARIABLES][ELEMENTS_MAX];
    struct variable_gradient gradients[VARIABLES];
};

/* About a third of the rows. No worker has row 7 of emb, and at step 3 nobody has any. */
static bool has_row(uint32_t worker, int step, int v, int64_t row)
{
    return (v != EMB || row != 7) && step != 3 && (row * 5 + step * 3 + (int)worker + v) % 7 < 3;
}

static bool frozen_is_read = true;
static bool rows_are_of_values; /* as the gradients say */

static void choose_rows(struct batch *batch, uint32_t worker, int step)
{
    for (int v = 0; v < VARIABLES; v++) {
        bool reads = v != W && (v != FROZEN || frozen_is_read);
        batch->rows[v] = (struct row_ids){ batch->ids[v], 0 };
        for (int64_t row = 0; row < rows_of(v) && reads; row++)
            if (has_row(worker, step, v, row))
                batch->ids[v][batch->rows[v].count++] = row;
    }
}

static void want(struct ps_client *client, const struct batch *batch)
{
    for (int v = 0; v < VARIABLES; v++)
        if (v != W)
            client_select_rows(client, v, batch->rows[v]);
}

static float gradient_of(float value, float sum, uint32_t worker, int step)
{
    return .3f * value + .02f * sum + (float)(step + 1) * .01f * (float)(worker + 1);
}

/* From the values of the batch's rows: [count, row] each. As in a model, each gradient depends on
 * rows of all ps tasks. */
static void compute(struct batch *batch, const void *const *values, uint32_t worker, int step)
{
    float sum = 0;

    for (size_t i = 0; i < batch->rows[EMB].count * 2; i++)
        sum += ((const float *)values[EMB])[i];
    for (int v = 0; v < VARIABLES; v++) {
        size_t rows = v == W ? (size_t)rows_of(v) : batch->rows[v].count;
        for (size_t i = 0; i < rows * (size_t)row_floats(v); i++)
            batch->g[v][i] = gradient_of(((const float *)values[v])[i], sum, worker, step);
        batch->gradients[v] = (struct variable_gradient){ .values = batch->g[v],
                                                          .rows = batch->rows[v],
                                                          .of_values = rows_are_of_values };
    }
}

static struct status run_steps(struct ps_client *client, uint32_t worker, int from, int to)
{
    struct batch batches[2];

    choose_rows(&batches[from % 2], worker, from);
    want(client, &batches[from % 2]);
    TRY(client_pull(client));
    for (int step = from; step < to; step++) {
        struct batch *batch = &batches[step % 2], *next = &batches[(step + 1) % 2];
        compute(batch, client->values, worker, step);
        choose_rows(next, worker, step + 1);
        want(client, next);
        TRY(client_push(client, batch->gradients, step % 3 != 2));
        if (step % 3 != 2)
            continue;
        want(client, next);
        TRY(client_pull(client));
    }
    return status_ok();
}

/* ---- the same bits for any number of ps tasks ---- */

struct outcome {
    float values[VARIABLES][ELEMENTS_MAX], slots[VARIABLES][ELEMENTS_MAX];
    float scalars[OPTIMIZER_SCALARS_MAX];
};

static void read_part(struct client_snapshot *snapshot, int v, int part, float *out)
{
    size_t size = (size_t)(rows_of(v) * row_floats(v)) * sizeof(float), at = 0;
    struct bytes chunk;

    client_snapshot_select(snapshot, v, part);
    for (; at < size; at += chunk.size) {
        assert_ok(snapshot->source.next(&snapshot->source, &chunk));
        assert_true(chunk.size > 0 && chunk.size <= size - at);
        memcpy((char *)out + at, chunk.data, chunk.size);
    }
}

static void take_outcome(struct ps_client *client, bool slots, struct outcome *out)
{
    struct client_snapshot snapshot;

    assert_ok(client_snapshot_begin(client, slots, 20000, &snapshot));
    for (int v = 0; v < VARIABLES; v++) {
        read_part(&snapshot, v, 0, out->values[v]);
        if (slots && rows_variables[v].trainable)
            read_part(&snapshot, v, 1, out->slots[v]);
    }
    memcpy(out->scalars, snapshot.scalars, sizeof out->scalars);
    client_snapshot_end(&snapshot);
}

struct worker_run {
    struct small_cluster *cluster;
    uint32_t index;
    size_t chunk_bytes;
    pthread_t thread;
};

static void *run_worker(void *context)
{
    struct worker_run *run = context;
    struct ps_client client;

    small_client_with(run->cluster, run->index, 50 + run->index, run->chunk_bytes, &client);
    assert_ok(client_join(&client, true, 20000));
    assert_ok(run_steps(&client, run->index, 0, STEPS));
    client_finish(&client);
    return NULL;
}

static void run_job(int ps_count, const struct client_job *job, size_t chunk_bytes,
                    struct outcome *out)
{
    struct small_cluster cluster;
    struct ps_client chief;
    struct worker_run runs[3];

    *out = (struct outcome){ 0 };
    start(&cluster, ps_count);
    small_client(&cluster, 0, 50, &chief); /* the same process as the worker of rank 0 */
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(create(&chief, job));
    for (uint32_t i = 0; i < job->workers; i++) {
        runs[i] = (struct worker_run){ &cluster, i, i == 1 ? 0 : chunk_bytes, 0 };
        pthread_create(&runs[i].thread, NULL, run_worker, &runs[i]);
    }
    for (uint32_t i = 0; i < job->workers; i++)
        pthread_join(runs[i].thread, NULL);
    take_outcome(&chief, optimizer_find(job->optimizer)->slots_count > 0, out);
    client_finish(&chief);
    small_stop(&cluster);
}

static void a_job_learns_the_same_bits_for_any_number_of_ps_tasks(void **state)
{
    static const char *const optimizers[] = { "sgd", "adagrad", "adam", "lazy_adam", "adagrad_da" };
    static const size_t chunks[] = { 0, 1, 40 };
    (void)state;

    for (size_t o = 0; o < COUNT(optimizers); o++)
        for (int sync = 0; sync <= 1; sync++) {
            struct client_job job = { .optimizer = optimizers[o],
                                      .learning_rate = .1f,
                                      .workers = sync ? 3 : 1,
                                      .sync = sync };
            struct outcome one, other;
            run_job(1, &job, 0, &one);
            assert_memory_equal(one.values[FROZEN], initial_values[FROZEN], 12 * sizeof(float));
            assert_memory_not_equal(one.values[EMB], initial_values[EMB], 40 * sizeof(float));
            for (int i = 0; i < 3; i++) {
                run_job(i == 0 ? 1 : i == 1 ? 2 : 5, &job, chunks[i], &other);
                assert_memory_equal(&one, &other, sizeof one);
            }
            run_job(2, &job, 24, &other);
            assert_memory_equal(&one, &other, sizeof one);
        }
}

static void the_rows_of_a_pull_are_pushed_as_well(void **state)
{
    static const size_t chunks[] = { 0, 1, 40 };
    (void)state;

    frozen_is_read = false;
    for (int sync = 0; sync <= 1; sync++) {
        struct client_job job = {
            .optimizer = "adagrad", .learning_rate = .1f, .workers = sync ? 3 : 1, .sync = sync
        };
        struct outcome listed, again;
        rows_are_of_values = false;
        run_job(1, &job, 0, &listed);
        rows_are_of_values = true;
        for (int i = 0; i < 3; i++) {
            run_job(i == 0 ? 1 : i == 1 ? 2 : 5, &job, chunks[i], &again);
            assert_memory_equal(&listed, &again, sizeof listed);
        }
    }
    frozen_is_read = true;
    rows_are_of_values = false;
}

/* The gradient of element i of emb: the mean over the workers that have its row. */
static float mean_of(const float *values, const float *sums, int i, int step)
{
    float total = 0;
    int having = 0;

    for (uint32_t w = 0; w < 3; w++)
        if (has_row(w, step, EMB, i / 2)) {
            total += gradient_of(values[i], sums[w], w, step);
            having++;
        }
    return having > 0 ? total / (float)having : 0;
}

static void step_without_a_ps(float *values, int step)
{
    float sums[3] = { 0 }, means[ELEMENTS_MAX];

    for (uint32_t w = 0; w < 3; w++)
        for (int i = 0; i < 2 * rows_of(EMB); i++)
            sums[w] += has_row(w, step, EMB, i / 2) ? values[i] : 0;
    for (int i = 0; i < 2 * rows_of(EMB); i++)
        means[i] = mean_of(values, sums, i, step);
    for (int i = 0; i < 2 * rows_of(EMB); i++)
        values[i] -= .1f * means[i];
}

static void a_step_takes_the_mean_of_the_workers_that_have_a_row(void **state)
{
    struct client_job job = {
        .optimizer = "sgd", .learning_rate = .1f, .workers = 3, .sync = true
    };
    float expected[ELEMENTS_MAX];
    struct outcome outcome;
    (void)state;

    memcpy(expected, initial_values[EMB], sizeof expected);
    for (int step = 0; step < STEPS; step++)
        step_without_a_ps(expected, step);
    run_job(2, &job, 0, &outcome);
    for (int i = 0; i < ELEMENTS_MAX; i++)
        assert_true(fabsf(outcome.values[EMB][i] - expected[i]) < 4e-6f); /* rounds otherwise */
    assert_memory_equal(&outcome.values[EMB][14], &initial_values[EMB][14], 2 * sizeof(float));
}

/* ---- a push that reached half of the ps tasks ---- */

static void *run_other(void *context)
{
    struct ps_client *client = context;

    assert_ok(run_steps(client, 0, 0, STEPS));
    return NULL;
}

/* A worker dies when its push of step 1 has reached ps 0 and not ps 1. Its successor computes the
 * same gradients from the rows as they were before that step. */
static void run_torn(const char *optimizer, struct outcome *out)
{
    struct small_cluster cluster;
    struct ps_client chief, dying, again;
    struct client_job job = {
        .optimizer = optimizer, .learning_rate = .1f, .workers = 2, .sync = true
    };
    pthread_t thread;

    *out = (struct outcome){ 0 };
    start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &dying);
    small_client(&cluster, 1, 3, &again);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(create(&chief, &job));
    assert_ok(client_join(&dying, true, 1000));
    pthread_create(&thread, NULL, run_other, &chief);
    assert_ok(run_steps(&dying, 1, 0, 1));
    struct channel *cut_off = loopback_open(&ps_service, cluster.ps[1], clock_monotonic());
    struct channel *half[] = { cluster.channels[0], cut_off };
    struct batch batch;
    choose_rows(&batch, 1, 1);
    want(&dying, &batch);
    assert_ok(client_pull(&dying));
    compute(&batch, dying.values, 1, 1);
    loopback_break(cut_off);
    dying.options.channels = half;
    dying.options.call_timeout_ms = 1000;
    assert_int_equal(client_push(&dying, batch.gradients, true).code, STATUS_UNAVAILABLE);
    assert_int_equal(ps_global_step(cluster.ps[0]), 2);
    assert_int_equal(ps_global_step(cluster.ps[1]), 1);
    assert_ok(client_join(&again, true, 1000));
    assert_ok(client_pull(&again));
    assert_true(again.torn);
    assert_int_equal(again.global_step, 1);
    assert_ok(run_steps(&again, 1, 1, STEPS));
    pthread_join(thread, NULL);
    take_outcome(&chief, optimizer_find(optimizer)->slots_count > 0, out);
    client_finish(&chief);
    client_finish(&dying);
    client_finish(&again);
    channel_close(cut_off);
    small_stop(&cluster);
}

static void a_push_that_reached_half_of_the_ps_tasks_is_made_again(void **state)
{
    static const char *const optimizers[] = { "adagrad", "adam", "lazy_adam" };
    (void)state;

    for (size_t o = 0; o < COUNT(optimizers); o++) {
        struct client_job job = {
            .optimizer = optimizers[o], .learning_rate = .1f, .workers = 2, .sync = true
        };
        struct outcome whole, torn;
        run_job(2, &job, 0, &whole);
        run_torn(optimizers[o], &torn);
        assert_memory_equal(&whole, &torn, sizeof whole);
    }
}

/* ---- requests ---- */

/* The only ps has the pieces 0-9 of emb (rows 0-19), 10-12 of frozen (rows 20-25), 13-15 of w,
 * 16-23 of bias (rows 26-55). */

struct lone {
    struct small_cluster cluster;
    struct budget budget;
    struct ps *paying;
    struct channel *channel;
    struct ps_client chief; /* incarnation 10 */
};

static int start_lone(void **state)
{
    struct lone *lone = calloc(1, sizeof *lone);
    struct ps_options options = {
        .cluster = "test", .incarnation = 100, .ps_list = "a:1,b:1", .budget = &lone->budget
    };
    struct client_job job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1 };

    start(&lone->cluster, 1);
    lone->budget.limit_bytes = 1 << 20;
    lone->paying = ps_create(&options);
    lone->channel = lone->cluster.channels[0];
    lone->cluster.channels[0] = loopback_open(&ps_service, lone->paying, clock_monotonic());
    small_client(&lone->cluster, 0, 10, &lone->chief);
    assert_ok(client_join(&lone->chief, false, 1000));
    assert_ok(create(&lone->chief, &job));
    *state = lone;
    return 0;
}

static int stop_lone(void **state)
{
    struct lone *lone = *state;

    client_finish(&lone->chief);
    channel_close(lone->cluster.channels[0]);
    ps_destroy(lone->paying);
    assert_int_equal(atomic_load(&lone->budget.used_bytes), 0);
    lone->cluster.channels[0] = lone->channel;
    small_stop(&lone->cluster);
    free(lone);
    return 0;
}

static struct status ask(struct lone *lone, const char *path, struct message *header,
                         struct bytes payload, struct message *reply)
{
    struct message request = protocol_attach(*header, &payload, 1);

    return channel_call(lone->cluster.channels[0], path, &request,
                        clock_deadline_ns(clock_monotonic(), 20000), reply);
}

static void assert_slots(const struct lone *lone, int slots, bool together)
{
    const struct variables *variables = lone->paying->variables;
    const char *end = NULL;

    for (int i = 0; i < variables->slices_count; i++) {
        const struct slice *slice = &variables->slices[i];
        for (int s = 0; s < SLICE_PARTS_MAX - 1; s++)
            assert_true((slice->now.parts[1 + s] != NULL) == (slice->trainable && s < slots));
        for (int s = 0; s < slots && slice->trainable; s++) {
            const char *slot = slice->now.parts[1 + s]->data;
            if (end != NULL && together)
                assert_in_range((uintptr_t)slot, (uintptr_t)end, (uintptr_t)end + 64);
            end = slot + slice->size_bytes;
        }
    }
}

/* The first generation that has slots places them. A later one may have another optimizer. */
static void slots_lie_together(void **state)
{
    static const struct {
        const char *optimizer;
        int slots;
        bool together;
    } rows[] = {
        { "adagrad", 1, true }, { "ftrl", 2, false }, { "sgd", 0, true }, { "adagrad", 1, false }
    };
    struct lone *lone = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct client_job job = { .optimizer = rows[i].optimizer,
                                  .learning_rate = .5f,
                                  .workers = 1 };
        struct outcome out;
        assert_ok(create(&lone->chief, &job));
        assert_slots(lone, rows[i].slots, rows[i].together);
        assert_ok(run_steps(&lone->chief, 0, 0, STEPS));
        take_outcome(&lone->chief, false, &out);
        assert_ok(run_steps(&lone->chief, 0, 0, STEPS)); /* into copies */
    }
}

/* Pushes a gradient of every row. */
static void push_all_rows(struct ps_client *client)
{
    struct batch batch = { 0 };
    const void *values[VARIABLES];

    for (int v = 0; v < VARIABLES; v++) {
        values[v] = initial_values[v];
        batch.rows[v] = (struct row_ids){ batch.ids[v], v == W ? 0 : (size_t)rows_of(v) };
        for (size_t row = 0; row < batch.rows[v].count; row++)
            batch.ids[v][row] = (int64_t)row;
    }
    compute(&batch, values, 0, 0);
    assert_ok(client_push(client, batch.gradients, false));
}

/* Does the buffer lie in the block of copies? */
static bool is_copy(const struct variables *variables, const struct values_buffer *values)
{
    const char *block = variables->spares_block, *data = values->data;

    return data >= block && data < block + variables->spares_bytes;
}

static void assert_copied(const struct variables *variables, bool copied)
{
    int parts = 0;

    for (int i = 0; i < variables->slices_count; i++) {
        const struct slice *slice = &variables->slices[i];
        for (int part = 0; part < 3 && slice->trainable && slice->row_bytes > 0; part++, parts++)
            assert_int_equal(is_copy(variables, slice->now.parts[part]), copied);
    }
    assert_int_equal(parts, (10 + 8) * 3); /* the pieces of emb and bias */
}

/* So that they are on huge pages. */
static void copies_for_a_snapshot_lie_together(void **state)
{
    struct client_job job = { .optimizer = "ftrl", .learning_rate = .5f, .workers = 1 };
    struct lone *lone = *state;
    struct client_snapshot snapshot;

    assert_ok(create(&lone->chief, &job));
    push_all_rows(&lone->chief);
    assert_null(lone->paying->variables->spares_block);
    for (int n = 0; n < 3; n++) { /* each snapshot moves them to the other memory */
        assert_ok(client_snapshot_begin(&lone->chief, true, 1000, &snapshot));
        push_all_rows(&lone->chief);
        client_snapshot_end(&snapshot);
        assert_copied(lone->paying->variables, n % 2 == 0);
    }
}

static const struct ticket chief_ticket = { .incarnation = 10, .generation = 1 };

static struct status ask_push(struct lone *lone, struct push_request header, struct bytes payload,
                              struct message *reply)
{
    header.ticket = &chief_ticket;
    header.sequence = header.sequence > 0 ? header.sequence : 1;
    struct message packed = pack_push_request(&header);
    return ask(lone, PS_PUSH, &packed, payload, reply);
}

/* Gradients that are not aligned are copied before they are used: those of each slice to the same
 * place. */
static void unaligned_gradients_reach_their_rows(void **state)
{
    static const int64_t emb[] = { 0, 2, 4 }, bias[] = { 0, 4 };
    static const char ids[] = { 0, 1, 1, 21, 3 }; /* these of emb, then 26 and 30 */
    struct lone *lone = *state;
    char payload[1 + 20 * sizeof(float) + sizeof ids];
    float g[20]; /* 3 rows of emb, w, 2 rows of bias */
    struct message reply;

    for (int i = 0; i < 20; i++)
        g[i] = (float)(i + 1);
    memcpy(payload + 1, g, sizeof g);
    memcpy(payload + 1 + sizeof g, ids, sizeof ids);
    assert_ok(ask_push(lone, (struct push_request){ .rows = 5, .ids_bytes = sizeof ids },
                       (struct bytes){ payload + 1, sizeof payload - 1 }, &reply));
    message_release(&reply);
    client_select_rows(&lone->chief, EMB, (struct row_ids){ emb, 3 });
    client_select_rows(&lone->chief, BIAS, (struct row_ids){ bias, 2 });
    assert_ok(client_pull(&lone->chief));
    for (int i = 0; i < 6; i++)
        assert_float_equal(((const float *)lone->chief.values[EMB])[i],
                           initial_values[EMB][emb[i / 2] * 2 + i % 2] - .5f * g[i], 0);
    for (int i = 0; i < 2; i++)
        assert_float_equal(((const float *)lone->chief.values[BIAS])[i],
                           initial_values[BIAS][bias[i]] - .5f * g[18 + i], 0);
}

/* A push of w's 48 bytes, and of the rows that a list names. */
static const struct push_row {
    const char *label;
    uint64_t rows, pull_rows, ids_bytes;
    size_t size; /* of the gradients */
    struct bytes ids;
    const char *text;
} push_rows[] = {
    { "a row behind the last", 1, 0, 1, 56, { "\x38", 1 }, "row 56 is in none of the trained" },
    { "a row that is not trained", 1, 0, 1, 56, { "\x14", 1 }, "row 20 is in none of the trained" },
    { "more rows than in the list", 2, 0, 1, 64, { "\0", 1 }, "a list of 2 rows ends too early" },
    { "rows without a list", 1u << 31, 0, 0, 48, { "", 0 }, "ends too early" },
    { "fewer rows than in the list", 1, 0, 2, 56, { "\0\0", 2 }, "lists of 2 bytes, and its rows" },
    { "a list larger than the push", 1, 0, 99, 56, { "\0", 1 }, "a push of 57 bytes, of which 99" },
    { "too few gradients",
      1,
      0,
      1,
      48,
      { "\0", 1 },
      "gradients of 48 bytes, but the pieces that ps 0 trains have 56" },
    { "too many gradients",
      1,
      0,
      1,
      60,
      { "\0", 1 },
      "gradients of 60 bytes, but the pieces that ps 0 trains have 56" },
    { "an answer of no such row", 0, 1, 1, 48, { "\x38", 1 }, "row 56 is in none of the pieces" },
    { "a number that is no number",
      1,
      0,
      11,
      56,
      { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
      "ends too early" },
};

static void a_push_with_a_bad_list_is_refused(void **state)
{
    struct lone *lone = *state;
    struct outcome outcome;

    for (size_t i = 0; i < COUNT(push_rows); i++) {
        const struct push_row *row = &push_rows[i];
        char payload[128] = { 0 };
        struct message reply = { 0 };
        memcpy(payload + row->size, row->ids.data, row->ids.size);
        struct push_request header = { .rows = row->rows,
                                       .pull_rows = row->pull_rows,
                                       .ids_bytes = row->ids_bytes };
        struct status status =
            ask_push(lone, header, (struct bytes){ payload, row->size + row->ids.size }, &reply);
        if (status.code != STATUS_INVALID_ARGUMENT || strstr(status.message, row->text) == NULL)
            fail_msg("%s: %s", row->label, status.message);
    }
    take_outcome(&lone->chief, false, &outcome);
    for (int v = 0; v < VARIABLES; v++)
        assert_memory_equal(outcome.values[v], initial_values[v],
                            (size_t)(rows_of(v) * row_floats(v)) * sizeof(float));
}

static struct status ask_pull(struct lone *lone, uint32_t first, uint32_t end, uint64_t rows,
                              struct bytes list, struct message *reply)
{
    struct pull_request header = {
        .ticket = &chief_ticket, .first_piece = first, .end_piece = end, .rows = rows
    };
    struct message packed = pack_pull_request(&header);

    return ask(lone, PS_PULL, &packed, list, reply);
}

static void a_pull_with_a_bad_list_is_refused(void **state)
{
    struct lone *lone = *state;
    struct message reply = { 0 };

    static const struct {
        uint32_t first, end;
        uint64_t rows;
        struct bytes list;
        const char *text;
    } rows[] = {
        { 0, 0, 1, { "\x38", 1 }, "row 56 is in none of the pieces" },
        { 2, 4, 1, { "\3", 1 }, "row 3 is in none of the pieces from 2 up to 4" },
        { 2, 4, 1, { "\x08", 1 }, "row 8 is in none of the pieces from 2 up to 4" },
        { 0, 0, 2, { "\0", 1 }, "ends too early" },
        { 0, 0, 1, { "\0\0", 2 }, "lists of 2 bytes, and its rows take 1" },
        { 0, 0, 0, { "\0", 1 }, "lists of 1 bytes, and its rows take 0" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct status status =
            ask_pull(lone, rows[i].first, rows[i].end, rows[i].rows, rows[i].list, &reply);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, rows[i].text));
    }
    assert_ok(ask_pull(lone, 2, 4, 2, (struct bytes){ "\4\2", 2 }, &reply)); /* rows 4 and 7 */
    assert_int_equal(message_payload_size(&reply), 16);
    float values[4];
    payload_copy(&(struct payload_cursor){ .message = &reply }, values, sizeof values);
    assert_memory_equal(values, &initial_values[EMB][8], 8);
    assert_memory_equal(values + 2, &initial_values[EMB][14], 8);
    message_release(&reply);
}

static void the_rows_of_a_reply_are_paid_from_the_budget(void **state)
{
    struct lone *lone = *state;
    struct message reply = { 0 };
    int64_t used = atomic_load(&lone->budget.used_bytes);

    assert_ok(ask_pull(lone, 0, 0, 2, (struct bytes){ "\0\0", 2 }, &reply));
    assert_int_equal(atomic_load(&lone->budget.used_bytes), used + 16);
    message_release(&reply);
    assert_int_equal(atomic_load(&lone->budget.used_bytes), used);
    lone->budget.limit_bytes = used + 15;
    assert_int_equal(ask_pull(lone, 0, 0, 2, (struct bytes){ "\0\0", 2 }, &reply).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(atomic_load(&lone->budget.used_bytes), used);
}

/* Each slot has as many bytes as the values, and an update may copy both for a snapshot. */
static void the_slots_of_rows_are_paid_twice(void **state)
{
    struct lone *lone = *state;
    struct client_job job = { .optimizer = "ftrl", .learning_rate = .5f, .workers = 1 };
    int64_t used = atomic_load(&lone->budget.used_bytes);
    int64_t trained = 160 + 64 + 136; /* emb, w, bias, with the gaps that align them */

    lone->budget.limit_bytes = used + 2 * 2 * trained - 1;
    assert_int_equal(create(&lone->chief, &job).code, STATUS_RESOURCE_EXHAUSTED);
    lone->budget.limit_bytes++;
    assert_ok(create(&lone->chief, &job));
    assert_int_equal(atomic_load(&lone->budget.used_bytes), lone->budget.limit_bytes);
}

/* The answer to a repeated push has the rows that it asks for, and changes nothing. */
static void a_push_that_comes_twice_is_applied_once_and_answered_twice(void **state)
{
    struct lone *lone = *state;
    char payload[48 + 8 + 2] = { 0 };
    const float ones_of_row[] = { 1, 1 };
    struct push_request header = { .pull = true, .rows = 1, .pull_rows = 1, .ids_bytes = 2 };

    memcpy(payload, ones_of_row, 8); /* row 5 of emb; w's gradients are 0 */
    memcpy(payload + 56, "\5\5", 2);
    for (int i = 0; i < 2; i++) {
        struct message reply = { 0 };
        float values[14];
        assert_ok(ask_push(lone, header, (struct bytes){ payload, sizeof payload }, &reply));
        assert_int_equal(message_payload_size(&reply), sizeof values);
        payload_copy(&(struct payload_cursor){ .message = &reply }, values, sizeof values);
        assert_true(values[0] == initial_values[EMB][10] - .5f);
        assert_true(values[1] == initial_values[EMB][11] - .5f);
        message_release(&reply);
    }
    assert_int_equal(ps_global_step(lone->paying), 1);
}

static void the_client_names_the_variable_of_a_wrong_row(void **state)
{
    struct lone *lone = *state;
    static const int64_t far[] = { 3, 20 }, twice[] = { 4, 4 };
    struct batch batch;

    client_select_rows(&lone->chief, EMB, (struct row_ids){ far, 2 });
    struct status status = client_pull(&lone->chief);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, "variable 'emb': row 20 is not in [0, 20)");
    assert_ok(client_pull(&lone->chief)); /* of no rows */
    assert_ok(client_check_values(&lone->chief));
    choose_rows(&batch, 0, 3);
    compute(&batch, lone->chief.values, 0, 3);
    batch.gradients[BIAS].rows = (struct row_ids){ twice, 2 };
    status = client_push(&lone->chief, batch.gradients, false);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, "variable 'bias': row 4 after row 4: rows must ascend");
}

/* ---- rows of a snapshot ---- */

/* The pushes after a snapshot do not change what is read of it. */
static void a_snapshot_gives_rows_as_they_were(void **state)
{
    (void)state;
    static const int64_t emb[] = { 0, 5, 7, 19 }, frozen[] = { 3 }, bias[] = { 29 };
    const struct row_ids rows[VARIABLES] = {
        [EMB] = { emb, 4 }, [FROZEN] = { frozen, 1 }, [BIAS] = { bias, 1 }
    };
    struct client_job job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1 };
    struct buffer out[VARIABLES] = { { 0 } };
    struct client_snapshot snapshot;
    struct small_cluster cluster;
    struct ps_client chief;
    struct batch batch;

    start(&cluster, 3);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(create(&chief, &job));
    assert_ok(client_snapshot_begin(&chief, false, 1000, &snapshot));
    for (int step = 0; step < 2; step++) {
        choose_rows(&batch, 0, step);
        want(&chief, &batch);
        assert_ok(client_pull(&chief));
        compute(&batch, chief.values, 0, step);
        assert_ok(client_push(&chief, batch.gradients, false));
        assert_ok(client_snapshot_read_rows(&snapshot, rows, out));
        for (int v = 0; v < VARIABLES; v++)
            for (size_t i = 0; i < rows[v].count; i++)
                assert_memory_equal(out[v].data + i * (size_t)row_floats(v) * sizeof(float),
                                    &initial_values[v][rows[v].ids[i] * row_floats(v)],
                                    (size_t)row_floats(v) * sizeof(float));
    }
    assert_ok(client_snapshot_read_rows(&snapshot, (const struct row_ids[VARIABLES]){ { NULL, 0 } },
                                        out));
    assert_int_equal(out[EMB].size, 0);
    static const int64_t beyond[] = { 20 };
    struct status status = client_snapshot_read_rows(
        &snapshot, (const struct row_ids[VARIABLES]){ [EMB] = { beyond, 1 } }, out);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    client_snapshot_end(&snapshot);
    for (int v = 0; v < VARIABLES; v++)
        buffer_finish(&out[v]);
    client_finish(&chief);
    small_stop(&cluster);
}

static struct status ask_rows(struct lone *lone, uint64_t snapshot, uint64_t rows,
                              struct bytes list, struct message *reply)
{
    struct read_request header = { .snapshot = snapshot, .rows = rows };
    struct message packed = pack_read_request(&header);

    return ask(lone, PS_READ, &packed, list, reply);
}

static void a_bad_list_of_a_snapshots_rows_is_refused(void **state)
{
    struct lone *lone = *state;
    struct client_snapshot snapshot;
    struct message reply = { 0 };
    int64_t used = atomic_load(&lone->budget.used_bytes);

    assert_ok(client_snapshot_begin(&lone->chief, false, 1000, &snapshot));
    assert_int_equal(ask_rows(lone, snapshot.ids[0], 1, (struct bytes){ "\x38", 1 }, &reply).code,
                     STATUS_INVALID_ARGUMENT);
    assert_int_equal(ask_rows(lone, snapshot.ids[0], 3, (struct bytes){ "\0", 1 }, &reply).code,
                     STATUS_INVALID_ARGUMENT);
    assert_int_equal(ask_rows(lone, 99, 1, (struct bytes){ "\0", 1 }, &reply).code, STATUS_ABORTED);
    assert_ok(ask_rows(lone, snapshot.ids[0], 2, (struct bytes){ "\0\0", 2 }, &reply));
    assert_int_equal(message_payload_size(&reply), 16);
    assert_int_equal(atomic_load(&lone->budget.used_bytes), used + 16);
    message_release(&reply);
    assert_int_equal(atomic_load(&lone->budget.used_bytes), used);
    client_snapshot_end(&snapshot);
}

/* ---- Create ---- */

static const struct piece_row {
    const char *label;
    struct created_piece piece;
    const char *text;
} piece_rows_of_create[] = {
    { "rows that are cut",
      { .size_bytes = 20, .row_bytes = 8, .dtype = DT_FLOAT },
      "piece 0: 20 bytes in rows of 8" },
    { "rows of no whole floats",
      { .size_bytes = 12, .row_bytes = 6, .dtype = DT_FLOAT },
      "piece 0: 12 bytes in rows of 6" },
    { "too many rows",
      { .size_bytes = (uint64_t)1 << 35, .row_bytes = 4, .dtype = DT_FLOAT },
      "8589934592 rows, and a piece has at most 4294967295" },
    { "rows of integers", { .size_bytes = 16, .row_bytes = 8, .dtype = DT_INT64 }, "of dtype 9" },
    { "trained integers", { .size_bytes = 16, .trainable = true, .dtype = DT_INT32 }, "dtype 3" },
};

static void create_refuses_rows_that_cannot_be(void **state)
{
    struct small_cluster cluster;
    struct ps_client chief;
    (void)state;

    start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    for (size_t i = 0; i < COUNT(piece_rows_of_create); i++) {
        const struct piece_row *row = &piece_rows_of_create[i];
        struct identity identity = { .cluster = "test",
                                     .task = "chief",
                                     .ps_list = "a:1,b:1",
                                     .agreed = "",
                                     .incarnation = 1,
                                     .protocol = PROTOCOL_VERSION,
                                     .placement_hash = cluster.placement.hash };
        struct create_request header = { .identity = &identity,
                                         .generation = 1,
                                         .optimizer = "sgd",
                                         .pieces = &row->piece,
                                         .pieces_count = 1,
                                         .workers = 1 };
        struct message request = pack_create_request(&header), reply = { 0 };
        struct status status = channel_call(cluster.channels[0], PS_CREATE, &request,
                                            clock_deadline_ns(clock_monotonic(), 20000), &reply);
        if (status.code != STATUS_INVALID_ARGUMENT || strstr(status.message, row->text) == NULL)
            fail_msg("%s: %s", row->label, status.message);
    }
    client_finish(&chief);
    small_stop(&cluster);
}

#define LONE_TEST(test) cmocka_unit_test_setup_teardown(test, start_lone, stop_lone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_learns_the_same_bits_for_any_number_of_ps_tasks),
        cmocka_unit_test(the_rows_of_a_pull_are_pushed_as_well),
        cmocka_unit_test(a_step_takes_the_mean_of_the_workers_that_have_a_row),
        cmocka_unit_test(a_push_that_reached_half_of_the_ps_tasks_is_made_again),
        LONE_TEST(slots_lie_together),
        LONE_TEST(copies_for_a_snapshot_lie_together),
        LONE_TEST(unaligned_gradients_reach_their_rows),
        LONE_TEST(a_push_with_a_bad_list_is_refused),
        LONE_TEST(a_pull_with_a_bad_list_is_refused),
        cmocka_unit_test(a_snapshot_gives_rows_as_they_were),
        LONE_TEST(a_bad_list_of_a_snapshots_rows_is_refused),
        LONE_TEST(the_rows_of_a_reply_are_paid_from_the_budget),
        LONE_TEST(the_slots_of_rows_are_paid_twice),
        LONE_TEST(a_push_that_comes_twice_is_applied_once_and_answered_twice),
        LONE_TEST(the_client_names_the_variable_of_a_wrong_row),
        cmocka_unit_test(create_refuses_rows_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, fill_first_values, NULL);
}
