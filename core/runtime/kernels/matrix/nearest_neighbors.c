/* NearestNeighbors: for each point, the k centers that are nearest, by the squared distance. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sort.h"

struct neighbor {
    float distance;
    int64_t index;
};

/* Nearer ones first; of equal ones, the first. */
static bool is_nearer(const struct neighbor *a, const struct neighbor *b)
{
    return a->distance < b->distance || (a->distance == b->distance && a->index < b->index);
}

/* Moves the element at `at` down a heap whose root is the farthest. */
static void sift_down(struct neighbor *heap, int64_t count, int64_t at)
{
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && is_nearer(&heap[child], &heap[child + 1]))
            child++;
        if (!is_nearer(&heap[at], &heap[child]))
            return;
        struct neighbor moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

/* Keeps the nearest `most` of the neighbors that it is given. */
static void offer(struct neighbor *heap, int64_t *count, int64_t most, struct neighbor given)
{
    if (*count < most) {
        heap[(*count)++] = given;
        for (int64_t at = *count / 2; *count == most && at-- > 0;)
            sift_down(heap, most, at);
        return;
    }
    if (!is_nearer(&given, &heap[0]))
        return;
    heap[0] = given;
    sift_down(heap, most, 0);
}

static int compare_neighbors(const void *a, const void *b, void *context)
{
    (void)context;
    return is_nearer(a, b) ? -1 : is_nearer(b, a);
}

static float squared_distance(const float *a, const float *b, int64_t count)
{
    float sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static struct status check_inputs(const struct kernel_context *k)
{
    const struct tensor *points = kernel_input(k, 0), *centers = kernel_input(k, 1);
    if (points->shape.rank != 2 || centers->shape.rank != 2 ||
        points->shape.dims[1] != centers->shape.dims[1])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "points and centers should be matrices of as many columns, not %s "
                            "and %s",
                            shape_text(&points->shape), shape_text(&centers->shape));
    if (points->shape.dims[0] == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Expected points.rows() > 0.");
    if (kernel_input(k, 2)->shape.rank != 0 || tensor_index(kernel_input(k, 2), 0) < 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "k should be a scalar and not negative");
    return status_ok();
}

static struct status find_all(struct kernel_context *k, struct neighbor *heap, int64_t most,
                              struct tensor *indices, struct tensor *distances)
{
    const struct tensor *points = kernel_input(k, 0), *centers = kernel_input(k, 1);
    int64_t columns = points->shape.dims[1], work = 0;
    /* without columns, all are equally near, and there may be any number of them */
    int64_t all = columns > 0 ? centers->shape.dims[0] : most;
    for (int64_t row = 0; row < points->shape.dims[0]; row++) {
        int64_t count = 0;
        for (int64_t i = 0; i < all; i++) {
            float distance = squared_distance(tensor_floats(points) + row * columns,
                                              tensor_floats(centers) + i * columns, columns);
            offer(heap, &count, most, (struct neighbor){ distance, i });
            TRY(kernel_work(k, &work, columns + 1));
        }
        TRY(kernel_sort(k, heap, count, sizeof *heap, compare_neighbors, NULL));
        for (int64_t i = 0; i < count; i++) {
            tensor_int64s_mut(indices)[row * most + i] = heap[i].index;
            tensor_floats_mut(distances)[row * most + i] = heap[i].distance;
        }
    }
    return status_ok();
}

static struct status nearest_compute(struct kernel_context *k)
{
    struct tensor *indices, *distances, heap;
    TRY(check_inputs(k));
    int64_t most = tensor_index(kernel_input(k, 2), 0), all = kernel_input(k, 1)->shape.dims[0];
    most = most < all ? most : all;
    int64_t dims[] = { kernel_input(k, 0)->shape.dims[0], most };
    struct shape shape, size = shape_of(most * (int64_t)sizeof(struct neighbor));
    TRY(shape_check(2, dims, &shape));
    TRY(kernel_output(k, 0, &shape, &indices));
    TRY(kernel_output(k, 1, &shape, &distances));
    if (indices->size == 0)
        return status_ok();
    TRY(kernel_scratch(k, DT_UINT8, &size, &heap));
    struct status status = find_all(k, heap.data, most, indices, distances);
    tensor_release(&heap);
    return status;
}

static const struct kernel rows[] = {
    { "NearestNeighbors", DTYPES_ALL, .compute = nearest_compute, .costly = true },
};
const struct kernel_table kernels_nearest_neighbors = { rows, COUNT(rows) };
