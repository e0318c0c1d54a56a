#include "server/inference/classify_regress.h"

#include <string.h>

#include "base/text_print.h"

struct status classify_regress_find(struct servable *servable, struct bytes name,
                                    struct callable **out)
{
    *out = servable_callable(servable, name);
    if (name.size == 0)
        name = bytes_of(SIGNATURE_DEFAULT);
    if (*out == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "No signature was found with the name: %s",
                            text_print_name(name));
    return status_ok();
}

/* TensorFlow Serving prints the whole SignatureDef in these error texts; its keys say enough. */
static const char *keys_text(const struct signature_tensor *tensors, int count, struct arena *arena)
{
    const char *text = "";
    for (int i = 0; i < count; i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? "," : "", tensors[i].key);
    return text;
}

static struct status check_method(const struct signature *signature, const char *kind,
                                  const char *method)
{
    if (strcmp(signature->method, method) == 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Expected %s signature method_name to be %s. Was: %s", kind, method,
                        signature->method);
}

static int output_of(const struct signature *signature, const char *key)
{
    return signature_output(signature, bytes_of(key));
}

static struct status check_input(const struct signature *signature, const char *kind,
                                 struct arena *arena)
{
    if (signature->inputs_count != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected one input Tensor.");
    if (strcmp(signature->inputs[0].key, "inputs") != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "No %s inputs found in SignatureDef: inputs {%s} outputs {%s}", kind,
                            keys_text(signature->inputs, signature->inputs_count, arena),
                            keys_text(signature->outputs, signature->outputs_count, arena));
    return status_ok();
}

struct status classify_check(const struct signature *signature, bool check_name,
                             struct arena *arena)
{
    if (check_name)
        TRY(check_method(signature, "classification", SIGNATURE_CLASSIFY));
    if (signature->inputs_count == 1 &&
        (signature->outputs_count < 1 || signature->outputs_count > 2))
        return status_error(STATUS_INVALID_ARGUMENT, "Expected one or two output Tensors, found %d",
                            signature->outputs_count);
    TRY(check_input(signature, "classification", arena));
    if (output_of(signature, "classes") < 0 && output_of(signature, "scores") < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected classification signature outputs to contain at least one of "
                            "\"classes\" or \"scores\". Signature was: outputs {%s}",
                            keys_text(signature->outputs, signature->outputs_count, arena));
    return signature_check_outputs(signature);
}

struct status regress_check(const struct signature *signature, bool check_name, struct arena *arena)
{
    if (check_name)
        TRY(check_method(signature, "regression", SIGNATURE_REGRESS));
    if (signature->inputs_count == 1 && signature->outputs_count != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected one output Tensor.");
    TRY(check_input(signature, "regression", arena));
    if (strcmp(signature->outputs[0].key, "outputs") != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "No regression outputs found in SignatureDef: outputs {%s}",
                            keys_text(signature->outputs, signature->outputs_count, arena));
    return signature_check_outputs(signature);
}

/* classes or scores: [examples, classes] of one dtype. */
static struct status check_matrix(const struct tensor *tensor, const char *key, enum dtype dtype,
                                  int64_t examples)
{
    if (tensor->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected Tensor shape: [batch_size num_classes] but got %s",
                            shape_text(&tensor->shape));
    if (tensor->dtype != dtype)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected %s Tensor of %s. Got: %s", key,
                            dtype_enum_name(dtype), dtype_enum_name(tensor->dtype));
    if (tensor->shape.dims[0] != examples)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected %s output batch size of %lld. Got: %lld", key,
                            (long long)examples, (long long)tensor->shape.dims[0]);
    return status_ok();
}

struct status classify_read_outputs(const struct inference_call *call, const struct tensor *outputs,
                                    struct classification *out)
{
    const struct signature *signature = call->callable->signature;
    int classes_at = output_of(signature, "classes"), scores_at = output_of(signature, "scores");
    const struct tensor *classes = classes_at < 0 ? NULL : &outputs[classes_at];
    const struct tensor *scores = scores_at < 0 ? NULL : &outputs[scores_at];
    int64_t examples = call->inputs[0].size;
    if (classes != NULL)
        TRY(check_matrix(classes, "classes", DT_STRING, examples));
    if (scores != NULL)
        TRY(check_matrix(scores, "scores", DT_FLOAT, examples));
    if (classes != NULL && scores != NULL && classes->shape.dims[1] != scores->shape.dims[1])
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "Tensors class and score should match in dim_size(1). Got %lld vs. %lld",
            (long long)classes->shape.dims[1], (long long)scores->shape.dims[1]);
    *out = (struct classification){ .labels = classes != NULL ? tensor_strings(classes) : NULL,
                                    .scores = scores != NULL ? tensor_floats(scores) : NULL,
                                    .examples = examples,
                                    .classes = (classes ? classes : scores)->shape.dims[1] };
    return status_ok();
}

struct status regress_read_outputs(const struct inference_call *call, const struct tensor *outputs,
                                   const float **values)
{
    const struct shape *shape = &outputs[0].shape;
    int64_t examples = call->inputs[0].size;
    if (shape->rank != 1 && !(shape->rank == 2 && shape->dims[1] == 1))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected output Tensor shape to be either [batch_size] or "
                            "[batch_size, 1] but got %s",
                            shape_text(shape));
    if (shape->dims[0] != examples)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input batch size did not match output batch size: %lld vs. %lld",
                            (long long)examples, (long long)shape->dims[0]);
    if (outputs[0].dtype != DT_FLOAT)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected output Tensor of DT_FLOAT.  Got: %s",
                            dtype_enum_name(outputs[0].dtype));
    *values = tensor_floats(&outputs[0]);
    return status_ok();
}
