/*
 * queue_handles: the ops that make queues: FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue and
 * PriorityQueue. A queue lives as long as the servable.
 */
#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/queues/queue.h"
#include "runtime/kernels/state/variable.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

/* "[[1,2], []]" */
static const char *shapes_text(struct arena *arena, const struct shape *shapes, int count)
{
    struct buffer text = { 0 };
    buffer_append(&text, "[", 1);
    for (int i = 0; i < count && shapes != NULL; i++) {
        const char *shape = shape_text(&shapes[i]);
        buffer_append(&text, ", ", i > 0 ? 2 : 0);
        buffer_append(&text, shape, strlen(shape));
    }
    buffer_append(&text, "]", 1);
    const char *kept = arena_memdup(arena, text.data, text.size);
    buffer_finish(&text);
    return kept;
}

/* Reads the types of the components; that of the priority comes first. */
static struct status read_types(struct prepare_context *p, struct queue_kind *kind)
{
    const struct attr_value *types;
    int declared = kind->policy->has_priorities;
    TRY(node_attr_list_of(prepare_node(p), "component_types", ATTR_TYPE, &types));
    kind->count = declared + types->count;
    kind->dtypes = ARENA_ARRAY(prepare_arena(p), enum dtype, kind->count + 1);
    kind->dtypes[0] = DT_INT64;
    for (int i = 0; i < types->count; i++) {
        enum dtype dtype = dtype_base(types->elements[i].type);
        if ((DTYPES(dtype) & DTYPES_MOVED) == 0)
            return status_error(STATUS_UNIMPLEMENTED, "node '%s' (%s): queues of %s",
                                prepare_node(p)->name, prepare_node(p)->op_name, dtype_name(dtype));
        kind->dtypes[declared + i] = dtype;
    }
    return status_ok();
}

/* There are fewer or more shapes than types. */
static struct status refuse_shapes(struct prepare_context *p, const struct queue_kind *kind,
                                   const struct attr_value *given)
{
    struct arena *arena = prepare_arena(p);
    struct shape *shapes = ARENA_ARRAY(arena, struct shape, given->count + 1);
    for (int i = 0; i < given->count; i++)
        shapes[i] = *given->elements[i].shape;
    return INVALID("Different number of component types.  Types: %s, Shapes: %s",
                   queue_types_text(arena, kind->dtypes, kind->count),
                   shapes_text(arena, shapes, given->count));
}

static struct status read_shapes(struct prepare_context *p, struct queue_kind *kind)
{
    const struct node *node = prepare_node(p);
    const struct attr_value *shapes;
    int declared = kind->policy->has_priorities;
    TRY(node_attr_list_of(node, "shapes", ATTR_SHAPE, &shapes));
    if (shapes->count == 0 && !(declared && kind->count == 1))
        return status_ok();
    if (declared + shapes->count != kind->count)
        return refuse_shapes(p, kind, shapes);
    kind->shapes = ARENA_ARRAY(prepare_arena(p), struct shape, kind->count + 1);
    kind->shapes[0] = shape_scalar();
    for (int i = 0; i < shapes->count; i++) {
        const struct shape *shape = shapes->elements[i].shape;
        if (shape->rank < 0 || (!kind->policy->pads && !shape_is_known(shape)))
            return INVALID("node '%s' (%s): shape %s of a component is not known", node->name,
                           node->op_name, shape_text(shape));
        kind->shapes[declared + i] = *shape;
    }
    return status_ok();
}

static struct status read_shuffling(struct prepare_context *p, struct queue_kind *kind)
{
    const struct node *node = prepare_node(p);
    if (op_attr_find(node->op, "min_after_dequeue") == NULL)
        return status_ok();
    TRY(node_attr_int32(node, "min_after_dequeue", &kind->min_after_dequeue));
    TRY(node_attr_int(node, "seed", &kind->seed));
    TRY(node_attr_int(node, "seed2", &kind->seed2));
    if (kind->min_after_dequeue < 0)
        return INVALID("min_after_dequeue %lld must be >= 0", (long long)kind->min_after_dequeue);
    if (kind->min_after_dequeue >= kind->capacity)
        return INVALID("min_after_dequeue %lld must be < capacity %lld",
                       (long long)kind->min_after_dequeue, (long long)kind->capacity);
    return status_ok();
}

