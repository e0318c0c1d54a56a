/* Hash tables over a few ps tasks in one process: pulled and pushed by keys. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/arena.h"
#include "small_cluster.h"
#include "support/status.h"
#include "storage/bundle_writer.h"
#include "support/directory.h"
#include "trainer/checkpoint/checkpoint_keys.h"

/* "ids": rows of 3 floats by keys; "w": as a whole; "crosses": rows of 1 float by keys. */
enum { IDS, W, CROSSES, VARIABLES };
#define KEYS  60
#define STEPS 9

static const struct placed_variable keys_variables[VARIABLES] = {
    [IDS] = { .name = "ids",
              .dtype = DT_FLOAT,
              .shape = { .rank = 2, .dims = { -1, 3 } },
              .trainable = true,
              .by_keys = true,
              .keys = { .seed = 5,
                        .initializer = KEY_UNIFORM,
                        .a = -1,
                        .b = 3,
                        .min_count = 3,
                        .probability = .9,
                        .ttl_steps = 3 } },
    [W] = { .name = "w",
            .dtype = DT_FLOAT,
            .shape = { .rank = 2, .dims = { 6, 2 } },
            .trainable = true },
    [CROSSES] = { .name = "crosses",
                  .dtype = DT_FLOAT,
                  .shape = { .rank = 1, .dims = { -1 } },
                  .trainable = true,
                  .by_keys = true,
                  .keys = { .seed = 6, .probability = 1, .bytes_max = 1024 * 100 } },
};

static int64_t key_of(int i)
{
    static const int64_t ends[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, 2 };

    return i < 6 ? ends[i] : i + 1 < KEYS ? (int64_t)i << 40 : INT64_MAX;
}

static size_t row_floats(int v)
{
    return v == IDS ? 3 : 1;
}

static void start(struct small_cluster *cluster, int ps_count)
{
    small_start_placed(cluster, ps_count, keys_variables, VARIABLES, NULL, NULL, 0);
}

/* ---- a worker, whose gradients depend on the values ---- */

struct batch {
    int64_t ids[VARIABLES][KEYS];
    struct row_ids keys[VARIABLES];
    float g[VARIABLES][KEYS * 3];
    struct variable_gradient gradients[VARIABLES];
};

/* About a third of the keys; at step 3 nobody has any. */
static void choose_keys(struct batch *batch, uint32_t worker, int step)
{
    for (int v = 0; v < VARIABLES; v++) {
        batch->keys[v] = (struct row_ids){ batch->ids[v], 0 };
        for (int i = 0; i < KEYS && v != W && step != 3; i++)
            if ((i * 5 + step * 3 + (int)worker + v) % 7 < 3)
                batch->ids[v][batch->keys[v].count++] = key_of(i);
    }
}

static void want(struct ps_client *client, const struct batch *batch)
{
    client_select_rows(client, IDS, batch->keys[IDS]);
    client_select_rows(client, CROSSES, batch->keys[CROSSES]);
}

static void compute(struct batch *batch, const void *const *values, uint32_t worker, int step)
{
    float sum = 0;

    for (size_t i = 0; i < batch->keys[IDS].count * 3; i++)
        sum += ((const float *)values[IDS])[i];
    for (int v = 0; v < VARIABLES; v++) {
        size_t count = v == W ? SMALL_W : batch->keys[v].count * row_floats(v);
        for (size_t i = 0; i < count; i++)
            batch->g[v][i] = .3f * ((const float *)values[v])[i] + .02f * sum +
                             (float)(step + 1) * .01f * (float)(worker + 1);
        batch->gradients[v] =
            (struct variable_gradient){ .values = batch->g[v], .rows = batch->keys[v] };
    }
}

static struct status run_steps(struct ps_client *client, uint32_t worker, int from, int to)
{
    struct batch batches[2];

    choose_keys(&batches[from % 2], worker, from);
    want(client, &batches[from % 2]);
    TRY(client_pull(client));
    for (int step = from; step < to; step++) {
        struct batch *batch = &batches[step % 2], *next = &batches[(step + 1) % 2];
        compute(batch, client->values, worker, step);
        choose_keys(next, worker, step + 1);
        want(client, next);
        TRY(client_push(client, batch->gradients, step % 3 != 2));
        if (step % 3 != 2)
            continue;
        want(client, next);
        TRY(client_pull(client));
    }
    return status_ok();
}

/* ---- the state of a job: also the source from which another one begins ---- */

struct outcome {
    struct client_state state; /* first */
    float w[SMALL_W], w_slot[SMALL_W];
    struct bytes rest; /* of what `begin` began */
    struct buffer parts[VARIABLES][KEY_SHARDS][KEY_PARTS];
    size_t rows, waiting; /* of "ids" */
};

static struct status begin(struct client_state *state, int variable, int part, bool *has)
{
    struct outcome *outcome = (struct outcome *)state;

    assert_int_equal(variable, W);
    outcome->rest = (struct bytes){ (const char *)(part == 0 ? outcome->w : outcome->w_slot),
                                    sizeof outcome->w };
    *has = true;
    return status_ok();
}

static struct status next(struct client_state *state, struct bytes *chunk)
{
    struct outcome *outcome = (struct outcome *)state;

