/* Results have the same bits for any width (base/parallel.h). The golden rows run with all loops
 * cut, however small they are; large products and convolutions run as they are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/parallel.h"
#include "runtime/plan.h"
#include "runtime/resources.h"
#include "unit/runtime/kernel_rows.h"
#include "support/test_group.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const int widths[] = { 1, 8 }; /* the bits are compared without sanitizers as well */
#else
static const int widths[] = { 1, 2, 3, 8 };
#endif

/* ---- one node ---- */

struct one_node {
    const char *op;
    const struct attr *attrs;
    int inputs_count;
    const struct tensor *inputs;
    bool constant_filter; /* input 1 is a constant of the plan */
};

struct made {
    struct arena *arena;
    struct resources *resources;
    struct plan *plan;
    struct tensor feeds[ROW_TENSORS_MAX];
    int outputs_count;
};

static struct status make(const struct one_node *one, struct made *made)
{
    struct endpoint inputs[ROW_TENSORS_MAX], feeds[ROW_TENSORS_MAX], fetches[ROW_TENSORS_MAX];
    int feeds_count = 0;
    *made = (struct made){ .arena = arena_create(0), .resources = resources_create() };
    struct graph *graph = graph_create(made->arena);
    struct builder builder = builder_init(graph);
    for (int i = 0; i < one->inputs_count; i++) {
        const struct tensor *input = &one->inputs[i];
        if (one->constant_filter && i == 1) {
            inputs[i] = build_const(&builder, "in", input);
            continue;
        }
        inputs[i] = build_placeholder(&builder, "in", input->dtype, shape_unknown());
        made->feeds[feeds_count] = *input;
        feeds[feeds_count++] = inputs[i];
    }
    struct node *node =
        build_node(&builder, one->op, one->op, one->inputs_count, inputs, 0, NULL, one->attrs);
    TRY(builder_status(&builder));
    made->outputs_count = node->outputs_count;
    for (int i = 0; i < node->outputs_count; i++)
        fetches[i] = (struct endpoint){ node, i };
    struct flatten_request request = { .feeds = feeds,
                                       .feeds_count = feeds_count,
                                       .fetches = fetches,
                                       .fetches_count = node->outputs_count,
                                       .targets = &node,
                                       .targets_count = 1 };
    struct plan_options options = { 0 };
    struct status status =
        plan_create(graph, &request, made->resources, NULL, &options, &made->plan);
    graph_finish(graph);
    return status;
}

static void made_finish(struct made *made)
{
    plan_destroy(made->plan);
    resources_destroy(made->resources);
    arena_destroy(made->arena);
}

static uint32_t add_tensor(uint32_t crc, const struct tensor *tensor)
{
    if (tensor->dtype == DT_RESOURCE || tensor->dtype == DT_VARIANT || tensor->size == 0)
        return crc;
    if (tensor->dtype != DT_STRING)
        return crc32c(crc, tensor->data, tensor_bytes(tensor));
    for (int64_t i = 0; i < tensor->size; i++)
        crc = crc32c(crc, tensor_strings(tensor)[i].data, tensor_strings(tensor)[i].size);
    return crc;
}

/* The checksum of the outputs, which are copied to `got` if that is not NULL. */
static struct status run_once(const struct made *made, struct run *run, uint32_t *crc,
                              struct tensor *got)
{
    struct tensor fetches[ROW_TENSORS_MAX] = { 0 };
    struct status status = plan_run(made->plan, run, made->feeds, fetches);
    *crc = 0;
    for (int i = 0; status_is_ok(status) && i < made->outputs_count; i++) {
        *crc = add_tensor(*crc, &fetches[i]);
        if (got != NULL)
            got[i] = tensor_acquire(&fetches[i]);
        tensor_release(&fetches[i]);
    }
    return status;
}

/* ---- the golden rows, cut ---- */

struct pass {
    uint32_t *crcs; /* of each row with width 1; then compared with */
    int count, capacity;
    bool first;
    int width;
};

