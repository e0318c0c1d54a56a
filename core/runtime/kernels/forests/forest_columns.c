/* The columns of data_spec.pb, and the model's features among them. */
#include <math.h>

#include "runtime/kernels/forests/forest_reader.h"
#include "runtime/kernels/forests/forest_walk.h"

/* The fields that are read, by message. */
enum data_spec_field { DATA_SPEC_COLUMN = 1 };
enum column_field {
    COLUMN_TYPE = 1,
    COLUMN_NAME = 2,
    COLUMN_NUMERICAL = 5,
    COLUMN_CATEGORICAL = 6,
    COLUMN_DISCRETIZED = 8,
    COLUMN_BOOLEAN = 9
};
enum numerical_field { NUMERICAL_MEAN = 1 };
enum discretized_field { DISCRETIZED_BOUNDARY = 1 };
enum boolean_field { BOOLEAN_COUNT_TRUE = 1, BOOLEAN_COUNT_FALSE = 2 };

/* ---- data_spec.pb ---- */

static bool read_numerical(struct bytes bytes, struct forest_column *column)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (wire_is(&field, NUMERICAL_MEAN, WIRE_FIXED64))
            column->mean = double_of_bits(field.value);
    return !wire.damaged;
}

static bool read_categorical(struct bytes bytes, struct forest_column *column)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    column->categorical = bytes;
    while (wire_next(&wire, &field))
        if (!field_get_int(&field, CATEGORICAL_MOST_FREQUENT, &column->most_frequent) &&
            !field_get_int(&field, CATEGORICAL_COUNT, &column->values_count))
            field_get_flag(&field, CATEGORICAL_IS_INTEGER, &column->is_integer);
    return !wire.damaged && column->values_count >= 0 && column->values_count <= INT32_MAX;
}

static bool read_discretized(struct bytes bytes, struct forest_column *column)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field))
        field_get_text(&field, DISCRETIZED_BOUNDARY, &column->boundaries);
    return !wire.damaged;
}

static bool read_boolean(struct bytes bytes, struct forest_column *column)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (!field_get_int(&field, BOOLEAN_COUNT_TRUE, &column->true_count))
            field_get_int(&field, BOOLEAN_COUNT_FALSE, &column->false_count);
    return !wire.damaged;
}

static struct status read_column(struct bytes bytes, struct forest_column *column)
{
    static const struct {
        uint32_t number;
        bool (*read)(struct bytes bytes, struct forest_column *column);
    } specs[] = {
        { COLUMN_NUMERICAL, read_numerical },
        { COLUMN_CATEGORICAL, read_categorical },
        { COLUMN_DISCRETIZED, read_discretized },
        { COLUMN_BOOLEAN, read_boolean },
    };
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    *column = (struct forest_column){ .place = -1 };
    while (wire_next(&wire, &field)) {
        if (field_get_int(&field, COLUMN_TYPE, &column->type) ||
            field_get_text(&field, COLUMN_NAME, &column->name))
            continue;
        for (size_t i = 0; i < COUNT(specs); i++)
            if (wire_is(&field, specs[i].number, WIRE_BYTES) && !specs[i].read(field.bytes, column))
                return forest_damaged("a column of data_spec.pb");
    }
    return wire.damaged ? forest_damaged("a column of data_spec.pb") : status_ok();
}

struct status forest_read_columns(struct forest_reader *r)
{
    struct wire wire = wire_of(r->source->data_spec);
    struct wire_field field;
    size_t count = 0;
    while (wire_next(&wire, &field))
        count += wire_is(&field, DATA_SPEC_COLUMN, WIRE_BYTES);
    if (wire.damaged || count > INT32_MAX)
        return forest_damaged("data_spec.pb");
    void *memory;
    TRY(r->source->may_take(r->source->argument, count * sizeof *r->columns));
    TRY(arena_reserve(r->scratch, count * sizeof *r->columns, &memory));
    r->columns = memory;
    wire = wire_of(r->source->data_spec);
    while (wire_next(&wire, &field))
        if (wire_is(&field, DATA_SPEC_COLUMN, WIRE_BYTES))
            TRY(read_column(field.bytes, &r->columns[r->columns_count++]));
    return status_ok();
}

/* ---- features ---- */

/* Each feature is the next column of its input. */
static struct status place_feature(struct forest_reader *r, int64_t index)
{
    if (index < 0 || index >= r->columns_count)
        return forest_damaged("a feature that is no column");
    struct forest_column *column = &r->columns[index];
    int input = forest_input_of(column);
    if (input == FOREST_INPUTS)
        return status_error(
            STATUS_UNIMPLEMENTED, "Non supported feature type \"%lld\" for feature \"%.*s\".",
            (long long)column->type, (int)bytes_first(column->name, 100).size, column->name.data);
    if (column->place >= 0)
        return forest_damaged("a feature that stands there twice");
    column->place = r->forest->columns[input]++;
    return status_ok();
}

/* Without a value, the answer of a condition should be that for this one. An interval is chosen by
 * the mean in double precision, so that rounding must not lift the mean over a border. */
static uint32_t usual_value(const struct forest_column *column)
{
    float mean = (float)column->mean;
    switch (column->type) {
    case CATEGORICAL:
        return column->most_frequent >= 0 && column->most_frequent < column->values_count
                   ? (uint32_t)column->most_frequent
                   : UINT32_MAX;
    case BOOLEAN:
        return column->true_count >= column->false_count;
    default:
        if (column->type == DISCRETIZED && mean > column->mean)
            mean = nextafterf(mean, -INFINITY);
        return forest_walk_number(mean);
    }
}

struct status forest_read_features(struct forest_reader *r)
{
    struct forest *forest = r->forest;
    struct wire wire = wire_of(r->source->header);
    struct wire_field field;
    uint64_t index;
    while (wire_next(&wire, &field))
        while (field.number == HEADER_FEATURE && forest_next_number(&field, WIRE_VARINT, &index))
            TRY(place_feature(r, (int32_t)index));
    forest->categories =
        ARENA_ARRAY(forest->arena, int32_t, forest->columns[FOREST_CATEGORIES] + 1);
    forest->set_values = ARENA_ARRAY(forest->arena, int32_t, forest->columns[FOREST_SETS] + 1);
    for (int i = 0; i < FOREST_SETS; i++)
        forest->usual[i] = ARENA_ARRAY(forest->arena, uint32_t, forest->columns[i] + 1);
    for (int i = 0; i < r->columns_count; i++) {
        const struct forest_column *column = &r->columns[i];
        int input = forest_input_of(column);
        if (column->place < 0)
            continue;
        if (input == FOREST_SETS)
            forest->set_values[column->place] = (int32_t)column->values_count;
        else
            forest->usual[input][column->place] = usual_value(column);
        if (input == FOREST_CATEGORIES)
            forest->categories[column->place] = (int32_t)column->values_count;
    }
    return status_ok();
}
