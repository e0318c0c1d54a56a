/* Models with an Embedding: what a step and an evaluation compute from some rows of its table is
 * what they compute from the whole table. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "layers/layers.h"
#include "trainer/job/accumulate.h"
#include "trainer/model/model.h"
#include "whole_values.h"

#define TABLE 40 /* rows */
#define WIDTH 3
#define ROWS  24 /* of the data */
#define BATCH 6
#define IDS   2

/* Two calls of one table, whose regularizer %s decides how it is read: one of 0 needs the whole. */
static const struct row_place beginning = { 0 };

static const char model_text[] =
    "{\"class_name\": \"Functional\", \"keras_version\": \"3.15\", \"config\": {\"name\": \"m\", "
    "\"layers\": [{\"class_name\": \"InputLayer\", \"name\": \"x\", \"config\": {\"name\": \"x\", "
    "\"batch_shape\": [null, 2], \"dtype\": \"int64\"}, \"inbound_nodes\": []}, {\"class_name\": "
    "\"Embedding\", \"name\": \"e\", \"config\": {\"name\": \"e\", \"input_dim\": 40, "
    "\"output_dim\": 3, \"embeddings_regularizer\": %s}, \"inbound_nodes\": [[[\"x\", 0, 0, {}]], "
    "[[\"r\", 0, 0, {}]]]}, {\"class_name\": \"Reshape\", \"name\": \"r\", \"config\": {\"name\": "
    "\"r\", \"target_shape\": [2, 1]}, \"inbound_nodes\": [[[\"x\", 0, 0, {}]]]}, "
    "{\"class_name\": \"Flatten\", \"name\": \"f\", \"config\": {\"name\": \"f\"}, "
    "\"inbound_nodes\": [[[\"e\", 0, 0, {}]], [[\"e\", 1, 0, {}]]]}, {\"class_name\": "
    "\"Multiply\", \"name\": \"p\", \"config\": {\"name\": \"p\"}, \"inbound_nodes\": [[[\"f\", 0, "
    "0, {}], [\"f\", 1, 0, {}]]]}, {\"class_name\": \"Dense\", \"name\": \"d\", \"config\": "
    "{\"name\": \"d\", \"units\": 1}, \"inbound_nodes\": [[[\"p\", 0, 0, {}]]]}], "
    "\"input_layers\": [[\"x\", 0, 0]], \"output_layers\": [[\"d\", 0, 0]]}}";
#define BY_ROWS "null"
#define WHOLE   "{\"class_name\": \"L2\", \"config\": {\"l2\": 0}}"

/* ---- the data: rows in memory ---- */

static int64_t ids[ROWS][IDS];
static float answers[ROWS];
static const struct data_column columns[] = {
    { { "x", TENSOR_DENSE, DT_INT64, { 2, { -1, IDS } } }, .classes = 0 },
    { { "labels", TENSOR_DENSE, DT_FLOAT, { 2, { -1, 1 } } }, .classes = 0 },
};

#define KEPT 8

/* Gives batches in buffers that it overwrites with later ones, as a source of files does. */
struct rows_source {
    struct batch_source source; /* first */
    int64_t at;
    bool repeat;
    int current;
    struct rows_batch {
        int64_t ids[ROWS][IDS];
        float answers[ROWS];
        struct batch_column columns[2];
    } batches[KEPT];
};

static struct status rows_next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct rows_source *source = (struct rows_source *)base;
    int64_t count = 0;

    source->current = (source->current + 1) % (base->keep > 1 ? base->keep : 1);
    struct rows_batch *batch = &source->batches[source->current];
    memset(batch->ids, 0x7f, sizeof batch->ids);
    for (; count < rows_max && (source->repeat || source->at < ROWS); count++, source->at++) {
        memcpy(batch->ids[count], ids[source->at % ROWS], sizeof ids[0]);
        batch->answers[count] = answers[source->at % ROWS];
    }
    const struct shape x = shape_of(count, IDS), labels = shape_of(count, 1);
    batch->columns[0].values = tensor_borrow(DT_INT64, &x, batch->ids);
    batch->columns[1].values = tensor_borrow(DT_FLOAT, &labels, batch->answers);
    *out = (struct batch){ count, batch->columns };
    return status_ok();
}

