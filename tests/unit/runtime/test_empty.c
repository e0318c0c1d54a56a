/*
 * A tensor without elements costs a client nothing to send, however large its other dimensions are.
 * The test runs each row of tests/golden/kernels again with such tensors as inputs. Any outcome is
 * valid except a crash or a long run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "runtime/plan.h"
#include "runtime/resources.h"
#include "unit/runtime/kernel_rows.h"

#define RUN_BYTES_MAX ((size_t)64 << 20)
#define RUN_SECONDS   15 /* a run takes microseconds */

/* Sizes for the other dimensions. The larger ones fit 63 bits only in shapes of low rank. */
static const int64_t larges[] = { 2, (int64_t)1 << 31, (int64_t)1 << 40, ((int64_t)1 << 62) - 1,
                                  INT64_MAX };

/* Sets dimension `zero` to 0, those in the set `ones` to 1, as in broadcast inputs, and the others
 * to `large`. Returns false if the shape is too large or has no dimension `zero`. */
static bool make_empty(const struct shape *shape, int zero, int64_t large, unsigned ones,
                       struct shape *out)
{
    *out = *shape;
    for (int d = 0; d < shape->rank; d++)
        out->dims[d] = ones >> d & 1 ? 1 : large;
    if (zero < shape->rank)
        out->dims[zero] = 0;
    return zero < shape->rank && status_is_ok(shape_check(out->rank, out->dims, out));
}

struct trial {
    const struct kernel_row *row;
    struct plan *plan;
    struct run *run;
};

static void run_trial(const struct trial *trial, const struct tensor *feeds)
{
    struct tensor got[ROW_TENSORS_MAX] = { 0 };
    alarm(RUN_SECONDS);
    struct status status = plan_run(trial->plan, trial->run, feeds, got);
    alarm(0);
    if (status_is_ok(status))
        tensors_release(ROW_TENSORS_MAX, got);
    run_reset(trial->run);
}

/* Copies the row's input with the zero and the large dimensions that `pattern` selects. Returns
 * false, and the row's input itself, if such a shape is impossible. */
static bool feed_of(const struct tensor *given, int pattern, unsigned ones, struct tensor *out)
{
    struct shape shape;
    *out = *given;
    if (!make_empty(&given->shape, pattern % SHAPE_RANK_MAX, larges[pattern / SHAPE_RANK_MAX], ones,
                    &shape))
        return false;
    *out = tensor_borrow(given->dtype, &shape, NULL);
    return true;
}

static void run_patterns(const struct trial *trial)
{
    const struct kernel_row *row = trial->row;
    struct tensor feeds[ROW_TENSORS_MAX];
    for (int pattern = 0; pattern < (int)COUNT(larges) * SHAPE_RANK_MAX; pattern++) {
        for (int i = 0; i < row->inputs_count; i++) { /* one input at a time */
            memcpy(feeds, row->inputs, sizeof feeds);
            if (feed_of(&row->inputs[i], pattern, 0, &feeds[i]))
                run_trial(trial, feeds);
        }
        for (unsigned ones = 0; ones < 4; ones++) { /* all inputs, with different ones */
            bool any = false;
            for (int i = 0; i < row->inputs_count; i++)
                any |= feed_of(&row->inputs[i], pattern, ones >> (i & 1), &feeds[i]);
            if (any)
                run_trial(trial, feeds);
        }
    }
}

static void ends_at_once(void **state)
{
    const struct kernel_row *row = *state;
    if (row->variables_count > 0)
        return; /* fuzz_ops runs these with empty variables */
    struct arena *arena = arena_create(0);
    struct resources *resources = resources_create();
    struct graph *graph = graph_create(arena);
    struct builder builder = builder_init(graph);
    struct endpoint inputs[ROW_TENSORS_MAX], fetches[ROW_TENSORS_MAX];
    struct trial trial = { .row = row, .run = run_create(RUN_BYTES_MAX) };
    for (int i = 0; i < row->inputs_count; i++)
        inputs[i] = build_placeholder(&builder, "in", row->inputs[i].dtype, shape_unknown());
    struct node *node =
        build_node(&builder, row->op, row->op, row->inputs_count, inputs, 0, NULL, row->attrs);
    bool made = status_is_ok(builder_status(&builder)) && node->outputs_count <= ROW_TENSORS_MAX;
    for (int i = 0; made && i < node->outputs_count; i++)
        fetches[i] = (struct endpoint){ node, i };
    struct flatten_request request = { .feeds = inputs,
                                       .feeds_count = row->inputs_count,
                                       .fetches = fetches,
                                       .fetches_count = made ? node->outputs_count : 0,
                                       .targets = &node,
                                       .targets_count = 1 };
    if (made && status_is_ok(plan_create(graph, &request, resources, NULL, NULL, &trial.plan)))
        run_patterns(&trial);
    plan_destroy(trial.plan);
    run_destroy(trial.run);
    graph_finish(graph);
    resources_destroy(resources);
    arena_destroy(arena);
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_create(0);
    int failed = kernel_rows_run(argc > 1 ? argv[1] : NULL, ends_at_once, arena);
    arena_destroy(arena);
    return failed;
}
