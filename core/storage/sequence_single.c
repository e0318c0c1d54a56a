#include <inttypes.h>

#include "proto/wire.h"
#include "storage/sequence_example.h"

/* The list of a Feature, as protobuf merges it. */
struct feature_values {
    enum dtype dtype; /* DT_INVALID: it has none */
    int64_t count;
    struct buffer values;
};

struct sequence_single {
    struct bytes serialized, name;
    struct tensor_pool *pool;
    struct feature_values held;
    const struct sequence_spec *spec;
    int64_t steps; /* rows that were read */
};

#define STEPS_PER_CHECK 4096

static struct status step(struct sequence_single *single)
{
    if (single->spec->check == NULL || ++single->steps % STEPS_PER_CHECK != 0)
        return status_ok();
    return single->spec->check(single->spec->check_context);
}

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)
#define NAME(single) (int)(single)->name.size, (single)->name.data
#define KEY(feature) (int)(feature)->key.size, (feature)->key.data

/* ---- a Feature ---- */

static void append(struct feature_values *out, const void *value, size_t size)
{
    buffer_append(&out->values, value, size);
    out->count++;
}

static bool append_packed(struct bytes packed, struct feature_values *out)
{
    const char *at = packed.data, *end = packed.data + packed.size;
    uint64_t value;
    if (out->dtype == DT_FLOAT) {
        buffer_append(&out->values, packed.data, packed.size);
        out->count += (int64_t)(packed.size / sizeof(float));
        return packed.size % sizeof(float) == 0;
    }
    while (at < end) {
        if (!varint_get(&at, end, &value))
            return false;
        append(out, &value, sizeof value);
    }
    return true;
}

static bool read_list(struct bytes list, struct feature_values *out)
{
    struct wire wire = wire_of(list);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, 1, WIRE_BYTES) && out->dtype == DT_STRING)
            append(out, &field.bytes, sizeof field.bytes);
        else if (wire_is(&field, 1, WIRE_BYTES) && !append_packed(field.bytes, out))
            return false;
        else if (wire_is(&field, 1, WIRE_FIXED32) && out->dtype == DT_FLOAT)
            append(out, &(uint32_t){ (uint32_t)field.value }, sizeof(uint32_t));
        else if (wire_is(&field, 1, WIRE_VARINT) && out->dtype == DT_INT64)
            append(out, &field.value, sizeof field.value);
    }
    return !wire.damaged;
}

static void clear_values(struct feature_values *out)
{
    out->dtype = DT_INVALID;
    out->count = 0;
    out->values.size = 0;
}

/* Adds to what `out` holds: a list of the same type is continued, one of another type replaced. */
static bool read_feature(struct bytes feature, struct feature_values *out)
{
    static const enum dtype dtypes[] = { DT_INVALID, DT_STRING, DT_FLOAT, DT_INT64 };
    struct wire wire = wire_of(feature);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number > 3 || field.type != WIRE_BYTES)
            continue;
        if (out->dtype != dtypes[field.number])
            clear_values(out);
        out->dtype = dtypes[field.number];
        if (!read_list(field.bytes, out))
            return false;
    }
    return !wire.damaged;
}

/* ---- entries ---- */

static struct bytes key_of(struct bytes entry)
{
    struct wire wire = wire_of(entry);
    struct wire_field field;
    struct bytes key = { "", 0 };
    while (wire_next(&wire, &field))
        if (wire_is(&field, 1, WIRE_BYTES))
            key = field.bytes;
    return key;
}

/* Walks over the entries of field `side` of the message (1: context, 2: lists), in wire order. */
struct sequence_entries {
    struct wire message, group;
    uint32_t side;
};

static struct sequence_entries entries_of(struct bytes serialized, uint32_t side)
{
    return (struct sequence_entries){ wire_of(serialized), wire_of((struct bytes){ "", 0 }), side };
}

static bool next_entry(struct sequence_entries *entries, struct bytes *out)
{
    struct wire_field field;
    for (;;) {
        while (wire_next(&entries->group, &field))
            if (wire_is(&field, 1, WIRE_BYTES)) {
                *out = field.bytes;
                return true;
            }
        do {
            if (entries->group.damaged || !wire_next(&entries->message, &field))
                return false;
        } while (!wire_is(&field, entries->side, WIRE_BYTES));
        entries->group = wire_of(field.bytes);
    }
}

/* The last entry of that key. False: there is none. */
static bool find_entry(const struct sequence_single *single, uint32_t side, struct bytes key,
                       struct bytes *out)
{
    struct sequence_entries entries = entries_of(single->serialized, side);
    struct bytes entry;
    bool found = false;
    while (next_entry(&entries, &entry))
        if (bytes_equal(key_of(entry), key)) {
            *out = entry;
            found = true;
        }
    return found;
}

/* A Feature of a FeatureList; *at moves over the values of an entry. */
struct sequence_rows {
    struct wire entry, list;
};

static struct sequence_rows rows_of(struct bytes entry)
{
    return (struct sequence_rows){ wire_of(entry), wire_of((struct bytes){ "", 0 }) };
}

