/*
 * top_k: TopKV2, ApproxTopK (which is exact, as in TensorFlow on a CPU), NthElement, InTopKV2 and
 * InTopK. Of equal values, the lower index comes first. NaN comes after all numbers; in TensorFlow
 * its place depends on the sort. A heap holds the k best so far: a row of n costs at most n log k.
 * Elements that come in no order are mostly worse than all of those, and are passed over in blocks.
 */
#include "base/clones.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

/* Is element a, of value va, before element b in the result? */
#define IS_NAN(v) ((v) != (v))
#define IS_BEFORE(va, vb, a, b) \
    ((va) > (vb) || (!((va) < (vb)) && (IS_NAN(va) == IS_NAN(vb) ? (a) < (b) : IS_NAN(vb))))

#define PASSED    64 /* elements that are looked at together */
#define SIFT_WORK 16 /* of moving an element down a heap, for kernel_work */

/* For each type: its functions are inlined into each other, which makes them three times as fast as
 * with a pointer to the comparison. `value` makes a number V of a stored T.
 *
 * sift_down: heap[0] is the worst of those kept; every parent is worse than its children.
 * pass: the first block from `at` on that may have an element before `worst`, which is before all
 * of it in x.
 * heap_of_row: in the order of TensorFlow's heap, for a result that need not be sorted. gtl::TopN
 * makes a heap of the first k + 1 elements, drops the worst, and then pops the worst and pushes a
 * better one. */
