/*
 * Iterators that a graph holds: a resource tensor with an object, which MakeIterator gives a
 * dataset. The object lives as long as some tensor holds it, and no longer than the run; the next
 * run of the same graph starts again.
 */
#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/lists/tensor_box.h"

struct iterator_resource {
    struct object object;
    struct tensor self;
    struct iterator *iterator; /* NULL: no dataset yet */
};

static void resource_destroy(struct object *object)
{
    struct iterator_resource *resource = (struct iterator_resource *)object;
    struct tensor self = resource->self;
    iterator_destroy(resource->iterator);
    tensor_release(&self); /* with it the resource */
}

static const struct object_type resource_type = { "IteratorResource", resource_destroy };

static struct status resource_create(struct kernel_context *k, struct iterator_resource **out)
{
    struct shape size = shape_of((int64_t)sizeof(struct iterator_resource));
    struct tensor self;
    TRY(kernel_scratch(k, DT_UINT8, &size, &self));
    *out = self.data;
    **out = (struct iterator_resource){ .object = { .type = &resource_type, .references = 1 },
                                        .self = self };
    return status_ok();
}

static struct status resource_input(struct kernel_context *k, int index,
                                    struct iterator_resource **out)
{
    const struct tensor *handle = kernel_input(k, index);
    struct object *object = handle->size == 1 ? *(struct object *const *)handle->data : NULL;
    if (object == NULL || object->type != &resource_type)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input %d is no iterator", index);
    *out = (struct iterator_resource *)object;
    return status_ok();
}

/* AnonymousIterator and IteratorV2. The older anonymous one also gives a deleter, which has nothing
 * to do here. */
static struct status iterator_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct iterator_resource *resource;
    struct tensor *handle, *deleter;
    TRY(kernel_output(k, 0, &scalar, &handle));
    TRY(resource_create(k, &resource));
    tensor_resources_mut(handle)[0] = &resource->object;
    return kernel_outputs_count(k) > 1 ? kernel_output(k, 1, &scalar, &deleter) : status_ok();
}

static struct status nothing_compute(struct kernel_context *k)
{
    (void)k;
    return status_ok();
}

/* ---- MakeIterator ---- */

/* Takes the dataset away from an iterator at the end of the run: the dataset may hold the iterator,
 * by way of what its functions captured. */
struct closer {
    struct object object;
    struct tensor self;
    struct iterator_resource *resource;
};

static void closer_destroy(struct object *object)
{
    struct closer *closer = (struct closer *)object;
    struct tensor self = closer->self;
    struct iterator *iterator = closer->resource->iterator;
    closer->resource->iterator = NULL;
    iterator_destroy(iterator);
    object_release(&closer->resource->object);
    tensor_release(&self); /* with it the closer */
}

static struct status close_with_run(struct kernel_context *k, struct iterator_resource *resource)
{
    static const struct object_type closer_type = { "IteratorCloser", closer_destroy };
    struct shape size = shape_of((int64_t)sizeof(struct closer));
    struct tensor self;
    TRY(kernel_scratch(k, DT_UINT8, &size, &self));
    struct closer *closer = self.data;
    *closer = (struct closer){ .object = { .type = &closer_type, .references = 1 },
                               .self = self,
                               .resource = resource };
    object_acquire(&resource->object);
    kernel_name_object(k, &closer->object);
    return status_ok();
}

/* Restarts the iterator, over the dataset in `variant`. */
static struct status start(struct kernel_context *k, struct iterator_resource *resource,
                           const struct tensor *variant)
{
    struct run_dataset *dataset;
    struct iterator *iterator;
    TRY(dataset_of(k, variant, &dataset));
    if (dataset->holds_others)
        TRY(close_with_run(k, resource));
    TRY(iterator_create(k, dataset, &iterator));
    iterator_destroy(resource->iterator);
    resource->iterator = iterator;
    return status_ok();
}