static bool next_row(struct sequence_rows *rows, struct bytes *out)
{
    struct wire_field field;
    for (;;) {
        while (wire_next(&rows->list, &field))
            if (wire_is(&field, 1, WIRE_BYTES)) {
                *out = field.bytes;
                return true;
            }
        do {
            if (rows->list.damaged || !wire_next(&rows->entry, &field))
                return false;
        } while (!wire_is(&field, 2, WIRE_BYTES));
        rows->list = wire_of(field.bytes);
    }
}

static bool read_context(struct bytes entry, struct feature_values *out)
{
    struct wire wire = wire_of(entry);
    struct wire_field field;
    clear_values(out);
    while (wire_next(&wire, &field))
        if (wire_is(&field, 2, WIRE_BYTES) && !read_feature(field.bytes, out))
            return false;
    return !wire.damaged;
}

static bool check_rows(struct bytes entry, struct feature_values *out)
{
    struct sequence_rows rows = rows_of(entry);
    struct bytes feature;
    while (next_row(&rows, &feature)) {
        clear_values(out);
        if (!read_feature(feature, out))
            return false;
    }
    return !rows.entry.damaged && !rows.list.damaged;
}

/* Does the whole message parse? Later steps then need not check. */
static bool check_message(struct sequence_single *single)
{
    for (uint32_t side = 1; side <= 2; side++) {
        struct sequence_entries entries = entries_of(single->serialized, side);
        struct bytes entry;
        while (next_entry(&entries, &entry))
            if (!(side == 1 ? read_context : check_rows)(entry, &single->held))
                return false;
        if (entries.message.damaged || entries.group.damaged)
            return false;
    }
    return true;
}

/* ---- results ---- */

static const char *kind_text(enum dtype dtype)
{
    return dtype == DT_INVALID ? "not set"
           : dtype == DT_FLOAT ? "float_list"
           : dtype == DT_INT64 ? "int64_list"
                               : "bytes_list";
}

/* row: -1: of the context. */
static struct status check_type(const struct sequence_single *single,
                                const struct sequence_feature *f, const char *what, int64_t row)
{
    if (single->held.dtype == f->dtype)
        return status_ok();
    if (row < 0)
        return INVALID("Name: %.*s, Context feature: %.*s.  Data types don't match. Expected "
                       "type: %s  Feature is: %s",
                       NAME(single), KEY(f), dtype_name(f->dtype), kind_text(single->held.dtype));
    return INVALID("Name: %.*s, Feature %s: %.*s, Index: %" PRId64
                   ".  Data types don't match. Expected type: %s  Feature is: %s",
                   NAME(single), what, KEY(f), row, dtype_name(f->dtype),
                   kind_text(single->held.dtype));
}

/* Copies the values, which must be as many as a row has, to row `row` of the dense result. */
static struct status copy_row(const struct sequence_single *single, struct sequence_feature *f,
                              int64_t row)
{
    bool text = f->dtype == DT_STRING;
    int64_t expected = shape_size(&f->shape);
    size_t size = (size_t)expected * dtype_size(f->dtype);
    if (single->held.count != expected)
        return INVALID(
            "Name: %.*s, Key%s %.*s, Index: %" PRId64
            ".  Number of %s values != expected.  %s size: %" PRId64 " but output shape: %s",
            NAME(single), text ? "" : ":", KEY(f), row, text ? "bytes" : dtype_name(f->dtype),
            text ? "Values" : "values", single->held.count, shape_text(&f->shape));
    if (size > 0)
        memcpy((char *)f->made[0].data + (size_t)row * size, single->held.values.data, size);
    return status_ok();
}

static struct status context_dense(struct sequence_single *single, struct sequence_feature *f)
{
    struct bytes entry;
    TRY(tensor_create_pooled(single->pool, f->dtype, &f->shape, &f->made[0]));
    if (find_entry(single, 1, f->key, &entry)) {
        (void)read_context(entry, &single->held);
        TRY(check_type(single, f, "", -1));
        return copy_row(single, f, 0);
    }
    if (f->fallback->size == 0)
        return INVALID("Name: %.*s, Context feature '%.*s' is required but could not be found.",
                       NAME(single), KEY(f));
    if (f->fallback->size != f->made[0].size)
        return INVALID("the default value of feature '%.*s' has shape %s instead of %s", KEY(f),
                       shape_text(&f->fallback->shape), shape_text(&f->shape));
    memcpy(f->made[0].data, f->fallback->data, tensor_bytes(f->fallback));
    return status_ok();
}

static struct status make_sparse(const struct sequence_single *single, struct sequence_feature *f,
                                 int64_t count, int rank)
{
    struct shape indices = shape_of(count, rank), values = shape_of(count), line = shape_of(rank);
    TRY(tensor_create_pooled(single->pool, DT_INT64, &indices, &f->made[0]));
    TRY(tensor_create_pooled(single->pool, f->dtype, &values, &f->made[1]));
    return tensor_create_pooled(single->pool, DT_INT64, &line, &f->made[2]);
}

