/*
 * parse_example: ParseExample, ParseExampleV2 and ParseSingleExample. Translates attributes and
 * keys to the features of storage/example.h, which parses.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/records/example_features.h"

enum parse_form { FORM_V1, FORM_V2, FORM_SINGLE };

struct parse_state {
    enum parse_form form;
    struct example_features features;
    struct example_spec *spec; /* NULL: keys are not constant, and each run makes its own */
};

static void parse_destroy(void *state)
{
    example_spec_destroy(((struct parse_state *)state)->spec);
}

/* num_sparse, Nsparse and Ndense, which determine the number of inputs and outputs, must agree
 * with the lists of features. */
static struct status check_counts(const struct node *node, const struct parse_state *state)
{
    int outputs = 3 * state->features.sparse + state->features.dense + 2 * state->features.ragged;
    int inputs = state->form == FORM_SINGLE ? 1 + state->features.dense
                 : state->form == FORM_V2   ? 5 + state->features.dense
                                          : 2 + state->features.sparse + 2 * state->features.dense;
    if (node->inputs_count == inputs && node->outputs_count == outputs)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "node '%s' (%s): %d inputs and %d outputs, its %d sparse, %d dense and %d "
                        "ragged features have %d and %d",
                        node->name, node->op_name, node->inputs_count, node->outputs_count,
                        state->features.sparse, state->features.dense, state->features.ragged,
                        inputs, outputs);
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
    for (int i = 0; i < state->features.sparse + state->features.dense; i++) {
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
    const int counts[] = { state->features.sparse, state->features.dense, state->features.ragged };
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

static struct status parse_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct parse_state *state = prepare_state(p, sizeof *state, parse_destroy);
    bool known = true;
    state->form = strcmp(node->op_name, "ParseExampleV2") == 0 ? FORM_V2
                  : strcmp(node->op_name, "ParseExample") == 0 ? FORM_V1
                                                               : FORM_SINGLE;
    TRY(example_features_read(p, &state->features));
    TRY(check_counts(node, state));
    if (state->form == FORM_SINGLE)
        TRY(example_features_name(node, &state->features));
    else
        TRY((state->form == FORM_V1 ? key_scalars : key_vectors)(state, constant_input, p,
                                                                 state->features.each, &known));
    if (!known)
        return status_ok();
    return example_spec_create(state->features.each, example_features_count(&state->features),
                               &state->spec);
}

/* For keys that are not constant: a specification for this run alone. */
static struct status spec_of_run(struct kernel_context *k, const struct parse_state *state,
                                 struct example_spec **out)
{
    int count = example_features_count(&state->features);
    struct example_feature *features =
        ARENA_ARRAY(kernel_arena(k), struct example_feature, count + 1);
    bool known = true;
    memcpy(features, state->features.each, (size_t)count * sizeof *features);
    TRY((state->form == FORM_V1 ? key_scalars : key_vectors)(state, run_input, k, features,
                                                             &known));
    return example_spec_create(features, count, out);
}

static struct status parse_with(struct kernel_context *k, const struct parse_state *state,
                                const struct example_spec *spec)
{
    int first = state->form == FORM_SINGLE ? 1
                : state->form == FORM_V2   ? 5
                                           : 2 + state->features.sparse + state->features.dense;
    int outputs = kernel_outputs_count(k);
    const struct tensor **defaults =
        ARENA_ARRAY(kernel_arena(k), const struct tensor *, state->features.dense + 1);
    struct tensor *made = ARENA_ARRAY(kernel_arena(k), struct tensor, outputs + 1);
    for (int i = 0; i < state->features.dense; i++)
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
    if (state->form == FORM_SINGLE && kernel_input(k, 0)->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected serialized to be a scalar, got shape: %s",
                            shape_text(&kernel_input(k, 0)->shape));
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
