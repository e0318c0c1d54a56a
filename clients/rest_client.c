/*
 * The client over REST: JSON bodies, jansson for the answers.
 */
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/clock.h"
#include "clients/client_type.h"
#include "clients/http.h"
#include "tensor/value_json.h"

struct rest_client {
    struct client client;
    struct http http;
};

/* ---- Requests. ---- */

/* What is no plain character of a URL, as %XX. */
static void put_escaped(struct buffer *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (isalnum((unsigned char)*text) || strchr("-_.~", *text) != NULL)
            buffer_append_char(out, *text);
        else
            buffer_printf(out, "%%%02X", (unsigned char)*text);
}

/* "/v1/models/NAME/versions/7" and what follows it. */
static void put_path(struct buffer *out, const struct client_target *target, const char *rest)
{
    buffer_append_text(out, "/v1/models/");
    put_escaped(out, target->model);
    if (target->version >= 0) {
        buffer_printf(out, "/versions/%lld", (long long)target->version);
    } else if (target->label != NULL) {
        buffer_append_text(out, "/labels/");
        put_escaped(out, target->label);
    }
    buffer_append_text(out, rest);
    buffer_append_char(out, '\0');
}

void json_put_string(struct buffer *out, struct bytes text)
{
    json_t *string = json_stringn_nocheck(text.data, text.size);
    char *dumped = json_dumps(string, JSON_ENCODE_ANY);
    buffer_append_text(out, dumped != NULL ? dumped : "\"\"");
    free(dumped);
    json_decref(string);
}

static void put_signature(struct buffer *out, const struct client_target *target)
{
    buffer_append_char(out, '{');
    if (target->signature == NULL)
        return;
    buffer_append_text(out, "\"signature_name\": ");
    json_put_string(out, bytes_of(target->signature));
    buffer_append_text(out, ", ");
}

static enum status_code code_of_http(int http)
{
    static const struct {
        int http;
        enum status_code code;
    } codes[] = { { 400, STATUS_INVALID_ARGUMENT },  { 401, STATUS_UNAUTHENTICATED },
                  { 403, STATUS_PERMISSION_DENIED }, { 404, STATUS_NOT_FOUND },
                  { 409, STATUS_ALREADY_EXISTS },    { 429, STATUS_RESOURCE_EXHAUSTED },
                  { 499, STATUS_CANCELLED },         { 501, STATUS_UNIMPLEMENTED },
                  { 503, STATUS_UNAVAILABLE },       { 504, STATUS_DEADLINE_EXCEEDED } };
    for (size_t i = 0; i < COUNT(codes); i++)
        if (codes[i].http == http)
            return codes[i].code;
    return STATUS_INTERNAL;
}

struct status rest_refusal(int http, struct bytes answer)
{
    json_error_t error;
    json_t *json = json_loadb(answer.data, answer.size, JSON_ALLOW_NUL, &error);
    const char *text = json_string_value(json_object_get(json, "error"));
    struct status status = text != NULL ? status_error(code_of_http(http), "%s", text)
                                        : status_error(code_of_http(http), "HTTP error %d", http);
    json_decref(json);
    return status;
}

/* The answer as JSON; body NULL: GET. */
static struct status ask(struct client *client, const char *path, const struct buffer *body,
                         json_t **out)
{
    struct rest_client *self = (struct rest_client *)client;
    int64_t deadline_ns = clock_now_ns(clock_monotonic()) + client->timeout_ms * (int64_t)NS_PER_MS;
    struct bytes answer;
    json_error_t error;
    int http;
    TRY(http_ask(&self->http, body != NULL ? "POST" : "GET", path, body, deadline_ns, &http,
                 &answer));
    if (http != 200)
        return rest_refusal(http, answer);
    *out = json_loadb(answer.data, answer.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (*out == NULL)
        return status_error(STATUS_INTERNAL,
                            "the answer is not JSON (gRPC has NaN and infinities): %s", error.text);
    return status_ok();
}

static struct status get(struct client *client, const struct client_target *target,
                         const char *what, json_t **out)
{
    struct buffer path = { 0 };
    put_path(&path, target, what);
    struct status status = ask(client, path.data, NULL, out);
    buffer_finish(&path);
    return status;
}

/* Takes *request. */
static struct status post(struct client *client, struct client_request *request, json_t **out)
{
    struct status status = ask(client, request->path.data, &request->body, out);
    client_request_finish(request);
    return status;
}

/* ---- Predict. ---- */

static struct status metadata(struct client *client, const struct client_target *target,
                              struct arena *arena, struct client_metadata *out);

static struct status get_output(const json_t *value, const struct client_endpoint *endpoint,
                                struct arena *arena, struct client_tensor *out)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    struct tensor read;
    struct status status = text == NULL
                               ? status_error(STATUS_INTERNAL, "no text of an answer's value")
                               : value_from_json(text, endpoint->dtype, arena, &read);
    free(text);
    TRY(status_in(status, "output '%s'", endpoint->key));
    /* its buffer is of the heap; what a client gets is of its arena */
    char *copy = arena_memdup(arena, read.data, tensor_bytes(&read));
    *out = (struct client_tensor){ .name = endpoint->key,
                                   .tensor = tensor_borrow(read.dtype, &read.shape, copy) };
    tensor_release(&read);
    return status_ok();
}

