#include "storage/sequence_example.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "storage/sequence_wire.h"

/* The examples' features for one key. Features with the same key share it. */
struct sequence_slot {
    enum example_form form;
    struct tensor held;   /* the memory of `protos` */
    struct bytes *protos; /* [batch] a Feature, or a FeatureList; data NULL: missing */
    int64_t length, rows; /* in all examples; dense: the greatest length of an example */
};

/* Features of one kind, context or lists, while they are parsed. */
struct sequence_side {
    struct sequence_features *features;
    struct sequence_slot *slots, **slot_of; /* [features] */
    int slots_count;
    struct map by_key; /* -> struct sequence_slot */
    const char *what;  /* "Context" or "Sequence" */
    bool is_list;
};

struct sequence_parsing {
    const struct bytes *serialized, *names; /* names: NULL if not given */
    struct tensor_pool *pool;
    int64_t batch;
    bool single;
    struct sequence_side sides[2];
    struct status (*check)(const void *context);
    const void *check_context;
    int64_t steps; /* entries and rows that were read */
};

#define STEPS_PER_CHECK 4096

static struct status step(struct sequence_parsing *parse)
{
    if (parse->check == NULL || ++parse->steps % STEPS_PER_CHECK != 0)
        return status_ok();
    return parse->check(parse->check_context);
}

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)
#define KEY(feature) (int)(feature)->key.size, (feature)->key.data

static struct bytes name_of(const struct sequence_parsing *parse, int64_t example)
{
    return parse->names != NULL ? parse->names[example] : bytes_of("<unknown>");
}

/* ---- which features ---- */

static struct status same_form(const struct sequence_side *side,
                               const struct sequence_feature *feature, enum example_form other)
{
    bool ragged = other == EXAMPLE_RAGGED || feature->form == EXAMPLE_RAGGED;
    bool dense = feature->form == EXAMPLE_DENSE || other == EXAMPLE_DENSE;
    if (feature->form == other)
        return status_ok();
    return INVALID("%s feature %.*s cannot be both %s and sparse", side->what, KEY(feature),
                   ragged && !dense ? "ragged" : "dense");
}

static struct status add_slot(struct sequence_parsing *parse, struct sequence_side *side, int index)
{
    const struct sequence_feature *feature = &side->features->items[index];
    struct sequence_slot *slot = map_get(&side->by_key, feature->key);
    struct shape batch = shape_of(parse->batch);
    if (slot == NULL) {
        slot = &side->slots[side->slots_count++];
        slot->form = feature->form;
        TRY(tensor_create_pooled(parse->pool, DT_STRING, &batch, &slot->held));
        slot->protos = tensor_strings_mut(&slot->held);
        map_put(&side->by_key, feature->key, slot);
        for (int64_t i = 0; i < parse->batch; i++)
            slot->protos[i] = (struct bytes){ NULL, 0 };
    }
    side->slot_of[index] = slot;
    TRY(same_form(side, feature, slot->form));
    if (feature->fallback != NULL)
        slot->length = feature->fallback->size;
    return status_ok();
}

/* TensorFlow looks at sparse features first, then at ragged and at dense ones. */
static struct status add_slots(struct sequence_parsing *parse, struct sequence_side *side)
{
    static const enum example_form order[] = { EXAMPLE_SPARSE, EXAMPLE_RAGGED, EXAMPLE_DENSE };
    int count = side->features->count;
    side->slots = zalloc((size_t)count * sizeof *side->slots);
    side->slot_of = zalloc((size_t)count * sizeof(struct sequence_slot *));
    for (int o = 0; o < 3; o++)
        for (int i = 0; i < count; i++)
            if (side->features->items[i].form == order[o])
                TRY(add_slot(parse, side, i));
    return status_ok();
}

/* ---- collecting the features ---- */

static struct status damaged_message(const struct sequence_parsing *parse, int64_t example)
{
    struct bytes name = name_of(parse, example);
    return INVALID("Invalid protocol message input, example id: %.*s", (int)name.size, name.data);
}