#define BEST_OF_ROW(s, T, V, value)                                                            \
    static inline bool before_##s(const T *x, int32_t a, int32_t b)                            \
    {                                                                                          \
        const V va = value(x[a]), vb = value(x[b]);                                            \
        return IS_BEFORE(va, vb, a, b);                                                        \
    }                                                                                          \
    static void sift_down_##s(const T *x, int32_t *heap, int64_t count, int64_t at)            \
    {                                                                                          \
        for (int64_t child; (child = 2 * at + 1) < count; at = child) {                        \
            if (child + 1 < count && before_##s(x, heap[child], heap[child + 1]))              \
                child++;                                                                       \
            if (!before_##s(x, heap[at], heap[child]))                                         \
                return;                                                                        \
            int32_t moved = heap[at];                                                          \
            heap[at] = heap[child];                                                            \
            heap[child] = moved;                                                               \
        }                                                                                      \
    }                                                                                          \
    CLONES static int64_t pass_##s(const T *x, int64_t n, int64_t at, int32_t worst)           \
    {                                                                                          \
        const V limit = value(x[worst]);                                                       \
        if (IS_NAN(limit))                                                                     \
            return at;                                                                         \
        for (; at + PASSED <= n; at += PASSED) {                                               \
            int better = 0;                                                                    \
            for (int i = 0; i < PASSED; i++)                                                   \
                better |= value(x[at + i]) > limit;                                            \
            if (better)                                                                        \
                break;                                                                         \
        }                                                                                      \
        return at;                                                                             \
    }                                                                                          \
    static struct status best_of_row_##s(const struct kernel_context *context, int64_t *work,  \
                                         const void *row, int64_t n, int64_t k, int32_t *heap) \
    {                                                                                          \
        const T *x = row;                                                                      \
        for (int64_t i = 0; i < k; i++)                                                        \
            heap[i] = (int32_t)i;                                                              \
        for (int64_t i = k / 2; i-- > 0;) {                                                    \
            sift_down_##s(x, heap, k, i);                                                      \
            TRY(kernel_work(context, work, SIFT_WORK));                                        \
        }                                                                                      \
        for (int64_t i = k, end; i < n && k > 0;) {                                            \
            i = pass_##s(x, n, i, heap[0]);                                                    \
            for (end = i + PASSED < n ? i + PASSED : n; i < end; i++)                          \
                if (before_##s(x, (int32_t)i, heap[0])) {                                      \
                    heap[0] = (int32_t)i;                                                      \
                    sift_down_##s(x, heap, k, 0);                                              \
                }                                                                              \
            TRY(kernel_work(context, work, PASSED));                                           \
        }                                                                                      \
        for (int64_t left = k; left-- > 1;) { /* the last goes to the end */                   \
            int32_t last = heap[0];                                                            \
            heap[0] = heap[left];                                                              \
            heap[left] = last;                                                                 \
            sift_down_##s(x, heap, left, 0);                                                   \
            TRY(kernel_work(context, work, SIFT_WORK));                                        \
        }                                                                                      \
        return status_ok();                                                                    \
    }                                                                                          \
    static void push_##s(const T *x, int32_t *heap, int64_t at, int32_t pushed)                \
    {                                                                                          \
        for (int64_t up; at > 0 && before_##s(x, heap[up = (at - 1) / 2], pushed); at = up)    \
            heap[at] = heap[up];                                                               \
        heap[at] = pushed;                                                                     \
    }                                                                                          \
    static struct status heap_of_row_##s(const struct kernel_context *context, int64_t *work,  \
                                         const void *row, int64_t n, int64_t k, int32_t *heap) \
    {                                                                                          \
        const T *x = row;                                                                      \
        for (int64_t i = 0; i <= k; i++)                                                       \
            heap[i] = (int32_t)i;                                                              \
        for (int64_t i = (k + 1) / 2; i-- > 0;) {                                              \
            sift_down_##s(x, heap, k + 1, i);                                                  \
            TRY(kernel_work(context, work, SIFT_WORK));                                        \
        }                                                                                      \
        heap[0] = heap[k];                                                                     \
        sift_down_##s(x, heap, k, 0);                                                          \
        for (int64_t i = k + 1, end; i < n;) {                                                 \
            i = pass_##s(x, n, i, heap[0]);                                                    \
            for (end = i + PASSED < n ? i + PASSED : n; i < end; i++)                          \
                if (before_##s(x, (int32_t)i, heap[0])) {                                      \
                    heap[0] = heap[k - 1];                                                     \
                    sift_down_##s(x, heap, k - 1, 0);                                          \
                    push_##s(x, heap, k - 1, (int32_t)i);                                      \
                }                                                                              \
            TRY(kernel_work(context, work, PASSED));                                           \
        }                                                                                      \
        return status_ok();                                                                    \
    }
#define AS_IT_IS(x)                (x)
#define BEST_OF_PLAIN_ROW(s, T, W) BEST_OF_ROW(s, T, T, AS_IT_IS)
REAL_TYPES(BEST_OF_PLAIN_ROW)
BEST_OF_ROW(half, uint16_t, float, half_to_float)
BEST_OF_ROW(bfloat16, uint16_t, float, bfloat16_to_float)

/* The places of the k best of n elements, best first. `work` is for kernel_work. */
typedef struct status best_of_row(const struct kernel_context *context, int64_t *work,
                                  const void *row, int64_t n, int64_t k, int32_t *heap);
static best_of_row *const best_of[DTYPE_COUNT] = {
    ROWS_REAL(best_of_row), [DT_HALF] = best_of_row_half, [DT_BFLOAT16] = best_of_row_bfloat16
};
/* The same in no order, with room for k + 1; 1 < k < n. */
static best_of_row *const heap_of[DTYPE_COUNT] = {
    ROWS_REAL(heap_of_row), [DT_HALF] = heap_of_row_half, [DT_BFLOAT16] = heap_of_row_bfloat16
};

static struct status top_k_check(const struct tensor *x, int64_t k)
{
    if (k < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Need k >= 0, got %lld", (long long)k);
    if (x->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be >= 1-D, got shape %s",
                            shape_text(&x->shape));
    int64_t n = x->shape.dims[x->shape.rank - 1];
    if (n < k)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input must have at least k columns. Had %lld, needed %lld",
                            (long long)n, (long long)k);
    if (n > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "input has %lld columns, over %d",
                            (long long)n, INT32_MAX);
    return status_ok();
}

static struct status find_top(struct kernel_context *k, int64_t count, bool sorted)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *values, *indices, heap;
    TRY(top_k_check(x, count));
    struct shape shape = x->shape, one_row = shape_of(count + 1);
    int64_t n = shape.dims[shape.rank - 1], rows = shape_outer(&shape, shape.rank - 1), work = 0;
    shape.dims[shape.rank - 1] = count;
    TRY(kernel_output(k, 0, &shape, &values));
    TRY(kernel_output(k, 1, &shape, &indices));
    if (values->size == 0)
        return status_ok();
    TRY(kernel_scratch(k, DT_INT32, &one_row, &heap));
    size_t size = dtype_size(x->dtype);
    struct status status = status_ok();
    best_of_row *find = sorted || count == 1 || count == n ? best_of[x->dtype] : heap_of[x->dtype];
    for (int64_t r = 0; r < rows && status_is_ok(status); r++) {
        const void *row = at_bytes_const(x->data, r * n, size);
        int32_t *best = heap.data;
        status = find(k, &work, row, n, count, best);
        for (int64_t i = 0; i < count && status_is_ok(status); i++) {
            memcpy(at_bytes(values->data, r * count + i, size), at_bytes_const(row, best[i], size),
                   size);
            tensor_set_index(indices, r * count + i, best[i]);
        }
    }
    tensor_release(&heap);
    return status;
}

static struct status top_k_prepare(struct prepare_context *p)
{
    bool *sorted = prepare_state(p, sizeof *sorted, NULL);
    return node_attr_bool(prepare_node(p), "sorted", sorted);
}

static struct status top_k_compute(struct kernel_context *k)
{
    const struct tensor *count = kernel_input(k, 1);
    if (count->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "k must be scalar, got shape %s",
                            shape_text(&count->shape));
    return find_top(k, tensor_index(count, 0), *(const bool *)kernel_state(k));
}

