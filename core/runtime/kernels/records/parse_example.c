/*
 * parse_example: ParseExample, ParseExampleV2 and ParseSingleExample. Translates attributes and
 * keys to the features of storage/example.h, which parses.
 */
#include "runtime/kernels/kernel_tools.h"
#include "storage/example.h"

enum parse_form { FORM_V1, FORM_V2, FORM_SINGLE };

struct parse_state {
    enum parse_form form;
    int sparse, dense, ragged; /* number of features of each kind */
    struct example_feature *features;
    struct example_spec *spec; /* NULL: keys are not constant, and each run makes its own */
};

static void parse_destroy(void *state)
{
    example_spec_destroy(((struct parse_state *)state)->spec);
}

/* Types and shapes of all features; the keys come later. */
static struct status read_features(struct prepare_context *p, struct parse_state *state)
{
    const struct node *node = prepare_node(p);
    const struct attr_value *sparse, *dense, *shapes, *ragged = NULL, *splits = NULL;
    TRY(node_attr_list_of(node, "sparse_types", ATTR_TYPE, &sparse));
    TRY(node_attr_list_of(node, "Tdense", ATTR_TYPE, &dense));
    TRY(node_attr_list_of(node, "dense_shapes", ATTR_SHAPE, &shapes));
    if (state->form == FORM_V2) {
        TRY(node_attr_list_of(node, "ragged_value_types", ATTR_TYPE, &ragged));
        TRY(node_attr_list_of(node, "ragged_split_types", ATTR_TYPE, &splits));
    }
    state->sparse = sparse->count;
    state->dense = dense->count;
    state->ragged = ragged != NULL ? ragged->count : 0;
    if (shapes->count != dense->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "len(dense_keys) != len(dense_shapes): %d vs. %d", dense->count,
                            shapes->count);
    if (splits != NULL && splits->count != ragged->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "len(ragged_value_types) != len(ragged_split_types): %d vs. %d",
                            ragged->count, splits->count);
    struct example_feature *feature = state->features = ARENA_ARRAY(
        prepare_arena(p), struct example_feature, state->sparse + state->dense + state->ragged + 1);
    for (int i = 0; i < state->sparse; i++)
        *feature++ = (struct example_feature){ .form = EXAMPLE_SPARSE,
                                               .dtype = dtype_base(sparse->elements[i].type) };
    for (int i = 0; i < state->dense; i++)
        *feature++ = (struct example_feature){ .form = EXAMPLE_DENSE,
                                               .dtype = dtype_base(dense->elements[i].type),
                                               .shape = *shapes->elements[i].shape };
    for (int i = 0; i < state->ragged; i++)
        *feature++ =
            (struct example_feature){ .form = EXAMPLE_RAGGED,
                                      .dtype = dtype_base(ragged->elements[i].type),
                                      .splits_type = dtype_base(splits->elements[i].type) };
    return status_ok();
}

/* num_sparse, Nsparse and Ndense, which determine the number of inputs and outputs, must agree
 * with the lists of features. */
static struct status check_counts(const struct node *node, const struct parse_state *state)
{
    int outputs = 3 * state->sparse + state->dense + 2 * state->ragged;
    int inputs = state->form == FORM_SINGLE ? 1 + state->dense
                 : state->form == FORM_V2   ? 5 + state->dense
                                            : 2 + state->sparse + 2 * state->dense;
    if (node->inputs_count == inputs && node->outputs_count == outputs)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "node '%s' (%s): %d inputs and %d outputs, its %d sparse, %d dense and %d "
                        "ragged features have %d and %d",
                        node->name, node->op_name, node->inputs_count, node->outputs_count,
                        state->sparse, state->dense, state->ragged, inputs, outputs);
}

/* ---- keys: attributes of ParseSingleExample, vectors of V2, a scalar each of V1 ---- */

typedef const struct tensor *get_input(const void *context, int index);

static const struct tensor *constant_input(const void *context, int index)
{
    return prepare_constant(context, index);
}

static const struct tensor *run_input(const void *context, int index)
{
    return kernel_input(context, index);
}

static struct status key_vector(const struct tensor *keys, const char *what, int count,
                                struct example_feature *features)
{
    if (keys->dtype != DT_STRING || keys->size != count)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected %d %s keys, but their shape is %s",
                            count, what, shape_text(&keys->shape));
    for (int i = 0; i < count; i++)
        features[i].key = tensor_strings(keys)[i];
    return status_ok();
}

