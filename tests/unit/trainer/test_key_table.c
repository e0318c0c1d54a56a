/* A hash table on one ps, beside a plain model of it: an array of all keys with what is known of
 * each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/arena.h"
#include "base/random.h"
#include "trainer/ps/key_table.h"
#include "support/test_group.h"

#define KEYS    600 /* a test uses at most these; key k is key_of(k) */
#define ROW_MAX 12

static int64_t all_keys[KEYS]; /* ascending */

/* Keys of 32 shards, so that a shard has about 19. */
static void choose_keys(void)
{
    int64_t key = -30000;

    for (int i = 0; i < KEYS; key += 3)
        if (key_shard(key) % 32 == 0)
            all_keys[i++] = key;
}

static int64_t key_of(uint32_t k)
{
    return all_keys[k];
}

struct known {
    bool there, has_row;
    uint64_t used;
    uint32_t count;
    float row[ROW_MAX], slots[OPTIMIZER_SLOTS_MAX][ROW_MAX];
};

struct model {
    struct row_keys_spec spec;
    const struct optimizer *optimizer;
    float settings[OPTIMIZER_SETTINGS_MAX];
    size_t row;
    struct known keys[KEYS];
};

static struct model *model_create(const struct row_keys_spec *spec, const char *optimizer,
                                  size_t row)
{
    struct model *model = zalloc(sizeof *model);

    *model = (struct model){ .spec = *spec, .optimizer = optimizer_find(optimizer), .row = row };
    for (int i = 0; i < model->optimizer->settings_count; i++)
        model->settings[i] = model->optimizer->settings[i].initial;
    return model;
}

static void model_use(struct model *model, uint32_t k, const float *g, uint64_t step)
{
    struct known *known = &model->keys[k];
    const struct optimizer *optimizer = model->optimizer;

    if (!key_has_chance(&model->spec, key_of(k)))
        return;
    known->there = true;
    known->used = step;
    if (!known->has_row && ++known->count < model->spec.min_count)
        return;
    if (!known->has_row) {
        key_initial_value(&model->spec, key_of(k), known->row, model->row);
        for (int s = 0; s < optimizer->slots_count; s++)
            for (size_t i = 0; i < model->row; i++)
                known->slots[s][i] =
                    optimizer_initial(model->settings, optimizer->slots[s].initial_setting);
        known->has_row = true;
    }
    struct optimizer_step update = { .rate = 0.1F,
                                     .settings = model->settings,
                                     .slots = { known->slots[0], known->slots[1], known->slots[2] },
                                     .w = known->row,
                                     .g = g,
                                     .out = known->row,
                                     .count = model->row };
    optimizer->apply(&update);
}

/* Each key by itself: its time, then the oldest of each full shard. */
static void model_expire(struct model *model, uint64_t step)
{
    size_t bytes =
        KEY_ENTRY_BYTES + model->row * (size_t)(1 + model->optimizer->slots_count) * sizeof(float);

    for (uint32_t k = 0; k < KEYS; k++)
        if (model->spec.ttl_steps != 0 && model->keys[k].there &&
            step - model->keys[k].used > model->spec.ttl_steps)
            model->keys[k] = (struct known){ 0 };
    for (uint32_t s = 0; s < KEY_SHARDS && model->spec.bytes_max != 0; s++)
        for (;;) {
            uint32_t oldest = KEYS;
            size_t total = 0;
            for (uint32_t k = 0; k < KEYS; k++) {
                if (!model->keys[k].there || key_shard(key_of(k)) != s)
                    continue;
                total += model->keys[k].has_row ? bytes : KEY_ENTRY_BYTES;
                if (oldest == KEYS || model->keys[k].used < model->keys[oldest].used)
                    oldest = k;
            }
            if (total <= model->spec.bytes_max / KEY_SHARDS)
                break;
            model->keys[oldest] = (struct known){ 0 };
        }
}

/* Some of the keys, ascending, with gradients. */
struct batch {
    int64_t keys[KEYS];
    float g[KEYS * ROW_MAX];
    uint32_t numbers[KEYS];
    size_t count;
};

