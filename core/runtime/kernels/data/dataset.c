#include "runtime/kernels/data/dataset.h"

#include <assert.h>
#include <string.h>

#include "runtime/resources.h"

/* The longest chain of datasets, each an input of the next: walking and freeing one needs room on
 * the thread's stack. */
#define DATASET_DEPTH_MAX 256

static void dataset_destroy(struct object *object)
{
    struct run_dataset *dataset = (struct run_dataset *)object;
    struct tensor self = dataset->self;
    if (dataset->kind->close != NULL)
        dataset->kind->close(dataset);
    tensors_release(dataset->inputs_count, dataset->inputs);
    tensor_release(&self); /* with it the dataset */
}

static const struct object_type dataset_type = { "DatasetVariantWrapper", dataset_destroy };

/* The start of a struct in pooled memory must not move what follows it off its alignment. */
static size_t aligned(size_t size)
{
    return (size + 15) / 16 * 16;
}

/* Zeroed memory of the run's pool. */
static struct status take_memory(struct kernel_context *k, size_t size, struct tensor *out)
{
    struct shape shape = shape_of((int64_t)size);
    TRY(kernel_scratch(k, DT_UINT8, &shape, out));
    memset(out->data, 0, size);
    return status_ok();
}

/* ---- making datasets ---- */

/* Datasets of the lines or records of files have no attribute for it: an element is a string. */
static struct status read_dtypes(struct prepare_context *p, struct dataset_shape *shape)
{
    static enum dtype text = DT_STRING;
    const char *name =
        node_attr(shape->node, "output_types") != NULL ? "output_types" : "Toutput_types";
    const struct attr_value *types;
    if (node_attr(shape->node, name) == NULL) {
        shape->count = 1;
        shape->dtypes = &text;
        return status_ok();
    }
    TRY(node_attr_list_of(shape->node, name, ATTR_TYPE, &types));
    shape->count = types->count;
    shape->dtypes = ARENA_ARRAY(prepare_arena(p), enum dtype, types->count + 1);
    for (int i = 0; i < types->count; i++)
        shape->dtypes[i] = dtype_base(types->elements[i].type);
    return status_ok();
}

struct status dataset_prepare(struct prepare_context *p)
{
    struct dataset_shape *shape = prepare_state(p, sizeof *shape, NULL);
    shape->node = prepare_node(p);
    shape->kind = kernel_find(shape->node)->dataset;
    TRY(read_dtypes(p, shape));
    int count = prepare_functions_count(p);
    shape->functions = ARENA_ARRAY(prepare_arena(p), const struct plan_function *, count + 1);
    for (int i = 0; i < count; i++)
        shape->functions[i] = prepare_function(p, i);
    return shape->kind->prepare != NULL ? shape->kind->prepare(p, shape) : status_ok();
}

/* The dataset in element `i`, or NULL. */
static struct run_dataset *dataset_at(const struct tensor *variants, int64_t i)
{
    struct object *object = ((struct object *const *)variants->data)[i];
    return object != NULL && object->type == &dataset_type ? (struct run_dataset *)object : NULL;
}

static int depth_of(int count, const struct tensor *inputs)
{
    int depth = 0;
    for (int i = 0; i < count; i++) {
        for (int64_t j = 0; inputs[i].dtype == DT_VARIANT && j < inputs[i].size; j++) {
            const struct run_dataset *dataset = dataset_at(&inputs[i], j);
            if (dataset != NULL && dataset->depth > depth)
                depth = dataset->depth;
        }
    }
    return depth + 1;
}

/* May this input of a dataset hold other datasets? A variable holds none, and a dataset says so
 * itself (holds_others). */