static struct status key_scalars(const struct parse_state *state, get_input *input,
                                 const void *context, struct example_feature *features, bool *known)
{
    for (int i = 0; i < state->sparse + state->dense; i++) {
        const struct tensor *key = input(context, 2 + i);
        if (key == NULL) {
            *known = false;
            return status_ok();
        }
        TRY(key_vector(key, "feature", 1, &features[i]));
    }
    return status_ok();
}

static struct status key_vectors(const struct parse_state *state, get_input *input,
                                 const void *context, struct example_feature *features, bool *known)
{
    static const char *const names[] = { "sparse", "dense", "ragged" };
    const int counts[] = { state->sparse, state->dense, state->ragged };
    for (int i = 0; i < 3; features += counts[i++]) {
        const struct tensor *keys = input(context, 2 + i);
        if (keys == NULL) {
            *known = false;
            return status_ok();
        }
        TRY(key_vector(keys, names[i], counts[i], features));
    }
    return status_ok();
}

static struct status key_attributes(const struct node *node, const struct parse_state *state)
{
    const struct attr_value *keys[2];
    struct example_feature *feature = state->features;
    TRY(node_attr_list_of(node, "sparse_keys", ATTR_STRING, &keys[0]));
    TRY(node_attr_list_of(node, "dense_keys", ATTR_STRING, &keys[1]));
    if (keys[0]->count != state->sparse || keys[1]->count != state->dense)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): as many keys as types are wanted", node->name,
                            node->op_name);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < keys[i]->count; j++)
            (feature++)->key = keys[i]->elements[j].s;
    return status_ok();
}

static struct status parse_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct parse_state *state = prepare_state(p, sizeof *state, parse_destroy);
    bool known = true;
    state->form = strcmp(node->op_name, "ParseExampleV2") == 0 ? FORM_V2
                  : strcmp(node->op_name, "ParseExample") == 0 ? FORM_V1
                                                               : FORM_SINGLE;
    TRY(read_features(p, state));
    TRY(check_counts(node, state));
    if (state->form == FORM_SINGLE)
        TRY(key_attributes(node, state));
    else
        TRY((state->form == FORM_V1 ? key_scalars : key_vectors)(state, constant_input, p,
                                                                 state->features, &known));
    if (!known)
        return status_ok();
    return example_spec_create(state->features, state->sparse + state->dense + state->ragged,
                               &state->spec);
}

/* For keys that are not constant: a specification for this run alone. */
static struct status spec_of_run(struct kernel_context *k, const struct parse_state *state,
                                 struct example_spec **out)
{
    int count = state->sparse + state->dense + state->ragged;
    struct example_feature *features =
        ARENA_ARRAY(kernel_arena(k), struct example_feature, count + 1);
    bool known = true;
    memcpy(features, state->features, (size_t)count * sizeof *features);
    TRY((state->form == FORM_V1 ? key_scalars : key_vectors)(state, run_input, k, features,
                                                             &known));
    return example_spec_create(features, count, out);
}

static struct status parse_with(struct kernel_context *k, const struct parse_state *state,
                                const struct example_spec *spec)
{
    int first = state->form == FORM_SINGLE ? 1
                : state->form == FORM_V2   ? 5
                                           : 2 + state->sparse + state->dense;
    int outputs = kernel_outputs_count(k);
    const struct tensor **defaults =
        ARENA_ARRAY(kernel_arena(k), const struct tensor *, state->dense + 1);
    struct tensor *made = ARENA_ARRAY(kernel_arena(k), struct tensor, outputs + 1);
    for (int i = 0; i < state->dense; i++)
        defaults[i] = kernel_input(k, first + i);
    TRY(example_parse(spec, kernel_input(k, 0),
                      state->form == FORM_SINGLE ? NULL : kernel_input(k, 1), defaults,
                      kernel_pool(k), made));
    for (int i = 0; i < outputs; i++)
        kernel_output_set(k, i, made[i]);
    return status_ok();
}

static struct status parse_compute(struct kernel_context *k)
{
    const struct parse_state *state = kernel_state(k);
    struct example_spec *spec;
    if (state->spec != NULL)
        return parse_with(k, state, state->spec);
    TRY(spec_of_run(k, state, &spec));
    struct status status = parse_with(k, state, spec);
    example_spec_destroy(spec);
    return status;
}

static const struct kernel rows[] = {
    { "ParseExample", DTYPES_ALL, .prepare = parse_prepare, .compute = parse_compute },
    { "ParseExampleV2", DTYPES_ALL, .prepare = parse_prepare, .compute = parse_compute },
    { "ParseSingleExample", DTYPES_ALL, .prepare = parse_prepare, .compute = parse_compute },
};
const struct kernel_table kernels_parse_example = { rows, COUNT(rows) };