    *chunk = outcome->rest;
    outcome->rest = (struct bytes){ 0 };
    return status_ok();
}

static struct status get_keys(struct client_state *state, int variable, uint32_t shard,
                              enum key_part part, struct bytes *out)
{
    const struct buffer *buffer = &((struct outcome *)state)->parts[variable][shard][part];

    *out = (struct bytes){ buffer->data, buffer->size };
    return status_ok();
}

static struct outcome *outcome_create(void)
{
    struct outcome *outcome = zalloc(sizeof *outcome);

    outcome->state = (struct client_state){ begin, next, get_keys };
    for (int i = 0; i < SMALL_W; i++) {
        outcome->w[i] = (float)i * .1f;
        outcome->w_slot[i] = .1f;
    }
    return outcome;
}

static void outcome_destroy(struct outcome *outcome)
{
    for (int v = 0; v < VARIABLES; v++)
        for (uint32_t s = 0; s < KEY_SHARDS; s++)
            for (int part = 0; part < KEY_PARTS; part++)
                buffer_finish(&outcome->parts[v][s][part]);
    free(outcome);
}

static void read_whole(struct client_snapshot *snapshot, int part, float *out)
{
    struct bytes chunk;
    size_t at = 0;

    client_snapshot_select(snapshot, W, part);
    do {
        assert_ok(snapshot->source.next(&snapshot->source, &chunk));
        if (chunk.size > 0)
            memcpy((char *)out + at, chunk.data, chunk.size);
        at += chunk.size;
    } while (chunk.size > 0);
    assert_int_equal(at, SMALL_W * sizeof(float));
}

static void read_keys(struct client_snapshot *snapshot, int v, struct outcome *out)
{
    for (uint32_t s = 0; s < KEY_SHARDS; s++)
        for (int part = 0; part < KEY_PARTS; part++) {
            struct bytes bytes;
            if (part > 1 && part < KEY_PART_KEYS)
                continue; /* adagrad has one slot */
            assert_ok(client_snapshot_read_keys(snapshot, v, s, (enum key_part)part, &bytes));
            buffer_append(&out->parts[v][s][part], bytes.data, bytes.size);
        }
}

/* ---- single keys, and what is exported ---- */

/* The value of a key that the shards have, or the default one. */
static float value_in(const struct outcome *outcome, int v, int64_t key)
{
    const struct buffer *parts = outcome->parts[v][key_shard(key)];
    size_t count = parts[KEY_PART_KEYS].size / sizeof(int64_t);

    for (size_t i = 0; i < count; i++)
        if (((const int64_t *)(const void *)parts[KEY_PART_KEYS].data)[i] == key)
            return ((const float *)(const void *)parts[0].data)[i * row_floats(v)];
    return key_default_value(&keys_variables[v].keys);
}

static void assert_rows(const struct outcome *outcome, int v, const struct row_ids *keys,
                        const char *rows)
{
    for (size_t i = 0; i < keys->count; i++) {
        float got, want = value_in(outcome, v, keys->ids[i]);
        memcpy(&got, rows + i * row_floats(v) * sizeof got, sizeof got);
        assert_memory_equal(&got, &want, sizeof got);
    }
}

/* All keys of a test, and one that never comes. */
static struct row_ids list_all_keys(int64_t *out)
{
    out[0] = key_of(0);
    out[1] = key_of(1);
    out[2] = -5;
    for (int i = 2; i < KEYS; i++)
        out[i + 1] = key_of(i);
    return (struct row_ids){ out, KEYS + 1 };
}

static void assert_reads_keys(struct client_snapshot *snapshot, const struct outcome *outcome)
{
    struct buffer rows[VARIABLES] = { 0 };
    int64_t all[KEYS + 1];
    struct row_ids keys[VARIABLES] = { [IDS] = list_all_keys(all), [CROSSES] = { all, 7 } };

    assert_ok(client_snapshot_read_rows(snapshot, keys, rows));
    assert_rows(outcome, IDS, &keys[IDS], rows[IDS].data);
    assert_rows(outcome, CROSSES, &keys[CROSSES], rows[CROSSES].data);
    keys[IDS].count = keys[CROSSES].count = 0; /* nothing is asked */
    assert_ok(client_snapshot_read_rows(snapshot, keys, rows));
    for (int v = 0; v < VARIABLES; v++)
        buffer_finish(&rows[v]);
}

static void read_variable(struct value_source *source, const char *name, struct buffer *out)
{
    struct bytes chunk;

    assert_ok(source->begin(source, name));
    do {
        assert_ok(source->next(source, &chunk));
        if (chunk.size > 0)
            buffer_append(out, chunk.data, chunk.size);
    } while (chunk.size > 0);
}

static size_t count_keys(const struct outcome *outcome, int v)
{
    size_t count = 0;

    for (uint32_t s = 0; s < KEY_SHARDS; s++)
        count += outcome->parts[v][s][KEY_PART_KEYS].size / sizeof(int64_t);
    return count;
}

