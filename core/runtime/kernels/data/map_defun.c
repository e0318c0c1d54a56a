/* MapDefun: runs a function on each row of its inputs, and stacks what it gives. */
#include "runtime/functions.h"
#include "runtime/kernels/data/tensors.h"

struct map_defun {
    const struct plan_function *function;
    const struct attr_value *shapes; /* of the results, where they are known */
    int args_count;                  /* without the captures */
};

static struct status map_defun_prepare(struct prepare_context *p)
{
    const struct attr_value *types;
    struct map_defun *map = prepare_state(p, sizeof *map, NULL);
    map->function = prepare_function(p, 0);
    TRY(node_attr_list_of(prepare_node(p), "Targuments", ATTR_TYPE, &types));
    TRY(node_attr_list_of(prepare_node(p), "output_shapes", ATTR_SHAPE, &map->shapes));
    map->args_count = types->count;
    if (map->shapes->count == prepare_node(p)->outputs_count)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "node '%s': %d output_shapes for %d outputs",
                        prepare_node(p)->name, map->shapes->count, prepare_node(p)->outputs_count);
}

/* The number of rows, which all arguments share. */
static struct status count_rows(struct kernel_context *k, const struct map_defun *map, int64_t *out)
{
    for (int i = 0; i < map->args_count; i++) {
        const struct shape *shape = &kernel_input(k, i)->shape;
        if (shape->rank == 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "All inputs must have rank at least 1. Input %d has a rank of 0.",
                                i);
        if (i > 0 && shape->dims[0] != *out)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "All inputs must have the same dimension 0. Input %d has leading "
                                "dimension %lld, while all previous inputs have leading dimension "
                                "%lld",
                                i, (long long)shape->dims[0], (long long)*out);
        *out = shape->dims[0];
    }
    return status_ok();
}

/* Results must have the declared type, the declared shape, if that is known, and the shape of those
 * of row 0. */
static struct status check_results(struct kernel_context *k, const struct map_defun *map,
                                   const struct tensor *first, const struct tensor *results)
{
    for (int i = 0; i < kernel_outputs_count(k); i++) {
        const struct shape *declared = map->shapes->elements[i].shape;
        const struct shape *wanted = shape_is_known(declared) ? declared : &first[i].shape;
        enum dtype dtype = kernel_node(k)->outputs[i].dtype;
        if (results[i].dtype != dtype)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "result %d is %s, should be %s", i,
                                dtype_name(results[i].dtype), dtype_name(dtype));
        if (!shape_equal(&results[i].shape, wanted)) {
            const char *text = shape_text(&results[i].shape);
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Mismatch in function retval shape, %s, and expected output shape, "
                                "%s.",
                                text, shape_text(wanted));
        }
    }
    return status_ok();
}

/* `args` has room for a row of each input, followed by the captures. */
static struct status run_row(struct kernel_context *k, const struct map_defun *map, int64_t row,
                             struct tensor *args, struct tensors *results)
{
    int outputs = kernel_outputs_count(k);
    for (int i = 0; i < map->args_count; i++) {
        struct status status = tensor_row(k, kernel_input(k, i), row, &args[i]);
        if (!status_is_ok(status)) {
            tensors_release(i, args);
            return status;
        }
    }
    TRY(tensors_reserve(k, results, outputs));
    struct tensor *made = results->at + results->count;
    TRY(plan_function_run(k, map->function, map->args_count, args, args + map->args_count, outputs,
                          made));
    results->count += outputs;
    return check_results(k, map, results->at, made);
}

static struct status output_empty(struct kernel_context *k, const struct map_defun *map)
{
    for (int i = 0; i < kernel_outputs_count(k); i++) {
        const struct shape *declared = map->shapes->elements[i].shape;
        struct shape shape = shape_of(0);
        struct tensor *out;
        bool is_known = shape_is_known(declared);
        for (int j = 0; is_known && j < declared->rank; j++) {
            is_known = declared->dims[j] >= 0;
            shape_append(&shape, declared->dims[j]);
        }
        if (!is_known) /* TensorFlow makes no such output, and misses it afterwards */
            return kernel_error(k, STATUS_INTERNAL, "Missing %d-th output", i);
        TRY(kernel_output(k, i, &shape, &out));
    }
    return status_ok();
}

static struct status run_rows(struct kernel_context *k, const struct map_defun *map, int64_t count,
                              struct tensors *results)
{
    int inputs = kernel_inputs_count(k), outputs = kernel_outputs_count(k);
    struct tensor *args = ARENA_ARRAY(kernel_arena(k), struct tensor, inputs + 1);
    for (int i = map->args_count; i < inputs; i++)
        args[i] = *kernel_input(k, i); /* borrowed */
    for (int64_t i = 0; i < count; i++)
        TRY(run_row(k, map, i, args, results));
    for (int i = 0; i < outputs; i++) {
        struct tensor out;
        TRY(tensors_stack(k, count, results->at + i, outputs, i, &out));
        kernel_output_set(k, i, out);
    }
    return status_ok();
}

static struct status map_defun_compute(struct kernel_context *k)
{
    const struct map_defun *map = kernel_state(k);
    struct tensors results = { 0 };
    int64_t count = 0;
    TRY(count_rows(k, map, &count));
    if (count == 0)
        return output_empty(k, map);
    struct status status = run_rows(k, map, count, &results);
    tensors_finish(&results);
    return status;
}

static const struct kernel rows[] = {
    { "MapDefun", DTYPES_ALL, .prepare = map_defun_prepare, .compute = map_defun_compute,
      .costly = true },
};
const struct kernel_table kernels_map_defun = { rows, COUNT(rows) };
