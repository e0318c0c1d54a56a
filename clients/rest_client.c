/*
 * The client over REST.
 */
#include <ctype.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json_value.h"
#include "base/text_print.h"
#include "clients/client_type.h"
#include "clients/http.h"
#include "tensor/value_json.h"

struct rest_client {
    struct client client;
    struct http http;
};

/* ---- requests ---- */

/* Escapes every character that is not unreserved in a URL (RFC 3986) as %XX. */
static void put_escaped(struct buffer *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (isalnum((unsigned char)*text) || strchr("-_.~", *text) != NULL)
            buffer_append_char(out, *text);
        else
            buffer_printf(out, "%%%02X", (unsigned char)*text);
}

/* "/v1/models/NAME/versions/7", followed by `rest`. */
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

static void put_signature(struct buffer *out, const struct client_target *target)
{
    buffer_append_char(out, '{');
    if (target->signature == NULL)
        return;
    buffer_append_text(out, "\"signature_name\": ");
    json_print_string(out, bytes_of(target->signature));
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
    struct arena *arena = arena_create(0);
    const struct json_value *json;
    const char *text = NULL;
    if (status_is_ok(json_value_read(answer, arena, &json)))
        text = json_value_get_text(json, "error");
    struct status status = text != NULL ? status_error(code_of_http(http), "%s", text)
                                        : status_error(code_of_http(http), "HTTP error %d", http);
    arena_destroy(arena);
    return status;
}

/* Sends a request (body NULL: GET) and reads the JSON of the answer, which lives in the arena. */
static struct status ask(struct client *client, const char *path, const struct buffer *body,
                         struct arena *arena, const struct json_value **out)
{
    struct rest_client *self = (struct rest_client *)client;
    int64_t deadline_ns = clock_now_ns(clock_monotonic()) + client->timeout_ms * (int64_t)NS_PER_MS;
    struct bytes answer;
    int http;
    TRY(http_ask(&self->http, body != NULL ? "POST" : "GET", path, body, deadline_ns, &http,
                 &answer));
    if (http != 200)
        return rest_refusal(http, answer);
    struct status status = json_value_read(answer, arena, out);
    if (status.code == STATUS_INVALID_ARGUMENT)
        return status_error(STATUS_INTERNAL,
                            "the answer is not JSON: %s (if it has NaN or infinity, ask over gRPC)",
                            status.message);
    return status;
}

static struct status get(struct client *client, const struct client_target *target,
                         const char *what, struct arena *arena, const struct json_value **out)
{
    struct buffer path = { 0 };
    put_path(&path, target, what);
    struct status status = ask(client, path.data, NULL, arena, out);
    buffer_finish(&path);
    return status;
}

/* Takes ownership of *request. */
static struct status post(struct client *client, struct client_request *request,
                          struct arena *arena, const struct json_value **out)
{
    struct status status = ask(client, request->path.data, &request->body, arena, out);
    client_request_finish(request);
    return status;
}

/* ---- predict ---- */

static struct status metadata(struct client *client, const struct client_target *target,
                              struct arena *arena, struct client_metadata *out);

/* value_from_json_value allocates from the heap; the caller's tensors live in the arena. */
static struct status get_output(const struct json_value *value,
                                const struct client_endpoint *endpoint, struct arena *arena,
                                struct client_tensor *out)
{
    struct tensor read;
    TRY(status_in(value_from_json_value(value, endpoint->dtype, arena, &read), "output '%s'",
                  endpoint->key));
    char *copy = arena_memdup(arena, read.data, tensor_bytes(&read));
    *out = (struct client_tensor){ .name = endpoint->key,
                                   .tensor = tensor_borrow(read.dtype, &read.shape, copy) };
    tensor_release(&read);
    return status_ok();
}

