/* PredictionService.Classify, Regress and MultiInference. The serialized examples of a request
 * are fed as a string tensor without being parsed here. */
#include <string.h>

#include "base/text_print.h"
#include "proto/wire.h"
#include "server/grpc/request.h"
#include "server/inference/classify_regress.h"

/* ClassificationRequest, RegressionRequest; MultiInferenceRequest. */
enum { REQUEST_SPEC = 1, REQUEST_INPUT = 2, MULTI_TASKS = 1, MULTI_INPUT = 2 };
/* Input; ExampleList and ExampleListWithContext. */
enum { INPUT_LIST = 1, INPUT_LIST_WITH_CONTEXT = 2, LIST_EXAMPLES = 1, LIST_CONTEXT = 2 };
/* Responses, their results and what these hold. */
enum { RESPONSE_RESULT = 1, RESPONSE_SPEC = 2, RESULT_ROWS = 1, ROW_CLASSES = 1 };
enum { CLASS_LABEL = 1, CLASS_SCORE = 2, REGRESSION_VALUE = 1 };
/* InferenceTask; MultiInferenceResponse and InferenceResult. */
enum { TASK_SPEC = 1, TASK_METHOD = 2 };
enum { MULTI_RESULTS = 1, RESULT_SPEC = 1, RESULT_CLASSIFICATION = 2, RESULT_REGRESSION = 3 };

/* ---- examples in ---- */

struct example_list {
    struct bytes list;    /* ExampleList or ExampleListWithContext */
    struct bytes context; /* a serialized Example, merged into each of the others */
    size_t count, bytes;
};

static struct status scan_list(struct example_list *out)
{
    struct wire wire = wire_of(out->list);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, LIST_EXAMPLES, WIRE_BYTES)) {
            out->count++;
            out->bytes += field.bytes.size;
        } else if (wire_is(&field, LIST_CONTEXT, WIRE_BYTES)) {
            out->context = field.bytes;
        }
    }
    return wire.damaged ? grpc_parse_error("Input") : status_ok();
}

static struct status scan_input(struct bytes input, struct example_list *out)
{
    struct wire wire = wire_of(input);
    struct wire_field field;
    bool has_context = false;
    *out = (struct example_list){ .list = { "", 0 } };
    while (wire_next(&wire, &field)) {
        if (field.type != WIRE_BYTES ||
            (field.number != INPUT_LIST && field.number != INPUT_LIST_WITH_CONTEXT))
            continue;
        has_context = field.number == INPUT_LIST_WITH_CONTEXT;
        out->list = field.bytes;
    }
    if (wire.damaged)
        return grpc_parse_error("Input");
    TRY(scan_list(out));
    if (!has_context)
        out->context.size = 0;
    return out->count > 0 ? status_ok() : status_error(STATUS_INVALID_ARGUMENT, "Input is empty.");
}

/* Joins context and example. Parsed as one message they merge, and the example takes precedence. */
static struct bytes join(struct bytes context, struct bytes example, char **room)
{
    struct bytes joined = { *room, context.size + example.size };
    memcpy(*room, context.data, context.size);
    if (example.size > 0)
        memcpy(*room + context.size, example.data, example.size);
    *room += joined.size;
    return joined;
}

static struct status read_examples(struct served_request *request, struct bytes input,
                                   struct tensor **out)
{
    struct example_list list;
    TRY(scan_input(input, &list));
    size_t joined = list.context.size > 0 ? list.bytes : 0, contexts;
    if (__builtin_mul_overflow(list.count, list.context.size, &contexts))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "a context of %zu bytes for %zu examples",
                            list.context.size, list.count);
    void *strings_data, *room_data;
    TRY(arena_reserve(request->arena, list.count * sizeof(struct bytes), &strings_data));
    TRY(arena_reserve(request->arena, joined + contexts + 1, &room_data));
    struct bytes *strings = strings_data;
    char *room = room_data;
    struct wire wire = wire_of(list.list);
    struct wire_field field;
    size_t count = 0;
    while (wire_next(&wire, &field))
        if (wire_is(&field, LIST_EXAMPLES, WIRE_BYTES))
            strings[count++] =
                list.context.size > 0 ? join(list.context, field.bytes, &room) : field.bytes;
    struct shape shape = shape_of((int64_t)list.count);
    *out = ARENA_NEW(request->arena, struct tensor);
    **out = tensor_borrow(DT_STRING, &shape, strings);
    return status_ok();
}

/* ---- results out ---- */