static struct status read_kind(struct prepare_context *p, struct queue_kind *kind)
{
    kind->policy = queue_policy_find(prepare_node(p)->op_name);
    TRY(node_attr_int32(prepare_node(p), "capacity", &kind->capacity));
    if (kind->capacity < 0)
        kind->capacity = INT32_MAX;
    TRY(read_types(p, kind));
    TRY(read_shapes(p, kind));
    return read_shuffling(p, kind);
}

/* ---- a queue that several nodes share ---- */

static struct status check_same(struct prepare_context *p, const struct queue *queue,
                                const struct queue_kind *kind)
{
    const struct queue_kind *found = queue_kind(queue);
    const char *name = queue_name(queue);
    struct arena *arena = prepare_arena(p);
    if (found->policy != kind->policy)
        return INVALID("Expected %s, found %s", found->policy->name, prepare_node(p)->op_name);
    if (found->capacity != kind->capacity)
        return INVALID("Shared queue '%s' has capacity %lld but requested capacity was %lld", name,
                       (long long)found->capacity, (long long)kind->capacity);
    if (found->min_after_dequeue != kind->min_after_dequeue)
        return INVALID("Shared queue '%s' has min_after_dequeue %lld but requested "
                       "min_after_dequeue was %lld.",
                       name, (long long)found->min_after_dequeue,
                       (long long)kind->min_after_dequeue);
    if (found->seed != kind->seed || found->seed2 != kind->seed2)
        return INVALID("Shared queue '%s' has random seeds (%lld, %lld) but requested seeds are "
                       "(%lld, %lld).",
                       name, (long long)found->seed, (long long)found->seed2, (long long)kind->seed,
                       (long long)kind->seed2);
    const char *types = queue_types_text(arena, found->dtypes, found->count),
               *wanted_types = queue_types_text(arena, kind->dtypes, kind->count);
    if (strcmp(types, wanted_types) != 0)
        return INVALID("Shared queue '%s' has component types %s but requested component types "
                       "were %s",
                       name, types, wanted_types);
    const char *shapes = shapes_text(arena, found->shapes, found->count),
               *wanted_shapes = shapes_text(arena, kind->shapes, kind->count);
    if (strcmp(shapes, wanted_shapes) != 0)
        return INVALID("Shared queue '%s' has component shapes %s but requested component shapes "
                       "were %s",
                       name, shapes, wanted_shapes);
    return status_ok();
}

struct queue_making {
    const struct queue_kind *kind;
    struct bytes name;
};

static struct status make(void *argument, struct object **out)
{
    const struct queue_making *making = argument;
    queue_create(making->kind, making->name, out);
    return status_ok();
}

/* A queue without a shared name belongs to its node. Its name is one that no other node can share,
 * because it begins with '_', like those that TensorFlow makes up. */
static struct status handle_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct object **queue = prepare_state(p, sizeof *queue, NULL);
    struct queue_kind kind = { 0 };
    struct queue_making making = { &kind, resource_name_attr(node, "shared_name") };
    TRY(read_kind(p, &kind));
    if (making.name.size == 0)
        making.name = bytes_of(arena_printf(prepare_arena(p), "_0_%s", node->name));
    TRY(resources_find_or_create(prepare_resources(p), &queue_type,
                                 resource_name_attr(node, "container"), making.name, make, &making,
                                 queue));
    object_release(*queue); /* `resources` keeps it, and outlives the plan */
    return check_same(p, (const struct queue *)*queue, &kind);
}

static struct status handle_compute(struct kernel_context *k)
{
    struct object *const *queue = kernel_state(k);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(kernel_output_typed(k, 0, DT_RESOURCE, &scalar, &out));
    tensor_resources_mut(out)[0] = object_acquire(*queue);
    return status_ok();
}

#define HANDLE(op)                                                                         \
    {                                                                                      \
        op, DTYPES_ALL, .prepare = handle_prepare, .compute = handle_compute, .once = true \
    }
static const struct kernel rows[] = {
    HANDLE("FIFOQueue"),          HANDLE("FIFOQueueV2"),        HANDLE("PaddingFIFOQueue"),
    HANDLE("PaddingFIFOQueueV2"), HANDLE("RandomShuffleQueue"), HANDLE("RandomShuffleQueueV2"),
    HANDLE("PriorityQueue"),      HANDLE("PriorityQueueV2"),
};
const struct kernel_table kernels_queue_handles = { rows, COUNT(rows) };