/* "ids" is exported as its keys, and their rows behind the default one. */
static void assert_exports(struct value_source *source, const struct outcome *outcome)
{
    struct buffer keys = { 0 }, values = { 0 };
    int64_t rows, more;

    assert_ok(source->count_rows(source, "ids/keys", &rows));
    assert_ok(source->count_rows(source, "ids/values", &more));
    assert_true(rows == (int64_t)outcome->rows && more == rows + 1);
    assert_ok(source->count_rows(source, "crosses/keys", &rows));
    assert_int_equal(rows, count_keys(outcome, CROSSES));
    assert_int_equal(source->count_rows(source, "w/keys", &rows).code, STATUS_NOT_FOUND);
    read_variable(source, "ids/keys", &keys);
    read_variable(source, "ids/values", &values);
    assert_int_equal(keys.size, outcome->rows * sizeof(int64_t));
    assert_int_equal(values.size, (outcome->rows + 1) * 3 * sizeof(float));
    const struct row_ids list = { (const int64_t *)(const void *)keys.data, outcome->rows };
    assert_rows(outcome, IDS, &list, values.data + 3 * sizeof(float));
    assert_true(((const float *)(const void *)values.data)[2] == 1); /* from -1 to 3 */
    buffer_finish(&keys);
    buffer_finish(&values);
}

/* A table without rows has one key, because TensorFlow's tables cannot be empty. */
static void assert_exports_empty(struct value_source *source)
{
    struct buffer keys = { 0 }, values = { 0 };
    int64_t rows;

    assert_ok(source->count_rows(source, "ids/keys", &rows));
    assert_int_equal(rows, 1);
    assert_ok(source->count_rows(source, "ids/values", &rows));
    assert_int_equal(rows, 2);
    read_variable(source, "ids/keys", &keys);
    read_variable(source, "ids/values", &values);
    assert_int_equal(keys.size, sizeof(int64_t));
    assert_int_equal(values.size, 6 * sizeof(float));
    for (int i = 0; i < 6; i++)
        assert_true(((const float *)(const void *)values.data)[i] == 1);
    buffer_finish(&keys);
    buffer_finish(&values);
}

static struct outcome *take_outcome(struct ps_client *client)
{
    struct outcome *out = outcome_create();
    struct client_snapshot snapshot;

    assert_ok(client_snapshot_begin(client, true, 20000, &snapshot));
    read_whole(&snapshot, 0, out->w);
    read_whole(&snapshot, 1, out->w_slot);
    read_keys(&snapshot, IDS, out);
    read_keys(&snapshot, CROSSES, out);
    out->rows = count_keys(out, IDS);
    for (uint32_t s = 0; s < KEY_SHARDS; s++)
        out->waiting += out->parts[IDS][s][KEY_PART_WAITING_KEYS].size / sizeof(int64_t);
    assert_reads_keys(&snapshot, out);
    assert_exports(&snapshot.source, out);
    client_snapshot_end(&snapshot);
    return out;
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_memory_equal(a->w, b->w, sizeof a->w);
    assert_memory_equal(a->w_slot, b->w_slot, sizeof a->w_slot);
    for (int v = 0; v < VARIABLES; v++)
        for (uint32_t s = 0; s < KEY_SHARDS; s++)
            for (int part = 0; part < KEY_PARTS; part++) {
                const struct buffer *left = &a->parts[v][s][part], *right = &b->parts[v][s][part];
                assert_int_equal(left->size, right->size);
                if (left->size > 0)
                    assert_memory_equal(left->data, right->data, left->size);
            }
}

/* ---- the same bits for any number of ps tasks ---- */

struct worker_run {
    struct small_cluster *cluster;
    uint32_t index;
    int from, to;
    pthread_t thread;
};

static void *run_worker(void *context)
{
    struct worker_run *run = context;
    struct ps_client client;

    small_client(run->cluster, run->index, 50 + run->index, &client);
    assert_ok(client_join(&client, true, 20000));
    assert_ok(run_steps(&client, run->index, run->from, run->to));
    client_finish(&client);
    return NULL;
}

/* save: a checkpoint's prefix; NULL: none. */
static void write_checkpoint(struct ps_client *chief, const struct client_job *job,
                             const char *save)
{
    struct checkpoint_layout layout;
    struct client_snapshot snapshot;

    if (save == NULL)
        return;
    assert_ok(checkpoint_layout_init(&layout, chief->options.placement, job));
    assert_ok(client_snapshot_begin(chief, true, 20000, &snapshot));
    assert_ok(checkpoint_write(&layout, &snapshot, save));
    client_snapshot_end(&snapshot);
}

/* Runs steps [from, to) of a job that begins with `first`; NULL: from the beginning. */
static struct outcome *run_job(int ps_count, uint32_t workers, struct client_state *first, int from,
                               int to, const char *save)
{
    struct client_job job = { .optimizer = "adagrad",
                              .learning_rate = .1f,
                              .workers = workers,
                              .sync = workers > 1,
                              .global_step = (uint64_t)from };
    struct outcome *empty = outcome_create();
    struct small_cluster cluster;
    struct ps_client chief;
    struct worker_run runs[3];

    start(&cluster, ps_count);
    small_client(&cluster, 0, 50, &chief); /* the same process as the worker of rank 0 */
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(client_begin(&chief, &job, first != NULL ? first : &empty->state));
    for (uint32_t i = 0; i < workers; i++) {
        runs[i] = (struct worker_run){ &cluster, i, from, to, 0 };
        pthread_create(&runs[i].thread, NULL, run_worker, &runs[i]);
    }
    for (uint32_t i = 0; i < workers; i++)
        pthread_join(runs[i].thread, NULL);
    struct outcome *out = take_outcome(&chief);
    write_checkpoint(&chief, &job, save);
    client_finish(&chief);
    small_stop(&cluster);
    outcome_destroy(empty);
    return out;
}