/* A single output is the value of "outputs"; several are its members. */
static struct status get_outputs(const struct json_value *answer,
                                 const struct client_signature *signature, struct arena *arena,
                                 struct client_outputs *out)
{
    const struct json_value *outputs = json_value_get(answer, "outputs");
    *out = (struct client_outputs){
        .outputs = ARENA_ARRAY(arena, struct client_tensor, signature->outputs_count),
        .version = -1,
    };
    for (int i = 0; i < signature->outputs_count; i++) {
        const struct client_endpoint *endpoint = &signature->outputs[i];
        const struct json_value *value =
            signature->outputs_count == 1 ? outputs : json_value_get(outputs, endpoint->key);
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
        json_print_string(out, bytes_of(inputs[i].name));
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
    const struct json_value *answer;
    const char *name = target->signature != NULL ? target->signature : "serving_default";
    rest_put_predict(target, inputs, inputs_count, &request);
    TRY(post(client, &request, arena, &answer));
    TRY(metadata(client, target, arena, &known)); /* JSON does not say which dtype */
    const struct client_signature *signature = client_find_signature(&known, name);
    if (signature == NULL)
        return status_error(STATUS_INTERNAL, "the model's metadata have no signature '%s'", name);
    return get_outputs(answer, signature, arena, out);
}

/* ---- classify, regress ---- */

void rest_put_examples(const struct client_target *target, const char *verb, const char *examples,
                       const char *context, struct client_request *out)
{
    put_path(&out->path, target, strcmp(verb, "classify") == 0 ? ":classify" : ":regress");
    put_signature(&out->body, target);
    if (context != NULL)
        buffer_printf(&out->body, "\"context\": %s, ", context);
    buffer_printf(&out->body, "\"examples\": %s}", examples);
}

static struct client_class get_class(const struct json_value *pair)
{
    bool is_pair = json_value_count(pair) == 2 && pair->kind == JSON_VALUE_LIST;
    struct client_class class = { .label = { "", 0 } };
    double score;
    if (is_pair && pair->members[0].kind == JSON_VALUE_TEXT)
        class.label = json_value_bytes(&pair->members[0]);
    if (is_pair && json_value_number(&pair->members[1], &score))
        class.score = (float)score;
    return class;
}

/* The "results" of an answer; an empty list if there are none. */
static const struct json_value *get_results(const struct json_value *answer)
{
    static const struct json_value none = { .kind = JSON_VALUE_LIST };
    const struct json_value *results = json_value_get(answer, "results");
    return results != NULL && results->kind == JSON_VALUE_LIST ? results : &none;
}

static struct status post_examples(struct client *client, const struct client_target *target,
                                   const char *verb, const char *examples, const char *context,
                                   struct arena *arena, const struct json_value **answer)
{
    struct client_request request = { 0 };
    rest_put_examples(target, verb, examples, context, &request);
    return post(client, &request, arena, answer);
}

static struct status classify(struct client *client, const struct client_target *target,
                              const char *examples, const char *context, struct arena *arena,
                              struct client_classes *out)
{
    const struct json_value *answer;
    TRY(post_examples(client, target, "classify", examples, context, arena, &answer));
    const struct json_value *results = get_results(answer);
    *out = (struct client_classes){
        .rows = ARENA_ARRAY(arena, struct client_class *, results->count),
        .classes_count = ARENA_ARRAY(arena, int, results->count),
        .examples_count = results->count,
    };
    for (int i = 0; i < results->count; i++) {
        const struct json_value *row = &results->members[i];
        int count = row->kind == JSON_VALUE_LIST ? row->count : 0;
        out->classes_count[i] = count;
        out->rows[i] = ARENA_ARRAY(arena, struct client_class, count);
        for (int k = 0; k < count; k++)
            out->rows[i][k] = get_class(&row->members[k]);
    }
    return status_ok();
}

static struct status regress(struct client *client, const struct client_target *target,
                             const char *examples, const char *context, struct arena *arena,
                             struct client_values *out)
{
    const struct json_value *answer;
    TRY(post_examples(client, target, "regress", examples, context, arena, &answer));
    const struct json_value *results = get_results(answer);
    *out = (struct client_values){ .values = ARENA_ARRAY(arena, float, results->count),
                                   .count = results->count };
    for (int i = 0; i < results->count; i++) {
        double value = 0;
        json_value_number(&results->members[i], &value);
        out->values[i] = (float)value;
    }
    return status_ok();
}

/* ---- metadata, status ---- */

static const char *text_of(const struct json_value *object, const char *key)
{
    const char *text = json_value_get_text(object, key);
    return text != NULL ? text : "";
}

static void get_shape(const struct json_value *shape, struct shape *out)
{
    const struct json_value *dims = json_value_get(shape, "dim");
    const struct json_value *unknown = json_value_get(shape, "unknown_rank");
    *out = shape_unknown();
    if (shape == NULL || (unknown != NULL && unknown->kind == JSON_VALUE_BOOL && unknown->boolean))
        return;
    *out = shape_scalar();
    for (int i = 0; i < json_value_count(dims) && i < SHAPE_RANK_MAX; i++) {
        const char *size = json_value_get_text(&dims->members[i], "size");
        shape_append(out, size != NULL ? strtoll(size, NULL, 10) : -1);
    }
}

static int get_endpoints(const struct json_value *tensors, struct arena *arena,
                         struct client_endpoint **out)
{
    int count = tensors != NULL && tensors->kind == JSON_VALUE_OBJECT ? tensors->count : 0;
    *out = ARENA_ARRAY(arena, struct client_endpoint, count);
    for (int i = 0; i < count; i++) {
        const struct json_value *tensor = &tensors->members[i];
        struct client_endpoint *endpoint = &(*out)[i];
        endpoint->key = tensors->keys[i];
        if (!dtype_parse_enum(text_of(tensor, "dtype"), &endpoint->dtype))
            endpoint->dtype = DT_INVALID;
        get_shape(json_value_get(tensor, "tensor_shape"), &endpoint->shape);
    }
    return count;
}

static struct status metadata(struct client *client, const struct client_target *target,
                              struct arena *arena, struct client_metadata *out)
{
    const struct json_value *answer;
    TRY(get(client, target, "/metadata", arena, &answer));
    const struct json_value *map =
        json_value_get(json_value_get(answer, "metadata"), "signature_def");
    const struct json_value *signatures = json_value_get(map, "signature_def");
    const char *version = text_of(json_value_get(answer, "model_spec"), "version");
    int count = signatures != NULL && signatures->kind == JSON_VALUE_OBJECT ? signatures->count : 0;
    *out = (struct client_metadata){
        .signatures = ARENA_ARRAY(arena, struct client_signature, count),
        .count = count,
        .version = strtoll(version, NULL, 10),
    };
    for (int i = 0; i < count; i++) {
        const struct json_value *value = &signatures->members[i];
        struct client_signature *signature = &out->signatures[i];
        signature->name = signatures->keys[i];
        signature->method = text_of(value, "method_name");
        signature->inputs_count =
            get_endpoints(json_value_get(value, "inputs"), arena, &signature->inputs);
        signature->outputs_count =
            get_endpoints(json_value_get(value, "outputs"), arena, &signature->outputs);
    }
    return status_ok();
}

static struct status status_of(struct client *client, const struct client_target *target,
                               struct arena *arena, struct client_versions *out)
{
    const struct json_value *answer;
    TRY(get(client, target, "", arena, &answer));
    const struct json_value *rows = json_value_get(answer, "model_version_status");
    int count = rows != NULL && rows->kind == JSON_VALUE_LIST ? rows->count : 0;
    *out = (struct client_versions){ .versions = ARENA_ARRAY(arena, struct client_version, count),
                                     .count = count };
    for (int i = 0; i < count; i++) {
        const struct json_value *row = &rows->members[i], *status = json_value_get(row, "status");
        struct client_version *version = &out->versions[i];
        version->number = strtoll(text_of(row, "version"), NULL, 10);
        version->state = text_of(row, "state");
        version->message = text_of(status, "error_message");
        if (!status_code_parse(text_of(status, "error_code"), &version->code))
            version->code = STATUS_UNKNOWN;
    }
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

struct status rest_client_open(const char *address, const struct client_options *options,
                               struct client **out)
{
    struct rest_client *client = zalloc(sizeof *client);
    struct status status = http_init(&client->http, address);
    if (!status_is_ok(status)) {
        free(client);
        return status;
    }
    client->http.token = options->token;
    client->http.tls = options->tls;
    client->http.server_name = options->server_name;
    client->client.type = &type;
    *out = &client->client;
    return status_ok();
}
