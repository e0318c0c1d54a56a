/* The classify and regress routes: read the examples into a string tensor, run, and print classes
 * and scores, or values (classify_regress.h has the rules). */
#include "server/inference/classify_regress.h"
#include "server/json/example_request.h"
#include "server/json/print.h"
#include "server/rest/exchange.h"

static void print_number(struct buffer *out, float value)
{
    buffer_reserve(out, JSON_NUMBER_MAX);
    out->size = (size_t)(json_put_float(out->data + out->size, value) - out->data);
}

/* Brackets, commas and a label's quotes; each character of a label may become six. */
#define ROW_SIZE    ((size_t)8)
#define CLASS_SIZE  ((size_t)(JSON_NUMBER_MAX + 16))
#define LETTER_SIZE ((size_t)6)
#define AROUND_SIZE ((size_t)64)

static size_t classification_size(const struct classification *result)
{
    size_t count = (size_t)(result->examples * result->classes);
    size_t size = AROUND_SIZE + (size_t)result->examples * ROW_SIZE + count * CLASS_SIZE;
    for (size_t i = 0; result->labels != NULL && i < count; i++)
        size += result->labels[i].size * LETTER_SIZE;
    return size;
}

static struct status print_classification(struct served_request *request,
                                          const struct tensor *outputs)
{
    struct classification result;
    struct buffer *out = &request->reply;
    TRY(classify_read_outputs(&request->call, outputs, &result));
    TRY(served_request_reserve_reply(request, classification_size(&result)));
    buffer_append_text(out, "{\n    \"results\": [");
    for (int64_t i = 0, at = 0; i < result.examples; i++) {
        buffer_append_text(out, i > 0 ? ", [" : "[");
        for (int64_t j = 0; j < result.classes; j++, at++) {
            buffer_append_text(out, j > 0 ? ", [" : "[");
            json_print_string(out,
                              result.labels != NULL ? result.labels[at] : (struct bytes){ "", 0 });
            buffer_append_text(out, ", ");
            print_number(out, result.scores != NULL ? result.scores[at] : 0);
            buffer_append_char(out, ']');
        }
        buffer_append_char(out, ']');
    }
    buffer_append_text(out, "\n    ]\n}");
    return status_ok();
}

static struct status print_regression(struct served_request *request, const struct tensor *outputs)
{
    const float *values;
    struct buffer *out = &request->reply;
    size_t examples = (size_t)request->call.inputs[0].size;
    TRY(regress_read_outputs(&request->call, outputs, &values));
    TRY(served_request_reserve_reply(request, AROUND_SIZE + examples * CLASS_SIZE));
    buffer_append_text(out, "{\n    \"results\": [");
    for (size_t i = 0; i < examples; i++) {
        buffer_append_text(out, i > 0 ? ", " : "");
        print_number(out, values[i]);
    }
    buffer_append_text(out, "]\n}");
    return status_ok();
}

/* A bad body is reported before the model is looked up. */
static struct status read_and_find(struct served_request *request, struct tensor **input,
                                   struct callable **callable)
{
    struct example_request examples;
    TRY(example_request_read(request->body, request->arena, &examples));
    request->spec.signature_name = examples.signature_name;
    TRY(served_request_find_servable(request));
    TRY(classify_regress_find(request->servable, examples.signature_name, callable));
    *input = ARENA_NEW(request->arena, struct tensor);
    **input = examples.examples;
    return status_ok();
}

struct status answer_classify(struct exchange *exchange)
{
    struct served_request *request = &exchange->served;
    struct tensor *input;
    struct callable *callable;
    TRY(read_and_find(request, &input, &callable));
    TRY(classify_check(callable->signature, request->server->check_method_names, request->arena));
    return served_request_run(request, callable, input, print_classification);
}

struct status answer_regress(struct exchange *exchange)
{
    struct served_request *request = &exchange->served;
    struct tensor *input;
    struct callable *callable;
    TRY(read_and_find(request, &input, &callable));
    TRY(regress_check(callable->signature, request->server->check_method_names, request->arena));
    return served_request_run(request, callable, input, print_regression);
}