static struct status collect_entries(struct sequence_parsing *parse, struct sequence_side *side,
                                     struct sequence_wire *wire, int64_t example)
{
    struct sequence_entry entry;
    const char *outer;
    if (!sequence_enter(wire, &outer))
        return damaged_message(parse, example);
    while (!sequence_at_end(wire)) {
        TRY(step(parse));
        if (!sequence_next_entry(wire, &entry))
            return damaged_message(parse, example);
        struct sequence_slot *slot = map_get(&side->by_key, entry.key);
        if (slot != NULL)
            slot->protos[example] = entry.value; /* the last one of a key counts */
    }
    wire->end = outer;
    return status_ok();
}

static struct status collect(struct sequence_parsing *parse, int64_t example)
{
    struct sequence_wire wire = sequence_of(parse->serialized[example]);
    while (!sequence_at_end(&wire)) {
        enum sequence_field field = sequence_next_field(&wire);
        TRY(step(parse));
        if (field == SEQUENCE_DAMAGED)
            return damaged_message(parse, example);
        if (field != SEQUENCE_OTHER)
            TRY(collect_entries(parse, &parse->sides[field == SEQUENCE_LISTS], &wire, example));
    }
    return status_ok();
}

static struct status context_length(struct sequence_parsing *parse,
                                    const struct sequence_feature *f, struct sequence_slot *slot,
                                    int64_t example)
{
    struct sequence_wire wire = sequence_of(slot->protos[example]);
    struct bytes name = name_of(parse, example);
    int64_t count = sequence_values(&wire, f->dtype, NULL);
    if (count < 0)
        return INVALID("Name: %.*s, Context feature: %.*s.  Data types don't match. Expected "
                       "type: %s",
                       (int)name.size, name.data, KEY(f), dtype_name(f->dtype));
    if (slot->form != EXAMPLE_DENSE)
        slot->length += count;
    else if (count > slot->length)
        slot->length = count;
    return status_ok();
}

static struct status damaged_list(const struct sequence_parsing *parse,
                                  const struct sequence_feature *f, int64_t example)
{
    struct bytes name = name_of(parse, example);
    return INVALID("Error in sequence feature %.*s in example %.*s", KEY(f), (int)name.size,
                   name.data);
}

static struct status next_row(struct sequence_parsing *parse, const struct sequence_feature *f,
                              struct sequence_wire *wire, int64_t example, int64_t row, void *out,
                              int64_t *count)
{
    TRY(step(parse));
    struct bytes name = name_of(parse, example);
    switch (sequence_next_row(wire, f->dtype, out, count)) {
    case SEQUENCE_ROW_OK:
        return status_ok();
    case SEQUENCE_ROW_OTHER_TYPE:
        return INVALID("Name: %.*s, Feature list: %.*s, Index: %" PRId64
                       ".  Data types don't match. Expected type: %s",
                       (int)name.size, name.data, KEY(f), row, dtype_name(f->dtype));
    default:
        return damaged_list(parse, f, example);
    }
}

static struct status list_length(struct sequence_parsing *parse, const struct sequence_feature *f,
                                 struct sequence_slot *slot, int64_t example)
{
    struct sequence_wire wire = sequence_of(slot->protos[example]);
    int64_t rows = 0, elements = 0, count;
    while (!sequence_at_end(&wire)) {
        TRY(next_row(parse, f, &wire, example, rows++, NULL, &count));
        elements += count;
    }
    slot->rows += rows;
    if (slot->form != EXAMPLE_DENSE)
        slot->length += elements;
    else if (elements > slot->length)
        slot->length = elements;
    return status_ok();
}

/* A slot that several features share is measured for the first of them. */
static struct status measure(struct sequence_parsing *parse, struct sequence_side *side)
{
    for (int i = 0; i < side->features->count; i++) {
        const struct sequence_feature *feature = &side->features->items[i];
        struct sequence_slot *slot = side->slot_of[i];
        if (map_get(&side->by_key, feature->key) == NULL)
            continue;
        map_remove(&side->by_key, feature->key);
        for (int64_t e = 0; e < parse->batch; e++)
            if (slot->protos[e].size > 0)
                TRY((side->is_list ? list_length : context_length)(parse, feature, slot, e));
    }
    return status_ok();
}

/* ---- results ---- */

static char *place(struct tensor *values, int64_t at)
{
    return (char *)values->data + (size_t)at * dtype_size(values->dtype);
}

