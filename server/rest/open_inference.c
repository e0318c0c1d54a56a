#include "server/rest/open_inference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/characters.h"
#include "server/inference/open_inference.h"
#include "server/json/body.h"
#include "server/json/print.h"
#include "server/oip/infer_json.h"
#include "server/oip/tensor_body.h"
#include "server/rest/exchange.h"

const char *const v2_infer_headers[] = { JSON_SIZE_HEADER, NULL };

/* ---- health ---- */

static struct status answer_bool(struct exchange *exchange, const char *name, bool value)
{
    buffer_printf(&exchange->served.reply, "{\"%s\":%s}", name, value ? "true" : "false");
    if (!value)
        exchange_set_unavailable(exchange);
    return status_ok();
}

struct status answer_v2_live(struct exchange *exchange)
{
    return answer_bool(exchange, "live", true);
}

struct status answer_v2_ready(struct exchange *exchange)
{
    return answer_bool(exchange, "ready", open_inference_server_ready(&exchange->served));
}

/* An unknown model is an error; one without a version yet is not ready. */
struct status answer_v2_model_ready(struct exchange *exchange)
{
    struct served_request *request = &exchange->served;
    bool ready;
    TRY(open_inference_model_ready(request, &ready));
    buffer_append_text(&request->reply, "{\"name\":");
    json_print_string(&request->reply, request->spec.name);
    buffer_printf(&request->reply, ",\"ready\":%s}", ready ? "true" : "false");
    if (!ready)
        exchange_set_unavailable(exchange);
    return status_ok();
}

/* ---- descriptions ---- */

struct status answer_v2_server(struct exchange *exchange)
{
    server_metadata_print(&exchange->served.reply);
    return status_ok();
}

struct status answer_v2_model(struct exchange *exchange)
{
    struct model_metadata metadata;
    TRY(open_inference_metadata(&exchange->served, &metadata));
    model_metadata_print(&metadata, &exchange->served.reply);
    return status_ok();
}

/* ---- inference ---- */

static struct status print_outputs(struct served_request *request, const struct tensor *outputs)
{
    struct exchange *exchange = exchange_of(request);
    struct infer_answer answer = open_inference_answer(request);
    size_t json_size;
    TRY(infer_check_outputs(&answer, outputs));
    TRY(served_request_reserve_reply(request, infer_json_size_max(&answer, outputs)));
    TRY(infer_json_print(&answer, outputs, &request->reply, &json_size));
    if (json_size == INFER_JSON_ALL)
        return status_ok();
    exchange->content_type = "application/octet-stream";
    exchange_add_header(exchange, JSON_SIZE_HEADER, arena_printf(request->arena, "%zu", json_size));
    return status_ok();
}

static struct status read_json_size(const char *header, size_t *out)
{
    char *end = NULL;
    *out = INFER_JSON_ALL;
    if (header == NULL)
        return status_ok();
    errno = 0;
    unsigned long long size = is_digit(*header) ? strtoull(header, &end, 10) : 0;
    if (end == NULL || *end != '\0' || errno == ERANGE || size >= INFER_JSON_ALL)
        return status_error(STATUS_INVALID_ARGUMENT, JSON_SIZE_HEADER ": %.64s is not a size",
                            header);
    *out = (size_t)size;
    return status_ok();
}

/* The body is the only input, as binary data without a preceding object. All outputs are sent as
 * binary data. */
static struct status read_raw(struct served_request *request, struct infer_request *out)
{
    struct callable *callable;
    TRY(open_inference_callable(request, (struct bytes){ "", 0 }, &callable));
    TRY(tensor_body_read_raw(request->body, NULL, callable->signature, request->arena, out));
    out->binary = true;
    return status_ok();
}

struct status answer_v2_infer(struct exchange *exchange)
{
    struct served_request *request = &exchange->served;
    struct open_inference *inference = ARENA_NEW(request->arena, struct open_inference);
    size_t json_size;
    TRY(read_json_size(exchange_header(exchange, JSON_SIZE_HEADER), &json_size));
    if (json_size == 0)
        TRY(read_raw(request, &inference->request));
    else
        TRY(infer_json_read(request->body, json_size, request->arena, &inference->request));
    return open_inference_run(request, inference, print_outputs);
}

/* ---- the repository ---- */

/* The body may be empty, or {"ready": true}. */
static struct status read_ready(struct served_request *request, bool *out)
{
    const char *object, *ready;
    *out = false;
    if (request->body.size == 0)
        return status_ok();
    TRY(json_body_object(request->body, request->arena, &object));
    TRY(json_body_member(object, "ready", request->arena, &ready));
    if (ready != NULL && *ready != 't' && *ready != 'f')
        return status_error(STATUS_INVALID_ARGUMENT, "'ready' is not true or false");
    *out = ready != NULL && *ready == 't';
    return status_ok();
}

struct status answer_v2_index(struct exchange *exchange)
{
    struct served_request *request = &exchange->served;
    struct index_entry *entries;
    size_t count;
    bool ready;
    TRY(read_ready(request, &ready));
    TRY(open_inference_index(request, ready, &entries, &count));
    repository_index_print(entries, count, &request->reply);
    return status_ok();
}

/* The body may be empty, or an object. *out: its parameters; NULL: none. */
static struct status read_parameters(struct served_request *request, const char **out)
{
    const char *object;
    *out = NULL;
    if (request->body.size == 0)
        return status_ok();
    TRY(json_body_object(request->body, request->arena, &object));
    return json_body_member(object, "parameters", request->arena, out);
}

struct status answer_v2_load(struct exchange *exchange)
{
    const char *parameters; /* say how to load the model */
    TRY(read_parameters(&exchange->served, &parameters));
    return parameters != NULL ? open_inference_refuse_parameters()
                              : open_inference_load(&exchange->served);
}

/* The only parameter is unload_dependents, and no model depends on another. */
struct status answer_v2_unload(struct exchange *exchange)
{
    const char *ignored;
    TRY(read_parameters(&exchange->served, &ignored));
    return open_inference_unload(&exchange->served);
}