static bool may_hold_others(const struct tensor *input)
{
    for (int64_t i = 0; input->dtype == DT_RESOURCE && i < input->size; i++) {
        const struct object *object = tensor_resources(input)[i];
        if (object != NULL && object->type != &variable_type)
            return true;
    }
    for (int64_t i = 0; input->dtype == DT_VARIANT && i < input->size; i++) {
        const struct run_dataset *dataset = dataset_at(input, i);
        if (dataset != NULL ? dataset->holds_others : tensor_variants(input)[i] != NULL)
            return true;
    }
    return false;
}

struct status dataset_create(struct kernel_context *k, const struct dataset_shape *shape, int count,
                             struct tensor *inputs, struct run_dataset **out)
{
    size_t head = aligned(sizeof(struct run_dataset) + (size_t)count * sizeof *inputs);
    int depth = depth_of(count, inputs);
    struct tensor self;
    struct status status = status_ok();
    if (depth > DATASET_DEPTH_MAX)
        status =
            kernel_error(k, STATUS_RESOURCE_EXHAUSTED,
                         "a dataset is made of more than %d datasets in turn", DATASET_DEPTH_MAX);
    if (status_is_ok(status))
        status = take_memory(k, head + shape->kind->dataset_bytes, &self);
    if (!status_is_ok(status)) {
        tensors_release(count, inputs);
        return status;
    }
    struct run_dataset *dataset = self.data;
    *dataset = (struct run_dataset){ .object = { .type = &dataset_type, .references = 1 },
                                     .self = self,
                                     .shape = shape,
                                     .kind = shape->kind,
                                     .count = shape->count,
                                     .depth = depth,
                                     .cardinality = CARDINALITY_UNKNOWN,
                                     .state = (char *)self.data + head,
                                     .inputs_count = count };
    for (int i = 0; i < count; i++)
        dataset->holds_others |= may_hold_others(&inputs[i]);
    tensors_move(count, inputs, dataset->inputs);
    *out = dataset;
    return status;
}

struct status dataset_box(struct kernel_context *k, struct run_dataset *dataset, struct tensor *out)
{
    struct shape scalar = shape_scalar();
    struct status status = kernel_scratch(k, DT_VARIANT, &scalar, out);
    if (status_is_ok(status))
        tensor_variants_mut(out)[0] = &dataset->object;
    else
        object_release(&dataset->object);
    return status;
}

/* An input whose argument is of type variant is a dataset, unless it belongs to a list of any
 * types. */
static bool must_be_dataset(const struct node *node, int index)
{
    int at = 0;
    for (int i = 0; node != NULL && i < node->op->inputs_count; i++) {
        const struct op_arg *arg = &node->op->inputs[i];
        if (arg->type_list_attr != NULL)
            return false; /* the datasets come first */
        int64_t number = 1;
        if (arg->number_attr != NULL)
            status_ignore(node_attr_int(node, arg->number_attr, &number));
        at += (int)number;
        if (index < at)
            return arg->type == DT_VARIANT;
    }
    return false;
}

static struct status check_inputs(struct kernel_context *k, struct run_dataset *dataset)
{
    dataset->is_shuffled = strstr(dataset->shape->node->op_name, "Shuffle") != NULL;
    for (int i = 0; i < dataset->inputs_count; i++) {
        struct run_dataset *input;
        if (!must_be_dataset(dataset->shape->node, i))
            continue;
        TRY(dataset_of(k, &dataset->inputs[i], &input));
        dataset->is_shuffled |= input->is_shuffled;
        if (dataset->kind->same_width)
            TRY(dataset_check_width(k, dataset, input));
    }
    return dataset->kind->check != NULL ? dataset->kind->check(k, dataset) : status_ok();
}

struct status dataset_compute(struct kernel_context *k)
{
    int count = kernel_inputs_count(k);
    struct tensor *inputs = ARENA_ARRAY(kernel_arena(k), struct tensor, count + 1);
    struct run_dataset *dataset;
    struct tensor out;
    for (int i = 0; i < count; i++)
        inputs[i] = kernel_take_input(k, i);
    TRY(dataset_create(k, kernel_state(k), count, inputs, &dataset));
    struct status status = check_inputs(k, dataset);
    if (!status_is_ok(status)) {
        object_release(&dataset->object);
        return status;
    }
    if (dataset->kind->cardinality != NULL)
        dataset->cardinality = dataset->kind->cardinality(dataset);
    TRY(dataset_box(k, dataset, &out));
    kernel_output_set(k, 0, out);
    return status_ok();
}