/* One output stands alone, several stand by name. */
static struct status get_outputs(const json_t *answer, const struct client_signature *signature,
                                 struct arena *arena, struct client_outputs *out)
{
    const json_t *outputs = json_object_get(answer, "outputs");
    *out = (struct client_outputs){
        .outputs = ARENA_ARRAY(arena, struct client_tensor, signature->outputs_count),
        .version = -1,
    };
    for (int i = 0; i < signature->outputs_count; i++) {
        const struct client_endpoint *endpoint = &signature->outputs[i];
        const json_t *value =
            signature->outputs_count == 1 ? outputs : json_object_get(outputs, endpoint->key);
        if (value == NULL)
            return status_error(STATUS_INTERNAL, "the answer has no output '%s'", endpoint->key);
        TRY(get_output(value, endpoint, arena, &out->outputs[out->count++]));
    }
    return status_ok();
}

static void put_inputs(struct buffer *out, const struct client_tensor *inputs, int count)
{
    buffer_append_text(out, "\"inputs\": {");
    for (int i = 0; i < count; i++) {
        buffer_append_text(out, i > 0 ? ", " : "");
        json_put_string(out, bytes_of(inputs[i].name));
        buffer_append_text(out, ": ");
        value_to_text(&inputs[i].tensor, out);
    }
    buffer_append_text(out, "}}");
}

void rest_put_predict(const struct client_target *target, const struct client_tensor *inputs,
                      int count, struct client_request *out)
{
    put_path(&out->path, target, ":predict");
    put_signature(&out->body, target);
    put_inputs(&out->body, inputs, count);
}

static struct status predict(struct client *client, const struct client_target *target,
                             const struct client_tensor *inputs, int inputs_count,
                             struct arena *arena, struct client_outputs *out)
{
    struct client_metadata known;
    struct client_request request = { 0 };
    json_t *answer;
    const char *name = target->signature != NULL ? target->signature : "serving_default";
    rest_put_predict(target, inputs, inputs_count, &request);
    TRY(post(client, &request, &answer));
    struct status status =
        metadata(client, target, arena, &known); /* JSON does not say what is a float */
    const struct client_signature *signature = NULL;
    if (status_is_ok(status) && (signature = client_find_signature(&known, name)) == NULL)
        status = status_error(STATUS_INTERNAL, "the metadata have no signature '%s'", name);
    if (status_is_ok(status))
        status = get_outputs(answer, signature, arena, out);
    json_decref(answer);
    return status;
}

/* ---- Classify, regress. ---- */

void rest_put_examples(const struct client_target *target, const char *verb, const char *examples,
                       const char *context, struct client_request *out)
{
    put_path(&out->path, target, strcmp(verb, "classify") == 0 ? ":classify" : ":regress");
    put_signature(&out->body, target);
    if (context != NULL)
        buffer_printf(&out->body, "\"context\": %s, ", context);
    buffer_printf(&out->body, "\"examples\": %s}", examples);
}

static void get_classes(const json_t *row, struct arena *arena, struct client_class *out)
{
    for (size_t i = 0; i < json_array_size(row); i++) {
        const json_t *pair = json_array_get(row, i), *label = json_array_get(pair, 0);
        size_t size = json_string_length(label);
        out[i].label =
            (struct bytes){ arena_memdup(arena, size > 0 ? json_string_value(label) : "", size),
                            size };
        out[i].score = (float)json_number_value(json_array_get(pair, 1));
    }
}

static struct status post_examples(struct client *client, const struct client_target *target,
                                   const char *verb, const char *examples, const char *context,
                                   json_t **answer)
{
    struct client_request request = { 0 };
    rest_put_examples(target, verb, examples, context, &request);
    return post(client, &request, answer);
}

static struct status classify(struct client *client, const struct client_target *target,
                              const char *examples, const char *context, struct arena *arena,
                              struct client_classes *out)
{
    json_t *answer;
    TRY(post_examples(client, target, "classify", examples, context, &answer));
    const json_t *results = json_object_get(answer, "results");
    size_t count = json_array_size(results);
    *out = (struct client_classes){ .rows = ARENA_ARRAY(arena, struct client_class *, count),
                                    .classes_count = ARENA_ARRAY(arena, int, count),
                                    .examples_count = (int)count };
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(results, i);
        out->classes_count[i] = (int)json_array_size(row);
        out->rows[i] = ARENA_ARRAY(arena, struct client_class, json_array_size(row));
        get_classes(row, arena, out->rows[i]);
    }
    json_decref(answer);
    return status_ok();
}

