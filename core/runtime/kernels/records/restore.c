/*
 * RestoreV2: reads tensors of a checkpoint, but only those that are used. A restore sub-graph names
 * every variable; a servable needs those of its signatures.
 */
#include <string.h>

#include "graph/op.h"
#include "runtime/kernel.h"
#include "runtime/resources.h"
#include "storage/bundle.h"

static struct status check_inputs(const struct kernel_context *context)
{
    int outputs = kernel_outputs_count(context);
    const struct tensor *prefix = kernel_input(context, 0);
    if (prefix->dtype != DT_STRING || prefix->size != 1)
        return kernel_error(context, STATUS_INVALID_ARGUMENT,
                            "Input prefix should have a single element, got %lld instead.",
                            (long long)prefix->size);
    for (int i = 1; i < 3; i++) {
        const struct tensor *input = kernel_input(context, i);
        if (input->dtype != DT_STRING || input->shape.rank != 1 || input->size != outputs)
            return kernel_error(context, STATUS_INVALID_ARGUMENT,
                                "input %d has shape %s, %d tensors are to be restored", i,
                                shape_text(&input->shape), outputs);
    }
    return status_ok();
}

/* An element as a C string. Names in checkpoints contain no NUL; a name with one is not found. */
static const char *text_of(struct kernel_context *context, int input, int index)
{
    struct bytes text = tensor_strings(kernel_input(context, input))[index];
    return arena_memdup(kernel_arena(context), text.data, text.size);
}

static struct status restore_one(struct kernel_context *context, const struct bundle *bundle,
                                 int index)
{
    const struct node *node = kernel_node(context);
    struct tensor tensor;
    TRY(bundle_restore(bundle, text_of(context, 1, index), text_of(context, 2, index),
                       node->outputs[index].dtype, &tensor));
    kernel_output_set(context, index, tensor);
    return status_ok();
}

/* The files of the checkpoint may be links that leave the model's directory, as in blob stores;
 * its directory must not be. */
static struct status check_directory(struct kernel_context *context, const char *prefix)
{
    const char *slash = strrchr(prefix, '/'), *real;
    struct bytes directory = { prefix, slash != NULL ? (size_t)(slash - prefix) : 0 };
    if (directory.size == 0)
        directory = bytes_of(slash != NULL ? "/" : ".");
    return resources_real_path(kernel_resources(context), directory, kernel_arena(context), &real);
}

static void expect_wanted(struct kernel_context *context, struct bundle *bundle)
{
    int outputs = kernel_outputs_count(context), count = 0;
    const char **names = ARENA_ARRAY(kernel_arena(context), const char *, outputs + 1);
    for (int i = 0; i < outputs; i++)
        if (kernel_output_wanted(context, i))
            names[count++] = text_of(context, 1, i);
    bundle_expect(bundle, names, count);
}

static struct status restore_compute(struct kernel_context *context)
{
    struct bundle *bundle = NULL;
    TRY(check_inputs(context));
    const char *prefix = text_of(context, 0, 0);
    TRY(check_directory(context, prefix));
    TRY(bundle_open(prefix, &bundle));
    expect_wanted(context, bundle);
    struct status status = status_ok();
    for (int i = 0; i < kernel_outputs_count(context) && status_is_ok(status); i++) {
        if (!kernel_output_wanted(context, i))
            continue;
        status = kernel_check(context);
        if (status_is_ok(status))
            status = restore_one(context, bundle, i);
    }
    bundle_close(bundle);
    return status;
}

static const struct kernel rows[] = {
    { .op = "RestoreV2", .dtypes = DTYPES_ALL, .compute = restore_compute, .costly = true },
};
const struct kernel_table kernels_restore = { rows, COUNT(rows) };