/* ---- reading datasets ---- */

struct status dataset_of(const struct kernel_context *k, const struct tensor *tensor,
                         struct run_dataset **out)
{
    if (tensor->dtype != DT_VARIANT || tensor->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Dataset tensor must be a scalar of dtype DT_VARIANT.");
    *out = dataset_at(tensor, 0);
    if (*out == NULL)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Tensor must be a Dataset object.");
    return status_ok();
}

struct run_dataset *dataset_input(const struct run_dataset *dataset, int index)
{
    struct run_dataset *input = dataset_at(&dataset->inputs[index], 0);
    assert(input != NULL);
    return input;
}

struct status dataset_check_width(const struct kernel_context *k, const struct run_dataset *dataset,
                                  const struct run_dataset *inner)
{
    if (inner->count == dataset->count)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "a dataset has elements of %d tensors, should be %d", inner->count,
                        dataset->count);
}

int64_t dataset_count_batches(const struct run_dataset *dataset, int64_t size, bool drops)
{
    int64_t count = dataset_input(dataset, 0)->cardinality;
    if (count < 0)
        return count;
    return count / size + (count % size > 0 && !drops);
}

struct status dataset_check_number(const struct kernel_context *k,
                                   const struct run_dataset *dataset, int index, const char *name,
                                   int64_t least)
{
    const struct tensor *number = &dataset->inputs[index];
    if (number->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s must be a scalar", name);
    if (dataset_number(dataset, index) < least)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s must be greater than %s.", name,
                            least == 1   ? "zero"
                            : least == 0 ? "or equal to zero"
                                         : "or equal to -1");
    return status_ok();
}

int64_t dataset_number(const struct run_dataset *dataset, int index)
{
    return tensor_int64s(&dataset->inputs[index])[0];
}

struct status dataset_check_flag(const struct kernel_context *k, const struct run_dataset *dataset,
                                 int index, const char *name)
{
    if (dataset->inputs[index].shape.rank == 0)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s must be a scalar", name);
}

bool dataset_flag(const struct run_dataset *dataset, int index)
{
    return tensor_bools(&dataset->inputs[index])[0];
}

/* ---- walking ---- */

struct status iterator_create(struct kernel_context *k, struct run_dataset *dataset,
                              struct iterator **out)
{
    bool has_input = dataset->inputs_count > 0 && must_be_dataset(dataset->shape->node, 0);
    int width = has_input ? dataset_input(dataset, 0)->count : 0;
    size_t head = aligned(sizeof(struct iterator) + (size_t)width * sizeof(struct tensor));
    struct tensor self;
    TRY(take_memory(k, head + dataset->kind->iterator_bytes, &self));
    struct iterator *iterator = self.data;
    *iterator = (struct iterator){ .self = self,
                                   .dataset = dataset,
                                   .element = (struct tensor *)(iterator + 1),
                                   .state = (char *)self.data + head };
    object_acquire(&dataset->object);
    struct status status = status_ok();
    if (has_input)
        status = iterator_create(k, dataset_input(dataset, 0), &iterator->input);
    if (status_is_ok(status) && dataset->kind->begin != NULL)
        status = dataset->kind->begin(k, iterator);
    if (status_is_ok(status))
        *out = iterator;
    else
        iterator_destroy(iterator);
    return status;
}

void iterator_destroy(struct iterator *iterator)
{
    if (iterator == NULL)
        return;
    struct tensor self = iterator->self;
    if (iterator->dataset->kind->finish != NULL)
        iterator->dataset->kind->finish(iterator);
    iterator_destroy(iterator->input);
    object_release(&iterator->dataset->object);
    tensor_release(&self); /* with it the iterator */
}