static void a_job_learns_the_same_bits_for_any_number_of_ps_tasks(void **state)
{
    static const int counts[] = { 2, 5 };
    (void)state;

    for (uint32_t workers = 1; workers <= 3; workers += 2) {
        struct outcome *one = run_job(1, workers, NULL, 0, STEPS, NULL);
        assert_true(one->rows > 20 && (one->waiting > 0 || workers > 1));
        for (size_t i = 0; i < COUNT(counts); i++) {
            struct outcome *other = run_job(counts[i], workers, NULL, 0, STEPS, NULL);
            assert_same(one, other);
            outcome_destroy(other);
        }
        outcome_destroy(one);
    }
}

static void a_job_continues_with_another_number_of_ps_tasks(void **state)
{
    (void)state;
    struct outcome *whole = run_job(2, 3, NULL, 0, STEPS, NULL);
    struct outcome *half = run_job(5, 3, NULL, 0, 5, NULL);
    struct outcome *rest = run_job(3, 3, &half->state, 5, STEPS, NULL);

    assert_same(whole, rest);
    outcome_destroy(whole);
    outcome_destroy(half);
    outcome_destroy(rest);
}

/* ---- checkpoints ---- */

static const struct client_job adagrad_job = { .optimizer = "adagrad", .learning_rate = .1f };

/* A checkpoint of these variables. Owner: checkpoint_close, placement_finish. */
struct opened {
    struct placement placement;
    struct checkpoint_layout layout;
    struct checkpoint *checkpoint;
};

static struct status open_checkpoint(const char *prefix, struct opened *out)
{
    *out = (struct opened){ 0 };
    placement_create(keys_variables, VARIABLES, 1, 16, PLACE_BY_BYTES, &out->placement);
    assert_ok(checkpoint_layout_init(&out->layout, &out->placement, &adagrad_job));
    return checkpoint_open(&out->layout, prefix, &out->checkpoint);
}

static void close_checkpoint(struct opened *opened)
{
    checkpoint_close(opened->checkpoint);
    placement_finish(&opened->placement);
}

static void a_job_continues_from_a_checkpoint(void **state)
{
    struct opened opened;
    (void)state;
    struct outcome *whole = run_job(2, 3, NULL, 0, STEPS, NULL);
    struct outcome *half = run_job(5, 3, NULL, 0, 5, in("a"));

    assert_ok(open_checkpoint(in("a"), &opened));
    assert_int_equal(opened.checkpoint->global_step, 5);
    assert_int_equal(opened.checkpoint->slots_missing, 0);
    assert_exports(&opened.checkpoint->source, half);
    int64_t all[KEYS + 1];
    const struct row_ids keys = list_all_keys(all);
    float values[(KEYS + 1) * 3];
    assert_ok(checkpoint_copy_keys(opened.checkpoint, IDS, &keys, values));
    assert_rows(half, IDS, &keys, (const char *)values);
    struct outcome *rest = run_job(3, 3, &opened.checkpoint->state, 5, STEPS, NULL);
    assert_same(whole, rest);
    close_checkpoint(&opened);
    outcome_destroy(whole);
    outcome_destroy(half);
    outcome_destroy(rest);
}

/* A checkpoint with the key 0 in the table "ids", as it should be, but for one tensor. */
static const struct damage {
    const char *label, *name; /* of the tensor that is wrong: under "ids/" */
    bool absent;
    enum dtype dtype;
    struct shape shape;
    int64_t numbers[2];    /* its contents */
    enum status_code code; /* of opening it, or reading it */
    const char *text;
} damages[] = {
    { "nothing", "", false, 0, { 0 }, { 0 }, STATUS_OK, "" },
    { "no table", "shards", true, 0, { 0 }, { 0 }, STATUS_FAILED_PRECONDITION, "no hash table" },
    { "shards", "shards", false, DT_INT64, { 0 }, { 7 }, STATUS_INVALID_ARGUMENT, "is 7, must" },
    { "no values", "values", true, 0, { 0 }, { 0 }, STATUS_FAILED_PRECONDITION, "it has no 'ids" },
    { "a slot", "values/Adagrad", true, 0, { 0 }, { 0 }, STATUS_OK, "" },
    { "type",
      "used",
      false,
      DT_DOUBLE,
      { .rank = 1, .dims = { 1 } },
      { 0 },
      STATUS_INVALID_ARGUMENT,
      "must be int64 [1]" },
    { "count",
      "used",
      false,
      DT_INT64,
      { .rank = 1, .dims = { 2 } },
      { 0 },
      STATUS_INVALID_ARGUMENT,
      "is int64 [2] there, must be int64 [1]" },
    { "shard",
      "keys",
      false,
      DT_INT64,
      { .rank = 1, .dims = { 1 } },
      { 1 },
      STATUS_DATA_LOSS,
      "key 1 is in shard" },
    { "step",
      "used",
      false,
      DT_INT64,
      { .rank = 1, .dims = { 1 } },
      { -1 },
      STATUS_DATA_LOSS,
      "-1 is not from 0" },
};

