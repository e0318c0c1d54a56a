/* A node that violates TensorFlow's op definition is refused when it is read. The errors are
 * TensorFlow's, prefixed with the node's name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/build.h"
#include "support/test_group.h"

#define NODE(op) "node '" op "' (" op "): "
#define VALUE    "is not in the list of allowed values: "

static const struct row {
    const char *label, *op;
    int inputs_count;
    enum dtype inputs[3];
    struct attr attrs[4];
    const char *error; /* "": the node is valid */
} rows[] = {
    { "a type that is allowed", "InvertPermutation", 1, { DT_INT64 }, { { 0 } }, "" },
    { "a type that is not",
      "InvertPermutation",
      1,
      { DT_UINT8 },
      { { 0 } },
      NODE("InvertPermutation") "Value for attr 'T' of uint8 " VALUE "int32, int64" },
    { "a small integer",
      "BroadcastArgs",
      2,
      { DT_INT8, DT_INT8 },
      { { 0 } },
      NODE("BroadcastArgs") "Value for attr 'T' of int8 " VALUE "int32, int64" },
    { "a float for an index",
      "BroadcastGradientArgs",
      2,
      { DT_FLOAT, DT_FLOAT },
      { { 0 } },
      NODE("BroadcastGradientArgs") "Value for attr 'T' of float " VALUE "int32, int64" },
    { "the second of several types",
      "SparseSegmentSum",
      3,
      { DT_FLOAT, DT_INT32, DT_UINT8 },
      { { 0 } },
      NODE("SparseSegmentSum") "Value for attr 'Tsegmentids' of uint8 " VALUE "int32, int64" },
    { "the type of an output",
      "Shape",
      1,
      { DT_FLOAT },
      { { "out_type", { .kind = ATTR_TYPE, .type = DT_STRING } } },
      NODE("Shape") "Value for attr 'out_type' of string " VALUE "int32, int64" },
    { "too few tensors",
      "Concat",
      1,
      { DT_INT32 },
      { { "N", { .kind = ATTR_INT, .i = 0 } }, { "T", { .kind = ATTR_TYPE, .type = DT_FLOAT } } },
      NODE("Concat") "Value for attr 'N' of 0 must be at least minimum 2" },
    { "a block of no size",
      "DepthToSpace",
      1,
      { DT_FLOAT },
      { { "block_size", { .kind = ATTR_INT, .i = INT64_MIN } } },
      NODE("DepthToSpace") "Value for attr 'block_size' of -9223372036854775808 must be at least "
                           "minimum 2" },
    { "a list that is too short",
      "AvgPool",
      1,
      { DT_FLOAT },
      { { "ksize", { .kind = ATTR_LIST } },
        { "strides", { .kind = ATTR_LIST } },
        { "padding", { .kind = ATTR_STRING, .s = { "SAME", 4 } } } },
      NODE("AvgPool") "Length for attr 'ksize' of 0 must be at least minimum 4" },
    { "an unknown word",
      "SpaceToDepth",
      1,
      { DT_FLOAT },
      { { "block_size", { .kind = ATTR_INT, .i = 2 } },
        { "data_format", { .kind = ATTR_STRING, .s = { "NOPE", 4 } } } },
      NODE("SpaceToDepth") "Value for attr 'data_format' of \"NOPE\" " VALUE
                           "\"NHWC\", \"NCHW\", \"NCHW_VECT_C\"" },
    { "a value of another kind",
      "LeakyRelu",
      1,
      { DT_FLOAT },
      { { "alpha", { .kind = ATTR_STRING, .s = { "x", 1 } } } },
      NODE("LeakyRelu") "attribute 'alpha' is of kind string, should be float" },
};

static void is_checked_against_the_definition(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    struct builder builder = builder_init(graph_create(arena));
    struct endpoint inputs[3];
    struct attr attrs[5] = { { 0 } };
    for (int i = 0; i < row->inputs_count; i++)
        inputs[i] = build_placeholder(&builder, "x", row->inputs[i], shape_unknown());
    for (int i = 0; i < 4 && row->attrs[i].name != NULL; i++)
        attrs[i] = row->attrs[i];
    build_node(&builder, row->op, row->op, row->inputs_count, inputs, 0, NULL, attrs);
    assert_string_equal(builder_status(&builder).message, row->error);
    graph_finish(builder.graph);
    arena_destroy(arena);
}

int main(void)
{
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, is_checked_against_the_definition);
    return test_group_run(&group, "check_attrs", NULL, NULL);
}
