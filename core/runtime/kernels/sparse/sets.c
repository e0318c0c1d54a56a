/*
 * sets: operations on sets: SetSize, DenseToDenseSetOperation, DenseToSparseSetOperation and
 * SparseToSparseSetOperation. The elements along the last dimension are a set; a group is the set
 * at one place of all other dimensions.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sort.h"
#include "runtime/kernels/sparse_input.h"

/* An element: an integer or a text. */
union set_item {
    int64_t number;
    struct bytes text;
};

/* The sets of one operand, group by group. */
struct sets {
    const struct tensor *values;
    struct sparse_input sparse; /* of a sparse operand */
    bool is_dense;
    int64_t width;                 /* of a dense operand's groups */
    int64_t sizes[SHAPE_RANK_MAX]; /* of the groups; [rank - 1] */
    int rank;
    int64_t at;            /* the group's first value */
    int64_t group;         /* its place among all groups; INT64_MAX: there are no more */
    union set_item *items; /* the elements of the group, ascending and without repeats */
    int64_t count;
};

/* ---- items ---- */

static int compare_numbers(const void *a, const void *b, void *context)
{
    int64_t x = ((const union set_item *)a)->number, y = ((const union set_item *)b)->number;

    (void)context;
    return (x > y) - (x < y);
}

static int compare_texts(const void *a, const void *b, void *context)
{
    (void)context;
    return bytes_compare(((const union set_item *)a)->text, ((const union set_item *)b)->text);
}

static compare_elements *comparison_of(enum dtype dtype)
{
    return dtype == DT_STRING ? compare_texts : compare_numbers;
}

static struct status load_group(struct kernel_context *k, struct sets *sets, int64_t begin,
                                int64_t end)
{
    compare_elements *compare = comparison_of(sets->values->dtype);
    int64_t kept = 0;

    for (int64_t i = begin; i < end; i++) {
        if (sets->values->dtype == DT_STRING)
            sets->items[i - begin].text = tensor_strings(sets->values)[i];
        else
            sets->items[i - begin].number = tensor_index(sets->values, i);
    }
    TRY(kernel_sort(k, sets->items, end - begin, sizeof *sets->items, compare, NULL));
    for (int64_t i = 0; i < end - begin; i++)
        if (i == 0 || compare(&sets->items[kept - 1], &sets->items[i], NULL) != 0)
            sets->items[kept++] = sets->items[i];
    sets->count = kept;
    return status_ok();
}

/* ---- operands ---- */

static struct status reserve_items(struct kernel_context *k, int64_t count, union set_item **out)
{
    void *items;

    TRY(arena_reserve(kernel_arena(k), ((size_t)count + 1) * sizeof **out, &items));
    *out = items;
    return status_ok();
}

static struct status check_rank(int64_t rank)
{
    if (rank < 2)
        return status_error(STATUS_INVALID_ARGUMENT, "a tensor of sets has rank %lld < 2",
                            (long long)rank);
    return shape_check_rank(rank);
}

static void find_group(struct sets *sets)
{
    const struct sparse_input *sparse = &sets->sparse;
    int64_t values = sets->values->size;

    if (sets->at >= values)
        sets->group = INT64_MAX;
    else if (sets->is_dense)
        sets->group = sets->at / sets->width;
    else
        sets->group =
            sparse_place(sparse_input_index(sparse, sets->at), sparse->sizes, sparse->rank - 1);
}

static struct status open_dense(struct kernel_context *k, int index, struct sets *out)
{
    const struct tensor *x = kernel_input(k, index);
    int rank = x->shape.rank;

    TRY(check_rank(rank));
    *out = (struct sets){
        .values = x, .is_dense = true, .rank = rank, .width = x->shape.dims[rank - 1]
    };
    memcpy(out->sizes, x->shape.dims, (size_t)(rank - 1) * sizeof *out->sizes);
    TRY(reserve_items(k, out->width, &out->items));
    find_group(out);
    return status_ok();
}