static void add_tensor(struct bundle_writer *writer, const struct damage *damage, const char *name,
                       enum dtype dtype, struct shape shape, const void *data)
{
    bool damaged = strcmp(name, damage->name) == 0;
    const char *folder = "ids/";
    struct tensor tensor = tensor_borrow(dtype, &shape, data);

    if (damaged && damage->absent)
        return;
    if (damaged)
        tensor = tensor_borrow(damage->dtype, &damage->shape, damage->numbers);
    if (strcmp(name, "shards") != 0)
        folder = arena_printf(arena, "ids/shard_%04u/", key_shard(0));
    assert_ok(bundle_writer_add(writer, arena_printf(arena, "%s%s", folder, name), &tensor));
}

static void write_damaged(const struct damage *damage, const char *prefix)
{
    static const float row[12] = { 1, 2, 3 };
    static const int64_t shards = KEY_SHARDS, numbers[] = { 0, 5 };
    const struct shape one = shape_of(1), scalar = { 0 }, w = shape_of(6, 2);
    const struct tensor table = tensor_borrow(DT_INT64, &scalar, &shards),
                        dense = tensor_borrow(DT_FLOAT, &w, row);
    struct bundle_writer *writer;

    assert_ok(bundle_writer_open(prefix, &writer));
    add_tensor(writer, damage, "shards", DT_INT64, scalar, &shards);
    add_tensor(writer, damage, "keys", DT_INT64, one, &numbers[0]);
    add_tensor(writer, damage, "used", DT_INT64, one, &numbers[1]);
    add_tensor(writer, damage, "values", DT_FLOAT, shape_of(1, 3), row);
    add_tensor(writer, damage, "values/Adagrad", DT_FLOAT, shape_of(1, 3), row);
    assert_ok(bundle_writer_add(writer, "crosses/shards", &table));
    assert_ok(bundle_writer_add(writer, "w", &dense));
    assert_ok(bundle_writer_add(writer, "w/Adagrad", &dense));
    assert_ok(bundle_writer_commit(writer));
}

static struct status read_all(struct opened *opened)
{
    struct client_state *state = &opened->checkpoint->state;
    struct bytes out;

    for (uint32_t shard = 0; shard < KEY_SHARDS; shard++)
        for (int part = 0; part < KEY_PARTS; part++)
            TRY(state->get_keys(state, IDS, shard, (enum key_part)part, &out));
    return status_ok();
}

static void damaged_checkpoints_are_refused(void **state)
{
    struct opened opened;
    (void)state;

    for (size_t i = 0; i < COUNT(damages); i++) {
        write_damaged(&damages[i], in(damages[i].label));
        struct status status = open_checkpoint(in(damages[i].label), &opened);
        if (status_is_ok(status))
            status = read_all(&opened);
        if (status.code != damages[i].code || strstr(status.message, damages[i].text) == NULL)
            fail_msg("%s: %s", damages[i].label, status.message);
        close_checkpoint(&opened);
    }
}

/* ---- a push that reached half of the ps tasks ---- */

static void *run_other(void *context)
{
    assert_ok(run_steps(context, 0, 0, STEPS));
    return NULL;
}

/* As in test_rows.c: a worker dies when its push of step 4 has reached ps 0 and not ps 1. At that
 * step keys are new, wait, get their rows, and expire. */
static void a_push_that_reached_half_of_the_ps_tasks_is_made_again(void **state)
{
    struct outcome *whole = run_job(2, 2, NULL, 0, STEPS, NULL), *empty = outcome_create();
    struct client_job job = {
        .optimizer = "adagrad", .learning_rate = .1f, .workers = 2, .sync = true
    };
    struct small_cluster cluster;
    struct ps_client chief, dying, again;
    struct batch batch;
    pthread_t thread;
    (void)state;

    start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &dying);
    small_client(&cluster, 1, 3, &again);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(client_begin(&chief, &job, &empty->state));
    assert_ok(client_join(&dying, true, 1000));
    pthread_create(&thread, NULL, run_other, &chief);
    assert_ok(run_steps(&dying, 1, 0, 4));
    struct channel *cut_off = loopback_open(&ps_service, cluster.ps[1], clock_monotonic());
    struct channel *half[] = { cluster.channels[0], cut_off };
    choose_keys(&batch, 1, 4);
    want(&dying, &batch);
    assert_ok(client_pull(&dying));
    compute(&batch, dying.values, 1, 4);
    loopback_break(cut_off);
    dying.options.channels = half;
    dying.options.call_timeout_ms = 1000;
    assert_int_equal(client_push(&dying, batch.gradients, true).code, STATUS_UNAVAILABLE);
    assert_int_equal(ps_global_step(cluster.ps[0]), 5);
    assert_int_equal(ps_global_step(cluster.ps[1]), 4);
    assert_ok(client_join(&again, true, 1000));
    assert_ok(client_pull(&again));
    assert_true(again.torn);
    assert_ok(run_steps(&again, 1, 4, STEPS));
    pthread_join(thread, NULL);
    struct outcome *torn = take_outcome(&chief);
    assert_same(whole, torn);
    outcome_destroy(whole);
    outcome_destroy(torn);
    outcome_destroy(empty);
    client_finish(&chief);
    client_finish(&dying);
    client_finish(&again);
    channel_close(cut_off);
    small_stop(&cluster);
}

