/* The conditions of nodes. */
#include <math.h>

#include "runtime/kernels/forests/forest_reader.h"

/* The fields that are read, by message. */
enum condition_field { CONDITION_IF_MISSING = 1, CONDITION_COLUMN = 2, CONDITION_TYPE = 3 };
enum condition_type {
    TYPE_MISSING = 1,
    TYPE_HIGHER = 2,
    TYPE_TRUE = 3,
    TYPE_LIST = 4,
    TYPE_BITS = 5,
    TYPE_DISCRETIZED = 6,
    TYPE_OBLIQUE = 7
};
enum oblique_field {
    OBLIQUE_COLUMN = 1,
    OBLIQUE_WEIGHT = 2,
    OBLIQUE_THRESHOLD = 3,
    OBLIQUE_REPLACEMENT = 4
};

/* ---- conditions ---- */

static struct status find_feature(const struct forest_reader *r, int64_t index,
                                  const struct forest_column **out)
{
    if (index < 0 || index >= r->columns_count || r->columns[index].place < 0)
        return forest_damaged("a condition on a column that is no feature");
    *out = &r->columns[index];
    return status_ok();
}

/* Without a value, the answer should be that for the mean, or for the most frequent value. */
static void check_imputed(struct forest_reader *r, const struct forest_node *node, bool usual)
{
    r->is_imputed = r->is_imputed && node->if_missing == usual;
}

static struct status read_higher(struct forest_reader *r, const struct forest_column *column,
                                 struct bytes bytes, struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    node->kind = FOREST_HIGHER;
    while (wire_next(&wire, &field))
        field_get_float(&field, 1, &node->value);
    if (wire.damaged || column->type != NUMERICAL)
        return forest_damaged("a threshold");
    check_imputed(r, node, (float)column->mean >= node->value);
    return status_ok();
}

/* The number of the interval that a value lies in: the value is compared with its border. */
static struct status read_interval(struct forest_reader *r, const struct forest_column *column,
                                   struct bytes bytes, struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    int64_t least = 0, borders = (int64_t)(column->boundaries.size / sizeof(float));
    node->kind = FOREST_HIGHER;
    while (wire_next(&wire, &field))
        field_get_int(&field, 1, &least);
    if (wire.damaged || column->type != DISCRETIZED)
        return forest_damaged("an interval");
    if (least <= 0)
        node->value = -INFINITY;
    else if (least > borders)
        node->value = NAN; /* no value is as high */
    else
        node->value = float_of_bits(get_u32le(column->boundaries.data + (least - 1) * 4));
    check_imputed(r, node, column->mean >= (double)node->value);
    return status_ok();
}

/* TensorFlow's engines differ for truth values that are neither 0 nor 1. */
static struct status read_true(struct forest_reader *r, const struct forest_column *column,
                               struct bytes bytes, struct forest_node *node)
{
    (void)bytes;
    node->kind = r->is_imputed ? FOREST_NOT_ZERO : FOREST_HIGHER;
    node->value = 0.5f;
    check_imputed(r, node, column->true_count >= column->false_count);
    return column->type == BOOLEAN ? status_ok() : forest_damaged("a truth value");
}

static struct status read_missing(struct forest_reader *r, const struct forest_column *column,
                                  struct bytes bytes, struct forest_node *node)
{
    (void)r, (void)column, (void)bytes;
    node->kind = FOREST_IS_MISSING;
    return status_ok();
}

static bool has_values(const struct forest_column *column)
{
    return column->type == CATEGORICAL || column->type == CATEGORICAL_SET;
}

/* The values of a list, which must rise: `bits`, if not NULL, become a bit for each, and `list` a
 * word for each. */
static struct status read_values(const struct forest_column *column, struct bytes bytes,
                                 uint32_t *bits, uint32_t *list, uint32_t *count, bool *has_usual)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    int64_t before = -1;
    *count = 0;
    *has_usual = false;
    while (wire_next(&wire, &field)) {
        uint64_t number;
        while (field.number == 1 && forest_next_number(&field, WIRE_VARINT, &number)) {
            int64_t value = (int32_t)number;
            if (value <= before || value >= column->values_count)
                return forest_damaged("the values of a condition");
            if (bits != NULL)
                bits[value / 32] |= 1u << value % 32;
            if (list != NULL)
                list[*count] = (uint32_t)value;
            ++*count;
            *has_usual = *has_usual || value == column->most_frequent;
            before = value;
        }
    }
    return wire.damaged || !has_values(column) ? forest_damaged("the values of a condition")
                                               : status_ok();
}

/* Bits are found faster, and forest_walk knows only these. Larger lists would take more memory as
 * bits. */
#define BITS_MAX 2048

static struct status read_list(struct forest_reader *r, const struct forest_column *column,
                               struct bytes bytes, struct forest_node *node)
{
    bool is_bits = column->values_count <= BITS_MAX, has_usual;
    TRY(read_values(column, bytes, NULL, NULL, &node->count, &has_usual));
    size_t size = is_bits ? (size_t)(column->values_count + 31) / 32 : node->count;
    uint32_t *words = forest_take_words(r, node, size);
    node->kind = is_bits ? FOREST_IN_BITS : FOREST_IN_LIST;
    if (words != NULL) {
        memset(words, 0, size * sizeof *words);
        TRY(read_values(column, bytes, is_bits ? words : NULL, is_bits ? NULL : words, &node->count,
                        &has_usual));
    }
    if (is_bits)
        node->count = (uint32_t)size * 32;
    if (column->type == CATEGORICAL)
        check_imputed(r, node, has_usual);
    return status_ok();
}