/* Limit of the tags and lengths around the rows, plus the spare room that a writer requires. */
#define AROUND_SIZE 1024
/* Limits of the tags, lengths and numbers of a row, and of a class in it. */
#define ROW_SIZE    (2 * VARINT_MAX)
#define CLASS_SIZE  (3 * VARINT_MAX)

static size_t classifications_size(const struct classification *result)
{
    size_t count = (size_t)(result->examples * result->classes);
    size_t size = (size_t)result->examples * ROW_SIZE + count * CLASS_SIZE;
    for (size_t i = 0; result->labels != NULL && i < count; i++)
        size += result->labels[i].size;
    return size;
}

static struct status put_classifications(struct served_request *request,
                                         const struct tensor *outputs)
{
    struct classification result;
    struct buffer *out = &request->reply;
    TRY(classify_read_outputs(&request->call, outputs, &result));
    TRY(served_request_reserve_reply(request, classifications_size(&result) + AROUND_SIZE));
    for (int64_t i = 0, at = 0; i < result.examples; i++) {
        size_t row = wire_open(out, RESULT_ROWS);
        for (int64_t j = 0; j < result.classes; j++, at++) {
            size_t class = wire_open(out, ROW_CLASSES);
            if (result.labels != NULL && result.labels[at].size > 0)
                wire_put_bytes(out, CLASS_LABEL, result.labels[at]);
            if (result.scores != NULL)
                wire_put_float(out, CLASS_SCORE, result.scores[at]);
            wire_close(out, class);
        }
        wire_close(out, row);
    }
    return status_ok();
}

static struct status put_regressions(struct served_request *request, const struct tensor *outputs)
{
    const float *values;
    struct buffer *out = &request->reply;
    size_t examples = (size_t)request->call.inputs[0].size;
    TRY(regress_read_outputs(&request->call, outputs, &values));
    TRY(served_request_reserve_reply(request, examples * ROW_SIZE + AROUND_SIZE));
    for (size_t i = 0; i < examples; i++) {
        size_t row = wire_open(out, RESULT_ROWS);
        wire_put_float(out, REGRESSION_VALUE, values[i]);
        wire_close(out, row);
    }
    return status_ok();
}

/* A kind of signature: how the three methods check it, and how they write its results. */
static const struct signature_kind {
    const char *method;
    struct status (*check)(const struct signature *signature, bool check_method,
                           struct arena *arena);
    struct status (*put)(struct served_request *request, const struct tensor *outputs);
    uint32_t result_field; /* in InferenceResult */
} classify = { SIGNATURE_CLASSIFY, classify_check, put_classifications, RESULT_CLASSIFICATION },
  regress = { SIGNATURE_REGRESS, regress_check, put_regressions, RESULT_REGRESSION };

static struct status put_response(struct served_request *request, const struct tensor *outputs)
{
    const struct signature_kind *kind = request->method;
    size_t result = wire_open(&request->reply, RESPONSE_RESULT);
    TRY(kind->put(request, outputs));
    wire_close(&request->reply, result);
    model_spec_put(&request->reply, RESPONSE_SPEC, request->servable,
                   bytes_of(request->call.callable->signature->name));
    return status_ok();
}

static struct status answer(struct served_request *request, const struct signature_kind *kind)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    struct bytes input = { "", 0 };
    struct callable *callable;
    struct tensor *examples;
    bool has_spec = false;
    request->method = (void *)kind;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, REQUEST_SPEC, WIRE_BYTES)) {
            TRY(model_spec_read(field.bytes, &request->spec));
            has_spec = true;
        } else if (wire_is(&field, REQUEST_INPUT, WIRE_BYTES)) {
            input = field.bytes;
        }
    }
    if (wire.damaged)
        return grpc_parse_error(kind == &classify ? "ClassificationRequest" : "RegressionRequest");
    if (!has_spec && request->servable == NULL)
        return grpc_missing_model_spec();
    TRY(served_request_find_servable(request));
    TRY(classify_regress_find(request->servable, request->spec.signature_name, &callable));
    TRY(kind->check(callable->signature, request->server->check_method_names, request->arena));
    TRY(read_examples(request, input, &examples));
    return served_request_run(request, callable, examples, put_response);
}

struct status grpc_answer_classify(struct served_request *request)
{
    return answer(request, &classify);
}

struct status grpc_answer_regress(struct served_request *request)
{
    return answer(request, &regress);
}

/* ---- MultiInference: one run after the other, over the same examples ---- */

