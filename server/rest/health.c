/* The routes for probes: is the process alive, and does it serve its models? */
#include "base/text_print.h"
#include "server/rest/exchange.h"

struct status answer_alive(struct exchange *exchange)
{
    buffer_append_text(&exchange->served.reply, "ok\n");
    return status_ok();
}

/* Probes of KServe's V1 protocol. */
struct status answer_v1_alive(struct exchange *exchange)
{
    buffer_append_text(&exchange->served.reply, "{\"status\":\"alive\"}");
    return status_ok();
}

/* `why`: include the errors of versions that failed, which quote paths and graphs. */
static void print_state(struct buffer *out, const struct model_listing *model, bool why)
{
    buffer_printf(out, "model '%s' has no version that serves", model->name);
    for (size_t i = 0; i < model->versions_count; i++) {
        const struct version_status *version = &model->versions[i];
        buffer_printf(out, "%s version %lld is %s", i == 0 ? ":" : ",", (long long)version->number,
                      version->state);
        if (why && version->status.code != STATUS_OK)
            buffer_printf(out, " (%s)", version->status.message);
    }
    buffer_append_char(out, '\n');
}

/* Lists everything that is not ready; an empty list means ready. Clients without a token may
 * request it. */
static void print_problems(struct served_request *request)
{
    struct model_listing *models;
    bool why = request->server->auth == NULL;
    if (server_is_going_down(request->server))
        buffer_append_text(&request->reply, "the server is going down\n");
    size_t count = manager_list(request->server->manager, request->arena, true, &models);
    for (size_t i = 0; i < count; i++)
        print_state(&request->reply, &models[i], why);
}

struct status answer_ready(struct exchange *exchange)
{
    print_problems(&exchange->served);
    if (exchange->served.reply.size > 0)
        exchange_set_unavailable(exchange);
    else
        buffer_append_text(&exchange->served.reply, "ok\n");
    return status_ok();
}

/* A known model or version that does not serve is not ready: UNAVAILABLE instead of NOT_FOUND. */
static struct status explain_missing(struct served_request *request, struct status missing)
{
    struct manager *manager = request->server->manager;
    const struct model_spec *spec = &request->spec;
    struct version_status *versions;
    size_t count;
    if (missing.code != STATUS_NOT_FOUND)
        return missing;
    if (status_is_ok(
            manager_status(manager, spec->name, &spec->version, request->arena, &versions, &count)))
        return status_error(STATUS_UNAVAILABLE, "model '%s': version %lld is %s",
                            text_print_name(spec->name), (long long)versions[0].number,
                            versions[0].state);
    if (spec->version.kind == VERSION_LATEST && manager_is_configured(manager, spec->name))
        return status_error(STATUS_UNAVAILABLE, "model '%s' has no version that serves",
                            text_print_name(spec->name));
    return missing;
}

struct status answer_model_ready(struct exchange *exchange)
{
    struct served_request *request = &exchange->served;
    struct servable *servable;
    if (server_is_going_down(request->server))
        return status_error(STATUS_UNAVAILABLE, "the server is going down");
    struct status status = manager_find(request->server->manager, request->spec.name,
                                        &request->spec.version, &servable);
    if (!status_is_ok(status))
        return explain_missing(request, status);
    servable_release(servable);
    buffer_append_text(&request->reply, "ok\n");
    return status_ok();
}
