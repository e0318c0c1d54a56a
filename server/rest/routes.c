#include "server/rest/routes.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/characters.h"
#include "server/rest/exchange.h"

static const struct route routes[] = {
    { "POST", ":predict", answer_predict }, { "POST", ":classify", answer_classify },
    { "POST", ":regress", answer_regress }, { "GET", "/metadata", answer_metadata },
    { "GET", "", answer_model_status },
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

static struct bytes decode_name(const char *text, size_t size, struct arena *arena)
{
    char *out = arena_alloc(arena, size + 1);
    return (struct bytes){ out, percent_decode((struct bytes){ text, size }, out) };
}

/* Reads "/versions/7", and moves *at behind it. *found: it is there; a failure: the number does not
 * fit. */
static struct status read_version(const char **at, struct version_choice *out, bool *found)
{
    *found = starts_with(*at, "/versions/") && is_digit((*at)[strlen("/versions/")]);
    if (!*found)
        return status_ok();
    const char *digits = *at + strlen("/versions/");
    size_t size = strspn(digits, "0123456789");
    errno = 0;
    *out = (struct version_choice){ .kind = VERSION_SPECIFIC, .number = strtoll(digits, NULL, 10) };
    *at = digits + size;
    if (errno == ERANGE)
        return status_error(STATUS_INVALID_ARGUMENT, "Failed to convert version: %.*s to numeric.",
                            (int)size, digits);
    return status_ok();
}

static bool read_label(const char **at, struct arena *arena, struct version_choice *out)
{
    if (!starts_with(*at, "/labels/"))
        return false;
    const char *label = *at + strlen("/labels/");
    size_t size = strcspn(label, "/:");
    if (size == 0)
        return false;
    *out = (struct version_choice){ .kind = VERSION_LABELLED,
                                    .label = decode_name(label, size, arena) };
    *at = label + size;
    return true;
}

static struct status malformed(const char *method, const char *url)
{
    return status_error(STATUS_INVALID_ARGUMENT, "Malformed request: %s %s", method, url);
}

/* Reads the name and the version; *rest is what follows. */
static struct status read_target(const char *method, const char *url, struct arena *arena,
                                 struct target *target, const char **rest)
{
    bool found = false;
    *target = (struct target){ { "", 0 }, { .kind = VERSION_LATEST }, { "", 0 } };
    if (!starts_with(url, "/v1/models"))
        return malformed(method, url);
    const char *at = url + strlen("/v1/models");
    if (*at == '/') {
        size_t size = strcspn(at + 1, "/:");
        if (size == 0)
            return malformed(method, url);
        target->name = decode_name(at + 1, size, arena);
        at += 1 + size;
        TRY(read_version(&at, &target->version, &found));
        if (!found)
            read_label(&at, arena, &target->version);
    }
    *rest = at;
    return status_ok();
}

struct status route_find(const char *method, const char *url, struct arena *arena,
                         struct target *target, const struct route **out)
{
    const char *rest = "";
    TRY(read_target(method, url, arena, target, &rest));
    target->action = bytes_of(rest);
    for (size_t i = 0; i < COUNT(routes); i++) {
        const struct route *route = &routes[i];
        bool verb = *route->action == ':'; /* case matters in a verb, not in the words of a path */
        if (strcmp(route->method, method) != 0 ||
            (verb ? strcmp(route->action, rest) : strcasecmp(route->action, rest)) != 0)
            continue;
        if (target->name.size == 0 && strcmp(method, "GET") == 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Missing model name in request.");
        if (target->name.size == 0)
            break;
        *out = route;
        return status_ok();
    }
    return malformed(method, url);
}