/* TensorFlow has CPU kernels for these values of the attributes only. */
static struct status approximate_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    int64_t *count = prepare_state(p, sizeof *count, NULL), axis;
    bool is_max;
    TRY(node_attr_int(node, "k", count));
    TRY(node_attr_int(node, "reduction_dimension", &axis));
    TRY(node_attr_bool(node, "is_max_k", &is_max));
    if (axis != -1 || !is_max)
        return status_error(STATUS_UNIMPLEMENTED,
                            "ApproxTopK of the %s values along dimension %lld",
                            is_max ? "greatest" : "least", (long long)axis);
    return status_ok();
}

static struct status approximate_compute(struct kernel_context *k)
{
    return find_top(k, *(const int64_t *)kernel_state(k), true);
}

/* ---- NthElement: the one that sorting would put at place n ---- */

static struct status nth_prepare(struct prepare_context *p)
{
    bool *reverse = prepare_state(p, sizeof *reverse, NULL);
    return node_attr_bool(prepare_node(p), "reverse", reverse);
}

static struct status nth_check(const struct kernel_context *k, int64_t *n)
{
    const struct shape *x = &kernel_input(k, 0)->shape;
    const struct tensor *place = kernel_input(k, 1);
    if (place->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "N must be scalar but has rank %d",
                            place->shape.rank);
    *n = tensor_index(place, 0);
    if (*n < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "n must be non-negative but is %lld",
                            (long long)*n);
    if (x->rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Input must be at least rank 1 but is rank %d",
                            x->rank);
    int64_t columns = x->dims[x->rank - 1];
    if (columns <= *n || columns > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input must have last dimension > n = %lld, but inner-most dimension "
                            "is %lld",
                            (long long)*n, (long long)columns);
    if (!*(const bool *)kernel_state(k))
        *n = columns - 1 - *n; /* counted from the greatest */
    return status_ok();
}

static struct status nth_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out, heap;
    int64_t n = 0, work = 0;
    TRY(nth_check(k, &n));
    struct shape shape = x->shape, one_row = shape_of(n + 1);
    int64_t columns = shape.dims[--shape.rank];
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    TRY(kernel_scratch(k, DT_INT32, &one_row, &heap));
    struct status status = status_ok();
    for (int64_t r = 0; r < out->size && status_is_ok(status); r++) {
        const void *row = at_bytes_const(x->data, r * columns, dtype_size(x->dtype));
        status = best_of[x->dtype](k, &work, row, columns, n + 1, heap.data);
        if (status_is_ok(status))
            copy_element(x, r * columns + tensor_int32s(&heap)[n], out, r);
    }
    tensor_release(&heap);
    return status;
}

/* ---- InTopKV2: is the target among the k greatest? ---- */

/* A tie counts for the target. A row with a value that is not finite has no k greatest. */
static bool in_top_k(const float *row, int64_t n, int64_t target, int64_t k)
{
    int64_t greater = 0;
    if (target < 0 || target >= n || !__builtin_isfinite(row[target]))
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (!__builtin_isfinite(row[i]))
            return false;
        greater += row[i] > row[target];
    }
    return greater < k;
}

/* The first version has k as an attribute. */
static struct status in_top_k_prepare(struct prepare_context *p)
{
    int64_t *count = prepare_state(p, sizeof *count, NULL);
    return node_attr_int(prepare_node(p), "k", count);
}

static struct status in_top_k_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *targets = kernel_input(k, 1);
    bool has_input = kernel_inputs_count(k) == 3;
    struct tensor *out;
    if (x->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "predictions must be 2-dimensional");
    if (targets->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "targets must be 1-dimensional");
    if (x->shape.dims[0] != targets->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "First dimension of predictions %lld must match length of targets %lld",
                            (long long)x->shape.dims[0], (long long)targets->size);
    if (has_input && kernel_input(k, 2)->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "k must be a scalar");
    int64_t count =
        has_input ? tensor_index(kernel_input(k, 2), 0) : *(const int64_t *)kernel_state(k);
    TRY(kernel_output(k, 0, &targets->shape, &out));
    int64_t n = x->shape.dims[1];
    for (int64_t i = 0; i < targets->size; i++)
        tensor_bools_mut(out)[i] =
            in_top_k(tensor_floats(x) + i * n, n, tensor_index(targets, i), count);
    return status_ok();
}

static const struct kernel rows[] = {
    { "TopKV2", DTYPES_REAL, "T", .prepare = top_k_prepare, .compute = top_k_compute },
    { "ApproxTopK", DTYPES_FLOATING, "T", .prepare = approximate_prepare,
      .compute = approximate_compute },
    { "NthElement", DTYPES_REAL, "T", .prepare = nth_prepare, .compute = nth_compute,
      .costly = true },
    { "InTopKV2", DTYPES_ALL, .compute = in_top_k_compute },
    { "InTopK", DTYPES_ALL, .prepare = in_top_k_prepare, .compute = in_top_k_compute },
};
const struct kernel_table kernels_top_k = { rows, COUNT(rows) };