static struct status open_sparse(struct kernel_context *k, int index, bool validate,
                                 struct sets *out)
{
    *out = (struct sets){ .values = kernel_input(k, index + 1) };
    TRY(sparse_input_read(k, index, index + 1, index + 2, &out->sparse));
    TRY(check_rank(out->sparse.rank));
    TRY((validate ? sparse_input_check_order : sparse_input_check_bounds)(&out->sparse));
    out->rank = (int)out->sparse.rank;
    memcpy(out->sizes, out->sparse.sizes, (size_t)(out->rank - 1) * sizeof *out->sizes);
    TRY(reserve_items(k, out->sparse.count, &out->items));
    find_group(out);
    return status_ok();
}

/* Loads the current group, and moves on to the next one. */
static struct status take_group(struct kernel_context *k, struct sets *sets)
{
    int64_t end = sets->is_dense ? sets->at + sets->width
                                 : sparse_input_run_end(&sets->sparse, sets->at, sets->rank - 1);

    TRY(load_group(k, sets, sets->at, end));
    sets->at = end;
    find_group(sets);
    return status_ok();
}

/* ---- SetSize ---- */

static struct status validate_prepare(struct prepare_context *p)
{
    bool *validate = prepare_state(p, sizeof *validate, NULL);

    return node_attr_bool(prepare_node(p), "validate_indices", validate);
}

static struct status size_compute(struct kernel_context *k)
{
    const bool *validate = kernel_state(k);
    struct tensor *out;
    struct shape shape;
    struct sets sets;

