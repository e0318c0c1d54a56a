/*
 * The messages on the path to a node, with the numbers of the fields:
 *
 *     SavedModel ─2─▶ MetaGraphDef ─2─▶ GraphDef ─1─▶ NodeDef ─5─▶ entry of its attributes
 *                                           └─2─▶ FunctionDefLibrary ─1─▶ FunctionDef ─3─▶ NodeDef
 */
#include "savedmodel/output_shapes_wire.h"

#include "proto/wire.h"

/* The tags of NodeDef.attr, and of a field 15. */
#define ATTR_TAG   (5 << 3 | WIRE_BYTES)
#define HIDDEN_TAG (15 << 3 | WIRE_BYTES)

/* Does the entry have this key? The last of two keys counts. */
static bool is_output_shapes(struct bytes entry)
{
    struct wire wire = wire_of(entry);
    struct wire_field field;
    struct bytes key = { "", 0 };
    while (wire_next(&wire, &field))
        if (wire_is(&field, 1, WIRE_BYTES))
            key = field.bytes;
    return bytes_equal(key, bytes_of("_output_shapes"));
}

static void hide_in_node(struct bytes node)
{
    struct wire wire = wire_of(node);
    struct wire_field field;
    char *tag = (char *)wire.at;
    for (; wire_next_any(&wire, &field); tag = (char *)wire.at)
        if (*tag == ATTR_TAG && is_output_shapes(field.bytes))
            *tag = HIDDEN_TAG;
}

/* Visits the messages in the fields with this number. */
static void visit(struct bytes message, uint32_t number, void (*visit_one)(struct bytes inner))
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (wire_is(&field, number, WIRE_BYTES))
            visit_one(field.bytes);
}

static void hide_in_function(struct bytes function)
{
    visit(function, 3, hide_in_node);
}

static void hide_in_library(struct bytes library)
{
    visit(library, 1, hide_in_function);
}

static void hide_in_graph(struct bytes graph)
{
    visit(graph, 1, hide_in_node);
    visit(graph, 2, hide_in_library);
}

static void hide_in_meta_graph(struct bytes meta_graph)
{
    visit(meta_graph, 2, hide_in_graph);
}

void hide_output_shapes(struct buffer *saved_model)
{
    visit((struct bytes){ saved_model->data, saved_model->size }, 2, hide_in_meta_graph);
}