static void clear(struct tensor *values, int64_t at, int64_t count)
{
    if (count > 0)
        memset(place(values, at), 0, (size_t)count * dtype_size(values->dtype));
}

/* The dimensions [batch] (unless there is one example), then `rows` unless it is negative, then
 * those of a row. */
static struct status dense_shape(const struct sequence_parsing *parse, int64_t rows,
                                 const struct shape *row, struct shape *out)
{
    int64_t dims[SHAPE_RANK_MAX + 2];
    int rank = 0;
    if (!parse->single)
        dims[rank++] = parse->batch;
    if (rows >= 0)
        dims[rank++] = rows;
    for (int i = 0; i < row->rank; i++)
        dims[rank++] = row->dims[i];
    return shape_check(rank, dims, out);
}

/* Copies a default value, or parses a feature into its place. *count: the number of elements. */
static struct status context_row(const struct sequence_feature *f, struct bytes proto,
                                 struct tensor *values, int64_t at, int64_t *count)
{
    *count = proto.data == NULL ? f->fallback->size : 0;
    if (proto.data == NULL && f->fallback->size == 0)
        return INVALID("Feature: %.*s (data type: %s) is required but could not be found.", KEY(f),
                       dtype_name(f->dtype));
    if (proto.data == NULL && *count == shape_size(&f->shape)) {
        memcpy(place(values, at), f->fallback->data, tensor_bytes(f->fallback));
    } else if (proto.size > 0) {
        struct sequence_wire wire = sequence_of(proto);
        *count = sequence_values(&wire, f->dtype, place(values, at));
    }
    return status_ok();
}

static struct status context_dense(struct sequence_parsing *parse, struct sequence_feature *f,
                                   const struct sequence_slot *slot)
{
    struct tensor *values = &f->made[0];
    struct shape shape;
    bool known = shape_is_known(&f->shape);
    int64_t expected = known ? shape_size(&f->shape) : -1, count;
    if (slot->length != expected)
        return INVALID("Inconsistent max number of elements for feature %.*s: expected %" PRId64
                       ", but found %" PRId64,
                       KEY(f), expected, slot->length);
    TRY(dense_shape(parse, -1, &f->shape, &shape));
    TRY(tensor_create_pooled(parse->pool, f->dtype, &shape, values));
    for (int64_t e = 0; e < parse->batch; e++) {
        struct bytes name = name_of(parse, e);
        TRY(context_row(f, slot->protos[e], values, e * expected, &count));
        if (count != expected)
            return INVALID("Unexpected number of elements in example %.*s", (int)name.size,
                           name.data);
    }
    return status_ok();
}

static struct status list_dense_rows(struct sequence_parsing *parse, struct sequence_feature *f,
                                     struct bytes proto, int64_t example, int64_t at,
                                     int64_t *elements, int64_t *rows)
{
    struct sequence_wire wire = sequence_of(proto);
    struct bytes name = name_of(parse, example);
    int64_t expected = shape_size(&f->shape), count;
    if (proto.data == NULL && !f->may_be_missing)
        return INVALID("Name: %.*s, Feature list '%.*s' is required but could not be found.  Did "
                       "you mean to include it in feature_list_dense_missing_assumed_empty or "
                       "feature_list_dense_defaults?",
                       (int)name.size, name.data, KEY(f));
    while (!sequence_at_end(&wire)) {
        TRY(next_row(parse, f, &wire, example, *rows, place(&f->made[0], at + *elements), &count));
        if (count != expected)
            return INVALID("Name: %.*s, Key: %.*s, Index: %" PRId64
                           ".  Number of values != expected.  values size: %" PRId64
                           " but output shape: %s",
                           (int)name.size, name.data, KEY(f), *rows, count, shape_text(&f->shape));
        *elements += count;
        ++*rows;
    }
    return status_ok();
}

