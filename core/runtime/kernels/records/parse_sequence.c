/*
 * parse_sequence: ParseSequenceExample, ParseSequenceExampleV2 and ParseSingleSequenceExample.
 * Translates attributes and inputs to the features of storage/sequence_example.h, which parses.
 */
#include "runtime/kernels/kernel_tools.h"
#include "storage/sequence_example.h"

enum sequence_form { SEQUENCE_V1, SEQUENCE_V2, SEQUENCE_SINGLE };

/* The attributes of the features of the context, or of the feature lists. */
struct parse_sequence_attrs {
    const char *name;
    const char *sparse_count, *dense_count;
    const char *sparse_types, *dense_types, *dense_shapes;
    const char *ragged_types, *splits_types;
    const char *sparse_keys, *dense_keys;
};

static const struct parse_sequence_attrs side_attrs[2] = {
    { "context", "Ncontext_sparse", "Ncontext_dense", "context_sparse_types", "Tcontext_dense",
      "context_dense_shapes", "context_ragged_value_types", "context_ragged_split_types",
      "context_sparse_keys", "context_dense_keys" },
    { "feature_list", "Nfeature_list_sparse", "Nfeature_list_dense", "feature_list_sparse_types",
      "feature_list_dense_types", "feature_list_dense_shapes", "feature_list_ragged_value_types",
      "feature_list_ragged_split_types", "feature_list_sparse_keys", "feature_list_dense_keys" },
};

struct parse_sequence_side {
    int dense, sparse, ragged;
    /* In this order; without keys and defaults in V2 and SINGLE */
    struct sequence_feature *features;
};

struct parse_sequence_state {
    enum sequence_form form;
    struct parse_sequence_side sides[2];
};

/* ---- attributes ---- */

static struct status check_count(enum sequence_form form, const char *side, const char *kind,
                                 int64_t count, int lists, const int *counts,
                                 const char *const *names)
{
    struct buffer text = { 0 };
    bool same = true;
    for (int i = 0; i < lists; i++) {
        same = same && counts[i] == count;
        if (i > 0)
            buffer_append_text(&text, " and ");
        buffer_printf(&text, "%s_%s_%s (%d)", side, kind, names[i], counts[i]);
    }
    struct status status = status_ok();
    if (!same && form == SEQUENCE_SINGLE)
        status = status_error(STATUS_INVALID_ARGUMENT, "len(%s_%s_keys) != len(%s_%s_%s)", side,
                              kind, side, kind, counts[0] != count ? names[0] : names[lists - 1]);
    else if (!same)
        status =
            status_error(STATUS_INVALID_ARGUMENT, "num_%s_%s (%lld) must match the size of %.*s",
                         side, kind, (long long)count, (int)text.size, text.data);
    buffer_finish(&text);
    return status;
}

struct parse_sequence_lists {
    const struct attr_value *sparse, *dense, *shapes, *ragged, *splits, *sparse_keys, *dense_keys;
};

static struct status read_lists(const struct node *node, enum sequence_form form,
                                const struct parse_sequence_attrs *names,
                                struct parse_sequence_lists *out)
{
    static const struct attr_value none = { .kind = ATTR_LIST };
    *out = (struct parse_sequence_lists){ .ragged = &none, .splits = &none };
    TRY(node_attr_list_of(node, names->sparse_types, ATTR_TYPE, &out->sparse));
    TRY(node_attr_list_of(node, names->dense_types, ATTR_TYPE, &out->dense));
    TRY(node_attr_list_of(node, names->dense_shapes, ATTR_SHAPE, &out->shapes));
    if (form == SEQUENCE_V2) {
        TRY(node_attr_list_of(node, names->ragged_types, ATTR_TYPE, &out->ragged));
        TRY(node_attr_list_of(node, names->splits_types, ATTR_TYPE, &out->splits));
    }
    if (form == SEQUENCE_V1) {
        TRY(node_attr_list_of(node, names->sparse_keys, ATTR_STRING, &out->sparse_keys));
        TRY(node_attr_list_of(node, names->dense_keys, ATTR_STRING, &out->dense_keys));
    }
    return status_ok();
}