static struct status rows_seek(struct batch_source *base, uint64_t rows)
{
    ((struct rows_source *)base)->at = (int64_t)rows;
    return status_ok();
}

static void rows_destroy(struct batch_source *base)
{
    free(base);
}

static const struct data_split kept_data;

static struct status rows_open(const struct data_split *split, const struct batch_order *how,
                               struct batch_source **out)
{
    struct rows_source *source = zalloc(sizeof *source);

    source->source =
        (struct batch_source){ .next = rows_next, .seek = rows_seek, .destroy = rows_destroy };
    source->source.keep_max = split == &kept_data ? KEPT : 0;
    source->repeat = how->repeat;
    *out = &source->source;
    return status_ok();
}

static const struct data_split data = {
    .columns = columns, .columns_count = 2, .rows = ROWS, .open = rows_open
};
/* Its sources keep batches, so that they can be read in advance. */
static const struct data_split kept_data = {
    .columns = columns, .columns_count = 2, .rows = ROWS, .open = rows_open
};
static const struct batch_order order = { .repeat = true, .seed = 1, .workers = 1 };

static int draw(void **state)
{
    (void)state;
    struct random random;

    random_init(&random, 1, 0);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < IDS; k++)
            ids[i][k] = (int64_t)random_below(&random, TABLE) - (k > 0 ? TABLE : 0);
        answers[i] = random_float(&random);
    }
    return 0;
}

/* ---- models ---- */

static struct model *open_model(struct arena *arena, const char *regularizer)
{
    const struct layers_training_options options = { .batch = BATCH };
    struct training_graph *graph = ARENA_NEW(arena, struct training_graph);
    const char *json = arena_printf(arena, model_text, regularizer);
    struct layers_model *description;
    struct model *model;

    assert_string_equal(layers_parse(bytes_of(json), arena, &description).message, "");
    assert_string_equal(layers_training_graph(description, &options, arena, graph).message, "");
    assert_string_equal(model_create(graph, NULL, &model).message, "");
    return model;
}

/* The first values, with the table as a whole. */
static const void *const *initial_values(const struct model *model, struct arena *arena)
{
    const void *const *some;
    assert_string_equal(model_initial_values(model, 1, arena, &some).message, "");
    const void **values = ARENA_ARRAY(arena, const void *, model->variables_count);
    float *table = ARENA_ARRAY(arena, float, TABLE *WIDTH);

    assert_null(some[0]);
    model_fill_rows(model, 1, 0, 0, TABLE, table);
    values[0] = table;
    for (int v = 1; v < model->variables_count; v++)
        values[v] = some[v];
    return values;
}

static void close_model(struct model *model)
{
    struct training_graph graph = *model->graph;

    model_destroy(model);
    training_graph_finish(&graph);
}

/* The rows of a table. */
static const float *choose(struct arena *arena, const float *table, const struct row_ids *rows)
{
    float *out = ARENA_ARRAY(arena, float, rows->count *WIDTH + 1);

    for (size_t i = 0; i < rows->count; i++)
        memcpy(out + i * WIDTH, table + rows->ids[i] * WIDTH, WIDTH * sizeof *out);
    return out;
}

/* *rows: NULL until the rows of the first step are asked for. */
static void check_step(struct arena *arena, struct gradient_source *some,
                       struct gradient_source *whole, const void *const *values,
                       const struct row_ids **rows, size_t rows_max)
{
    const struct variable_gradient *a, *b;
    float loss, wanted_loss;

    if (*rows == NULL)
        assert_string_equal(some->need_rows(some, rows).message, "");
    void *copy = arena_memdup(arena, (*rows)[0].ids, (*rows)[0].count * sizeof(int64_t));
    const struct row_ids needed = { copy, (*rows)[0].count };
    assert_string_equal(row_ids_check(&needed, TABLE).message, "");
    assert_in_range(needed.count, 2, rows_max);
    const void *some_values[] = { choose(arena, values[0], &needed), values[1], values[2] };
    assert_string_equal(whole->step(whole, values, &b, &wanted_loss).message, "");
    assert_string_equal(some->step(some, some_values, &a, &loss).message, "");
    /* The next rows are asked for while these gradients are in use. */
    assert_string_equal(some->need_rows(some, rows).message, "");
    assert_true(loss == wanted_loss);
    assert_int_equal(a[0].rows.count, needed.count);
    assert_memory_equal(a[0].rows.ids, needed.ids, needed.count * sizeof(int64_t));
    assert_memory_equal(a[0].values, choose(arena, b[0].values, &needed),
                        needed.count * WIDTH * sizeof(float));
    assert_memory_equal(a[1].values, b[1].values, 2 * WIDTH * sizeof(float));
    for (int64_t r = 0, at = 0; r < TABLE; r++) /* no other row has a gradient */
        if (at < (int64_t)needed.count && needed.ids[at] == r)
            at++;
        else
            for (int k = 0; k < WIDTH; k++)
                assert_true(b[0].values[r * WIDTH + k] == 0);
}