/* ---- one ps ---- */

struct lone {
    struct small_cluster cluster;
    struct ps *ps;
    struct channel *channel;
    struct budget budget;
    struct ps_client chief; /* incarnation 10 */
};

static int start_lone(void **state)
{
    struct lone *lone = zalloc(sizeof *lone);
    struct client_job job = { .optimizer = "adagrad", .learning_rate = .5f, .workers = 1 };
    struct ps_options options = {
        .cluster = "test", .incarnation = 100, .ps_list = "a:1,b:1", .budget = &lone->budget
    };
    struct outcome *empty = outcome_create();

    start(&lone->cluster, 1);
    lone->budget.limit_bytes = 4 << 20;
    pthread_mutex_init(&lone->budget.lock, NULL);
    lone->ps = ps_create(&options);
    lone->channel = lone->cluster.channels[0];
    lone->cluster.channels[0] = loopback_open(&ps_service, lone->ps, clock_monotonic());
    small_client(&lone->cluster, 0, 10, &lone->chief);
    assert_ok(client_join(&lone->chief, false, 1000));
    assert_ok(client_begin(&lone->chief, &job, &empty->state));
    outcome_destroy(empty);
    *state = lone;
    return 0;
}

static int stop_lone(void **state)
{
    struct lone *lone = *state;

    client_finish(&lone->chief);
    channel_close(lone->cluster.channels[0]);
    ps_destroy(lone->ps);
    assert_int_equal(atomic_load(&lone->budget.used_bytes), 0);
    lone->cluster.channels[0] = lone->channel;
    small_stop(&lone->cluster);
    free(lone);
    return 0;
}

/* Keys 1 and 2, both of which may have rows; only key 2 gets one. */
static void an_evaluation_reads_the_default_of_a_key_without_a_row(void **state)
{
    struct lone *lone = *state;
    static const int64_t keys[] = { 1, 2 };
    static const float g[SMALL_W] = { 1, 1, 1 };
    struct row_ids both = { keys, 2 };
    float first[6];

    key_initial_value(&keys_variables[IDS].keys, 1, first, 3);
    for (int times = 0; times < 3; times++) {
        struct variable_gradient gradients[VARIABLES] = {
            [IDS] = { g, { keys + 1, 1 } }, [W] = { .values = g }
        };
        assert_ok(client_pull(&lone->chief));
        assert_ok(client_push(&lone->chief, gradients, false));
    }
    client_select_rows(&lone->chief, IDS, both);
    assert_ok(client_pull(&lone->chief));
    assert_memory_equal(lone->chief.values[IDS], first, 3 * sizeof(float));
    lone->chief.evaluates = true;
    client_select_rows(&lone->chief, IDS, both);
    assert_ok(client_pull(&lone->chief));
    const float *values = lone->chief.values[IDS];
    assert_true(values[0] == 1 && values[1] == 1 && values[2] == 1); /* from -1 to 3 */
    key_initial_value(&keys_variables[IDS].keys, 2, first, 3);
    assert_true(values[3] < first[0] && values[3] != 1);
    lone->chief.evaluates = false;
}

static void a_table_that_is_full_fails_the_push(void **state)
{
    struct lone *lone = *state;
    static float g[3000];
    static int64_t keys[1000];
    struct variable_gradient gradients[VARIABLES] = {
        [IDS] = { g, { keys, 1000 } }, [W] = { .values = g }
    };
    struct status status = status_ok();

    lone->budget.limit_bytes = atomic_load(&lone->budget.used_bytes) + 140000; /* 4096 entries */
    for (int64_t next = 0; status_is_ok(status) && next < 10000; next += 1000) {
        for (int i = 0; i < 1000; i++)
            keys[i] = next + i;
        assert_ok(client_pull(&lone->chief));
        status = client_push(&lone->chief, gradients, false);
    }
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(status.message, "no memory for another row of a hash table"));
}

static void keys_must_ascend(void **state)
{
    struct lone *lone = *state;
    static const int64_t keys[] = { 3, 2 };

    client_select_rows(&lone->chief, CROSSES, (struct row_ids){ keys, 2 });
    struct status status = client_pull(&lone->chief);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, "variable 'crosses': key 2 after key 3: keys must ascend");
}

/* ---- requests ---- */

/* The only ps has the piece 0 of ids, 1-3 of w, and 4 of crosses. */

static struct status ask(struct lone *lone, const char *path, struct message *header,
                         const char *payload, size_t size)
{
    struct bytes piece = { payload, size };
    struct message request = protocol_attach(*header, &piece, 1), reply = { 0 };
    struct status status = channel_call(lone->cluster.channels[0], path, &request,
                                        clock_deadline_ns(clock_monotonic(), 20000), &reply);

    message_release(&reply);
    return status;
}

static const struct ticket chief_ticket = { .incarnation = 10, .generation = 1 };

