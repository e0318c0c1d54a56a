/*
 * unique: Unique, UniqueV2, UniqueWithCounts, UniqueWithCountsV2 and ListDiff. Along an axis, what
 * is compared is a slice: all elements with one index of the axis. A vector has slices of one
 * element.
 */
#include "base/fingerprint.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

#define CHECK_EVERY 4096 /* slices between two checks of the deadline */

/* The bytes by which a value is found again; false for NaN, which does not equal itself. Both
 * zeros are one value for float and double; TensorFlow distinguishes them for half types. */
static bool find_key(const struct tensor *x, int64_t i, struct bytes *out)
{
    static const double zero = 0;
    size_t size = dtype_size(x->dtype);
    double value = DTYPES(x->dtype) & DTYPES_FLOATING ? floating_element(x, i) : 1;
    if (x->dtype == DT_STRING)
        *out = tensor_strings(x)[i].size ? tensor_strings(x)[i] : (struct bytes){ "", 0 };
    else if (value == 0 && size >= sizeof(float))
        *out = (struct bytes){ (const char *)&zero, size };
    else
        *out = (struct bytes){ at_bytes_const(x->data, i, size), size };
    return value == value;
}

/* ---- Unique ---- */

/* The tensor as [outer, count, inner]; slice i has the elements [o, i, n]. */
struct slices {
    const struct tensor *x;
    int axis;
    int64_t outer, count, inner;
    uint64_t secret[2]; /* of the hash, because strangers choose the elements */
};

static struct slices slices_of_vector(const struct tensor *x)
{
    struct slices slices = { .x = x, .outer = 1, .count = x->size, .inner = 1 };
    fingerprint_secret(slices.secret);
    return slices;
}

static struct status find_slices(const struct kernel_context *k, struct slices *out)
{
    const struct tensor *x = kernel_input(k, 0);
    const struct tensor *axis = kernel_inputs_count(k) == 2 ? kernel_input(k, 1) : NULL;
    *out = slices_of_vector(x);
    if (axis != NULL && axis->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "axis expects a 1D vector.");
    if (axis != NULL && axis->size > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "axis does not support input tensors larger than 1 elements");
    if (axis == NULL || axis->size == 0)
        return x->shape.rank == 1
                   ? status_ok()
                   : status_error(STATUS_INVALID_ARGUMENT, "unique expects a 1D vector.");
    int64_t given = tensor_index(axis, 0), at = given < 0 ? given + x->shape.rank : given;
    if (at < 0 || at >= x->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT, "axis has to be between [0, %d)",
                            x->shape.rank);
    out->axis = (int)at;
    out->outer = shape_outer(&x->shape, out->axis);
    out->count = x->shape.dims[at];
    out->inner = shape_inner(&x->shape, out->axis);
    return status_ok();
}

static int64_t place_of(const struct slices *s, int64_t slice, int64_t i)
{
    return (i / s->inner * s->count + slice) * s->inner + i % s->inner;
}

/* False: a NaN in it, and it equals nothing. */
static bool hash_slice(const struct slices *s, int64_t slice, uint64_t *out)
{
    struct bytes key;
    uint64_t pair[2] = { 0 };
    bool is_found = true;
    for (int64_t i = 0; i < s->outer * s->inner; i++) {
        is_found &= find_key(s->x, place_of(s, slice, i), &key);
        pair[1] = siphash64(s->secret, key);
        pair[0] = i == 0 ? pair[1]
                         : siphash64(s->secret, (struct bytes){ (const char *)pair, sizeof pair });
    }
    *out = pair[0];
    return is_found;
}

/* Slice `at` of a and slice `other` of b, which are as large. */
static bool slices_equal(const struct slices *a, int64_t at, const struct slices *b, int64_t other)
{
    struct bytes of_a, of_b;
    for (int64_t i = 0; i < a->outer * a->inner; i++)
        if (!find_key(a->x, place_of(a, at, i), &of_a) ||
            !find_key(b->x, place_of(b, other, i), &of_b) || !bytes_equal(of_a, of_b))
            return false;
    return true;
}

/* A hash table of the numbers of unique slices, counted from 1; 0: empty. At most half full. */
struct slice_table {
    struct tensor slots, firsts; /* firsts: of each unique slice, the first that is equal */
    uint64_t mask;
};

static struct status slice_table_make(struct kernel_context *k, int64_t count,
                                      struct slice_table *out)
{
    int64_t capacity = 2;
    while (capacity < 2 * count)
        capacity *= 2;
    struct shape slots = shape_of(capacity), firsts = shape_of(count);
    struct status status;
    *out = (struct slice_table){ .mask = (uint64_t)capacity - 1 };
    TRY_OR(done, kernel_scratch(k, DT_INT64, &slots, &out->slots));
    TRY_OR(done, kernel_scratch(k, DT_INT64, &firsts, &out->firsts));
    memset(out->slots.data, 0, tensor_bytes(&out->slots));
done:
    return status;
}

static void slice_table_release(struct slice_table *table)
{
    tensor_release(&table->slots);
    tensor_release(&table->firsts);
}

/* The slot of the slice among `kept` that equals this one of `s`, or one that is free. NULL: the
 * slice has a NaN, and equals nothing. */
