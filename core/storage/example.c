#include "storage/example.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "proto/wire.h"
#include "storage/example_spec.h"

static bool type_allowed(enum dtype dtype)
{
    return dtype == DT_FLOAT || dtype == DT_INT64 || dtype == DT_STRING;
}

static struct status check_dense(const struct example_feature *feature, int place,
                                 struct example_column *column)
{
    struct shape inner = feature->shape;
    column->variable = inner.rank > 0 && inner.dims[0] < 0;
    if (column->variable)
        inner.dims[0] = 1;
    if (!shape_is_known(&inner))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "dense_shapes[%d] has unknown rank or unknown inner dimensions: %s",
                            place, shape_text(&feature->shape));
    TRY(shape_check(inner.rank, inner.dims, &inner));
    column->elements = shape_size(&inner);
    if (column->variable && column->elements == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "dense_shapes[%d] is %s: steps of no elements",
                            place, shape_text(&feature->shape));
    return status_ok();
}

static struct status add_column(struct example_spec *spec, const struct example_feature *feature)
{
    struct example_column *column = &spec->columns[spec->columns_count];
    column->feature = *feature;
    column->place = spec->form_counts[feature->form];
    if (!type_allowed(feature->dtype))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "feature '%.*s' of type %s, possible are float, int64 and string",
                            (int)feature->key.size, feature->key.data, dtype_name(feature->dtype));
    if (feature->form == EXAMPLE_RAGGED && feature->splits_type != DT_INT32 &&
        feature->splits_type != DT_INT64)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "feature '%.*s' with row splits of type %s, possible are int32 and "
                            "int64",
                            (int)feature->key.size, feature->key.data,
                            dtype_name(feature->splits_type));
    if (feature->form == EXAMPLE_DENSE)
        TRY(check_dense(feature, column->place, column));
    if (map_has(&spec->by_key, feature->key))
        return status_error(STATUS_INTERNAL, "Could not avoid collision. This should not happen.");

    char *key = zalloc(feature->key.size + 1);
    if (feature->key.size > 0)
        memcpy(key, feature->key.data, feature->key.size);
    column->feature.key.data = key;
    spec->columns_count++;
    spec->form_counts[feature->form]++;
    map_put(&spec->by_key, column->feature.key, column);
    return status_ok();
}

struct status example_spec_create(const struct example_feature *features, int count,
                                  struct example_spec **out)
{
    struct example_spec *spec = zalloc(sizeof *spec);
    spec->columns = zalloc((size_t)count * sizeof *spec->columns);
    for (int i = 0; i < count; i++) {
        struct status status = add_column(spec, &features[i]);
        if (!status_is_ok(status)) {
            example_spec_destroy(spec);
            return status;
        }
    }
    *out = spec;
    return status_ok();
}

void example_spec_destroy(struct example_spec *spec)
{
    if (spec == NULL)
        return;
    for (int i = 0; i < spec->columns_count; i++)
        free((char *)spec->columns[i].feature.key.data);
    map_finish(&spec->by_key);
    free(spec->columns);
    free(spec);
}

int example_spec_outputs_count(const struct example_spec *spec)
{
    return 3 * spec->form_counts[EXAMPLE_SPARSE] + spec->form_counts[EXAMPLE_DENSE] +
           2 * spec->form_counts[EXAMPLE_RAGGED];
}

/* ---- building Examples ---- */

static size_t field_size(size_t size)
{
    return wire_head_size(1, size) + size; /* of any number below 16 */
}

/* Appends everything that precedes the elements of a list of `list_size` bytes. */
static void put_entry(struct example_builder *builder, struct bytes key, int kind, size_t list_size)
{
    size_t feature_size = field_size(list_size);
    wire_put_head(&builder->features, 1, field_size(key.size) + field_size(feature_size));
    wire_put_bytes(&builder->features, 1, key);
    wire_put_head(&builder->features, 2, feature_size);
    wire_put_head(&builder->features, kind, list_size);
}

void example_builder_add_strings(struct example_builder *builder, struct bytes key,
                                 const struct bytes *values, size_t count)
{
    size_t list_size = 0;
    for (size_t i = 0; i < count; i++)
        list_size += field_size(values[i].size);
    put_entry(builder, key, 1, list_size);
    for (size_t i = 0; i < count; i++)
        wire_put_bytes(&builder->features, 1, values[i]);
}

void example_builder_add_floats(struct example_builder *builder, struct bytes key,
                                const float *values, size_t count)
{
    size_t size = count * sizeof *values;
    put_entry(builder, key, 2, count == 0 ? 0 : field_size(size));
    if (count == 0)
        return;
    wire_put_head(&builder->features, 1, size);
    buffer_append(&builder->features, values, size);
}

void example_builder_add_int64s(struct example_builder *builder, struct bytes key,
                                const int64_t *values, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += wire_varint_size((uint64_t)values[i]);
    put_entry(builder, key, 3, count == 0 ? 0 : field_size(size));
    if (count == 0)
        return;
    wire_put_head(&builder->features, 1, size);
    for (size_t i = 0; i < count; i++)
        buffer_append_varint(&builder->features, (uint64_t)values[i]);
}

void example_builder_rewind(struct example_builder *builder, size_t size)
{
    assert(size <= builder->features.size);
    builder->features.size = size;
}

struct bytes example_builder_end(struct example_builder *builder)
{
    builder->example.size = 0;
    wire_put_head(&builder->example, 1, builder->features.size);
    buffer_append(&builder->example, builder->features.data, builder->features.size);
    builder->features.size = 0;
    return (struct bytes){ builder->example.data, builder->example.size };
}

void example_builder_finish(struct example_builder *builder)
{
    buffer_finish(&builder->features);
    buffer_finish(&builder->example);
}