static struct status list_dense(struct sequence_parsing *parse, struct sequence_feature *f,
                                const struct sequence_slot *slot)
{
    struct shape shape, none = shape_scalar();
    int64_t each = shape_is_known(&f->shape) ? shape_size(&f->shape) : 0;
    if (each == 0 || slot->length % each != 0)
        return INVALID("Feature list '%.*s' has an unexpected number of values.  Total values "
                       "size: %" PRId64 " is not consistent with output shape: [?%s%s",
                       KEY(f), slot->length, f->shape.rank > 0 ? "," : "",
                       shape_text(&f->shape) + 1);
    TRY(dense_shape(parse, slot->length / each, &f->shape, &shape));
    TRY(tensor_create_pooled(parse->pool, f->dtype, &shape, &f->made[0]));
    TRY(dense_shape(parse, -1, &none, &shape));
    TRY(tensor_create_pooled(parse->pool, DT_INT64, &shape, &f->made[1]));
    for (int64_t e = 0; e < parse->batch; e++) {
        int64_t elements = 0, rows = 0, at = e * slot->length;
        TRY(list_dense_rows(parse, f, slot->protos[e], e, at, &elements, &rows));
        tensor_int64s_mut(&f->made[1])[e] = rows;
        clear(&f->made[0], at + elements, slot->length - elements);
    }
    return status_ok();
}

/* The destination of the elements of sparse and ragged features, example by example and row by
 * row. */
struct sequence_filling {
    struct tensor *values;
    int64_t *indices;             /* sparse: the next one; NULL otherwise */
    struct tensor *outer, *inner; /* ragged: splits of examples and rows; NULL otherwise */
    int64_t elements, rows;       /* so far */
    int64_t most_rows, most_columns;
};

static void put_indices(const struct sequence_parsing *parse, const struct sequence_side *side,
                        struct sequence_filling *filling, int64_t example, int64_t row,
                        int64_t count)
{
    for (int64_t i = 0; i < count && filling->indices != NULL; i++) {
        if (!parse->single)
            *filling->indices++ = example;
        if (side->is_list)
            *filling->indices++ = row;
        *filling->indices++ = i;
    }
}

static struct status fill_example(struct sequence_parsing *parse, const struct sequence_side *side,
                                  const struct sequence_feature *f, struct bytes proto,
                                  int64_t example, struct sequence_filling *filling)
{
    struct sequence_wire wire = sequence_of(proto);
    int64_t row = 0, count;
    while (!sequence_at_end(&wire)) {
        void *out = place(filling->values, filling->elements);
        if (side->is_list)
            TRY(next_row(parse, f, &wire, example, row, out, &count));
        else if ((count = sequence_values(&wire, f->dtype, out)) < 0)
            return INVALID("Unexpected total number of elements in feature %.*s", KEY(f));
        put_indices(parse, side, filling, example, row++, count);
        filling->elements += count;
        filling->rows++;
        if (count > filling->most_columns)
            filling->most_columns = count;
        if (filling->inner != NULL)
            tensor_set_index(filling->inner, filling->rows, filling->elements);
        if (!side->is_list)
            break; /* TensorFlow ignores what follows the list of a context feature */
    }
    if (row > filling->most_rows)
        filling->most_rows = row;
    return status_ok();
}

static struct status sparse_results(struct sequence_parsing *parse,
                                    const struct sequence_side *side, struct sequence_feature *f,
                                    const struct sequence_slot *slot)
{
    int rank = (parse->single ? 0 : 1) + (side->is_list ? 1 : 0) + 1, at = 0;
    struct shape indices = shape_of(slot->length, rank), values = shape_of(slot->length),
                 line = shape_of(rank);
    TRY(tensor_create_pooled(parse->pool, DT_INT64, &indices, &f->made[0]));
    TRY(tensor_create_pooled(parse->pool, f->dtype, &values, &f->made[1]));
    TRY(tensor_create_pooled(parse->pool, DT_INT64, &line, &f->made[2]));
    struct sequence_filling filling = { .values = &f->made[1],
                                        .indices = tensor_int64s_mut(&f->made[0]) };
    for (int64_t e = 0; e < parse->batch; e++)
        TRY(fill_example(parse, side, f, slot->protos[e], e, &filling));
    int64_t *shape = tensor_int64s_mut(&f->made[2]);
    if (!parse->single)
        shape[at++] = parse->batch;
    if (side->is_list)
        shape[at++] = filling.most_rows;
    shape[at] = filling.most_columns;
    return status_ok();
}