static void draw_batch(struct batch *batch, struct random *random, size_t row)
{
    batch->count = 0;
    for (uint32_t k = 0; k < KEYS; k++)
        if (random_below(random, 4) == 0) {
            batch->numbers[batch->count] = k;
            batch->keys[batch->count++] = key_of(k);
        }
    for (size_t i = 0; i < batch->count * row; i++)
        batch->g[i] = random_float(random) - 0.5F;
}

static void apply_both(struct key_table *table, struct model *model, const struct batch *batch,
                       uint64_t step)
{
    struct key_update update = { .keys = batch->keys,
                                 .g = batch->g,
                                 .count = batch->count,
                                 .rate = 0.1F,
                                 .step = step,
                                 .keep_before = true };

    key_table_apply(table, &update);
    for (size_t i = 0; i < batch->count; i++)
        model_use(model, batch->numbers[i], batch->g + i * model->row, step);
    model_expire(model, step);
}

static void model_value(const struct model *model, uint32_t k, enum key_reading reading, float *out)
{
    if (model->keys[k].has_row)
        memcpy(out, model->keys[k].row, model->row * sizeof *out);
    else if (reading == KEY_EVALUATED)
        for (size_t i = 0; i < model->row; i++)
            out[i] = key_default_value(&model->spec);
    else
        key_initial_value(&model->spec, key_of(k), out, model->row);
}

static void assert_values(const struct model *model, enum key_reading reading, const float *values)
{
    float expected[ROW_MAX];

    for (uint32_t k = 0; k < KEYS; k++) {
        model_value(model, k, reading, expected);
        if (memcmp(expected, values + k * model->row, model->row * sizeof(float)) != 0)
            fail_msg("key %u: %g, the model has %g", k, (double)values[k * model->row],
                     (double)expected[0]);
    }
}

static void assert_reads(struct key_table *table, const struct model *model,
                         enum key_reading reading)
{
    static float values[KEYS * ROW_MAX];

    assert_true(key_table_copy(table, all_keys, KEYS, reading, values));
    assert_values(model, reading, values);
}

static const int64_t *numbers_of(const struct key_image *image, enum key_part part)
{
    return (const int64_t *)(const void *)image->parts[part].data;
}

/* Keys of this shard in the model, ascending, one by one. */
static void assert_shard(const struct key_image *image, const struct model *model)
{
    size_t rows = 0, waiting = 0, bytes = model->row * sizeof(float);

    for (uint32_t k = 0; k < KEYS; k++) {
        const struct known *known = &model->keys[k];
        if (!known->there || key_shard(key_of(k)) != image->shard)
            continue;
        if (!known->has_row) {
            assert_true(waiting < image->waiting);
            assert_true(numbers_of(image, KEY_PART_WAITING_KEYS)[waiting] == key_of(k));
            assert_int_equal(numbers_of(image, KEY_PART_WAITING_USED)[waiting], known->used);
            assert_int_equal(numbers_of(image, KEY_PART_WAITING_COUNT)[waiting++], known->count);
            continue;
        }
        assert_true(rows < image->rows);
        assert_true(numbers_of(image, KEY_PART_KEYS)[rows] == key_of(k));
        assert_int_equal(numbers_of(image, KEY_PART_USED)[rows], known->used);
        assert_memory_equal(image->parts[0].data + rows * bytes, known->row, bytes);
        for (int s = 0; s < model->optimizer->slots_count; s++)
            assert_memory_equal(image->parts[1 + s].data + rows * bytes, known->slots[s], bytes);
        rows++;
    }
    assert_int_equal(rows, image->rows);
    assert_int_equal(waiting, image->waiting);
}

/* As an evaluation reads a snapshot. */
static void assert_held(struct key_table *table, struct key_snapshot *snapshot,
                        const struct model *model)
{
    static float values[KEYS * ROW_MAX];

    assert_int_equal(key_snapshot_copy(table, snapshot, all_keys, KEYS, values).code, STATUS_OK);
    assert_values(model, KEY_EVALUATED, values);
}