static struct status check_element(const struct kernel_context *k,
                                   const struct run_dataset *dataset, const struct tensor *element)
{
    for (int i = 0; dataset->shape->dtypes != NULL && i < dataset->count; i++)
        if (element[i].dtype != dataset->shape->dtypes[i])
            return kernel_error(
                k, STATUS_INVALID_ARGUMENT, "component %d of a dataset is %s, should be %s", i,
                dtype_name(element[i].dtype), dtype_name(dataset->shape->dtypes[i]));
    return status_ok();
}

struct status iterator_next(struct kernel_context *k, struct iterator *iterator,
                            struct tensor *element, bool *end)
{
    struct run_dataset *dataset = iterator->dataset;
    *end = iterator->ended;
    if (*end)
        return status_ok();
    TRY(kernel_check(k));
    TRY(dataset->kind->next(k, iterator, element, end));
    iterator->ended = *end;
    if (*end)
        return status_ok();
    struct status status = check_element(k, dataset, element);
    if (!status_is_ok(status))
        tensors_release(dataset->count, element);
    return status;
}

bool dataset_error_ends_run(enum status_code code)
{
    return code == STATUS_CANCELLED || code == STATUS_DEADLINE_EXCEEDED ||
           code == STATUS_RESOURCE_EXHAUSTED || code == STATUS_UNIMPLEMENTED;
}

struct status iterator_pull(struct kernel_context *k, struct iterator *iterator, bool *end)
{
    return iterator_next(k, iterator->input, iterator->element, end);
}

struct status iterator_collect(struct kernel_context *k, struct iterator *iterator,
                               struct tensors *rows, int64_t most, bool *end)
{
    int width = iterator->dataset->count;
    *end = false;
    for (int64_t i = 0; i < most; i++) {
        TRY(tensors_reserve(k, rows, width));
        TRY(iterator_pull(k, iterator, end));
        if (*end)
            break;
        tensors_append(rows, width, iterator->element);
    }
    return status_ok();
}

/* ---- functions ---- */

struct status dataset_call(struct kernel_context *k, const struct run_dataset *dataset, int index,
                           int count, struct tensor *args, int results_count,
                           struct tensor *results)
{
    const struct plan_function *function = dataset->shape->functions[index];
    const struct tensor *captures = dataset->inputs + plan_function_first_capture(function);
    return plan_function_run(k, function, count, args, captures, results_count, results);
}

struct status dataset_ask(struct kernel_context *k, const struct run_dataset *dataset, int index,
                          int count, struct tensor *args, bool *out)
{
    struct tensor answer;
    TRY(dataset_call(k, dataset, index, count, args, 1, &answer));
    struct status status = status_ok();
    if (answer.dtype == DT_BOOL && answer.size == 1)
        *out = tensor_bools(&answer)[0];
    else
        status = kernel_error(k, STATUS_INVALID_ARGUMENT,
                              "Function `predicate` must return a scalar bool.");
    tensor_release(&answer);
    return status;
}

struct status dataset_open(struct kernel_context *k, const struct run_dataset *dataset, int index,
                           int count, struct tensor *args, struct iterator **out)
{
    struct tensor made;
    struct run_dataset *inner;
    TRY(dataset_call(k, dataset, index, count, args, 1, &made));
    struct status status = dataset_of(k, &made, &inner);
    if (status_is_ok(status))
        status = dataset_check_width(k, dataset, inner);
    if (status_is_ok(status))
        status = iterator_create(k, inner, out);
    tensor_release(&made);
    return status;
}

struct status dataset_open_next(struct kernel_context *k, struct iterator *iterator,
                                struct iterator **out, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    TRY(iterator_pull(k, iterator, end));
    if (*end)
        return status_ok();
    return dataset_open(k, dataset, 0, dataset_input(dataset, 0)->count, iterator->element, out);
}
