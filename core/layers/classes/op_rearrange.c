/* op_rearrange: the operation Rearrange, whose pattern names dimensions: "b (h k) c -> b h (k c)". */
#include "layers/classes/op.h"

#include <ctype.h>

/* A side of a pattern: names, some of which form one dimension. */
struct pattern_side {
    struct {
        const char *name;
        int length;
        int group;    /* the number of its dimension */
        int64_t size; /* SIZE_UNKNOWN: not yet known */
    } names[SHAPE_RANK_MAX];
    int count, groups;
};
#define SIZE_UNKNOWN ((int64_t)-1)

/* Reads up to `end`. Returns false for other characters, or too many names. */
static bool read_side(const char *text, const char *end, struct pattern_side *out)
{
    bool inside = false;

    *out = (struct pattern_side){ 0 };
    while (text < end) {
        const char *start = text;
        while (text < end && (isalnum((unsigned char)*text) || *text == '_'))
            text++;
        if (text > start) {
            if (out->count == SHAPE_RANK_MAX)
                return false;
            out->names[out->count].name = start;
            out->names[out->count].length = (int)(text - start);
            out->names[out->count].group = out->groups;
            out->names[out->count++].size = SIZE_UNKNOWN;
            out->groups += !inside;
            continue;
        }
        if ((*text == '(' && inside) || (*text == ')' && !inside) || strchr(" ()", *text) == NULL)
            return false;
        if (*text == ')' && (out->count == 0 || out->names[out->count - 1].group != out->groups))
            return false; /* an empty group */
        out->groups += *text == ')';
        inside = *text == '(' || (inside && *text != ')');
        text++;
    }
    return !inside;
}

static int find_name(const struct pattern_side *side, const char *name, int length)
{
    for (int i = 0; i < side->count; i++)
        if (side->names[i].length == length &&
            strncmp(side->names[i].name, name, (size_t)length) == 0)
            return i;
    return -1;
}

/* Do both sides have the same names, each once, and the batch first, outside of a group? order[i]:
 * the place on the left of name i on the right. */
static bool sides_match(const struct pattern_side *from, const struct pattern_side *to,
                        int32_t order[SHAPE_RANK_MAX])
{
    bool seen[SHAPE_RANK_MAX] = { false };

    if (from->count != to->count || from->count < 1)
        return false;
    for (int i = 0; i < to->count; i++) {
        int at = find_name(from, to->names[i].name, to->names[i].length);
        if (at < 0 || seen[at])
            return false;
        seen[at] = true;
        order[i] = at;
    }
    return order[0] == 0 &&
           (from->count == 1 || (from->names[1].group > 0 && to->names[1].group > 0));
}

/* The sizes that the call gives by name. */
static bool read_lengths(const struct layer_io *io, struct pattern_side *from)
{
    for (int i = 0; i < io->call->constants_count; i++) {
        const struct call_constant *given = &io->call->constants[i];
        if (strcmp(given->argument, "pattern") == 0)
            continue;
        int at = find_name(from, given->argument, (int)strlen(given->argument));
        if (at < 0 || given->value->kind != JSON_VALUE_INT || given->value->integer < 1 ||
            given->value->integer > INT32_MAX)
            return false;
        from->names[at].size = given->value->integer;
    }
    return true;
}

/* The size of one name of each dimension may follow from the others'. */
static bool complete_sizes(struct pattern_side *from, const struct shape *shape)
{
    for (int group = 1; group < from->groups; group++) {
        int64_t known = 1, *open = NULL;
        for (int i = 0; i < from->count; i++) {
            int64_t *size = &from->names[i].size;
            if (from->names[i].group != group)
                continue;
            if ((*size == SIZE_UNKNOWN && open != NULL) || known > INT32_MAX)
                return false;
            if (*size == SIZE_UNKNOWN)
                open = size;
            else
                known *= *size;
        }
        if (open != NULL && shape->dims[group] % known == 0)
            known *= *open = shape->dims[group] / known;
        if (known != shape->dims[group])
            return false;
    }
    return true;
}

/* The batch, then the sizes of the names in this order, those of a group multiplied. Returns the
 * number of sizes. */
static int sizes_of(const struct pattern_side *from, const struct pattern_side *side, bool grouped,
                    const int32_t *order, int64_t sizes[SHAPE_RANK_MAX])
{
    int count = 1;

    sizes[0] = SIZE_REST;
    for (int i = 1; i < side->count; i++) {
        int64_t size = from->names[order[i]].size;
        if (grouped && side->names[i].group == side->names[i - 1].group)
            sizes[count - 1] *= size;
        else
            sizes[count++] = size;
    }
    return count;
}

static void rearrange_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    static const int32_t same[SHAPE_RANK_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct json_value *pattern = op_constant(io, "pattern");
    const char *text = pattern != NULL && pattern->kind == JSON_VALUE_TEXT ? pattern->text : "";
    const char *arrow = strstr(text, "->");
    int32_t order[SHAPE_RANK_MAX];
    int64_t sizes[SHAPE_RANK_MAX];
    struct pattern_side from, to;

    if (!layer_check_known(context, layer, x, 1))
        return;
    if (arrow == NULL || !read_side(text, arrow, &from) ||
        !read_side(arrow + 2, text + strlen(text), &to) || !sides_match(&from, &to, order) ||
        from.groups != endpoint_shape(x)->rank || !read_lengths(io, &from) ||
        !complete_sizes(&from, endpoint_shape(x))) {
        layer_fail(
            context, layer,
            "the pattern '%.100s' and its sizes do not fit x of shape %s: expected each name "
            "once on both sides, the batch first and alone",
            text, shape_text(endpoint_shape(x)));
        return;
    }
    int count = sizes_of(&from, &from, false, same, sizes);
    x = build_reshape(b, x, x, count, sizes);
    x = build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, to.count, order));
    count = sizes_of(&from, &to, true, order, sizes);
    op_give(io, build_reshape(b, x, x, count, sizes));
}

static const char *const rearrange_inputs[] = { "tensor", "pattern", NULL };

const struct layer_class layer_op_rearrange = {
    .name = "Rearrange",
    .call = rearrange_call,
    .call_args = rearrange_inputs,
    .more_call_args = true,
    .any_dtype = true,
    .precision = LAYER_HAS_NO_POLICY,
};