static struct status check_lists(const struct node *node, enum sequence_form form, int side,
                                 const struct parse_sequence_lists *lists)
{
    const struct parse_sequence_attrs *names = &side_attrs[side];
    int64_t sparse, dense = lists->dense->count;
    TRY(node_attr_int(node, names->sparse_count, &sparse));
    if (form != SEQUENCE_V2 || side == 1)
        TRY(node_attr_int(node, names->dense_count, &dense));
    if (form == SEQUENCE_V1) {
        TRY(check_count(form, names->name, "sparse", sparse, 1, &lists->sparse_keys->count,
                        (const char *[]){ "keys" }));
        TRY(check_count(form, names->name, "dense", dense, 1, &lists->dense_keys->count,
                        (const char *[]){ "keys" }));
    }
    TRY(check_count(form, names->name, "sparse", sparse, 1, &lists->sparse->count,
                    (const char *[]){ "types" }));
    TRY(check_count(form, names->name, "dense", dense, 2,
                    (int[]){ lists->dense->count, lists->shapes->count },
                    (const char *[]){ "types", "shapes" }));
    return check_count(form, names->name, "ragged", lists->ragged->count, 2,
                       (int[]){ lists->ragged->count, lists->splits->count },
                       (const char *[]){ "value_types", "split_types" });
}

static struct status read_dense(const struct node *node, const struct parse_sequence_lists *lists,
                                int i, struct sequence_feature *out)
{
    const struct shape *shape = lists->shapes->elements[i].shape;
    if (!shape_is_known(shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): the shape %s of a dense feature is not known",
                            node->name, node->op_name, shape_text(shape));
    out->form = EXAMPLE_DENSE;
    out->dtype = dtype_base(lists->dense->elements[i].type);
    return shape_check(shape->rank, shape->dims, &out->shape);
}

static struct status read_side(struct prepare_context *p, struct parse_sequence_state *state,
                               int side)
{
    const struct node *node = prepare_node(p);
    struct parse_sequence_side *out = &state->sides[side];
    struct parse_sequence_lists lists;
    TRY(read_lists(node, state->form, &side_attrs[side], &lists));
    TRY(check_lists(node, state->form, side, &lists));
    out->dense = lists.dense->count;
    out->sparse = lists.sparse->count;
    out->ragged = lists.ragged->count;
    struct sequence_feature *feature = out->features = ARENA_ARRAY(
        prepare_arena(p), struct sequence_feature, out->dense + out->sparse + out->ragged + 1);
    for (int i = 0; i < out->dense; i++, feature++) {
        TRY(read_dense(node, &lists, i, feature));
        if (state->form == SEQUENCE_V1)
            feature->key = lists.dense_keys->elements[i].s;
    }
    for (int i = 0; i < out->sparse; i++, feature++) {
        feature->form = EXAMPLE_SPARSE;
        feature->dtype = dtype_base(lists.sparse->elements[i].type);
        if (state->form == SEQUENCE_V1)
            feature->key = lists.sparse_keys->elements[i].s;
    }
    for (int i = 0; i < out->ragged; i++, feature++) {
        feature->form = EXAMPLE_RAGGED;
        feature->dtype = dtype_base(lists.ragged->elements[i].type);
        feature->splits_type = dtype_base(lists.splits->elements[i].type);
    }
    return status_ok();
}

/* Version 1 has an attribute that names the dense lists that may be missing. */
static struct status read_missing(const struct node *node, struct parse_sequence_state *state)
{
    const struct attr_value *keys;
    TRY(node_attr_list_of(node, "feature_list_dense_missing_assumed_empty", ATTR_STRING, &keys));
    for (int i = 0; i < state->sides[1].dense; i++)
        for (int k = 0; k < keys->count; k++)
            if (bytes_equal(keys->elements[k].s, state->sides[1].features[i].key))
                state->sides[1].features[i].may_be_missing = true;
    return status_ok();
}

static struct status sequence_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct parse_sequence_state *state = prepare_state(p, sizeof *state, NULL);
    state->form = strcmp(node->op_name, "ParseSequenceExampleV2") == 0 ? SEQUENCE_V2
                  : strcmp(node->op_name, "ParseSequenceExample") == 0 ? SEQUENCE_V1
                                                                       : SEQUENCE_SINGLE;
    TRY(read_side(p, state, 0));
    TRY(read_side(p, state, 1));
    if (state->form == SEQUENCE_V1)
        TRY(read_missing(node, state));
    const struct parse_sequence_side *context = &state->sides[0], *lists = &state->sides[1];
    int inputs = context->dense +
                 (state->form == SEQUENCE_V1 ? 2
                  : state->form == SEQUENCE_V2
                      ? 9
                      : 3 + context->dense + context->sparse + lists->dense + lists->sparse);
    int outputs = 3 * context->sparse + context->dense + 2 * context->ragged + 3 * lists->sparse +
                  (state->form == SEQUENCE_SINGLE ? 1 : 2) * lists->dense + 3 * lists->ragged;
    if (node->inputs_count == inputs && node->outputs_count == outputs)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "node '%s' (%s): %d inputs and %d outputs, its features have %d and %d",
                        node->name, node->op_name, node->inputs_count, node->outputs_count, inputs,
                        outputs);
}

