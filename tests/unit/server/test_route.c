#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/rest/routes.h"
#include "support/test_group.h"

#define MODEL "/v1/models/{model}{selector}"

static const struct row {
    const char *method, *url;
    const char *pattern; /* of the expected route; NULL: expect `error` */
    const char *name;
    int kind;
    int64_t number;
    const char *label;
    const char *error;
} rows[] = {
    { "POST", "/v1/models/m:predict", MODEL ":predict", "m", VERSION_LATEST, 0, NULL, NULL },
    { "POST", "/V1/Models/m/Versions/7:classify", MODEL ":classify", "m", VERSION_SPECIFIC, 7, NULL,
      NULL },
    { "POST", "/v1/models/m/labels/a%2Fb:regress", MODEL ":regress", "m", VERSION_LABELLED, 0,
      "a/b", NULL },
    { "POST", "/v1/models/a%20b+c%zz:predict", MODEL ":predict", "a b+c%zz", VERSION_LATEST, 0,
      NULL, NULL },
    { "POST", "/v1/models/m:predict?explain=1", MODEL ":predict", "m", VERSION_LATEST, 0, NULL,
      NULL },
    { "GET", "/v1/models/m?explain=1", MODEL, "m?explain=1", VERSION_LATEST, 0, NULL, NULL },
    { "GET", "/v1/models/m", MODEL, "m", VERSION_LATEST, 0, NULL, NULL },
    { "GET", "/v1/models/m?x", MODEL, "m?x", VERSION_LATEST, 0, NULL, NULL },
    { "GET", "/v1/models/m/versions/00042/METADATA", MODEL "/metadata", "m", VERSION_SPECIFIC, 42,
      NULL, NULL },
    { "GET", "/v1/models", "/v1/models", "", VERSION_LATEST, 0, NULL, NULL },
    { "GET", "/", "/", "", VERSION_LATEST, 0, NULL, NULL },
    { "GET", "/healthz", "/healthz", "", VERSION_LATEST, 0, NULL, NULL },
    { "HEAD", "/healthz?x=/y", "/healthz", "", VERSION_LATEST, 0, NULL, NULL },
    { "GET", "/readyz/a%2Fb", "/readyz/{model}{selector}", "a/b", VERSION_LATEST, 0, NULL, NULL },
    { "GET", "/readyz/a:b/versions/3", "/readyz/{model}{selector}", "a:b", VERSION_SPECIFIC, 3,
      NULL, NULL },
    { "GET", "/v1/models/m/versions/99999999999999999999", NULL, NULL, 0, 0, NULL,
      "Failed to convert version: 99999999999999999999 to numeric." },
#define MALFORMED(method, url)                                                    \
    {                                                                             \
        method, url, NULL, NULL, 0, 0, NULL, "Malformed request: " method " " url \
    }
    MALFORMED("POST", "/v1/models/m:PREDICT"),
    MALFORMED("POST", "/v1/models/m:predict?x=1"),
    MALFORMED("POST", "/v1/models/m"),
    MALFORMED("POST", "/v1/models:predict"),
    MALFORMED("POST", "/v1/models/m/versions/1/labels/a:predict"),
    MALFORMED("POST", "/v1/models/m/versions/x:predict"),
    MALFORMED("GET", "/v1/models/"),
    MALFORMED("GET", "/v1/models/m/"),
    MALFORMED("GET", "/v1/models/m:predict"),
    MALFORMED("GET", "/v1/models/m/metadata/"),
    MALFORMED("GET", "/v1/other"),
    MALFORMED("DELETE", "/v1/models/m"),
    MALFORMED("HEAD", "/v1/models/m"),
};

static void leads_to_its_route(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    struct server_context server = { 0 };
    struct route_match match;
    struct status status = route_find(&server, row->method, row->url, arena, &match);
    if (row->pattern == NULL) {
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_string_equal(status.message, row->error);
    } else {
        assert_string_equal(status.message, "");
        assert_non_null(match.route);
        assert_string_equal(match.route->pattern, row->pattern);
        assert_true(bytes_equal(match.spec.name, bytes_of(row->name)));
        assert_int_equal(match.spec.version.kind, row->kind);
        if (row->kind == VERSION_SPECIFIC)
            assert_int_equal(match.spec.version.number, row->number);
        if (row->label != NULL)
            assert_true(bytes_equal(match.spec.version.label, bytes_of(row->label)));
    }
    arena_destroy(arena);
}

/* Outside /v1/: which methods the path has; NULL: there is no such path. */
static void other_paths_are_foreign_or_have_other_methods(void **state)
{
    static const struct {
        const char *method, *url, *allow;
    } others[] = {
        { "POST", "/healthz", "GET, HEAD" },
        { "GE", "/healthz", "GET, HEAD" },
        { "GET", "/Healthz", NULL },
        { "GET", "/healthz/", NULL },
        { "GET", "/readyz/", NULL },
        { "GET", "//", NULL },
        { "GET", "", NULL },
        { "GET", "/v1", NULL },
    };
    struct arena *arena = arena_create(0);
    struct server_context server = { 0 };
    (void)state;
    for (size_t i = 0; i < COUNT(others); i++) {
        struct route_match match;
        assert_int_equal(route_find(&server, others[i].method, others[i].url, arena, &match).code,
                         STATUS_OK);
        assert_null(match.route);
        if (others[i].allow == NULL)
            assert_null(match.allow);
        else
            assert_string_equal(match.allow, others[i].allow);
    }
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(other_paths_are_foreign_or_have_other_methods),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, url, leads_to_its_route);
    return test_group_run(&group, "route", NULL, NULL);
}
