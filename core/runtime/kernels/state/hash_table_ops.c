/*
 * hash_table_ops: InitializeTable and the LookupTable ops. Their first versions, which pass the
 * table as a reference, share the kernels of the second. table_handles.c makes the tables.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/state/hash_table.h"
#include "runtime/kernels/state/hash_table_file.h"
#include "runtime/resources.h"

struct status kernel_hash_table(struct kernel_context *k, int index, struct hash_table **out)
{
    const struct tensor *handle = kernel_input(k, index);
    struct object *object = NULL;
    if (handle->dtype == DT_RESOURCE && handle->size == 1)
        object = ((struct object *const *)handle->data)[0];
    if (object == NULL || object->type != &hash_table_type)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input %d is not the handle of a table",
                            index);
    *out = (struct hash_table *)object;
    return status_ok();
}

static struct status check_types(const struct hash_table *table, enum dtype key, enum dtype value)
{
    if (hash_table_key_dtype(table) != key)
        return status_error(STATUS_INVALID_ARGUMENT, "Key must be type %s but got %s",
                            dtype_name(hash_table_key_dtype(table)), dtype_name(key));
    if (hash_table_value_dtype(table) != value)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected value type %s for the table but got %s",
                            dtype_name(hash_table_value_dtype(table)), dtype_name(value));
    return status_ok();
}

/* ---- filling ---- */

/* The shape of the values of these keys: their own, with the shape of a value instead of that of a
 * key. */
static struct status values_shape(const struct kernel_context *k, const struct hash_table *table,
                                  const struct shape *keys, struct shape *out)
{
    const struct hash_table_kind *kind = hash_table_kind(table);
    int outer = keys->rank - kind->key_shape.rank;
    bool fits = outer >= 0;
    for (int d = 0; fits && d < kind->key_shape.rank; d++)
        fits = keys->dims[outer + d] == kind->key_shape.dims[d];
    if (!fits)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input key shape %s must end with the table's key shape %s",
                            shape_text(keys), shape_text(&kind->key_shape));
    TRY(kernel_check_rank(k, outer + kind->value_shape.rank));
    struct shape shape = shape_make(outer, keys->dims);
    for (int d = 0; d < kind->value_shape.rank; d++)
        shape_append(&shape, kind->value_shape.dims[d]);
    return shape_check(shape.rank, shape.dims, out);
}

static struct status check_pairs(struct kernel_context *k, const struct hash_table *table)
{
    const struct tensor *keys = kernel_input(k, 1), *values = kernel_input(k, 2);
    struct shape wanted;
    TRY(check_types(table, keys->dtype, values->dtype));
    TRY(values_shape(k, table, &keys->shape, &wanted));
    if (!shape_equal(&wanted, &values->shape))
        return status_error(STATUS_INVALID_ARGUMENT, "Expected shape %s for value, got %s",
                            shape_text(&wanted), shape_text(&values->shape));
    return status_ok();
}

static struct status keep_pairs(struct kernel_context *k, struct hash_table *table,
                                const struct tensor *keys, const struct tensor *values,
                                struct status (*put)(struct hash_table *table,
                                                     const struct tensor *keys,
                                                     const struct tensor *values))
{
    size_t before = hash_table_bytes(table);
    TRY(kernel_keep(k, keys, NULL));
    TRY(kernel_keep(k, values, NULL));
    TRY(kernel_table_may_grow(k, before,
                              (size_t)keys->size * HASH_TABLE_ENTRY_BYTES +
                                  tensor_content_bytes(keys) + tensor_content_bytes(values)));
    struct status status = put(table, keys, values);
    size_t after = hash_table_bytes(table);
    if (after > before)
        kernel_table_grew(k, after - before);
    return status;
}

struct status kernel_hash_table_fill(struct kernel_context *k, struct hash_table *table,
                                     const struct tensor *keys, const struct tensor *values)
{
    TRY(check_types(table, keys->dtype, values->dtype));
    if (keys->size != values->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Keys and values must have the same size %lld vs %lld",
                            (long long)keys->size, (long long)values->size);
    return keep_pairs(k, table, keys, values, hash_table_add);
}

static struct status initialize_compute(struct kernel_context *k)
{
    struct hash_table *table = NULL;
    const struct tensor *keys = kernel_input(k, 1), *values = kernel_input(k, 2);
    TRY(kernel_hash_table(k, 0, &table));
    TRY(kernel_vector(k, 1, "Keys"));
    if (!shape_equal(&keys->shape, &values->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Keys and values must have the same size %lld vs %lld",
                            (long long)keys->size, (long long)values->size);
    TRY(check_pairs(k, table));
    return keep_pairs(k, table, keys, values, hash_table_add);
}

static struct status import_compute(struct kernel_context *k)
{
    struct hash_table *table = NULL;
    TRY(kernel_hash_table(k, 0, &table));
    TRY(check_pairs(k, table));
    return keep_pairs(k, table, kernel_input(k, 1), kernel_input(k, 2),
                      hash_table_is_mutable(table) ? hash_table_replace : hash_table_add);
}

static struct status insert_compute(struct kernel_context *k)
{
    struct hash_table *table = NULL;
    TRY(kernel_hash_table(k, 0, &table));
    TRY(check_pairs(k, table));
    if (!hash_table_is_mutable(table))
        return status_error(STATUS_UNIMPLEMENTED,
                            "Insert not supported by InitializableLookupTable implementations");
    return keep_pairs(k, table, kernel_input(k, 1), kernel_input(k, 2), hash_table_add);
}

static struct status remove_compute(struct kernel_context *k)
{
    struct hash_table *table = NULL;
    TRY(kernel_hash_table(k, 0, &table));
    if (!hash_table_is_mutable(table))
        return status_error(STATUS_UNIMPLEMENTED,
                            "Remove not supported by InitializableLookupTable implementations");
    TRY(check_types(table, kernel_input(k, 1)->dtype, hash_table_value_dtype(table)));
    struct shape ignored;
    TRY(values_shape(k, table, &kernel_input(k, 1)->shape, &ignored));
    return hash_table_remove(table, kernel_input(k, 1));
}

static struct status file_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct hash_table_file *file = prepare_state(p, sizeof *file, NULL);
    struct bytes delimiter = bytes_of("\t");
    TRY(node_attr_int(node, "key_index", &file->key_index));
    TRY(node_attr_int(node, "value_index", &file->value_index));
    TRY(node_attr_int(node, "vocab_size", &file->vocab_size));
    TRY(node_attr_string(node, "delimiter", &delimiter));
    if (node_attr(node, "offset") != NULL)
        TRY(node_attr_int(node, "offset", &file->offset));
    if (delimiter.size != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "delimiter should be only 1 char");
    file->delimiter = delimiter.data[0];
    return status_ok();
}

