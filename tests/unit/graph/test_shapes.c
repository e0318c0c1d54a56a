#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "graph/build.h"
#include "graph/graph_proto.h"
#include "proto/graph.pb-c.h"
#include "proto/message.h"
#include "support/status.h"

/* tests/golden/graph/shapes.py writes graphs and the shapes that TensorFlow infers for them. */
#define GOLDEN "tests/golden/graph"

/* Ops whose outputs we infer less precisely than TensorFlow, and the reasons. */
static const struct {
    const char *op, *reason;
} weaker[] = {
    { "BatchToSpaceND", "needs the values of crops" },
    { "SpaceToBatchND", "needs the values of paddings" },
    { "TensorListGetItem", "TensorFlow follows the handle to where the list was made" },
    { "TensorListStack", "TensorFlow follows the handle to where the list was made" },
    { "StatefulPartitionedCall", "is inlined before shapes matter" },
    { "PartitionedCall", "is inlined before shapes matter" },
    { "While", "TensorFlow infers through the body" },
    { "StatelessWhile", "TensorFlow infers through the body" },
};

static bool may_be_weaker(const struct node *node)
{
    for (size_t i = 0; i < COUNT(weaker); i++)
        if (strcmp(node->op_name, weaker[i].op) == 0)
            return true;
    return false;
}

/* Parses "[2,?]" or "<unknown>". */
static struct shape parse_shape(const char *text)
{
    struct shape shape = { 0 };
    if (text[0] != '[')
        return shape_unknown();
    for (const char *at = text + 1; *at != ']' && *at != '\0'; at += *at == ',') {
        char *end = (char *)at + 1;
        shape_append(&shape, *at == '?' ? -1 : strtoll(at, &end, 10));
        at = end;
    }
    return shape;
}

/* Whether one tensor could have both shapes. */
static bool can_agree(const struct shape *a, const struct shape *b)
{
    if (a->rank < 0 || b->rank < 0)
        return true;
    for (int i = 0; i < a->rank && a->rank == b->rank; i++)
        if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i])
            return false;
    return a->rank == b->rank;
}

/* Whether `known` is at least as precise as `wanted`. */
static bool as_precise(const struct shape *known, const struct shape *wanted)
{
    if (wanted->rank < 0)
        return true;
    if (known->rank < 0)
        return false;
    for (int i = 0; i < wanted->rank; i++)
        if (wanted->dims[i] >= 0 && known->dims[i] < 0)
            return false;
    return true;
}

struct tally {
    int outputs, contradictions, weaker, unexpected;
};

static void compare_line(const struct graph *graph, const char *name, const char *text,
                         struct tally *tally)
{
    struct endpoint endpoint;
    struct shape wanted = parse_shape(text);
    assert_ok(graph_endpoint(graph, name, &endpoint));
    const struct shape *shape = endpoint_shape(endpoint);
    bool contradicts = !can_agree(shape, &wanted), is_weaker = !as_precise(shape, &wanted);

    tally->outputs++;
    tally->contradictions += contradicts;
    tally->weaker += is_weaker;
    tally->unexpected += is_weaker && !may_be_weaker(endpoint.node);
    if (contradicts || (is_weaker && !may_be_weaker(endpoint.node)))
        printf("%s (%s): %s, TensorFlow says %s", name, endpoint.node->op_name, shape_text(shape),
               text);
}

static void compare(const char *directory, const char *name, struct tally *tally)
{
    struct arena *arena = arena_create(0);
    struct buffer file = { 0 };
    Tensorflow__GraphDef *proto = NULL;
    struct graph *graph;

    assert_ok(file_read(arena_printf(arena, "%s/%s.pb", directory, name), 0, &file));
    assert_ok(proto_unpack(&tensorflow__graph_def__descriptor,
                           (struct bytes){ file.data, file.size }, arena, &proto));
    buffer_finish(&file);
    assert_ok(graph_from_proto(proto, arena, false, &graph));
    assert_ok(graph_infer(graph));
    FILE *golden = fopen(arena_printf(arena, "%s/%s.txt", directory, name), "r");
    assert_non_null(golden);
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, golden) > 0) {
        char *space = strchr(line, ' ');
        assert_non_null(space);
        *space = '\0';
        compare_line(graph, line, space + 1, tally);
    }
    free(line);
    fclose(golden);
    graph_finish(graph);
    arena_destroy(arena);
}

static void shapes_are_what_tensorflow_infers(void **state)
{
    (void)state;
    struct tally tally = { 0 };
    compare(GOLDEN, "shapes", &tally);
    assert_int_equal(tally.contradictions, 0);
    assert_int_equal(tally.unexpected, 0);
    assert_true(tally.outputs > 500);
}

/* Checks all pairs NAME.pb and NAME.txt in the directory GRAPH_SHAPES, if that is set. */
static void shapes_of_other_graphs_do_not_contradict(void **state)
{
    (void)state;
    const char *path = getenv("GRAPH_SHAPES");
    DIR *directory = path != NULL ? opendir(path) : NULL;
    if (directory == NULL)
        skip();
    struct tally tally = { 0 };
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char *dot = strstr(entry->d_name, ".txt");
        if (dot == NULL)
            continue;
        *dot = '\0';
        compare(path, entry->d_name, &tally);
    }
    closedir(directory);
    assert_int_equal(tally.contradictions, 0);
    printf("%d outputs, %d known less well than by TensorFlow\n", tally.outputs, tally.weaker);
}

/* The range has 2^80 elements, as many as the tensor x. */
static void a_size_that_wraps_is_not_known(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct graph *graph = graph_create(arena);
    struct builder b = builder_init(graph);
    int64_t many = (int64_t)1 << 40;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(many, many));
    struct endpoint size = build_unary(&b, "Size", "size", x);
    struct endpoint zero = build_const_int(&b, 0), one = build_const_int(&b, 1);
    struct endpoint range =
        build(&b, "Range", "range", 3, (struct endpoint[]){ zero, size, one }, NULL);
    assert_ok(builder_status(&b));
    assert_string_equal(shape_text(endpoint_shape(range)), "[?]");
    graph_finish(graph);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_what_tensorflow_infers),
        cmocka_unit_test(shapes_of_other_graphs_do_not_contradict),
        cmocka_unit_test(a_size_that_wraps_is_not_known),
    };
    return cmocka_run_group_tests_name("shapes", tests, NULL, NULL);
}