static struct status regress(struct client *client, const struct client_target *target,
                             const char *examples, const char *context, struct arena *arena,
                             struct client_values *out)
{
    json_t *answer;
    TRY(post_examples(client, target, "regress", examples, context, &answer));
    const json_t *results = json_object_get(answer, "results");
    *out = (struct client_values){ .values = ARENA_ARRAY(arena, float, json_array_size(results)),
                                   .count = (int)json_array_size(results) };
    for (int i = 0; i < out->count; i++)
        out->values[i] = (float)json_number_value(json_array_get(results, (size_t)i));
    json_decref(answer);
    return status_ok();
}

/* ---- Metadata, status. ---- */

static const char *text_of(const json_t *object, const char *key, struct arena *arena)
{
    const char *text = json_string_value(json_object_get(object, key));
    return arena_strdup(arena, text != NULL ? text : "");
}

static void get_shape(const json_t *shape, struct shape *out)
{
    const json_t *dims = json_object_get(shape, "dim");
    *out = shape_unknown();
    if (shape == NULL || json_is_true(json_object_get(shape, "unknown_rank")))
        return;
    *out = shape_scalar();
    for (size_t i = 0; i < json_array_size(dims) && i < SHAPE_RANK_MAX; i++) {
        const char *size = json_string_value(json_object_get(json_array_get(dims, i), "size"));
        shape_append(out, size != NULL ? strtoll(size, NULL, 10) : -1);
    }
}

static int get_endpoints(json_t *tensors, struct arena *arena, struct client_endpoint **out)
{
    const char *key;
    json_t *value;
    int count = 0;
    *out = ARENA_ARRAY(arena, struct client_endpoint, json_object_size(tensors));
    json_object_foreach(tensors, key, value)
    {
        struct client_endpoint *endpoint = &(*out)[count++];
        endpoint->key = arena_strdup(arena, key);
        if (!dtype_parse_enum(text_of(value, "dtype", arena), &endpoint->dtype))
            endpoint->dtype = DT_INVALID;
        get_shape(json_object_get(value, "tensor_shape"), &endpoint->shape);
    }
    return count;
}

static struct status metadata(struct client *client, const struct client_target *target,
                              struct arena *arena, struct client_metadata *out)
{
    json_t *answer, *value;
    const char *key;
    TRY(get(client, target, "/metadata", &answer));
    const json_t *map = json_object_get(json_object_get(answer, "metadata"), "signature_def");
    json_t *signatures = json_object_get(map, "signature_def");
    const char *version = text_of(json_object_get(answer, "model_spec"), "version", arena);
    *out = (struct client_metadata){
        .signatures = ARENA_ARRAY(arena, struct client_signature, json_object_size(signatures)),
        .version = strtoll(version, NULL, 10),
    };
    json_object_foreach(signatures, key, value)
    {
        struct client_signature *signature = &out->signatures[out->count++];
        signature->name = arena_strdup(arena, key);
        signature->method = text_of(value, "method_name", arena);
        signature->inputs_count =
            get_endpoints(json_object_get(value, "inputs"), arena, &signature->inputs);
        signature->outputs_count =
            get_endpoints(json_object_get(value, "outputs"), arena, &signature->outputs);
    }
    json_decref(answer);
    return status_ok();
}

static struct status status_of(struct client *client, const struct client_target *target,
                               struct arena *arena, struct client_versions *out)
{
    json_t *answer;
    TRY(get(client, target, "", &answer));
    const json_t *rows = json_object_get(answer, "model_version_status");
    size_t count = json_array_size(rows);
    *out = (struct client_versions){ .versions = ARENA_ARRAY(arena, struct client_version, count),
                                     .count = (int)count };
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i), *status = json_object_get(row, "status");
        struct client_version *version = &out->versions[i];
        version->number = strtoll(text_of(row, "version", arena), NULL, 10);
        version->state = text_of(row, "state", arena);
        version->message = text_of(status, "error_message", arena);
        if (!status_code_parse(text_of(status, "error_code", arena), &version->code))
            version->code = STATUS_UNKNOWN;
    }
    json_decref(answer);
    return status_ok();
}

static void close_client(struct client *client)
{
    http_finish(&((struct rest_client *)client)->http);
    free(client);
}

static const struct client_type type = {
    .predict = predict,
    .classify = classify,
    .regress = regress,
    .metadata = metadata,
    .status = status_of,
    .close = close_client,
};

struct status rest_client_open(const char *address, struct client **out)
{
    struct rest_client *client = zalloc(sizeof *client);
    struct status status = http_init(&client->http, address);
    if (!status_is_ok(status)) {
        free(client);
        return status;
    }
    client->client.type = &type;
    *out = &client->client;
    return status_ok();
}