static struct status make_compute(struct kernel_context *k)
{
    struct iterator_resource *resource;
    TRY(resource_input(k, 1, &resource));
    return start(k, resource, kernel_input(k, 0));
}

/* ---- OneShotIterator: a function makes the dataset ---- */

static struct status one_shot_prepare(struct prepare_context *p)
{
    const struct plan_function **function = prepare_state(p, sizeof *function, NULL);
    *function = prepare_function(p, 0);
    return status_ok();
}

static struct status one_shot_compute(struct kernel_context *k)
{
    const struct plan_function *function = *(const struct plan_function *const *)kernel_state(k);
    struct shape scalar = shape_scalar();
    struct iterator_resource *resource;
    struct tensor *handle, dataset;
    TRY(kernel_output(k, 0, &scalar, &handle));
    TRY(resource_create(k, &resource));
    tensor_resources_mut(handle)[0] = &resource->object;
    TRY(plan_function_run(k, function, 0, NULL, NULL, 1, &dataset));
    struct status status = start(k, resource, &dataset);
    tensor_release(&dataset);
    return status;
}

/* ---- the next element ---- */

/* It goes to the start of `values`, which the caller finishes. */
static struct status next_of_input(struct kernel_context *k, struct tensors *values, bool *end)
{
    struct iterator_resource *resource;
    TRY(resource_input(k, 0, &resource));
    struct iterator *iterator = resource->iterator;
    if (iterator == NULL)
        return kernel_error(k, STATUS_FAILED_PRECONDITION,
                            "GetNext() failed because the iterator has not been initialized. "
                            "Ensure that you have run the initializer operation for this iterator "
                            "before getting the next element.");
    TRY(tensors_reserve(k, values, iterator->dataset->count));
    TRY(iterator_next(k, iterator, values->at, end));
    if (!*end)
        values->count = iterator->dataset->count;
    return status_ok();
}

static struct status get_next_compute(struct kernel_context *k)
{
    struct tensors values = { 0 };
    bool end = false;
    struct status status = next_of_input(k, &values, &end);
    if (status_is_ok(status) && end)
        status = kernel_error(k, STATUS_OUT_OF_RANGE, "End of sequence");
    if (status_is_ok(status))
        status = tensors_output(k, &values);
    tensors_finish(&values);
    return status;
}

static struct status get_optional_compute(struct kernel_context *k)
{
    struct tensors values = { 0 };
    bool end = false;
    struct status status = next_of_input(k, &values, &end);
    if (status_is_ok(status)) {
        int count = (int)values.count;
        values.count = 0;
        status = tensor_box_output(k, BOX_OPTIONAL, count, values.at);
    }
    tensors_finish(&values);
    return status;
}

static const struct kernel rows[] = {
    { "AnonymousIterator", DTYPES_ALL, .compute = iterator_compute },
    { "AnonymousIteratorV2", DTYPES_ALL, .compute = iterator_compute },
    { "AnonymousIteratorV3", DTYPES_ALL, .compute = iterator_compute },
    { "Iterator", DTYPES_ALL, .compute = iterator_compute },
    { "IteratorV2", DTYPES_ALL, .compute = iterator_compute },
    { "OneShotIterator", DTYPES_ALL, .prepare = one_shot_prepare, .compute = one_shot_compute,
      .costly = true },
    { "DeleteIterator", DTYPES_ALL, .compute = nothing_compute },
    { "MakeIterator", DTYPES_ALL, .compute = make_compute },
    { "IteratorGetNext", DTYPES_ALL, .compute = get_next_compute, .costly = true },
    { "IteratorGetNextSync", DTYPES_ALL, .compute = get_next_compute, .costly = true },
    { "IteratorGetNextAsOptional", DTYPES_ALL, .compute = get_optional_compute, .costly = true },
};
const struct kernel_table kernels_iterators = { rows, COUNT(rows) };