/* A pull with lists of keys. */
static const struct pull_row {
    const char *label;
    uint64_t counts[3];
    size_t pieces_count;
    struct bytes list;
    const char *text; /* NULL: it is answered */
} pull_rows[] = {
    { "no lists", { 0 }, 0, { "", 0 }, NULL },
    { "empty lists", { 0, 0 }, 2, { "", 0 }, NULL },
    { "two lists", { 1, 2 }, 2, { "\x05\x01\x00", 3 }, NULL },
    { "the largest key", { 1, 0 }, 2, { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10 }, NULL },
    { "a key behind the largest",
      { 2, 0 },
      2,
      { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 11 },
      "a list of 2 keys ends too early" },
    { "one list for two pieces", { 1 }, 1, { "\x05", 1 }, "1 lists of keys, and more pieces" },
    { "three lists", { 1, 0, 1 }, 3, { "\x05\x05", 2 }, "3 lists of keys for 2 pieces" },
    { "more keys than in the list", { 3, 0 }, 2, { "\x05\x05", 2 }, "ends too early" },
    { "very many keys", { UINT64_MAX, 0 }, 2, { "\x05\x05", 2 }, "ends too early" },
    { "fewer keys than in the list", { 1, 0 }, 2, { "\x05\x05", 2 }, "a pull with lists of 2" },
};

static void pulls_keys(void **state)
{
    struct lone *lone = *state;

    for (size_t i = 0; i < COUNT(pull_rows); i++) {
        const struct pull_row *row = &pull_rows[i];
        struct pull_request request = { .ticket = &chief_ticket,
                                        .keys = { row->counts, row->pieces_count } };
        struct message header = pack_pull_request(&request);
        struct status status = ask(lone, PS_PULL, &header, row->list.data, row->list.size);
        if ((row->text == NULL) != status_is_ok(status) ||
            (row->text != NULL && strstr(status.message, row->text) == NULL))
            fail_msg("%s: %s", row->label, status.message);
    }
}

static struct status ask_push(struct lone *lone, uint64_t count, const char *payload, size_t size,
                              size_t list_bytes)
{
    uint64_t counts[] = { count, 0 };
    struct push_request request = {
        .ticket = &chief_ticket, .sequence = 1, .ids_bytes = list_bytes, .keys = { counts, 2 }
    };
    struct message header = pack_push_request(&request);

    return ask(lone, PS_PUSH, &header, payload, size);
}

static void refuses_pushes_whose_keys_do_not_fit(void **state)
{
    struct lone *lone = *state;
    static const char payload[12 + 48 + 1]; /* a row of ids, w, a list with one key */

    assert_int_equal(ask_push(lone, 2, payload, sizeof payload, 1).code, STATUS_INVALID_ARGUMENT);
    assert_int_equal(ask_push(lone, 1, payload, 60, 1).code, STATUS_INVALID_ARGUMENT);
    assert_int_equal(ask_push(lone, 0, payload, sizeof payload, 1).code, STATUS_INVALID_ARGUMENT);
    assert_ok(ask_push(lone, 1, payload, sizeof payload, 1));
}

static void refuses_reads_outside_a_table(void **state)
{
    struct lone *lone = *state;
    struct client_snapshot snapshot;
    struct bytes out;

    assert_ok(client_snapshot_begin(&lone->chief, false, 20000, &snapshot));
    assert_int_equal(
        client_snapshot_read_keys(&snapshot, IDS, KEY_SHARDS, KEY_PART_KEYS, &out).code,
        STATUS_OUT_OF_RANGE);
    assert_int_equal(client_snapshot_read_keys(&snapshot, IDS, 0, KEY_PARTS, &out).code,
                     STATUS_NOT_FOUND);
    assert_int_equal(client_snapshot_read_keys(&snapshot, IDS, 0, 1, &out).code,
                     STATUS_NOT_FOUND); /* without slots */
    assert_ok(client_snapshot_read_keys(&snapshot, IDS, 0, KEY_PART_VALUES, &out));
    assert_exports_empty(&snapshot.source);
    client_snapshot_end(&snapshot);
}

/* A ps of two, which is begun by hand. */
static struct status begin_piece(struct small_cluster *cluster, const struct created_piece *piece,
                                 const char *optimizer, bool all_rows)
{
    struct identity identity = { .cluster = "test",
                                 .task = "chief",
                                 .ps_list = "a:1,b:1",
                                 .agreed = "",
                                 .incarnation = 10,
                                 .protocol = PROTOCOL_VERSION };
    struct create_request request = { .identity = &identity,
                                      .generation = 1,
                                      .optimizer = optimizer,
                                      .pieces = piece,
                                      .pieces_count = 1,
                                      .workers = 1,
                                      .schedule = "",
                                      .all_rows = all_rows };
    struct message message = pack_create_request(&request), reply = { 0 };
    struct ps_client chief;

    small_client(cluster, 0, 10, &chief);
    assert_ok(client_join(&chief, false, 1000));
    struct status status = channel_call(cluster->channels[0], PS_CREATE, &message,
                                        clock_deadline_ns(clock_monotonic(), 20000), &reply);
    client_finish(&chief);
    message_release(&reply);
    return status;
}

static const struct created_keys good_keys = { .ps_count = 2, .spec = { .probability = 1 } };