static struct status file_compute(struct kernel_context *k)
{
    const struct hash_table_file *file = kernel_state(k);
    const struct tensor *name = kernel_input(k, 1);
    struct hash_table *table = NULL;
    TRY(kernel_hash_table(k, 0, &table));
    if (name->size != 1 || name->dtype != DT_STRING)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "filename should be a single string, but got %s",
                            shape_text(&name->shape));
    if (hash_table_is_initialised(table))
        return status_ok();
    struct hash_table_lines lines;
    const char *path;
    TRY(resources_real_path(kernel_resources(k), tensor_strings(name)[0], kernel_arena(k), &path));
    struct status status = hash_table_file_read(k, file, path, hash_table_key_dtype(table),
                                                hash_table_value_dtype(table), &lines);
    if (status_is_ok(status))
        status = keep_pairs(k, table, &lines.keys, &lines.values, hash_table_add);
    hash_table_lines_finish(&lines);
    return status;
}

/* ---- reading ---- */

static struct status find_compute(struct kernel_context *k)
{
    const struct tensor *keys = kernel_input(k, 1), *defaults = kernel_input(k, 2);
    struct hash_table *table = NULL;
    struct tensor *out;
    TRY(kernel_hash_table(k, 0, &table));
    TRY(check_types(table, keys->dtype, defaults->dtype));
    const struct shape *one = &hash_table_kind(table)->value_shape;
    struct shape shape;
    TRY(values_shape(k, table, &keys->shape, &shape));
    bool each = !shape_equal(&defaults->shape, one) &&
                (one->rank > 0 || defaults->size != 1 || defaults->shape.rank > 1);
    if (each && !shape_equal(&defaults->shape, &shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected shape %s or %s for default value, got %s", shape_text(one),
                            shape_text(&shape), shape_text(&defaults->shape));
    TRY(kernel_output(k, 0, &shape, &out));
    return hash_table_find(table, keys, defaults, each, kernel_arena(k), out);
}

static struct status size_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct hash_table *table = NULL;
    struct tensor *out;
    TRY(kernel_hash_table(k, 0, &table));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int64s_mut(out)[0] = hash_table_size(table);
    return status_ok();
}

/* [count] + the shape of one */
static struct status output_rows(struct kernel_context *k, int index, int64_t count,
                                 const struct shape *one, struct tensor **out)
{
    struct shape shape = shape_of(count);
    TRY(kernel_check_rank(k, one->rank + 1));
    for (int d = 0; d < one->rank; d++)
        shape_append(&shape, one->dims[d]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    return kernel_output(k, index, &shape, out);
}

/* If the table shrinks between reading its size and copying, the outputs are cut to what was
 * copied. */
static struct status export_compute(struct kernel_context *k)
{
    struct hash_table *table = NULL;
    struct tensor *keys, *values;
    int64_t count;
    TRY(kernel_hash_table(k, 0, &table));
    const struct hash_table_kind *kind = hash_table_kind(table);
    int64_t room = hash_table_size(table); /* of both: other runs may change it meanwhile */
    TRY(output_rows(k, 0, room, &kind->key_shape, &keys));
    TRY(output_rows(k, 1, room, &kind->value_shape, &values));
    TRY(hash_table_export(table, kernel_arena(k), keys, values, &count));
    keys->shape.dims[0] = values->shape.dims[0] = count;
    keys->size = shape_size(&keys->shape);
    values->size = shape_size(&values->shape);
    return status_ok();
}

#define BOTH(name, ...)                    \
    { name, DTYPES_ALL, __VA_ARGS__ },     \
    {                                      \
        name "V2", DTYPES_ALL, __VA_ARGS__ \
    }
static const struct kernel rows[] = {
    BOTH("InitializeTable", .compute = initialize_compute),
    BOTH("InitializeTableFromTextFile", .prepare = file_prepare, .compute = file_compute),
    BOTH("LookupTableFind", .compute = find_compute),
    BOTH("LookupTableImport", .compute = import_compute),
    BOTH("LookupTableInsert", .compute = insert_compute),
    BOTH("LookupTableExport", .compute = export_compute),
    BOTH("LookupTableSize", .compute = size_compute),
    { "LookupTableRemoveV2", DTYPES_ALL, .compute = remove_compute },
};
const struct kernel_table kernels_hash_table_ops = { rows, COUNT(rows) };
