#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/graph_proto.h"
#include "graph/same.h"
#include "proto/graph.pb-c.h"
#include "proto/text.h"

#define FLOAT    " attr { key: 'dtype' value { type: DT_FLOAT } }"
#define SHAPE(n) " attr { key: 'shape' value { shape { dim { size: " #n " } } } }"
#define NAMED(n) " attr { key: 'shared_name' value { s: '" n "' } }"
#define CALL(f)                                                             \
    " attr { key: 'Tin' value { list { type: [DT_FLOAT, DT_RESOURCE] } } }" \
    " attr { key: 'Tout' value { list { type: [DT_FLOAT] } } }"             \
    " attr { key: 'f' value { func { name: '" f "' } } }"
#define SIGNATURE(f)                                                    \
    " signature { name: '" f "' input_arg { name: 'a' type: DT_FLOAT }" \
    "   input_arg { name: 'r' type: DT_RESOURCE } output_arg { name: 'o' type: DT_FLOAT } }"
/* The implementation of the interface 'i' that runs. */
#define CPU_FUNCTION(f, body)                                     \
    " function { attr { key: 'api_implements' value { s: 'i' } }" \
    "  attr { key: 'api_preferred_device' value { s: 'CPU' } }" SIGNATURE(f) body " }"

/* clang-format off */
/* As Keras exports `serve` and `serving_default`. */
static const char *const file =
    "node { name: 'x' op: 'Placeholder'" FLOAT SHAPE(2) " }"
    "node { name: 'v' op: 'VarHandleOp'" FLOAT SHAPE(2) NAMED("v") " }"
    "node { name: 'w' op: 'VarHandleOp'" FLOAT SHAPE(2) NAMED("w") " }"
    "node { name: 'call' op: 'StatefulPartitionedCall' input: ['x', 'v']" CALL("first") " }"
    "library {"
    " function {" SIGNATURE("model")
    "  node_def { name: 'read' op: 'ReadVariableOp' input: 'r'" FLOAT " }"
    "  node_def { name: 'sum' op: 'AddV2' input: ['a', 'read:value:0']"
    "   attr { key: 'T' value { type: DT_FLOAT } } }"
    "  ret { key: 'o' value: 'sum:z:0' } }"
    " function {" SIGNATURE("first")
    "  node_def { name: 'inner' op: 'StatefulPartitionedCall' input: ['a', 'r']" CALL("model") " }"
    "  ret { key: 'o' value: 'inner:output:0' } }"
    " function {" SIGNATURE("second")
    "  node_def { name: 'inner' op: 'StatefulPartitionedCall' input: ['a', 'r']" CALL("model") " }"
    "  ret { key: 'o' value: 'inner:output:0' } } }"
    "node { name: 'y' op: 'Placeholder'" FLOAT SHAPE(2) " }"
    "node { name: 'call_1' op: 'StatefulPartitionedCall' input: ['y', 'v']" CALL("second") " }";
/* clang-format on */

/* What is replaced where it occurs last in the file. */
static const struct same_row {
    const char *label, *what, *with;
    bool same;
} rows[] = {
    { "two functions of one text are the same", "", "", true },
    { "one function is the same", "'second' } } } }", "'first' } } } }", true },
    { "another variable", "['y', 'v']", "['y', 'w']", false },
    { "a fixed input instead of the feed", "['y', 'v']", "['x', 'v']", false },
    { "a call that waits", "['y', 'v']", "['y', 'v', '^w']", false },
    { "another kind of call", "'call_1' op: 'Stateful", "'call_1' op: '", false },
    { "a feed of another shape", "size: 2", "size: 3", false },
    { "an attribute of the call", "'call_1'", "'call_1' attr { key: 'config' value { s: 'c' } }",
      false },
    { "another result", "'inner:output:0'", "'a'", false },
    { "another argument", "name: 'a' type", "name: 'b' type", false },
    { "another node of the body", "'inner' op: 'StatefulPartitionedCall' input: ['a', 'r']",
      "'other' op: 'StatefulPartitionedCall' input: ['a', 'r']", false },
    { "another input in the body", "input: ['a', 'r']", "input: ['r', 'a']", false },
    { "another function below", "'model' } } }", "'first' } } }", false },
    { "a function that is not there", "'second' } } }", "'third' } } }", false },
    { "an interface that has another implementation", " function { signature { name: 'second'",
      CPU_FUNCTION("cpu",
                   "ret { key: 'o' value: 'a' }") " function { attr { key: 'api_implements' value "
                                                  "{ s: 'i' } } signature { name: 'second'",
      false },
    { "a variable by its node's name, in an implementation below",
      " function { signature { name: 'model'",
      CPU_FUNCTION(
          "cpu",
          "node_def { name: 'own' op: 'VarHandleOp'" FLOAT SHAPE(
              2) " }"
                 " node_def { name: 'read' op: 'ReadVariableOp' input: 'own:resource:0'" FLOAT
                 " } ret { key: 'o' value: 'read:value:0' }") " function { attr { key: "
                                                              "'api_implements' value { s: 'i' } } "
                                                              "signature { name: 'model'",
      false },
    { "a variable that goes by its node's name", "'read' op: 'ReadVariableOp' input: 'r'",
      "'own' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } }"
      " attr { key: 'shape' value { shape { } } } }"
      " node_def { name: 'read' op: 'ReadVariableOp' input: 'own:resource:0'",
      false },
};