static void refuses_tables_that_cannot_be(void **state)
{
    static const struct created_keys no_ps = { .spec = { .probability = 1 } };
    static const struct created_keys no_chance = { .ps_count = 2 };
    const struct created_piece good = {
        .row_bytes = 8, .dtype = PIECE_FLOAT, .trainable = true, .keys = &good_keys
    };
    struct created_piece bad[6];
    struct small_cluster cluster;
    (void)state;

    for (size_t i = 0; i < COUNT(bad); i++)
        bad[i] = good;
    bad[0].size_bytes = 8;
    bad[1].row_bytes = 0;
    bad[2].trainable = false;
    bad[3].keys = &no_ps;
    bad[4].keys = &no_chance;
    bad[5].row_bytes = UINT64_MAX - 3;
    start(&cluster, 2);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(begin_piece(&cluster, &bad[i], "sgd", false).code,
                         STATUS_INVALID_ARGUMENT);
    assert_int_equal(begin_piece(&cluster, &good, "adam", false).code, STATUS_UNIMPLEMENTED);
    assert_int_equal(begin_piece(&cluster, &good, "ftrl", true).code, STATUS_UNIMPLEMENTED);
    assert_ok(begin_piece(&cluster, &good, "ftrl", false));
    small_stop(&cluster);
}

/* A write of a key to ps 0 of 2: its payload is int64 numbers, then floats. */
static const struct write_row {
    const char *label;
    int64_t key, used, last; /* last: the count, or two floats */
    uint64_t keys;
    bool waiting;
    uint32_t slots;
    const char *text; /* NULL: it is taken */
} write_rows[] = {
    { "a row", 0, 7, 0, 1, false, 0, NULL },
    { "a key that waits", 0, 7, 3, 1, true, 0, NULL },
    { "a negative step", 0, -1, 0, 1, false, 0, "was last used at step -1" },
    { "a negative count", 0, 7, -1, 1, true, 0, "count must be from 0" },
    { "a large count", 0, 7, INT64_MAX, 1, true, 0, "count must be from 0" },
    { "too many keys", 0, 7, 0, 2, false, 0, "2 keys in 24 bytes" },
    { "very many keys", 0, 7, 0, UINT64_MAX, false, 0, "keys in 24 bytes" },
    { "no keys", 0, 7, 0, 0, false, 0, "0 keys came in 24 bytes and take 0" },
    { "a slot that did not come", 0, 7, 0, 1, false, 1, "1 keys came in 24 bytes and take 32" },
    { "a slot that is not there", 0, 7, 0, 1, false, 2, "with the slots 0x2" },
    { "a key of the other ps", 1, 7, 0, 1, false, 0, "belongs to ps 1" },
};

/* The first key from 0 on that is on this ps. */
static int64_t first_key_of(int ps)
{
    int64_t key = 0;

    while (key_ps(key, 2) != ps)
        key++;
    return key;
}

static void checks_what_is_written(void **state)
{
    struct created_piece piece = {
        .row_bytes = 8, .dtype = PIECE_FLOAT, .trainable = true, .keys = &good_keys
    };
    struct small_cluster cluster;
    (void)state;

    start(&cluster, 2);
    assert_ok(begin_piece(&cluster, &piece, "adagrad", false));
    for (size_t i = 0; i < COUNT(write_rows); i++) {
        const struct write_row *row = &write_rows[i];
        int64_t numbers[] = { first_key_of((int)row->key), row->used, row->last };
        struct bytes payload = { (const char *)numbers, sizeof numbers };
        struct write_request request = { .generation = 1,
                                         .incarnation = 10,
                                         .keys = row->keys,
                                         .waiting = row->waiting,
                                         .slots = row->slots };
        struct message message = protocol_attach(pack_write_request(&request), &payload, 1);
        struct message reply = { 0 };
        struct status status = channel_call(cluster.channels[0], PS_WRITE, &message,
                                            clock_deadline_ns(clock_monotonic(), 20000), &reply);
        message_release(&reply);
        if ((row->text == NULL) != status_is_ok(status) ||
            (row->text != NULL && strstr(status.message, row->text) == NULL))
            fail_msg("%s: %s", row->label, status.message);
    }
    small_stop(&cluster);
}

#define TEST_LONE(function) cmocka_unit_test_setup_teardown(function, start_lone, stop_lone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_learns_the_same_bits_for_any_number_of_ps_tasks),
        cmocka_unit_test(a_job_continues_with_another_number_of_ps_tasks),
        TEST_IN_DIRECTORY(a_job_continues_from_a_checkpoint),
        TEST_IN_DIRECTORY(damaged_checkpoints_are_refused),
        cmocka_unit_test(a_push_that_reached_half_of_the_ps_tasks_is_made_again),
        TEST_LONE(an_evaluation_reads_the_default_of_a_key_without_a_row),
        TEST_LONE(a_table_that_is_full_fails_the_push),
        TEST_LONE(keys_must_ascend),
        TEST_LONE(pulls_keys),
        TEST_LONE(refuses_pushes_whose_keys_do_not_fit),
        TEST_LONE(refuses_reads_outside_a_table),
        cmocka_unit_test(refuses_tables_that_cannot_be),
        cmocka_unit_test(checks_what_is_written),
    };

    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