static void assert_snapshot(struct key_table *table, struct key_snapshot *snapshot,
                            const struct model *model)
{
    for (uint32_t s = 0; s < KEY_SHARDS; s++) {
        struct key_image *image;
        assert_int_equal(key_snapshot_read(table, snapshot, s, &image).code, STATUS_OK);
        assert_shard(image, model);
    }
}

/* A table of the model's rules, empty. */
static void make_table(struct key_table *table, const struct model *model, struct budget *budget)
{
    key_table_init(table, model->row, budget, 99);
    assert_int_equal(
        key_table_begin(table, &model->spec, model->optimizer, model->settings, NULL).code,
        STATUS_OK);
}

static struct row_keys_spec plain(void)
{
    return (struct row_keys_spec){
        .seed = 3, .initializer = KEY_UNIFORM, .a = -1, .b = 1, .probability = 1
    };
}

static const struct kind {
    const char *label, *optimizer;
    size_t row;
    uint32_t min_count;
    double probability;
    uint64_t ttl_steps, bytes_max;
} kinds[] = {
    { "all keys, long rows", "adagrad", 12, 0, 1, 0, 0 },
    { "all keys, short rows", "ftrl", 1, 1, 1, 0, 0 },
    { "keys wait for their third update", "sgd", 3, 3, 1, 0, 0 },
    { "half of the keys, by chance", "momentum", 4, 1, 0.5, 0, 0 },
    { "keys expire", "ftrl", 2, 2, 1, 5, 0 },
    /* a shard may have 11 rows of 36 + 16 bytes, and 19 keys belong to it in the mean */
    { "a byte limit", "adagrad", 2, 1, 1, 0, KEY_SHARDS * 600 },
    { "a byte limit, counts and expiry", "adagrad", 10, 2, 0.9, 9, KEY_SHARDS * 1000 },
};

