#include "server/inference/open_inference.h"

#include <string.h>

#include "base/characters.h"
#include "base/text_print.h"

struct status open_inference_version(struct bytes text, struct version_choice *out)
{
    int64_t number = 0;
    *out = (struct version_choice){ .kind = VERSION_LATEST };
    if (text.size == 0)
        return status_ok();
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.data[i])) {
            *out = (struct version_choice){ .kind = VERSION_LABELLED, .label = text };
            return status_ok();
        }
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.data[i] - '0', &number))
            return status_error(STATUS_INVALID_ARGUMENT, "the version %s does not fit into 64 bits",
                                text_print_name(bytes_first(text, 64)));
    }
    *out = (struct version_choice){ .kind = VERSION_SPECIFIC, .number = number };
    return status_ok();
}

static const char *signatures_text(const struct servable *servable, struct arena *arena)
{
    const char *text = "";
    for (int i = 0; i < servable->callables_count && strlen(text) < 1024; i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "",
                            servable->callables[i].signature->name);
    return text;
}

struct status open_inference_callable(struct served_request *request, struct bytes signature_name,
                                      struct callable **out)
{
    request->spec.signature_name = signature_name;
    TRY(served_request_find_servable(request));
    struct servable *servable = request->servable;
    *out = servable_callable(servable, signature_name);
    if (*out == NULL && signature_name.size == 0 && servable->callables_count == 1)
        *out = &servable->callables[0];
    if (*out != NULL)
        return status_ok();
    struct bytes asked = signature_name.size > 0 ? signature_name : bytes_of(SIGNATURE_DEFAULT);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "model '%s' has no signature '%s'; the parameter signature_name may be "
                        "one of: %s",
                        servable->name, text_print_name(bytes_first(asked, 256)),
                        signatures_text(servable, request->arena));
}

struct status open_inference_run(struct served_request *request, struct open_inference *inference,
                                 struct status (*answer)(struct served_request *request,
                                                         const struct tensor *outputs))
{
    struct callable *callable;
    request->method = inference;
    TRY(open_inference_callable(request, inference->request.signature_name, &callable));
    if (request->server->check_method_names)
        TRY(callable_check_predict(callable));
    TRY(infer_match(&inference->request, callable->signature, request->arena, &inference->match));
    return served_request_run(request, callable, inference->match.inputs, answer);
}

struct infer_answer open_inference_answer(const struct served_request *request)
{
    const struct open_inference *inference = request->method;
    return (struct infer_answer){
        .model_name = bytes_of(request->servable->name),
        .id = inference->request.id,
        .version = request->servable->version,
        .signature = request->call.callable->signature,
        .choices = inference->match.choices,
        .choices_count = inference->match.choices_count,
        .raw = inference->request.binary,
    };
}

/* ---- descriptions ---- */

static bool answers(const struct version_status *version)
{
    return strcmp(version->state, "AVAILABLE") == 0;
}

struct status open_inference_metadata(struct served_request *request, struct model_metadata *out)
{
    struct version_choice all = { .kind = VERSION_LATEST };
    struct version_status *versions;
    struct callable *callable;
    size_t count;
    TRY(open_inference_callable(request, (struct bytes){ "", 0 }, &callable));
    TRY(manager_status(request->server->manager, request->spec.name, &all, request->arena,
                       &versions, &count));
    int64_t *numbers = ARENA_ARRAY(request->arena, int64_t, count);
    *out = (struct model_metadata){ .name = bytes_of(request->servable->name),
                                    .versions = numbers,
                                    .signature = callable->signature };
    for (size_t i = count; i > 0; i--) /* ascending */
        if (answers(&versions[i - 1]))
            numbers[out->versions_count++] = versions[i - 1].number;
    return status_ok();
}