static int64_t *find_slot(struct slice_table *table, const struct slices *kept,
                          const struct slices *s, int64_t slice)
{
    int64_t *slots = tensor_int64s_mut(&table->slots), *firsts = tensor_int64s_mut(&table->firsts);
    uint64_t hash;
    if (!hash_slice(s, slice, &hash))
        return NULL;
    uint64_t at = hash & table->mask;
    while (slots[at] != 0 && !slices_equal(kept, firsts[slots[at] - 1], s, slice))
        at = (at + 1) & table->mask;
    return &slots[at];
}

/* The number of the unique slice that `slice` equals; *count grows if it is the first. */
static int64_t number_of(const struct slices *s, struct slice_table *table, int64_t slice,
                         int64_t *count)
{
    int64_t *slot = find_slot(table, s, s, slice);
    if (slot != NULL && *slot != 0)
        return *slot - 1;
    tensor_int64s_mut(&table->firsts)[*count] = slice;
    if (slot != NULL)
        *slot = *count + 1;
    return (*count)++;
}

/* places: of each slice, its number; may be NULL. */
static struct status number_slices(struct kernel_context *k, const struct slices *s,
                                   struct slice_table *table, struct tensor *places, int64_t *count)
{
    *count = 0;
    for (int64_t i = 0; i < s->count; i++) {
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        int64_t number = number_of(s, table, i, count);
        if (places != NULL)
            tensor_set_index(places, i, number);
    }
    return status_ok();
}

static struct status put_slices(struct kernel_context *k, const struct slices *s,
                                const struct slice_table *table, int64_t count)
{
    struct shape shape = s->x->shape;
    struct tensor *out;
    shape.dims[s->axis] = count;
    TRY(kernel_output(k, 0, &shape, &out));
    size_t size = dtype_size(out->dtype);
    for (int64_t o = 0; out->size > 0 && o < s->outer; o++)
        for (int64_t i = 0; i < count; i++)
            copy_elements(
                out->dtype, at_bytes(out->data, (o * count + i) * s->inner, size),
                at_bytes_const(s->x->data,
                               place_of(s, tensor_int64s(&table->firsts)[i], o * s->inner), size),
                s->inner);
    return status_ok();
}

static struct status put_counts(struct kernel_context *k, const struct tensor *places,
                                int64_t count)
{
    struct shape vector = shape_of(count);
    struct tensor *out;
    if (kernel_outputs_count(k) < 3)
        return status_ok();
    TRY(kernel_output(k, 2, &vector, &out));
    for (int64_t i = 0; i < count; i++)
        tensor_set_index(out, i, 0);
    for (int64_t i = 0; i < places->size; i++) {
        int64_t at = tensor_index(places, i);
        tensor_set_index(out, at, tensor_index(out, at) + 1);
    }
    return status_ok();
}

/* In order of first appearance. */
static struct status unique_compute(struct kernel_context *k)
{
    struct slices slices;
    struct slice_table table;
    struct tensor *places;
    int64_t count;
    TRY(find_slices(k, &slices));
    struct shape vector = shape_of(slices.count);
    TRY(kernel_output(k, 1, &vector, &places));
    struct status status;
    TRY_OR(done, slice_table_make(k, slices.count, &table));
    TRY_OR(done, number_slices(k, &slices, &table, places, &count));
    TRY_OR(done, put_slices(k, &slices, &table, count));
    TRY_OR(done, put_counts(k, places, count));
done:
    slice_table_release(&table);
    return status;
}

/* ---- ListDiff ---- */

/* The elements of x that the table of y does not hold, and their indices. */
static struct status put_others(struct kernel_context *k, const struct slices *x,
                                const struct slices *y, struct slice_table *table,
                                struct tensor *values, struct tensor *places)
{
    int64_t count = 0;
    for (int64_t i = 0; i < x->count; i++) {
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        const int64_t *slot = find_slot(table, y, x, i);
        if (slot != NULL && *slot != 0)
            continue;
        copy_element(x->x, i, values, count);
        tensor_set_index(places, count++, i);
    }
    values->shape.dims[0] = values->size = places->shape.dims[0] = places->size = count;
    return status_ok();
}

static struct status list_diff_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    struct slices of_x = slices_of_vector(x), of_y = slices_of_vector(y);
    struct slice_table table;
    struct tensor *values, *places;
    int64_t count;
    if (x->shape.rank != 1 || y->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%s should be a 1D vector.",
                            x->shape.rank != 1 ? "x" : "y");
    TRY(kernel_output(k, 0, &x->shape, &values));
    TRY(kernel_output(k, 1, &x->shape, &places));
    struct status status;
    TRY_OR(done, slice_table_make(k, y->size, &table));
    TRY_OR(done, number_slices(k, &of_y, &table, NULL, &count));
    TRY_OR(done, put_others(k, &of_x, &of_y, &table, values, places));
done:
    slice_table_release(&table);
    return status;
}

static const struct kernel rows[] = {
    { "Unique", DTYPES_MOVED, "T", .compute = unique_compute },
    { "UniqueV2", DTYPES_MOVED, "T", .compute = unique_compute },
    { "UniqueWithCounts", DTYPES_MOVED, "T", .compute = unique_compute },
    { "UniqueWithCountsV2", DTYPES_MOVED, "T", .compute = unique_compute },
    { "ListDiff", DTYPES_MOVED, "T", .compute = list_diff_compute },
};
const struct kernel_table kernels_unique = { rows, COUNT(rows) };