static void run_row(struct kernel_row *row, void *context)
{
    struct pass *pass = context;
    struct one_node one = { row->op, row->attrs, row->inputs_count, row->inputs, false };
    struct made made;
    uint32_t crc = 0;
    bool differs = strcmp(row->op, "Timestamp") == 0; /* from run to run */
    bool runs = row->error_code == 0 && row->variables_count == 0 && !differs;
    if (runs && status_is_ok(make(&one, &made))) {
        struct tensor got[ROW_TENSORS_MAX] = { 0 };
        struct run *run = run_create(0);
        struct status status = run_once(&made, run, &crc, pass->first ? got : NULL);
        if (!status_is_ok(status))
            fail_msg("%s:%d: %s, width %d: %s", row->file, row->line, row->op, pass->width,
                     status.message);
        if (pass->first)
            kernel_row_compare(row, "cut", got);
        tensors_release(ROW_TENSORS_MAX, got);
        run_destroy(run);
        made_finish(&made);
    }
    if (pass->count == pass->capacity) {
        pass->capacity += 4096;
        pass->crcs = realloc(pass->crcs, (size_t)pass->capacity * sizeof *pass->crcs);
    }
    if (pass->first)
        pass->crcs[pass->count] = crc;
    else if (pass->crcs[pass->count] != crc)
        fail_msg("%s:%d: %s: other bits with width %d", row->file, row->line, row->op, pass->width);
    pass->count++;
}

static void golden_rows_have_the_same_bits(void **state)
{
    struct pass pass = { 0 };
    (void)state;
    parallel_set_part_ns(0);
    for (size_t w = 0; w < COUNT(widths); w++) {
        struct arena *arena = arena_create(0);
        parallel_set_width(widths[w]);
        pass.first = w == 0;
        pass.width = widths[w];
        pass.count = 0;
        kernel_rows_visit(arena, run_row, &pass);
        arena_destroy(arena);
    }
    free(pass.crcs);
}

/* ---- large nodes ---- */

static struct tensor ramp(enum dtype dtype, struct shape shape)
{
    struct tensor tensor;
    assert_true(status_is_ok(tensor_create(dtype, &shape, &tensor)));
    for (int64_t i = 0; i < tensor.size; i++) {
        double value = (double)(i * 7919 % 1009) / 1009 - 0.4;
        if (dtype == DT_FLOAT)
            tensor_floats_mut(&tensor)[i] = (float)value;
        else if (dtype == DT_DOUBLE)
            tensor_doubles_mut(&tensor)[i] = value;
        else if (dtype == DT_INT32)
            ((int32_t *)tensor.data)[i] = (int32_t)(i * 7919 % 97);
        else /* half or bfloat16: small numbers of any sign */
            ((uint16_t *)tensor.data)[i] = (uint16_t)((i % 2 << 15) | (0x2000 + i * 79 % 4096));
    }
    return tensor;
}

enum attrs { NONE, TRANSPOSED, CONV_SAME, CONV_VALID, CONV_STRIDED, CONV_DILATED, POOL, HEADS };