/* Random updates. Every tenth step a snapshot is taken, which is read nine steps later. */
static void does_as_the_model(void **state)
{
    const struct kind *kind = *state;
    struct row_keys_spec spec = plain();
    struct key_snapshot *snapshot = NULL;
    struct key_table table;
    struct batch *batch = zalloc(sizeof *batch);
    struct random random;

    spec.min_count = kind->min_count;
    spec.probability = kind->probability;
    spec.ttl_steps = kind->ttl_steps;
    spec.bytes_max = kind->bytes_max;
    struct budget budget = { .limit_bytes = 1 << 24, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct model *model = model_create(&spec, kind->optimizer, kind->row);
    struct model *before = zalloc(sizeof *before), *held = zalloc(sizeof *held);
    make_table(&table, model, &budget);
    random_init(&random, 1, 1);
    for (uint64_t step = 1; step <= 40; step++) {
        *before = *model;
        draw_batch(batch, &random, model->row);
        if (step % 7 == 0)
            batch->count = 0;
        apply_both(&table, model, batch, step);
        assert_reads(&table, model, KEY_NOW);
        assert_reads(&table, before, KEY_BEFORE);
        assert_reads(&table, model, KEY_EVALUATED);
        if (snapshot != NULL)
            assert_held(&table, snapshot, held);
        if (step % 10 == 0) {
            *held = *model;
            snapshot = key_table_hold(&table, step, true);
        } else if (step % 10 == 9 && snapshot != NULL) {
            assert_snapshot(&table, snapshot, held);
            key_table_let_go(&table, snapshot);
            snapshot = NULL;
        }
    }
    key_table_let_go(&table, snapshot);
    key_table_finish(&table);
    assert_int_equal(budget.used_bytes, 0);
    free(batch);
    free(model);
    free(before);
    free(held);
}

/* The state of one table goes into another, shard by shard, which then does as the first would. */
static void goes_on_after_it_was_restored(void **state)
{
    struct row_keys_spec spec = plain();
    struct key_table table, copy;
    struct batch *batch = zalloc(sizeof *batch);
    struct random random;
    struct key_image *image;

    (void)state;
    spec.min_count = 2;
    spec.ttl_steps = 6;
    spec.bytes_max = KEY_SHARDS * 600;
    struct model *model = model_create(&spec, "adagrad", 2);
    make_table(&table, model, NULL);
    make_table(&copy, model, NULL);
    random_init(&random, 5, 1);
    for (uint64_t step = 1; step <= 20; step++) {
        draw_batch(batch, &random, model->row);
        apply_both(&table, model, batch, step);
    }
    struct key_snapshot *snapshot = key_table_hold(&table, 20, true);
    for (uint32_t s = KEY_SHARDS; s-- > 0;) {
        assert_int_equal(key_snapshot_read(&table, snapshot, s, &image).code, STATUS_OK);
        struct key_batch rows = { .count = image->rows,
                                  .keys = numbers_of(image, KEY_PART_KEYS),
                                  .used = numbers_of(image, KEY_PART_USED) };
        for (int part = 0; part < 2; part++)
            rows.parts[part] = (const float *)(const void *)image->parts[part].data;
        struct key_batch waiting = { .count = image->waiting,
                                     .waiting = true,
                                     .keys = numbers_of(image, KEY_PART_WAITING_KEYS),
                                     .used = numbers_of(image, KEY_PART_WAITING_USED),
                                     .counts = numbers_of(image, KEY_PART_WAITING_COUNT) };
        for (int times = 0; times < 2; times++) { /* a call may be sent again */
            assert_int_equal(key_table_fill(&copy, &rows).code, STATUS_OK);
            assert_int_equal(key_table_fill(&copy, &waiting).code, STATUS_OK);
        }
    }
    key_table_let_go(&table, snapshot);
    key_table_sort(&copy);
    for (uint64_t step = 21; step <= 40; step++) {
        assert_reads(&copy, model, KEY_NOW);
        draw_batch(batch, &random, model->row);
        apply_both(&copy, model, batch, step);
    }
    snapshot = key_table_hold(&copy, 40, true);
    assert_snapshot(&copy, snapshot, model);
    key_table_let_go(&copy, snapshot);
    key_table_finish(&table);
    key_table_finish(&copy);
    free(batch);
    free(model);
}

static void says_when_there_is_no_memory_for_a_row(void **state)
{
    struct budget budget = { .limit_bytes = 600000, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct row_keys_spec spec = plain();
    struct model *model = model_create(&spec, "ftrl", 12);
    static float g[12 * 100];
    struct key_table table;
    int64_t next = 0;

    (void)state;
    make_table(&table, model, &budget);
    while (status_is_ok(key_table_check(&table)) && next < 100000) {
        int64_t keys[100];
        for (int i = 0; i < 100; i++)
            keys[i] = next++;
        key_table_apply(&table, &(struct key_update){
                                    .keys = keys, .g = g, .count = 100, .step = (uint64_t)next });
    }
    struct status status = key_table_check(&table);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(status.message, "--memory_budget_bytes"));
    assert_true(budget.used_bytes <= budget.limit_bytes);
    assert_int_equal(
        key_table_begin(&table, &model->spec, model->optimizer, model->settings, NULL).code,
        STATUS_OK);
    assert_int_equal(key_table_check(&table).code, STATUS_OK);
    key_table_finish(&table);
    assert_int_equal(budget.used_bytes, 0);
    free(model);
}

static void reads_first_values_without_memory_for_an_empty_table(void **state)
{
    struct budget budget = { .limit_bytes = 100, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct row_keys_spec spec = plain();
    struct model *model = model_create(&spec, "ftrl", 2);
    struct key_table table;

    (void)state;
    key_table_init(&table, 2, &budget, 1);
    assert_int_equal(key_table_begin(&table, &spec, model->optimizer, model->settings, NULL).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(key_table_check(&table).code, STATUS_RESOURCE_EXHAUSTED);
    assert_reads(&table, model, KEY_NOW);
    key_table_finish(&table);
    assert_int_equal(budget.used_bytes, 0);
    free(model);
}

static void fails_a_snapshot_without_memory_and_trains_on(void **state)
{
    struct budget budget = { .limit_bytes = 1 << 24, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct row_keys_spec spec = plain();
    struct model *model = model_create(&spec, "ftrl", 12);
    struct batch *batch = zalloc(sizeof *batch);
    struct key_table table;
    struct key_image *image;
    struct random random;

    (void)state;
    make_table(&table, model, &budget);
    random_init(&random, 5, 1);
    draw_batch(batch, &random, model->row);
    apply_both(&table, model, batch, 1);
    struct key_snapshot *snapshot = key_table_hold(&table, 1, true);
    budget.limit_bytes = budget.used_bytes;
    apply_both(&table, model, batch, 2);
    assert_reads(&table, model, KEY_NOW);
    assert_int_equal(key_snapshot_read(&table, snapshot, 0, &image).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(key_snapshot_copy(&table, snapshot, all_keys, 1, batch->g).code,
                     STATUS_RESOURCE_EXHAUSTED);
    key_table_let_go(&table, snapshot);
    key_table_finish(&table);
    assert_int_equal(budget.used_bytes, 0);
    free(batch);
    free(model);
}

static void charges_what_finds_single_keys_of_a_snapshot(void **state)
{
    struct budget budget = { .limit_bytes = 1 << 24, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct row_keys_spec spec = plain();
    struct model *model = model_create(&spec, "ftrl", 12);
    struct batch *batch = zalloc(sizeof *batch);
    struct key_table table;
    struct random random;

    (void)state;
    make_table(&table, model, &budget);
    random_init(&random, 5, 1);
    draw_batch(batch, &random, model->row);
    apply_both(&table, model, batch, 1);
    struct key_snapshot *snapshot = key_table_hold(&table, 1, true);
    struct model *held = model_create(&spec, "ftrl", 12);
    *held = *model;
    apply_both(&table, model, batch, 2);
    budget.limit_bytes = budget.used_bytes;
    assert_int_equal(key_snapshot_copy(&table, snapshot, all_keys, KEYS, batch->g).code,
                     STATUS_RESOURCE_EXHAUSTED);
    budget.limit_bytes += 1 << 20;
    int64_t before_bytes = budget.used_bytes;
    assert_held(&table, snapshot, held);
    assert_true(budget.used_bytes >= before_bytes + 64 * (int64_t)sizeof(size_t));
    key_table_let_go(&table, snapshot);
    key_table_finish(&table);
    assert_int_equal(budget.used_bytes, 0);
    free(batch);
    free(held);
    free(model);
}

static void refuses_an_optimizer_that_changes_every_row(void **state)
{
    struct row_keys_spec spec = plain();
    struct model *model = model_create(&spec, "adam", 2);
    struct key_table table;

    (void)state;
    key_table_init(&table, 2, NULL, 1);
    struct status status =
        key_table_begin(&table, &model->spec, model->optimizer, model->settings, NULL);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_non_null(strstr(status.message, "lazy_adam"));
    key_table_finish(&table);
    free(model);
}

static const struct CMUnitTest others[] = {
    cmocka_unit_test(goes_on_after_it_was_restored),
    cmocka_unit_test(says_when_there_is_no_memory_for_a_row),
    cmocka_unit_test(reads_first_values_without_memory_for_an_empty_table),
    cmocka_unit_test(fails_a_snapshot_without_memory_and_trains_on),
    cmocka_unit_test(charges_what_finds_single_keys_of_a_snapshot),
    cmocka_unit_test(refuses_an_optimizer_that_changes_every_row),
};

int main(void)
{
    struct test_group group = { 0 };

    choose_keys();
    ADD_ROWS(&group, kinds, label, does_as_the_model);
    ADD_TESTS(&group, others);
    return test_group_run(&group, "key table", NULL, NULL);
}
