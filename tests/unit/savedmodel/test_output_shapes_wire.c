#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/message.h"
#include "proto/saved_model.pb-c.h"
#include "savedmodel/output_shapes_wire.h"

typedef Tensorflow__NodeDef__AttrEntry entry;

static entry *make_attr(struct arena *arena, const char *key, int type)
{
    entry *made = PROTO_NEW(arena, entry, tensorflow__node_def__attr_entry);
    made->key = arena_strdup(arena, key);
    made->value = PROTO_NEW(arena, Tensorflow__AttrValue, tensorflow__attr_value);
    made->value->value_case = TENSORFLOW__ATTR_VALUE__VALUE_TYPE;
    made->value->type = (Tensorflow__DataType)type;
    return made;
}

static Tensorflow__NodeDef **make_nodes(struct arena *arena)
{
    Tensorflow__NodeDef **nodes = ARENA_ARRAY(arena, Tensorflow__NodeDef *, 1);
    Tensorflow__NodeDef *node = PROTO_NEW(arena, Tensorflow__NodeDef, tensorflow__node_def);
    node->name = (char *)"x";
    node->op = (char *)"Identity";
    node->n_attr = 3;
    node->attr = ARENA_ARRAY(arena, entry *, 3);
    node->attr[0] = make_attr(arena, "T", 1);
    node->attr[1] = make_attr(arena, "_output_shapes", 2);
    node->attr[2] = make_attr(arena, "_output_shape", 3);
    nodes[0] = node;
    return nodes;
}

/* A graph and a function, of one node each. */
static struct buffer make_file(struct arena *arena)
{
    struct buffer file = { 0 };
    Tensorflow__SavedModel saved = TENSORFLOW__SAVED_MODEL__INIT;
    Tensorflow__MetaGraphDef meta = TENSORFLOW__META_GRAPH_DEF__INIT, *metas[] = { &meta };
    Tensorflow__GraphDef graph = TENSORFLOW__GRAPH_DEF__INIT;
    Tensorflow__FunctionDefLibrary library = TENSORFLOW__FUNCTION_DEF_LIBRARY__INIT;
    Tensorflow__FunctionDef function = TENSORFLOW__FUNCTION_DEF__INIT, *functions[] = { &function };
    saved.n_meta_graphs = 1;
    saved.meta_graphs = metas;
    meta.graph_def = &graph;
    graph.n_node = 1;
    graph.node = make_nodes(arena);
    graph.library = &library;
    library.n_function = 1;
    library.function = functions;
    function.n_node_def = 1;
    function.node_def = make_nodes(arena);
    proto_pack(&saved, &file);
    return file;
}

static struct status unpack(const struct buffer *file, struct arena *arena,
                            Tensorflow__SavedModel **out)
{
    return proto_unpack(&tensorflow__saved_model__descriptor,
                        (struct bytes){ file->data, file->size }, arena, out);
}

static void check_node(const Tensorflow__NodeDef *node)
{
    assert_string_equal(node->name, "x");
    assert_string_equal(node->op, "Identity");
    assert_int_equal(node->n_attr, 2);
    assert_string_equal(node->attr[0]->key, "T");
    assert_int_equal(node->attr[0]->value->type, 1);
    assert_string_equal(node->attr[1]->key, "_output_shape");
    assert_int_equal(node->attr[1]->value->type, 3);
}

static void only_output_shapes_are_hidden(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct buffer file = make_file(arena);
    Tensorflow__SavedModel *saved;
    hide_output_shapes(&file);
    assert_true(status_is_ok(unpack(&file, arena, &saved)));
    const Tensorflow__GraphDef *graph = saved->meta_graphs[0]->graph_def;
    check_node(graph->node[0]);
    check_node(graph->library->function[0]->node_def[0]);
    buffer_finish(&file);
    arena_destroy(arena);
}

/* A file that is cut short is refused as without hiding. */
static void a_prefix_stays_as_damaged_as_it_is(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct buffer file = make_file(arena);
    for (size_t size = 0; size <= file.size; size++) {
        struct buffer part = { 0 };
        Tensorflow__SavedModel *saved;
        buffer_append(&part, file.data, size);
        struct status before = unpack(&part, arena, &saved);
        hide_output_shapes(&part);
        assert_int_equal(part.size, size);
        assert_int_equal(unpack(&part, arena, &saved).code, before.code);
        buffer_finish(&part);
    }
    buffer_finish(&file);
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_output_shapes_are_hidden),
        cmocka_unit_test(a_prefix_stays_as_damaged_as_it_is),
    };
    return cmocka_run_group_tests_name("output_shapes_wire", tests, NULL, NULL);
}