static const struct large {
    const char *label, *op;
    enum dtype dtype;
    struct shape x, y;
    enum attrs attrs;
    bool constant_filter;
} large[] = {
    { "many rows", "MatMul", DT_FLOAT, { 2, { 700, 300 } }, { 2, { 300, 65 } }, NONE, false },
    { "many columns", "MatMul", DT_FLOAT, { 2, { 33, 300 } }, { 2, { 300, 1001 } }, NONE, false },
    { "both transposed",
      "MatMul",
      DT_FLOAT,
      { 2, { 300, 500 } },
      { 2, { 90, 300 } },
      TRANSPOSED,
      false },
    { "wide, transposed",
      "MatMul",
      DT_FLOAT,
      { 2, { 300, 50 } },
      { 2, { 900, 300 } },
      TRANSPOSED,
      false },
    { "narrow", "MatMul", DT_FLOAT, { 2, { 5000, 300 } }, { 2, { 300, 10 } }, NONE, false },
    { "one row", "MatMul", DT_FLOAT, { 2, { 1, 900 } }, { 2, { 900, 1100 } }, NONE, false },
    { "double", "MatMul", DT_DOUBLE, { 2, { 400, 300 } }, { 2, { 300, 70 } }, NONE, false },
    { "half", "MatMul", DT_HALF, { 2, { 400, 300 } }, { 2, { 300, 70 } }, NONE, false },
    { "few products",
      "BatchMatMulV2",
      DT_FLOAT,
      { 3, { 3, 200, 200 } },
      { 3, { 3, 200, 200 } },
      NONE,
      false },
    { "many products",
      "BatchMatMulV2",
      DT_FLOAT,
      { 3, { 64, 40, 40 } },
      { 3, { 64, 40, 40 } },
      NONE,
      false },
    { "attention",
      "Einsum",
      DT_FLOAT,
      { 4, { 2, 128, 12, 64 } },
      { 4, { 2, 128, 12, 64 } },
      HEADS,
      false },
    { "3x3",
      "Conv2D",
      DT_FLOAT,
      { 4, { 1, 56, 56, 64 } },
      { 4, { 3, 3, 64, 64 } },
      CONV_SAME,
      true },
    { "3x3, small image",
      "Conv2D",
      DT_FLOAT,
      { 4, { 1, 7, 7, 256 } },
      { 4, { 3, 3, 256, 256 } },
      CONV_SAME,
      true },
    { "3x3, three images",
      "Conv2D",
      DT_FLOAT,
      { 4, { 3, 29, 31, 32 } },
      { 4, { 3, 3, 32, 48 } },
      CONV_SAME,
      true },
    { "3x3, many images",
      "Conv2D",
      DT_FLOAT,
      { 4, { 21, 14, 14, 32 } },
      { 4, { 3, 3, 32, 48 } },
      CONV_SAME,
      true },
    { "7x7, stride 2",
      "Conv2D",
      DT_FLOAT,
      { 4, { 1, 113, 113, 3 } },
      { 4, { 7, 7, 3, 64 } },
      CONV_STRIDED,
      true },
    { "5x5, valid",
      "Conv2D",
      DT_FLOAT,
      { 4, { 2, 41, 40, 16 } },
      { 4, { 5, 5, 16, 32 } },
      CONV_VALID,
      true },
    { "dilated",
      "Conv2D",
      DT_FLOAT,
      { 4, { 1, 40, 40, 16 } },
      { 4, { 3, 3, 16, 64 } },
      CONV_DILATED,
      true },
    { "pointwise",
      "Conv2D",
      DT_FLOAT,
      { 4, { 3, 15, 17, 128 } },
      { 4, { 1, 1, 128, 96 } },
      CONV_VALID,
      true },
    { "pointwise, small image",
      "Conv2D",
      DT_FLOAT,
      { 4, { 1, 7, 7, 512 } },
      { 4, { 1, 1, 512, 300 } },
      CONV_SAME,
      true },
    { "pointwise, stride 2",
      "Conv2D",
      DT_FLOAT,
      { 4, { 1, 56, 56, 64 } },
      { 4, { 1, 1, 64, 96 } },
      CONV_STRIDED,
      true },
    { "depthwise",
      "DepthwiseConv2dNative",
      DT_FLOAT,
      { 4, { 1, 56, 56, 96 } },
      { 4, { 3, 3, 96, 1 } },
      CONV_SAME,
      true },
    { "depthwise, stride 2",
      "DepthwiseConv2dNative",
      DT_FLOAT,
      { 4, { 2, 57, 56, 48 } },
      { 4, { 3, 3, 48, 2 } },
      CONV_STRIDED,
      true },
    { "max pool", "MaxPool", DT_FLOAT, { 4, { 1, 112, 112, 32 } }, { 0 }, POOL, false },
    { "softmax", "Softmax", DT_FLOAT, { 2, { 1000, 333 } }, { 0 }, NONE, false },
    { "erf", "Erf", DT_FLOAT, { 2, { 128, 1333 } }, { 0 }, NONE, false },
    { "sum", "Add", DT_FLOAT, { 2, { 300, 1333 } }, { 1, { 1333 } }, NONE, false },
    { "bias", "BiasAdd", DT_FLOAT, { 2, { 3000, 133 } }, { 1, { 133 } }, NONE, false },
};

static void fill_attrs(struct builder *b, enum attrs which, struct attr *out)
{
    static const int64_t ones[] = { 1, 1, 1, 1 }, twos[] = { 1, 2, 2, 1 }, three[] = { 1, 3, 3, 1 };
    int n = 0;
    if (which == TRANSPOSED) {
        out[n++] = attr_bool("transpose_a", true);
        out[n++] = attr_bool("transpose_b", true);
    } else if (which == HEADS) {
        out[n++] = attr_text("equation", "bqhd,bkhd->bhqk");
    } else if (which != NONE) {
        bool strided = which == CONV_STRIDED || which == POOL;
        out[n++] = attr_ints(b, "strides", 4, strided ? twos : ones);
        out[n++] = attr_text("padding", which == CONV_VALID ? "VALID" : "SAME");
        if (which == CONV_DILATED)
            out[n++] = attr_ints(b, "dilations", 4, twos);
        if (which == POOL)
            out[n++] = attr_ints(b, "ksize", 4, three);
    }
    out[n] = ATTR_END;
}