static void a_step_of_some_rows_is_that_of_the_whole_table(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *some = open_model(arena, BY_ROWS), *whole = open_model(arena, WHOLE);
    struct gradient_source *sources[2];
    const void *const *values = initial_values(some, arena);
    const struct row_ids *rows = NULL;

    assert_true(some->variables[0].by_rows);
    assert_false(whole->variables[0].by_rows);
    assert_string_equal(model_source(some, &data, &order, false, 1, NULL, &sources[0]).message, "");
    assert_string_equal(model_source(whole, &data, &order, false, 1, NULL, &sources[1]).message,
                        "");
    assert_null(sources[1]->need_rows);
    for (int step = 0; step < 6; step++)
        check_step(arena, sources[0], sources[1], values, &rows, BATCH * IDS);
    for (int i = 0; i < 2;
         i++) /* back to the beginning: the rows that were asked for are dropped */
        assert_string_equal(sources[i]->seek(sources[i], 0, 0, &beginning).message, "");
    rows = NULL;
    check_step(arena, sources[0], sources[1], values, &rows, BATCH * IDS);
    for (int i = 0; i < 2; i++)
        sources[i]->destroy(sources[i]);
    close_model(some);
    close_model(whole);
    arena_destroy(arena);
}

/* Assigns the turns one by one. There is none the first time that it is asked for turn 3. */
struct turns {
    uint64_t next;
    bool paused;
};

static struct status turns_next(void *context, bool *found, uint64_t *turn)
{
    struct turns *turns = context;

    *found = turns->next != 3 || turns->paused;
    turns->paused |= !*found;
    *turn = *found ? turns->next++ : 0;
    return status_ok();
}

static void turns_begin(void *context)
{
    ((struct turns *)context)->next = 0;
}

/* In an asynchronous job, a thread reads batches in advance and finds their rows. */
static void rows_that_are_found_in_advance_are_those_of_each_step(void **state)
{
    (void)state;
    static const int ahead[] = { 0, 1, 4, 100 };

    for (size_t i = 0; i < COUNT(ahead); i++) {
        struct arena *arena = arena_create(0);
        struct model *some = open_model(arena, BY_ROWS), *whole = open_model(arena, WHOLE);
        struct gradient_source *sources[2];
        const void *const *values = initial_values(some, arena);
        const struct row_ids *rows = NULL;
        struct turns turns = { 0 };
        const struct turn_source shared = { turns_next, turns_begin, &turns };
        struct batch_order early = order;

        early.ahead = ahead[i];
        assert_string_equal(
            model_source(some, &kept_data, &early, false, 1, &shared, &sources[0]).message, "");
        assert_string_equal(model_source(whole, &data, &order, false, 1, NULL, &sources[1]).message,
                            "");
        for (int steps = 2; steps < 20; steps += 6) { /* each time from the beginning */
            for (int s = 0; s < 2; s++)
                assert_string_equal(sources[s]->seek(sources[s], 0, 0, &beginning).message, "");
            rows = NULL;
            for (int step = 0; step < steps; step++)
                check_step(arena, sources[0], sources[1], values, &rows, BATCH * IDS);
        }
        for (int s = 0; s < 2; s++)
            sources[s]->destroy(sources[s]);
        assert_true(turns.paused);
        close_model(some);
        close_model(whole);
        arena_destroy(arena);
    }
}