struct task {
    struct callable *callable;
    const struct signature_kind *kind;
    struct model_spec spec;
    struct bytes method;
};

struct multi {
    struct task *tasks;
    int count, at;
    struct tensor *examples;
};

static struct status put_result(struct served_request *request, const struct tensor *outputs)
{
    const struct multi *multi = request->method;
    const struct signature_kind *kind = multi->tasks[multi->at].kind;
    struct buffer *out = &request->reply;
    size_t result = wire_open(out, MULTI_RESULTS);
    model_spec_put(out, RESULT_SPEC, request->servable,
                   bytes_of(request->call.callable->signature->name));
    size_t held = wire_open(out, kind->result_field);
    TRY(kind->put(request, outputs));
    wire_close(out, held);
    wire_close(out, result);
    return status_ok();
}

static struct status next_task(struct served_request *request)
{
    struct multi *multi = request->method;
    if (++multi->at == multi->count)
        return status_ok();
    return served_request_run(request, multi->tasks[multi->at].callable, multi->examples,
                              put_result);
}

static struct status read_task(struct bytes message, struct task *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    out->method = (struct bytes){ "", 0 };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, TASK_SPEC, WIRE_BYTES))
            TRY(model_spec_read(field.bytes, &out->spec));
        else if (wire_is(&field, TASK_METHOD, WIRE_BYTES))
            out->method = field.bytes;
    }
    return wire.damaged ? grpc_parse_error("InferenceTask") : status_ok();
}

/* All tasks must name the same model, and different signatures. The first task's version counts. */
static struct status check_task(struct served_request *request, struct multi *multi, int at)
{
    struct task *task = &multi->tasks[at];
    struct bytes name = task->spec.signature_name;
    if (task->spec.name.size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Found ModelSpec with an empty model name.");
    if (!bytes_equal(task->spec.name, multi->tasks[0].spec.name))
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "All ModelSpecs in a MultiInferenceRequest must access the same model name.");
    task->callable = servable_callable(request->servable, name);
    if (name.size == 0)
        name = bytes_of(SIGNATURE_DEFAULT);
    for (int i = 0; i < at && task->callable != NULL; i++)
        if (multi->tasks[i].callable == task->callable)
            return status_error(STATUS_INVALID_ARGUMENT, "Duplicate evaluation of signature: %s",
                                text_print_name(name));
    if (task->callable == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Requested signature not found in model graph: %s",
                            text_print_name(name));
    task->kind = bytes_equal(task->method, bytes_of(classify.method))  ? &classify
                 : bytes_equal(task->method, bytes_of(regress.method)) ? &regress
                                                                       : NULL;
    if (task->kind == NULL)
        return status_error(STATUS_UNIMPLEMENTED, "Unsupported signature method_name: %s",
                            text_print_name(task->method));
    return task->kind->check(task->callable->signature, request->server->check_method_names,
                             request->arena);
}

static struct status count_tasks(struct served_request *request, struct multi *multi,
                                 struct bytes *input)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    size_t count = 0;
    while (wire_next(&wire, &field)) {
        count += wire_is(&field, MULTI_TASKS, WIRE_BYTES);
        if (wire_is(&field, MULTI_INPUT, WIRE_BYTES))
            *input = field.bytes;
    }
    if (wire.damaged)
        return grpc_parse_error("MultiInferenceRequest");
    void *tasks;
    TRY(arena_reserve(request->arena, count * sizeof(struct task), &tasks));
    multi->tasks = memset(tasks, 0, count * sizeof(struct task));
    return status_ok();
}

struct status grpc_answer_multi_inference(struct served_request *request)
{
    struct multi *multi = ARENA_NEW(request->arena, struct multi);
    struct bytes input = { "", 0 };
    struct wire_field field;
    TRY(count_tasks(request, multi, &input));
    struct wire wire = wire_of(request->body);
    while (wire_next(&wire, &field))
        if (wire_is(&field, MULTI_TASKS, WIRE_BYTES))
            TRY(read_task(field.bytes, &multi->tasks[multi->count++]));
    if (multi->count > 0)
        request->spec = multi->tasks[0].spec;
    TRY(served_request_find_servable(request));
    for (int i = 0; i < multi->count; i++) /* ends at the first repeated signature */
        TRY(check_task(request, multi, i));
    TRY(read_examples(request, input, &multi->examples));
    request->method = multi;
    request->next = next_task;
    return served_request_run(request, multi->tasks[0].callable, multi->examples, put_result);
}