    TRY(open_sparse(k, 0, *validate, &sets));
    TRY(shape_check(sets.rank - 1, sets.sizes, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    while (sets.group != INT64_MAX) {
        int64_t group = sets.group;
        TRY(take_group(k, &sets));
        tensor_int32s_mut(out)[group] = (int32_t)sets.count;
    }
    return status_ok();
}

/* ---- the operations ---- */

enum operation { A_MINUS_B, B_MINUS_A, INTERSECTION, UNION };

struct operation_state {
    enum operation operation;
    bool validate;
    bool a_is_dense, b_is_dense;
};

static struct status operation_prepare(struct prepare_context *p)
{
    static const char *const names[] = { "a-b", "b-a", "intersection", "union" };
    struct operation_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    struct bytes name;

    state->a_is_dense = strncmp(node->op_name, "Dense", 5) == 0;
    state->b_is_dense = strcmp(node->op_name, "DenseToDenseSetOperation") == 0;
    TRY(node_attr_bool(node, "validate_indices", &state->validate));
    TRY(node_attr_string(node, "set_operation", &name));
    for (size_t i = 0; i < COUNT(names); i++) {
        if (name.size == strlen(names[i]) && strncasecmp(name.data, names[i], name.size) == 0) {
            state->operation = (enum operation)i;
            return status_ok();
        }
    }
    return status_error(STATUS_INVALID_ARGUMENT, "Invalid set_operation %.*s.", (int)name.size,
                        name.data);
}

/* The elements of all results, group by group. */
struct results {
    union set_item *items;
    int64_t *groups;     /* of each item */
    int64_t count, most; /* most: of one group */
};

static bool is_kept(enum operation operation, bool in_a, bool in_b)
{
    switch (operation) {
    case A_MINUS_B:
        return in_a && !in_b;
    case B_MINUS_A:
        return in_b && !in_a;
    case INTERSECTION:
        return in_a && in_b;
    default:
        return true;
    }
}

static void combine(enum operation operation, compare_elements *compare, const struct sets *a,
                    const struct sets *b, int64_t group, struct results *out)
{
    int64_t i = 0, j = 0, before = out->count;

    while (i < a->count || j < b->count) {
        int order = i == a->count   ? 1
                    : j == b->count ? -1
                                    : compare(&a->items[i], &b->items[j], NULL);
        if (is_kept(operation, order <= 0, order >= 0)) {
            out->groups[out->count] = group;
            out->items[out->count++] = order <= 0 ? a->items[i] : b->items[j];
        }
        i += order <= 0;
        j += order >= 0;
    }
    if (out->count - before > out->most)
        out->most = out->count - before;
}

/* As in TensorFlow, the groups of a sparse operand that are not in order find no dense one. */
static struct status combine_all(struct kernel_context *k, struct sets *a, struct sets *b,
                                 struct results *out)
{
    const struct operation_state *state = kernel_state(k);
    compare_elements *compare = comparison_of(a->values->dtype);

    while (a->group != INT64_MAX || b->group != INT64_MAX) {
        int64_t group = a->group < b->group ? a->group : b->group;
        if (state->a_is_dense && a->width > 0 && b->group < a->group) {
            b->group = INT64_MAX;
            b->at = b->values->size;
            continue;
        }
        a->count = b->count = 0;
        if (a->group == group)
            TRY(take_group(k, a));
        if (b->group == group)
            TRY(take_group(k, b));
        combine(state->operation, compare, a, b, group, out);
    }
    return status_ok();
}

static void put_index(const struct sets *a, int64_t group, int64_t position, int64_t *out)
{
    out[a->rank - 1] = position;
    for (int d = a->rank - 2; d >= 0; d--) {
        out[d] = group % a->sizes[d];
        group /= a->sizes[d];
    }
}

static struct status put_results(struct kernel_context *k, const struct sets *a,
                                 const struct results *results)
{
    struct shape matrix = shape_of(results->count, a->rank), values = shape_of(results->count);
    struct shape vector = shape_of(a->rank);
    struct tensor *out[3];
    int64_t position = 0;

    TRY(kernel_output(k, 0, &matrix, &out[0]));
    TRY(kernel_output(k, 1, &values, &out[1]));
    TRY(kernel_output(k, 2, &vector, &out[2]));
    for (int64_t i = 0; i < results->count; i++) {
        position = i > 0 && results->groups[i] == results->groups[i - 1] ? position + 1 : 0;
        put_index(a, results->groups[i], position, tensor_int64s_mut(out[0]) + i * a->rank);
        if (out[1]->dtype == DT_STRING)
            tensor_strings_mut(out[1])[i] = results->items[i].text;
        else
            tensor_set_index(out[1], i, results->items[i].number);
    }
    memcpy(out[2]->data, a->sizes, (size_t)(a->rank - 1) * sizeof *a->sizes);
    tensor_int64s_mut(out[2])[a->rank - 1] = results->most;
    return status_ok();
}

static struct status operation_compute(struct kernel_context *k)
{
    const struct operation_state *state = kernel_state(k);
    struct results results = { 0 };
    struct sets a, b;
    void *groups;
    int second = state->a_is_dense ? 1 : 3;

    TRY(state->a_is_dense ? open_dense(k, 0, &a) : open_sparse(k, 0, state->validate, &a));
    TRY(state->b_is_dense ? open_dense(k, second, &b)
                          : open_sparse(k, second, state->validate, &b));
    if (a.rank != b.rank || memcmp(a.sizes, b.sizes, sizeof a.sizes) != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Mismatched shapes: the operands' dimensions differ before the last");
    int64_t most = a.values->size + b.values->size;
    TRY(reserve_items(k, most, &results.items));
    TRY(arena_reserve(kernel_arena(k), ((size_t)most + 1) * sizeof(int64_t), &groups));
    results.groups = groups;
    TRY(combine_all(k, &a, &b, &results));
    return put_results(k, &a, &results);
}

#define DTYPES_ELEMENTS                                                                            \
    (DTYPES(DT_INT8) | DTYPES(DT_INT16) | DTYPES(DT_INT32) | DTYPES(DT_INT64) | DTYPES(DT_UINT8) | \
     DTYPES(DT_UINT16) | DTYPES(DT_STRING))
#define SET_OPERATION(op)                                                                    \
    {                                                                                        \
        op, DTYPES_ELEMENTS, "T", .prepare = operation_prepare, .compute = operation_compute \
    }
static const struct kernel rows[] = {
    { "SetSize", DTYPES_ELEMENTS, "T", .prepare = validate_prepare, .compute = size_compute },
    SET_OPERATION("DenseToDenseSetOperation"),
    SET_OPERATION("DenseToSparseSetOperation"),
    SET_OPERATION("SparseToSparseSetOperation"),
};
const struct kernel_table kernels_sets = { rows, COUNT(rows) };
