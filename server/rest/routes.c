#include "server/rest/routes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/characters.h"
#include "server/rest/open_inference.h"
#include "server/rest/predict.h"

#define TEXT   "text/plain; charset=utf-8"
#define MODEL  "/v1/models/{model}{selector}"
#define MODEL2 "/v2/models/{model}{selector}"

static const char *monitoring_path(const struct server_context *server)
{
    return server->monitoring_path;
}

static const struct route routes[] = {
    /* first, because an operator may choose a path that has another meaning */
    { "GET, HEAD", NULL, answer_tensorflow_metrics, .content_type = "text/plain",
      .configured = monitoring_path, .takes_long = true },
    { "GET, HEAD", "/metrics", answer_metrics, .takes_long = true,
      .content_type = "text/plain; version=0.0.4; charset=utf-8" },
    { "POST", MODEL ":predict", answer_predict, .api = API_PREDICT, .headers = predict_headers },
    { "POST", MODEL ":classify", answer_classify, .api = API_CLASSIFY },
    { "POST", MODEL ":regress", answer_regress, .api = API_REGRESS },
    { "GET", MODEL "/metadata", answer_metadata, .api = API_METADATA },
    { "GET", MODEL, answer_model_status, .api = API_STATUS },
    { "GET", "/v1/models", answer_model_list, .api = API_STATUS, .takes_long = true },

    { "GET, HEAD", "/healthz", answer_alive, .api = API_HEALTH, .content_type = TEXT },
    { "GET, HEAD", "/", answer_v1_alive, .api = API_HEALTH },
    { "GET, HEAD", "/readyz", answer_ready, .api = API_HEALTH, .content_type = TEXT },
    { "GET, HEAD", "/readyz/{model}{selector}", answer_model_ready, .api = API_HEALTH,
      .content_type = TEXT },

    { "GET", "/v2", answer_v2_server, .api = API_METADATA },
    { "GET", "/v2/health/live", answer_v2_live, .api = API_HEALTH },
    { "GET", "/v2/health/ready", answer_v2_ready, .api = API_HEALTH },
    { "GET", MODEL2, answer_v2_model, .api = API_METADATA },
    { "GET", MODEL2 "/ready", answer_v2_model_ready, .api = API_HEALTH },
    { "POST", MODEL2 "/infer", answer_v2_infer, .api = API_INFER, .headers = v2_infer_headers },
    { "POST", "/v2/repository/index", answer_v2_index, .api = API_STATUS },
    { "POST", "/v2/repository/models/{model}/load", answer_v2_load, .api = API_RELOAD },
    { "POST", "/v2/repository/models/{model}/unload", answer_v2_unload, .api = API_RELOAD },
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

bool route_is_v1(const char *url)
{
    return starts_with(url, "/v1/");
}

bool route_is_v2(const char *url)
{
    return strncmp(url, "/v2/", strlen("/v2/")) == 0;
}

/* ---- patterns ---- */

/* Skips a text if it is at *at. */
static bool take(const char **at, const char *text)
{
    size_t size = strlen(text);
    bool found = strncmp(*at, text, size) == 0;
    *at += found ? size : 0;
    return found;
}

/* Parses "/versions/7", and moves *at past it. *found: it is there; a failure: the number does
 * not fit. */
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

static void read_label(const char **at, struct version_choice *out)
{
    if (!starts_with(*at, "/labels/"))
        return;
    const char *label = *at + strlen("/labels/");
    size_t size = strcspn(label, "/:");
    if (size == 0)
        return;
    *out = (struct version_choice){ .kind = VERSION_LABELLED, .label = { label, size } };
    *at = label + size;
}

static struct status read_selector(const char **at, struct version_choice *out)
{
    bool found;
    TRY(read_version(at, out, &found));
    if (!found)
        read_label(at, out);
    return status_ok();
}

static bool same_letter(char a, char b, bool fold)
{
    return a == b || (fold && tolower((unsigned char)a) == tolower((unsigned char)b));
}

/* Compares a path with a pattern; the texts in `spec` point into the path. */
static struct status match(const char *pattern, const char *path, bool v1, struct model_spec *spec,
                           bool *fits)
{
    bool fold = v1;
    *fits = false;
    *spec = (struct model_spec){ .version.kind = VERSION_LATEST };
    while (*pattern != '\0') {
        if (*pattern != '{') {              /* first: most characters of a pattern are literal */
            fold = fold && *pattern != ':'; /* case matters in a verb */
            if (!same_letter(*pattern++, *path++, fold))
                return status_ok();
        } else if (take(&pattern, "{model}")) {
            spec->name = (struct bytes){ path, strcspn(path, v1 ? "/:" : "/") };
            path += spec->name.size;
            if (spec->name.size == 0)
                return status_ok();
        } else {
            pattern += strlen("{selector}"); /* the only other word in braces */
            TRY(read_selector(&path, &spec->version));
        }
    }
    *fits = *path == '\0';
    return status_ok();
}

/* ---- the table ---- */

static bool allows(const char *methods, const char *method)
{
    size_t size = strlen(method);
    for (const char *at = methods; (at = strstr(at, method)) != NULL; at += size)
        if ((at == methods || at[-1] == ' ') && (at[size] == '\0' || at[size] == ','))
            return true;
    return false;
}

static struct bytes decode(struct bytes text, struct arena *arena)
{
    char *out = arena_alloc(arena, text.size + 1);
    return (struct bytes){ out, percent_decode(text, out) };
}

static void decode_names(struct model_spec *spec, struct arena *arena)
{
    spec->name = decode(spec->name, arena);
    if (spec->version.kind == VERSION_LABELLED)
        spec->version.label = decode(spec->version.label, arena);
}

/* Cuts the query off. */
static const char *path_of(const char *url, struct arena *arena, struct bytes *query)
{
    const char *mark = strchr(url, '?');
    if (mark == NULL)
        return url;
    *query = bytes_of(mark + 1);
    return arena_printf(arena, "%.*s", (int)(mark - url), url);
}

/* Under /v1/, TensorFlow Serving treats the query as part of the path. Ours is removed, but only
 * after a verb, because names of models may end like that. */
static const char *cut_explain(const char *method, const char *url, struct arena *arena,
                               struct bytes *query)
{
    static const char explain[] = "?explain=1";
    size_t size = strlen(url), cut = sizeof explain - 1;
    if (strcmp(method, "POST") != 0 || size < cut || strcmp(url + size - cut, explain) != 0)
        return url;
    *query = bytes_of(explain + 1);
    return arena_printf(arena, "%.*s", (int)(size - cut), url);
}

struct status route_find(const struct server_context *server, const char *method, const char *url,
                         struct arena *arena, struct route_match *out)
{
    bool v1 = route_is_v1(url), fits;
    *out = (struct route_match){ .query = { "", 0 } };
    const char *path =
        v1 ? cut_explain(method, url, arena, &out->query) : path_of(url, arena, &out->query);
    for (size_t i = 0; i < COUNT(routes); i++) {
        const struct route *route = &routes[i];
        const char *pattern =
            route->configured != NULL ? route->configured(server) : route->pattern;
        if (pattern == NULL || route_is_v1(pattern) != v1)
            continue;
        TRY(match(pattern, path, v1, &out->spec, &fits));
        if (fits && allows(route->methods, method)) {
            decode_names(&out->spec, arena);
            out->route = route;
            return status_ok();
        }
        if (fits)
            out->allow = out->allow == NULL
                             ? route->methods
                             : arena_printf(arena, "%s, %s", out->allow, route->methods);
    }
    if (v1)
        return status_error(STATUS_INVALID_ARGUMENT, "Malformed request: %s %s", method, url);
    if (out->allow == NULL && route_is_v2(url))
        return status_error(STATUS_NOT_FOUND,
                            "%s is not in the Open Inference Protocol, or in an "
                            "extension that GET /v2 lists",
                            url);
    return status_ok();
}