/* A step of several batches needs the rows of all of them. */
static void several_batches_of_some_rows_are_those_of_the_whole_table(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *models[] = { open_model(arena, BY_ROWS), open_model(arena, WHOLE) };
    const void *const *values = initial_values(models[0], arena);
    struct placement placements[2];
    struct gradient_source *sources[2];
    const struct row_ids *rows = NULL;

    for (int i = 0; i < 2; i++) {
        placement_create(models[i]->variables, models[i]->variables_count, 1, 1 << 20,
                         PLACE_BY_BYTES, &placements[i]);
        assert_string_equal(
            model_source(models[i], &data, &order, false, 3, NULL, &sources[i]).message, "");
        sources[i] = accumulate_source(sources[i], 3, 2, &placements[i]);
    }
    for (int step = 0; step < 4; step++)
        check_step(arena, sources[0], sources[1], values, &rows, 3 * BATCH * IDS);
    for (int i = 0; i < 2; i++)
        assert_string_equal(sources[i]->seek(sources[i], 0, 1, &beginning).message, "");
    rows = NULL;
    check_step(arena, sources[0], sources[1], values, &rows, 3 * BATCH * IDS);
    for (int i = 0; i < 2; i++) {
        sources[i]->destroy(sources[i]);
        placement_finish(&placements[i]);
        close_model(models[i]);
    }
    arena_destroy(arena);
}

static void an_evaluation_of_some_rows_is_that_of_the_whole_table(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *models[] = { open_model(arena, BY_ROWS), open_model(arena, WHOLE) };
    const void *const *values = initial_values(models[0], arena);
    struct evaluation evaluations[2];
    const _Atomic bool stop = false;

    for (int i = 0; i < 2; i++) {
        struct whole_values given;
        whole_values_init(&given, models[i], values);
        assert_string_equal(
            model_evaluate(models[i], &given.base, &data, NULL, &stop, &evaluations[i]).message,
            "");
        whole_values_finish(&given);
        assert_int_equal(evaluations[i].rows, ROWS);
        close_model(models[i]);
    }
    assert_true(evaluations[0].loss == evaluations[1].loss);
    arena_destroy(arena);
}

static void an_id_out_of_range_is_named(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *model = open_model(arena, BY_ROWS);
    const struct row_ids *rows;
    struct gradient_source *source;
    int64_t good = ids[1][0];

    assert_string_equal(model_source(model, &data, &order, false, 1, NULL, &source).message, "");
    ids[1][0] = TABLE;
    assert_string_equal(source->need_rows(source, &rows).message,
                        "'e/embeddings': the id 40 is out of range; expected 0 to 39");
    ids[1][0] = good;
    source->destroy(source);
    close_model(model);
    arena_destroy(arena);
}

/* The rows of a table are the same however they are divided, and each has its own. */
static void first_values_do_not_depend_on_the_division(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *model = open_model(arena, BY_ROWS);
    const struct training_variable *table = &model->graph->variables[0];
    float whole[TABLE][WIDTH], parts[TABLE][WIDTH];

    table->fill_rows(table, 5, 0, TABLE, whole);
    table->fill_rows(table, 5, 0, 1, parts);
    table->fill_rows(table, 5, 1, 30, parts[1]);
    table->fill_rows(table, 5, 31, TABLE - 31, parts[31]);
    assert_memory_equal(whole, parts, sizeof whole);
    assert_memory_not_equal(whole[0], whole[1], sizeof whole[0]);
    table->fill_rows(table, 6, 0, TABLE, parts);
    assert_memory_not_equal(whole, parts, sizeof whole);
    close_model(model);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_some_rows_is_that_of_the_whole_table),
        cmocka_unit_test(rows_that_are_found_in_advance_are_those_of_each_step),
        cmocka_unit_test(several_batches_of_some_rows_are_those_of_the_whole_table),
        cmocka_unit_test(an_evaluation_of_some_rows_is_that_of_the_whole_table),
        cmocka_unit_test(an_id_out_of_range_is_named),
        cmocka_unit_test(first_values_do_not_depend_on_the_division),
    };
    return cmocka_run_group_tests(tests, draw, NULL);
}