static const char *find_last(const char *text, const char *part)
{
    const char *found = NULL;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        found = at;
    return found;
}

static const char *replace(struct arena *arena, const struct same_row *row)
{
    const char *at = row->what[0] != '\0' ? find_last(file, row->what) : file;
    assert_non_null(at);
    return arena_printf(arena, "%.*s%s%s", (int)(at - file), file, row->with,
                        at + strlen(row->what));
}

static struct flatten_request fetch(const struct graph *graph, struct endpoint *feed,
                                    const char *feed_name, struct endpoint *fetched,
                                    const char *call)
{
    assert_true(status_is_ok(graph_endpoint(graph, feed_name, feed)));
    assert_true(status_is_ok(graph_endpoint(graph, call, fetched)));
    return (struct flatten_request){
        .feeds = feed, .feeds_count = 1, .fetches = fetched, .fetches_count = 1
    };
}

static void compares_the_requests(void **state)
{
    const struct same_row *row = *state;
    struct arena *arena = arena_create(0);
    Tensorflow__GraphDef *proto;
    struct graph *graph;
    struct endpoint feeds[2], fetches[2];
    struct status status = proto_text_read(&tensorflow__graph_def__descriptor,
                                           bytes_of(replace(arena, row)), 0, arena, &proto);
    if (status_is_ok(status))
        status = graph_from_proto(proto, arena, false, &graph);
    if (!status_is_ok(status))
        fail_msg("%s", status.message);
    struct flatten_request a = fetch(graph, &feeds[0], "x", &fetches[0], "call");
    struct flatten_request b = fetch(graph, &feeds[1], "y", &fetches[1], "call_1");
    assert_int_equal(requests_are_same(graph, &a, &b), row->same);
    assert_int_equal(requests_are_same(graph, &b, &a), row->same);

    struct flat_graph flat[2];
    if (row->same) { /* and so are the flattened graphs */
        assert_true(status_is_ok(flat_graph_create(graph, &a, &flat[0])));
        assert_true(status_is_ok(flat_graph_create(graph, &b, &flat[1])));
        assert_true(graph_is_same(&flat[0].parts, &a, &flat[1].parts, &b));
        flat_graph_drop(&flat[0]);
        flat_graph_drop(&flat[1]);
    }
    const struct shape declared[] = { shape_of(2), shape_of(3) };
    a.feed_shapes = &declared[0];
    b.feed_shapes = &declared[1];
    assert_false(requests_are_same(graph, &a, &b));
    b.feed_shapes = a.feed_shapes;
    assert_int_equal(requests_are_same(graph, &a, &b), row->same);
    b.feeds_count = 0;
    assert_false(requests_are_same(graph, &a, &b));
    graph_finish(graph);
    arena_destroy(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT(rows)];
    for (size_t i = 0; i < COUNT(rows); i++)
        tests[i] = (struct CMUnitTest){ .name = rows[i].label,
                                        .test_func = compares_the_requests,
                                        .initial_state = (void *)&rows[i] };
    return cmocka_run_group_tests_name("same", tests, NULL, NULL);
}