/* The kernel for a filter that is not known before the run has other loops. */
static void compare_with_plain(const struct one_node *one, const struct tensor *got)
{
    struct one_node plain = *one;
    struct made made;
    struct tensor want[ROW_TENSORS_MAX] = { 0 };
    struct run *run = run_create(0);
    uint32_t crc;
    plain.constant_filter = false;
    assert_true(status_is_ok(make(&plain, &made)));
    assert_true(status_is_ok(run_once(&made, run, &crc, want)));
    assert_true(shape_equal(&want[0].shape, &got->shape));
    for (int64_t i = 0; i < got->size; i++)
        if (fabsf(tensor_floats(got)[i] - tensor_floats(&want[0])[i]) > 1e-3f)
            fail_msg("element %lld is %g, not %g", (long long)i, (double)tensor_floats(got)[i],
                     (double)tensor_floats(&want[0])[i]);
    tensor_release(&want[0]);
    run_destroy(run);
    made_finish(&made);
}

static void large_nodes_have_the_same_bits(void **state)
{
    const struct large *row = *state;
    struct arena *arena = arena_create(0);
    struct graph *graph = graph_create(arena);
    struct builder builder = builder_init(graph);
    struct attr attrs[8];
    struct tensor inputs[2] = { ramp(row->dtype, row->x) };
    int count = row->y.rank > 0 ? 2 : 1;
    if (count == 2)
        inputs[1] = ramp(row->dtype, row->y);
    fill_attrs(&builder, row->attrs, attrs);
    struct one_node one = { row->op, attrs, count, inputs, row->constant_filter };
    struct made made;
    struct run *run = run_create(0);
    uint32_t first = 0;
    parallel_set_part_ns(1e3);
    assert_true(status_is_ok(make(&one, &made)));
    for (size_t w = 0; w < COUNT(widths); w++) {
        struct tensor got[ROW_TENSORS_MAX] = { 0 };
        uint32_t crc;
        parallel_set_width(widths[w]);
        assert_int_equal(parallel_threads(), 0);
        assert_true(status_is_ok(run_once(&made, run, &crc, got)));
        assert_int_equal(parallel_threads(), widths[w] - 1); /* it was cut */
        if (w == 0 && row->constant_filter)
            compare_with_plain(&one, &got[0]);
        if (w == 0)
            first = crc;
        assert_int_equal(crc, first);
        tensor_release(&got[0]);
    }
    run_destroy(run);
    made_finish(&made);
    tensors_release(count, inputs);
    graph_finish(graph);
    arena_destroy(arena);
}

/* ---- runs at the same time ---- */

#define RUNS 4

struct beside {
    const struct made *made;
    uint32_t crc;
    _Atomic int *wrong;
};

static void *run_often(void *context)
{
    const struct beside *beside = context;
    struct run *run = run_create(0);
    for (int i = 0; i < 30; i++) {
        uint32_t crc;
        if (!status_is_ok(run_once(beside->made, run, &crc, NULL)) || crc != beside->crc)
            atomic_fetch_add(beside->wrong, 1);
    }
    run_destroy(run);
    return NULL;
}

static void runs_at_the_same_time_have_the_same_bits(void **state)
{
    struct shape x = { 4, { 1, 28, 28, 32 } }, y = { 4, { 3, 3, 32, 32 } };
    struct arena *arena = arena_create(0);
    struct graph *graph = graph_create(arena);
    struct builder builder = builder_init(graph);
    struct attr attrs[8];
    struct tensor inputs[2] = { ramp(DT_FLOAT, x), ramp(DT_FLOAT, y) };
    struct one_node one = { "Conv2D", attrs, 2, inputs, true };
    struct made made;
    pthread_t threads[RUNS];
    _Atomic int wrong = 0;
    (void)state;
    fill_attrs(&builder, CONV_SAME, attrs);
    parallel_set_part_ns(1e3);
    parallel_set_width(3);
    assert_true(status_is_ok(make(&one, &made)));
    struct beside beside = { &made, 0, &wrong };
    struct run *run = run_create(0);
    assert_true(status_is_ok(run_once(&made, run, &beside.crc, NULL)));
    run_destroy(run);
    for (int i = 0; i < RUNS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &beside), 0);
    for (int i = 0; i < RUNS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(wrong, 0);
    made_finish(&made);
    tensor_release(&inputs[0]);
    tensor_release(&inputs[1]);
    graph_finish(graph);
    arena_destroy(arena);
}

static int end(void **state)
{
    (void)state;
    parallel_set_width(1);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(golden_rows_have_the_same_bits),
        cmocka_unit_test(runs_at_the_same_time_have_the_same_bits),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, large, label, large_nodes_have_the_same_bits);
    return test_group_run(&group, "widths", NULL, end);
}
