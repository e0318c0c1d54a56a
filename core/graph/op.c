#include "graph/op.h"

#include <pthread.h>

#include "base/map.h"
#include "graph/gradients/gradients.h"
#include "graph/op_parse.h"
#include "graph/ops/infer.h"

/* A row of ops.def, unparsed. */
struct op_row {
    const char *name;
    unsigned traits;
    const char *inputs, *outputs, *attrs;
    struct status (*infer)(struct infer_context *context);
    struct status (*gradient)(struct gradient_context *context);
};

#define OP(name, traits, inputs, outputs, attrs, infer, gradient, rows) \
    { #name, traits, inputs, outputs, attrs, infer, gradient },
static const struct op_row rows[] = {
#include "graph/ops.def"
};
#undef OP

/* Parsed once, kept for the life of the program. */
static struct op ops[COUNT(rows)];
static struct map ops_by_name;
static struct arena *ops_arena;
static pthread_once_t ops_once = PTHREAD_ONCE_INIT;

static void parse_rows(void)
{
    ops_arena = arena_create(0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct op *op = &ops[i];
        op->name = rows[i].name;
        op->index = (int)i;
        op->traits = rows[i].traits;
        op->inputs = op_parse_args(ops_arena, rows[i].inputs, &op->inputs_count);
        op->outputs = op_parse_args(ops_arena, rows[i].outputs, &op->outputs_count);
        op->attrs = op_parse_attrs(ops_arena, rows[i].attrs, &op->attrs_count);
        op->infer = rows[i].infer;
        op->gradient = rows[i].gradient;
        map_put_text(&ops_by_name, op->name, op);
    }
}

const struct op *op_find(const char *name)
{
    pthread_once(&ops_once, parse_rows);
    return map_get_text(&ops_by_name, name);
}

const struct op *op_find_bytes(struct bytes name)
{
    pthread_once(&ops_once, parse_rows);
    return map_get(&ops_by_name, name);
}

int op_count(void)
{
    return (int)COUNT(rows);
}

const struct op *op_at(int index)
{
    pthread_once(&ops_once, parse_rows);
    return &ops[index];
}

const struct op_attr *op_attr_find(const struct op *op, const char *name)
{
    for (int i = 0; i < op->attrs_count; i++)
        if (strcmp(op->attrs[i].name, name) == 0)
            return &op->attrs[i];
    return NULL;
}

bool op_is_elementwise(const struct op *op)
{
    static const char *const others[] = { "Bitcast", "_FusedPointwise" };
    for (size_t i = 0; i < COUNT(others); i++)
        if (strcmp(op->name, others[i]) == 0)
            return true;
    return op_is_pure(op) && (op->infer == infer_broadcast || op->infer == infer_unchanged);
}