static struct status context_sparse(struct sequence_single *single, struct sequence_feature *f)
{
    struct bytes entry;
    clear_values(&single->held);
    if (find_entry(single, 1, f->key, &entry))
        (void)read_context(entry, &single->held);
    if (single->held.dtype != DT_INVALID)
        TRY(check_type(single, f, "", -1));
    TRY(make_sparse(single, f, single->held.count, 1));
    for (int64_t i = 0; i < single->held.count; i++)
        tensor_int64s_mut(&f->made[0])[i] = i;
    if (single->held.values.size > 0)
        memcpy(f->made[1].data, single->held.values.data, single->held.values.size);
    tensor_int64s_mut(&f->made[2])[0] = single->held.count;
    return status_ok();
}

static int64_t count_rows(struct bytes entry)
{
    struct sequence_rows rows = rows_of(entry);
    struct bytes feature;
    int64_t count = 0;
    while (next_row(&rows, &feature))
        count++;
    return count;
}

static struct status list_dense(struct sequence_single *single, struct sequence_feature *f)
{
    struct bytes entry = { "", 0 }, feature;
    if (!find_entry(single, 2, f->key, &entry) && !f->may_be_missing)
        return INVALID("Name: %.*s, Feature list '%.*s' is required but could not be found.  Did "
                       "you mean to include it in feature_list_dense_missing_assumed_empty or "
                       "feature_list_dense_defaults?",
                       NAME(single), KEY(f));
    int64_t dims[SHAPE_RANK_MAX + 1] = { count_rows(entry) };
    struct shape shape;
    for (int i = 0; i < f->shape.rank; i++)
        dims[i + 1] = f->shape.dims[i];
    TRY(shape_check(f->shape.rank + 1, dims, &shape));
    TRY(tensor_create_pooled(single->pool, f->dtype, &shape, &f->made[0]));
    struct sequence_rows rows = rows_of(entry);
    for (int64_t row = 0; next_row(&rows, &feature); row++) {
        TRY(step(single));
        clear_values(&single->held);
        (void)read_feature(feature, &single->held);
        TRY(check_type(single, f, "list", row));
        TRY(copy_row(single, f, row));
    }
    return status_ok();
}

struct list_size {
    int64_t rows, most, total;
};

static struct status measure_list(struct sequence_single *single, struct sequence_feature *f,
                                  struct bytes entry, struct list_size *out)
{
    struct sequence_rows rows = rows_of(entry);
    struct bytes feature;
    for (; next_row(&rows, &feature); out->rows++) {
        TRY(step(single));
        clear_values(&single->held);
        (void)read_feature(feature, &single->held);
        if (single->held.dtype != DT_INVALID)
            TRY(check_type(single, f, "List", out->rows));
        out->total += single->held.count;
        if (single->held.count > out->most)
            out->most = single->held.count;
    }
    return status_ok();
}

static struct status list_sparse(struct sequence_single *single, struct sequence_feature *f)
{
    struct bytes entry = { "", 0 }, feature;
    struct list_size size = { 0 };
    (void)find_entry(single, 2, f->key, &entry);
    TRY(measure_list(single, f, entry, &size));
    TRY(make_sparse(single, f, size.total, 2));
    struct sequence_rows rows = rows_of(entry);
    int64_t *indices = tensor_int64s_mut(&f->made[0]);
    char *to = f->made[1].data;
    for (int64_t row = 0; next_row(&rows, &feature); row++) {
        clear_values(&single->held);
        (void)read_feature(feature, &single->held);
        for (int64_t i = 0; i < single->held.count; i++) {
            *indices++ = row;
            *indices++ = i;
        }
        if (single->held.values.size > 0)
            memcpy(to, single->held.values.data, single->held.values.size);
        to += single->held.values.size;
    }
    tensor_int64s_mut(&f->made[2])[0] = size.rows;
    tensor_int64s_mut(&f->made[2])[1] = size.most;
    return status_ok();
}

typedef struct status make_feature(struct sequence_single *single, struct sequence_feature *f);

static struct status make(struct sequence_single *single, const struct sequence_features *features,
                          enum example_form form, make_feature *one)
{
    for (int i = 0; i < features->count; i++)
        if (features->items[i].form == form)
            TRY(one(single, &features->items[i]));
    return status_ok();
}

static struct status parse(struct sequence_single *single, struct sequence_spec *spec)
{
    if (!check_message(single))
        return INVALID("Could not parse example input, value: '%.*s'", (int)single->serialized.size,
                       single->serialized.data);
    TRY(make(single, &spec->context, EXAMPLE_DENSE, context_dense));
    TRY(make(single, &spec->context, EXAMPLE_SPARSE, context_sparse));
    TRY(make(single, &spec->lists, EXAMPLE_DENSE, list_dense));
    return make(single, &spec->lists, EXAMPLE_SPARSE, list_sparse);
}

struct status sequence_parse_single(struct sequence_spec *spec, struct bytes serialized,
                                    struct bytes name, struct tensor_pool *pool)
{
    if (serialized.size == 0)
        serialized.data = "";
    struct sequence_single single = {
        .serialized = serialized, .name = name, .pool = pool, .spec = spec
    };
    struct status status = parse(&single, spec);
    buffer_finish(&single.held.values);
    return status;
}