struct status open_inference_model_ready(struct served_request *request, bool *out)
{
    struct version_choice all = { .kind = VERSION_LATEST };
    struct version_status *versions;
    struct servable *servable = NULL;
    size_t count;
    /* Unlike served_request_find_servable, a probe enters no gate. */
    *out = !server_is_going_down(request->server) &&
           status_is_ok(manager_find(request->server->manager, request->spec.name,
                                     &request->spec.version, &servable));
    servable_release(servable);
    if (*out || manager_is_configured(request->server->manager, request->spec.name))
        return status_ok();
    return manager_status(request->server->manager, request->spec.name, &all, request->arena,
                          &versions, &count);
}

bool open_inference_server_ready(struct served_request *request)
{
    struct model_listing *models;
    return !server_is_going_down(request->server) &&
           manager_list(request->server->manager, request->arena, true, &models) == 0;
}

/* ---- the repository ---- */

/* Triton's names of states. */
static const char *state_name(const char *state)
{
    static const struct {
        const char *state, *name;
    } names[] = {
        { "START", "UNAVAILABLE" },   { "LOADING", "LOADING" }, { "AVAILABLE", "READY" },
        { "UNLOADING", "UNLOADING" }, { "END", "UNAVAILABLE" },
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i].state, state) == 0)
            return names[i].name;
    return "UNKNOWN";
}

struct status open_inference_index(struct served_request *request, bool ready,
                                   struct index_entry **out, size_t *out_count)
{
    struct model_listing *models;
    size_t count = manager_list(request->server->manager, request->arena, false, &models);
    size_t versions = 0;
    void *entries;
    for (size_t i = 0; i < count; i++)
        versions += models[i].versions_count;
    TRY(arena_reserve(request->arena, versions * sizeof **out, &entries));
    *out = entries;
    *out_count = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < models[i].versions_count; j++) {
            const struct version_status *version = &models[i].versions[j];
            if (!ready || answers(version))
                (*out)[(*out_count)++] = (struct index_entry){
                    .name = bytes_of(models[i].name),
                    .version = version->number,
                    .state = state_name(version->state),
                    .reason = models[i].unloaded ? "unloaded" : version->status.message,
                };
        }
    }
    return status_ok();
}

static struct status check_allowed(const struct served_request *request, const char *change)
{
    struct version_choice all = { .kind = VERSION_LATEST };
    struct version_status *versions;
    size_t count;
    if (request->server->allow_model_control)
        return status_ok();
    TRY(manager_status(request->server->manager, request->spec.name, &all, request->arena,
                       &versions, &count));
    return status_error(STATUS_FAILED_PRECONDITION,
                        "model '%s' is not %s: which models are loaded is up to "
                        "--model_config_file, --model_base_path and HandleReloadConfigRequest, "
                        "unless the server has --allow_model_control",
                        text_print_name(request->spec.name), change);
}

static void on_changed(void *context, struct status status)
{
    struct served_request *request = context;
    served_request_finish(request, status);
}

/* In the loop's thread. */
static struct status change(struct served_request *request, bool unload)
{
    request->next = NULL;
    TRY(manager_set_unloaded(request->server->manager, request->spec.name, unload,
                             request->server->loop, on_changed, request));
    served_request_wait(request);
    return status_ok();
}

static struct status load(struct served_request *request)
{
    return change(request, false);
}

static struct status unload(struct served_request *request)
{
    return change(request, true);
}

static struct status go_on(struct served_request *request,
                           struct status (*next)(struct served_request *request))
{
    if (!request->in_pool)
        return next(request);
    request->next = next;
    return status_ok();
}

struct status open_inference_load(struct served_request *request)
{
    TRY(check_allowed(request, "loaded"));
    return go_on(request, load);
}

struct status open_inference_unload(struct served_request *request)
{
    TRY(check_allowed(request, "unloaded"));
    return go_on(request, unload);
}

struct status open_inference_refuse_parameters(void)
{
    return status_error(STATUS_UNIMPLEMENTED, "the parameters of a load, such as 'config', are not "
                                              "implemented: the configuration of a model is the "
                                              "server's");
}