/* ---- inputs ---- */

static struct status keys_of_vector(struct kernel_context *k, int input, int count,
                                    const char *what, const char *of,
                                    struct sequence_feature *features)
{
    const struct tensor *keys = kernel_input(k, input);
    if (keys->size != count)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected len(%s) to match %s", what, of);
    for (int i = 0; i < count; i++)
        features[i].key = tensor_strings(keys)[i];
    return status_ok();
}

static struct status keys_v2(struct kernel_context *k, const struct parse_sequence_state *state,
                             struct sequence_spec *spec)
{
    const struct parse_sequence_side *context = &state->sides[0], *lists = &state->sides[1];
    struct sequence_feature *c = spec->context.items, *l = spec->lists.items;
    const struct tensor *missing = kernel_input(k, 8);
    TRY(keys_of_vector(k, 3, context->dense, "context_dense_keys", "len(Tcontext_dense)", c));
    TRY(keys_of_vector(k, 2, context->sparse, "context_sparse_keys", "Ncontext_sparse",
                       c + context->dense));
    TRY(keys_of_vector(k, 4, context->ragged, "context_ragged_keys",
                       "len(context_ragged_value_types)", c + context->dense + context->sparse));
    TRY(keys_of_vector(k, 6, lists->dense, "feature_list_dense_keys", "Nfeature_list_dense", l));
    if (missing->size != lists->dense)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected len(feature_list_dense_missing_assumed_empty to match "
                            "Nfeature_list_dense");
    TRY(keys_of_vector(k, 5, lists->sparse, "feature_list_sparse_keys", "Nfeature_list_sparse",
                       l + lists->dense));
    TRY(keys_of_vector(k, 7, lists->ragged, "feature_list_ragged_keys",
                       "len(feature_list_ragged_value_types)", l + lists->dense + lists->sparse));
    for (int i = 0; i < lists->dense; i++)
        l[i].may_be_missing = tensor_bools(missing)[i];
    return status_ok();
}

static struct status keys_of_scalars(struct kernel_context *k, int *input, int count,
                                     const char *what, struct sequence_feature *features)
{
    for (int i = 0; i < count; i++, ++*input) {
        const struct tensor *key = kernel_input(k, *input);
        if (key->shape.rank != 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected %s[%d] to be a scalar, got shape: %s", what, i,
                                shape_text(&key->shape));
        features[i].key = tensor_strings(key)[0];
    }
    return status_ok();
}

static struct status keys_single(struct kernel_context *k, const struct parse_sequence_state *state,
                                 struct sequence_spec *spec)
{
    const struct parse_sequence_side *context = &state->sides[0], *lists = &state->sides[1];
    struct sequence_feature *c = spec->context.items, *l = spec->lists.items;
    const struct tensor *missing = kernel_input(k, 1);
    int input = 2;
    TRY(keys_of_scalars(k, &input, context->sparse, "context_sparse_keys", c + context->dense));
    TRY(keys_of_scalars(k, &input, context->dense, "context_dense_keys", c));
    TRY(keys_of_scalars(k, &input, lists->sparse, "feature_list_sparse_keys", l + lists->dense));
    TRY(keys_of_scalars(k, &input, lists->dense, "feature_list_dense_keys", l));
    if (missing->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected feature_list_dense_missing_assumed_empty to be a vector, got "
                            "shape: %s",
                            shape_text(&missing->shape));
    for (int i = 0; i < lists->dense; i++)
        for (int64_t m = 0; m < missing->size; m++)
            if (bytes_equal(tensor_strings(missing)[m], l[i].key))
                l[i].may_be_missing = true;
    return status_ok();
}

/* Reads the default values, and checks their shapes and types. */
static struct status read_defaults(struct kernel_context *k,
                                   const struct parse_sequence_state *state, int first,
                                   struct sequence_spec *spec)
{
    bool single = state->form == SEQUENCE_SINGLE;
    for (int i = 0; i < state->sides[0].dense; i++) {
        struct sequence_feature *feature = &spec->context.items[i];
        const struct tensor *value = feature->fallback = kernel_input(k, first + i);
        if (value->size > 0 && !shape_equal(&value->shape, &feature->shape))
            return status_error(
                STATUS_INVALID_ARGUMENT, "%s[%d].shape() == %s != context_dense_shapes%s[%d] == %s",
                single ? "def_value" : "default_value", i, shape_text(&value->shape),
                single ? "_" : "", i, shape_text(&feature->shape));
        if (value->dtype != feature->dtype)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "context_dense_defaults[%d].dtype() == %s != "
                                "context_dense_types%s[%d] == %s",
                                i, dtype_name(value->dtype), single ? "_" : "", i,
                                dtype_name(feature->dtype));
    }
    return status_ok();
}

