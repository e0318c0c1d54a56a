/*
 * The classify and regress routes: examples to a string tensor, run, classes and scores or values
 * to JSON (serving-api.md §10.3, §10.4: the rules and their texts).
 */
#include "server/example_json.h"
#include "server/exchange.h"
#include "server/json_print.h"

/* "SignatureDef" in an error text: the keys say enough. */
static const char *keys_text(const struct signature_tensor *tensors, int count, struct arena *arena)
{
    const char *text = "";
    for (int i = 0; i < count; i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? "," : "", tensors[i].key);
    return text;
}

static struct status check_method(const struct exchange *exchange,
                                  const struct signature *signature, const char *kind,
                                  const char *method)
{
    if (!exchange->server->check_method_names || strcmp(signature->method, method) == 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Expected %s signature method_name to be %s. Was: %s", kind, method,
                        signature->method);
}

static int output_of(const struct signature *signature, const char *key)
{
    for (int i = 0; i < signature->outputs_count; i++)
        if (strcmp(signature->outputs[i].key, key) == 0)
            return i;
    return -1;
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

static struct status check_classify(const struct signature *signature, struct arena *arena)
{
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
    return status_ok();
}

static struct status check_regress(const struct signature *signature, struct arena *arena)
{
    if (signature->inputs_count == 1 && signature->outputs_count != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected one output Tensor.");
    TRY(check_input(signature, "regression", arena));
    if (strcmp(signature->outputs[0].key, "outputs") != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "No regression outputs found in SignatureDef: outputs {%s}",
                            keys_text(signature->outputs, signature->outputs_count, arena));
    return status_ok();
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

static void print_number(struct buffer *out, float value)
{
    buffer_reserve(out, JSON_NUMBER_MAX);
    out->size = (size_t)(json_put_float(out->data + out->size, value) - out->data);
}

static void print_classes(const struct tensor *classes, const struct tensor *scores,
                          int64_t examples, int64_t labels, struct buffer *out)
{
    buffer_append_text(out, "{\n    \"results\": [");
    for (int64_t i = 0; i < examples; i++) {
        buffer_append_text(out, i > 0 ? ", [" : "[");
        for (int64_t j = 0; j < labels; j++) {
            buffer_append_text(out, j > 0 ? ", [" : "[");
            json_print_string(out, classes != NULL ? tensor_strings(classes)[i * labels + j]
                                                   : (struct bytes){ "", 0 });
            buffer_append_text(out, ", ");
            print_number(out, scores != NULL ? tensor_floats(scores)[i * labels + j] : 0);
            buffer_append_char(out, ']');
        }
        buffer_append_char(out, ']');
    }
    buffer_append_text(out, "\n    ]\n}");
}

static struct status print_classification(struct inference_call *call, const struct tensor *outputs)
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
    print_classes(classes, scores, examples, (classes ? classes : scores)->shape.dims[1],
                  &exchange_of(call)->reply);
    return status_ok();
}

static struct status print_regression(struct inference_call *call, const struct tensor *outputs)
{
    const struct tensor *values = &outputs[0];
    const struct shape *shape = &values->shape;
    struct buffer *out = &exchange_of(call)->reply;
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
    if (values->dtype != DT_FLOAT)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected output Tensor of DT_FLOAT.  Got: %s",
                            dtype_enum_name(values->dtype));
    buffer_append_text(out, "{\n    \"results\": [");
    for (int64_t i = 0; i < examples; i++) {
        buffer_append_text(out, i > 0 ? ", " : "");
        print_number(out, tensor_floats(values)[i]);
    }
    buffer_append_text(out, "]\n}");
    return status_ok();
}

/* A bad body is told before the model is looked up. */
static struct status read_and_find(struct exchange *exchange, struct tensor **input,
                                   struct callable **callable)
{
    struct example_request request;
    TRY(example_request_read(exchange->body, exchange->arena, &request));
    TRY(exchange_find_servable(exchange));
    *callable = servable_callable(exchange->servable, request.signature_name);
    struct bytes name =
        request.signature_name.size > 0 ? request.signature_name : bytes_of(SIGNATURE_DEFAULT);
    if (*callable == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "No signature was found with the name: %.*s",
                            (int)name.size, name.data);
    *input = ARENA_NEW(exchange->arena, struct tensor);
    **input = request.examples;
    return status_ok();
}

struct status answer_classify(struct exchange *exchange)
{
    struct tensor *input;
    struct callable *callable;
    TRY(read_and_find(exchange, &input, &callable));
    TRY(check_method(exchange, callable->signature, "classification", SIGNATURE_CLASSIFY));
    TRY(check_classify(callable->signature, exchange->arena));
    return exchange_call(exchange, callable, input, print_classification);
}

struct status answer_regress(struct exchange *exchange)
{
    struct tensor *input;
    struct callable *callable;
    TRY(read_and_find(exchange, &input, &callable));
    TRY(check_method(exchange, callable->signature, "regression", SIGNATURE_REGRESS));
    TRY(check_regress(callable->signature, exchange->arena));
    return exchange_call(exchange, callable, input, print_regression);
}