static struct status check_splits(const struct sequence_feature *f,
                                  const struct sequence_slot *slot)
{
    int64_t most = slot->length > slot->rows ? slot->length : slot->rows;
    if (f->splits_type == DT_INT32 && most > INT32_MAX)
        return INVALID("%" PRId64 " ragged values do not fit row splits of type int32", most);
    return status_ok();
}

static struct status ragged_results(struct sequence_parsing *parse,
                                    const struct sequence_side *side, struct sequence_feature *f,
                                    const struct sequence_slot *slot)
{
    struct shape values = shape_of(slot->length), inner = shape_of(slot->rows + 1);
    struct shape outer = parse->single ? shape_scalar() : shape_of(parse->batch + 1);
    TRY(check_splits(f, slot));
    TRY(tensor_create_pooled(parse->pool, f->dtype, &values, &f->made[0]));
    TRY(tensor_create_pooled(parse->pool, f->splits_type, &outer, &f->made[1]));
    struct sequence_filling filling = { .values = &f->made[0], .outer = &f->made[1] };
    tensor_set_index(filling.outer, 0, 0);
    if (side->is_list) {
        TRY(tensor_create_pooled(parse->pool, f->splits_type, &inner, &f->made[2]));
        filling.inner = &f->made[2];
        tensor_set_index(filling.inner, 0, 0);
    }
    for (int64_t e = 0; e < parse->batch; e++) {
        TRY(fill_example(parse, side, f, slot->protos[e], e, &filling));
        if (!parse->single)
            tensor_set_index(filling.outer, e + 1, side->is_list ? filling.rows : filling.elements);
    }
    return status_ok();
}

static struct status make_results(struct sequence_parsing *parse, struct sequence_side *side)
{
    for (int i = 0; i < side->features->count; i++) {
        struct sequence_feature *f = &side->features->items[i];
        const struct sequence_slot *slot = side->slot_of[i];
        if (f->form == EXAMPLE_SPARSE)
            TRY(sparse_results(parse, side, f, slot));
        else if (f->form == EXAMPLE_RAGGED)
            TRY(ragged_results(parse, side, f, slot));
        else
            TRY((side->is_list ? list_dense : context_dense)(parse, f, slot));
    }
    return status_ok();
}

static struct status parse_all(struct sequence_parsing *parse)
{
    TRY(add_slots(parse, &parse->sides[0]));
    TRY(add_slots(parse, &parse->sides[1]));
    for (int64_t e = 0; e < parse->batch; e++)
        TRY(collect(parse, e));
    TRY(measure(parse, &parse->sides[0]));
    TRY(measure(parse, &parse->sides[1]));
    TRY(make_results(parse, &parse->sides[0]));
    return make_results(parse, &parse->sides[1]);
}

static void finish(struct sequence_side *side)
{
    for (int i = 0; i < side->slots_count; i++)
        tensor_release(&side->slots[i].held);
    map_finish(&side->by_key);
    free(side->slots);
    free(side->slot_of);
}

struct status sequence_parse(struct sequence_spec *spec, const struct tensor *serialized,
                             const struct tensor *names, struct tensor_pool *pool)
{
    if (serialized->shape.rank > 1)
        return INVALID("Expected serialized to be a scalar or vector, got shape: %s",
                       shape_text(&serialized->shape));
    if (names->size > 0 && names->size != serialized->size)
        return INVALID("example_names must be empty or have the correct number of elements");
    struct sequence_parsing parse = {
        .serialized = tensor_strings(serialized),
        .names = names->size > 0 ? tensor_strings(names) : NULL,
        .pool = pool,
        .batch = serialized->size,
        .single = serialized->shape.rank == 0,
        .sides = { { .features = &spec->context, .what = "Context" },
                   { .features = &spec->lists, .what = "Sequence", .is_list = true } },
        .check = spec->check,
        .check_context = spec->check_context,
    };
    struct status status = parse_all(&parse);
    finish(&parse.sides[0]);
    finish(&parse.sides[1]);
    return status;
}

void sequence_release(struct sequence_spec *spec)
{
    struct sequence_features *sides[] = { &spec->context, &spec->lists };
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sides[s]->count; i++)
            tensors_release(SEQUENCE_MADE_MAX, sides[s]->items[i].made);
}