static struct status read_bits(struct forest_reader *r, const struct forest_column *column,
                               struct bytes bytes, struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    struct bytes bits = { "", 0 };
    int64_t usual = column->most_frequent;
    node->kind = FOREST_IN_BITS;
    while (wire_next(&wire, &field))
        field_get_text(&field, 1, &bits);
    if (wire.damaged || !has_values(column) || bits.size > INT32_MAX / 8 ||
        (int64_t)bits.size * 8 < column->values_count)
        return forest_damaged("the values of a condition");
    size_t count = (bits.size + 3) / 4;
    uint32_t *words = forest_take_words(r, node, count);
    node->count = (uint32_t)bits.size * 8;
    if (words != NULL && count > 0) {
        words[count - 1] = 0;
        memcpy(words, bits.data, bits.size);
    }
    if (column->type == CATEGORICAL)
        check_imputed(r, node,
                      usual >= 0 && usual < node->count &&
                          ((unsigned char)bits.data[usual / 8] >> (usual % 8) & 1) != 0);
    return status_ok();
}

/* The three lists of an oblique condition are read side by side. */
struct oblique {
    struct wire_field columns, weights, replacements;
    float threshold;
};

static bool read_oblique_fields(struct bytes bytes, struct oblique *out)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    *out = (struct oblique){ .columns.type = WIRE_GROUP_END,
                             .weights.type = WIRE_GROUP_END,
                             .replacements.type = WIRE_GROUP_END };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, OBLIQUE_COLUMN, WIRE_BYTES))
            out->columns = field;
        else if (wire_is(&field, OBLIQUE_WEIGHT, WIRE_BYTES))
            out->weights = field;
        else if (wire_is(&field, OBLIQUE_REPLACEMENT, WIRE_BYTES))
            out->replacements = field;
        else
            field_get_float(&field, OBLIQUE_THRESHOLD, &out->threshold);
    }
    return !wire.damaged;
}

/* The value that replaces a missing one. An older model does not store it. */
static uint32_t replacement(const struct forest_reader *r, struct oblique *oblique,
                            const struct forest_column *column)
{
    uint64_t bits;
    if (forest_next_number(&oblique->replacements, WIRE_FIXED32, &bits))
        return (uint32_t)bits;
    return bits_of_float(r->is_imputed ? (float)column->mean : NAN);
}

static struct status read_oblique(struct forest_reader *r, const struct forest_column *column,
                                  struct bytes bytes, struct forest_node *node)
{
    struct oblique oblique;
    uint64_t index, weight;
    (void)column;
    node->kind = FOREST_OBLIQUE;
    if (!read_oblique_fields(bytes, &oblique))
        return forest_damaged("an oblique condition");
    node->value = oblique.threshold;
    node->at = (uint32_t)r->words;
    while (forest_next_number(&oblique.columns, WIRE_VARINT, &index)) {
        const struct forest_column *term;
        TRY(find_feature(r, (int32_t)index, &term));
        if (forest_input_of(term) != FOREST_NUMBERS ||
            !forest_next_number(&oblique.weights, WIRE_FIXED32, &weight))
            return forest_damaged("an oblique condition");
        uint32_t filling = replacement(r, &oblique, term);
        if (r->stores) {
            uint32_t *words = &r->forest->words[r->words];
            words[0] = (uint32_t)term->place;
            words[1] = (uint32_t)weight;
            words[2] = filling;
        }
        r->words += FOREST_TERM_WORDS;
        node->count++;
    }
    return status_ok();
}

static struct status read_type(struct forest_reader *r, const struct forest_column *column,
                               struct bytes bytes, struct forest_node *node)
{
    static struct status (*const readers[])(struct forest_reader * r,
                                            const struct forest_column *column, struct bytes bytes,
                                            struct forest_node *node) = {
        [TYPE_MISSING] = read_missing, [TYPE_HIGHER] = read_higher,
        [TYPE_TRUE] = read_true,       [TYPE_LIST] = read_list,
        [TYPE_BITS] = read_bits,       [TYPE_DISCRETIZED] = read_interval,
        [TYPE_OBLIQUE] = read_oblique,
    };
    struct wire wire = wire_of(bytes);
    struct wire_field field, type = { .number = 0 };
    while (wire_next(&wire, &field))
        if (field.type == WIRE_BYTES)
            type = field;
    if (wire.damaged)
        return forest_damaged("a condition");
    if (type.number == 0 || type.number >= COUNT(readers))
        return status_error(STATUS_UNIMPLEMENTED, "decision forest: a condition of type %u",
                            type.number);
    return readers[type.number](r, column, type.bytes, node);
}

struct status forest_read_condition(struct forest_reader *r, struct bytes bytes,
                                    struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    struct bytes type = { "", 0 };
    const struct forest_column *column;
    int64_t index = 0;
    while (wire_next(&wire, &field))
        if (!field_get_flag(&field, CONDITION_IF_MISSING, &node->if_missing) &&
            !field_get_int(&field, CONDITION_COLUMN, &index))
            field_get_text(&field, CONDITION_TYPE, &type);
    if (wire.damaged)
        return forest_damaged("a condition");
    TRY(find_feature(r, index, &column));
    node->input = (uint8_t)forest_input_of(column);
    node->place = column->place;
    return read_type(r, column, type, node);
}