/* ---- outputs ---- */

/* Result `which` of the features [first, first + count) becomes the next outputs. */
static void set_outputs(struct kernel_context *k, struct sequence_feature *features, int count,
                        int which, int *output)
{
    for (int i = 0; i < count; i++) {
        kernel_output_set(k, (*output)++, features[i].made[which]);
        features[i].made[which] = (struct tensor){ 0 };
    }
}

static void set_all_outputs(struct kernel_context *k, const struct parse_sequence_state *state,
                            struct sequence_spec *spec)
{
    struct sequence_features *sides[] = { &spec->context, &spec->lists };
    int output = 0;
    for (int s = 0; s < 2; s++) {
        const struct parse_sequence_side *side = &state->sides[s];
        struct sequence_feature *dense = sides[s]->items, *sparse = dense + side->dense,
                                *ragged = sparse + side->sparse;
        for (int m = 0; m < 3; m++)
            set_outputs(k, sparse, side->sparse, m, &output);
        for (int m = 0; m < (s == 1 && state->form != SEQUENCE_SINGLE ? 2 : 1); m++)
            set_outputs(k, dense, side->dense, m, &output);
        for (int m = 0; m < 2 + s; m++)
            set_outputs(k, ragged, side->ragged, m, &output);
    }
}

static struct sequence_features features_of_run(struct kernel_context *k,
                                                const struct parse_sequence_side *side)
{
    int count = side->dense + side->sparse + side->ragged;
    struct sequence_features out = {
        ARENA_ARRAY(kernel_arena(k), struct sequence_feature, count + 1), count
    };
    memcpy(out.items, side->features, (size_t)count * sizeof *out.items);
    return out;
}

static struct status parse_single(struct kernel_context *k,
                                  const struct parse_sequence_state *state,
                                  struct sequence_spec *spec)
{
    int first = kernel_inputs_count(k) - 1 - state->sides[0].dense;
    const struct tensor *serialized = kernel_input(k, 0),
                        *name = kernel_input(k, kernel_inputs_count(k) - 1);
    TRY(keys_single(k, state, spec));
    if (name->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected debug_name to be a scalar, got shape: %s",
                            shape_text(&name->shape));
    if (serialized->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected serialized to be a scalar, got shape: %s",
                            shape_text(&serialized->shape));
    TRY(read_defaults(k, state, first, spec));
    return sequence_parse_single(spec, tensor_strings(serialized)[0], tensor_strings(name)[0],
                                 kernel_pool(k));
}

static struct status parse_many(struct kernel_context *k, const struct parse_sequence_state *state,
                                struct sequence_spec *spec)
{
    const struct tensor *serialized = kernel_input(k, 0);
    if (serialized->shape.rank > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected serialized to be a scalar or vector, got shape: %s",
                            shape_text(&serialized->shape));
    if (state->form == SEQUENCE_V2)
        TRY(keys_v2(k, state, spec));
    TRY(read_defaults(k, state, state->form == SEQUENCE_V2 ? 9 : 2, spec));
    return sequence_parse(spec, serialized, kernel_input(k, 1), kernel_pool(k));
}

static struct status check_run(const void *context)
{
    return kernel_check(context);
}

static struct status sequence_compute(struct kernel_context *k)
{
    const struct parse_sequence_state *state = kernel_state(k);
    struct sequence_spec spec = { features_of_run(k, &state->sides[0]),
                                  features_of_run(k, &state->sides[1]), check_run, k };
    struct status status =
        (state->form == SEQUENCE_SINGLE ? parse_single : parse_many)(k, state, &spec);
    if (status_is_ok(status))
        set_all_outputs(k, state, &spec);
    sequence_release(&spec);
    return status;
}

static const struct kernel rows[] = {
    { "ParseSequenceExample", DTYPES_ALL, .prepare = sequence_prepare,
      .compute = sequence_compute },
    { "ParseSequenceExampleV2", DTYPES_ALL, .prepare = sequence_prepare,
      .compute = sequence_compute },
    { "ParseSingleSequenceExample", DTYPES_ALL, .prepare = sequence_prepare,
      .compute = sequence_compute },
};
const struct kernel_table kernels_parse_sequence = { rows, COUNT(rows) };
