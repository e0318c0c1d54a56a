#include "runtime/kernels/forests/forest_parse.h"

#include <math.h>

#include "base/float_bits.h"
#include "proto/wire.h"
#include "runtime/kernels/forests/forest_walk.h"

/* The fields that are read, by message. */
enum header_field {
    HEADER_KIND = 1,
    HEADER_TASK = 2,
    HEADER_LABEL = 3,
    HEADER_FEATURE = 5,
    HEADER_IS_PROBABILITY = 8,
    HEADER_POSTPROCESSOR = 16
};
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
enum categorical_field {
    CATEGORICAL_MOST_FREQUENT = 1,
    CATEGORICAL_COUNT = 2,
    CATEGORICAL_IS_INTEGER = 5,
    CATEGORICAL_ITEM = 7
};
enum item_field { ITEM_TEXT = 1, ITEM_VALUE = 2 };
enum item_value_field { ITEM_VALUE_INDEX = 1 };
enum discretized_field { DISCRETIZED_BOUNDARY = 1 };
enum boolean_field { BOOLEAN_COUNT_TRUE = 1, BOOLEAN_COUNT_FALSE = 2 };
enum trees_field {
    TREES_SHARDS = 1,
    TREES_COUNT = 2,
    TREES_VOTE = 3, /* of a random forest */
    TREES_LOSS = 3, /* of boosted trees, as the rest */
    TREES_FIRST = 4,
    TREES_EACH_ROUND = 5,
    TREES_FORMAT = 7,
    TREES_LOGITS = 9
};
enum node_field { NODE_CLASSIFIER = 1, NODE_REGRESSOR = 2, NODE_CONDITION = 3, NODE_UPLIFT = 5 };
enum leaf_field { LEAF_TOP = 1, CLASSIFIER_COUNTS = 2, UPLIFT_EFFECT = 4 };
enum counts_field { COUNTS_COUNT = 1, COUNTS_SUM = 2 };
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

#define CLASSES_MAX (1 << 20)

enum forest_task { CLASSIFICATION = 1, REGRESSION, RANKING, CATEGORICAL_UPLIFT, NUMERICAL_UPLIFT };
enum forest_column_type {
    NUMERICAL = 1,
    CATEGORICAL = 4,
    CATEGORICAL_SET = 5,
    BOOLEAN = 7,
    DISCRETIZED = 9
};

struct forest_column {
    int64_t type;
    struct bytes name, boundaries, categorical;
    double mean;
    int64_t most_frequent, values_count;
    int64_t true_count, false_count;
    bool is_integer;
    int place; /* in its input; -1: no feature of the model */
};

struct forest_reader {
    const struct forest_source *source;
    struct arena *scratch;
    struct forest *forest;

    bool is_boosted, is_probability;
    int64_t task, label;

    struct forest_column *columns;
    int columns_count;
    int64_t classes;

    int64_t trees_count, loss, each_round;
    bool votes, gives_logits;

    /* The nodes are read twice: once to count them, and once to store them. */
    bool stores;
    size_t nodes, words;
    int64_t trees;
    size_t open;   /* conditions of the tree whose positive child has not begun */
    uint32_t last; /* the innermost of these; each is linked to the next by forest_node.next */
    uint32_t leaves;
    bool in_tree;
    /* Does each condition answer for a missing value as for the usual value? Then TensorFlow runs
     * the forest with its fast engines, which know no missing values. */
    bool is_imputed;
};

static struct status damaged(const char *what)
{
    return status_error(STATUS_DATA_LOSS, "decision forest: %s", what);
}

/* ---- fields ---- */

/* The next number of a repeated field, packed or not: of `type` bytes. */
static bool next_number(struct wire_field *field, enum wire_type type, uint64_t *out)
{
    if (field->type == type) {
        *out = field->value;
        field->type = WIRE_GROUP_END;
        return true;
    }
    if (field->type != WIRE_BYTES || field->bytes.size == 0)
        return false;
    const char *at = field->bytes.data, *end = at + field->bytes.size;
    if (type == WIRE_VARINT) {
        if (!varint_get(&at, end, out))
            return false;
    } else {
        size_t size = type == WIRE_FIXED32 ? 4 : 8;
        if (field->bytes.size < size)
            return false;
        *out = size == 4 ? get_u32le(at) : get_u64le(at);
        at += size;
    }
    field->bytes = (struct bytes){ at, (size_t)(end - at) };
    return true;
}

static double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool read_int(const struct wire_field *field, uint32_t number, int64_t *out)
{
    if (!wire_is(field, number, WIRE_VARINT))
        return false;
    *out = (int64_t)field->value;
    return true;
}

static bool read_flag(const struct wire_field *field, uint32_t number, bool *out)
{
    if (!wire_is(field, number, WIRE_VARINT))
        return false;
    *out = field->value != 0;
    return true;
}

static bool read_text(const struct wire_field *field, uint32_t number, struct bytes *out)
{
    if (!wire_is(field, number, WIRE_BYTES))
        return false;
    *out = field->bytes;
    return true;
}

static bool read_float(const struct wire_field *field, uint32_t number, float *out)
{
    if (!wire_is(field, number, WIRE_FIXED32))
        return false;
    *out = float_of_bits((uint32_t)field->value);
    return true;
}

/* ---- header.pb ---- */

static const struct {
    const char *name, *file;
} kinds[] = {
    { "RANDOM_FOREST", "random_forest_header.pb" },
    { "GRADIENT_BOOSTED_TREES", "gradient_boosted_trees_header.pb" },
};

struct status forest_trees_file(struct bytes header, const char **out)
{
    struct wire wire = wire_of(header);
    struct wire_field field;
    struct bytes kind = { "", 0 };
    while (wire_next(&wire, &field))
        read_text(&field, HEADER_KIND, &kind);
    if (wire.damaged)
        return damaged("header.pb");
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (bytes_equal(kind, bytes_of(kinds[i].name))) {
            *out = kinds[i].file;
            return status_ok();
        }
    }
    return status_error(STATUS_UNIMPLEMENTED, "decision forest: a model of the kind '%.*s'",
                        (int)bytes_first(kind, 100).size, kind.data);
}

static struct status read_header(struct forest_reader *r)
{
    struct wire wire = wire_of(r->source->header);
    struct wire_field field;
    r->is_probability = true;
    r->label = -1;
    while (wire_next(&wire, &field)) {
        struct bytes kind;
        if (read_text(&field, HEADER_KIND, &kind))
            r->is_boosted = bytes_equal(kind, bytes_of("GRADIENT_BOOSTED_TREES"));
        else if (field.number == HEADER_POSTPROCESSOR)
            return status_error(STATUS_UNIMPLEMENTED, "decision forest: a postprocessor");
        else if (!read_int(&field, HEADER_TASK, &r->task) &&
                 !read_int(&field, HEADER_LABEL, &r->label))
            read_flag(&field, HEADER_IS_PROBABILITY, &r->is_probability);
    }
    if (wire.damaged)
        return damaged("header.pb");
    return status_ok();
}

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
        if (!read_int(&field, CATEGORICAL_MOST_FREQUENT, &column->most_frequent) &&
            !read_int(&field, CATEGORICAL_COUNT, &column->values_count))
            read_flag(&field, CATEGORICAL_IS_INTEGER, &column->is_integer);
    return !wire.damaged && column->values_count >= 0 && column->values_count <= INT32_MAX;
}

static bool read_discretized(struct bytes bytes, struct forest_column *column)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field))
        read_text(&field, DISCRETIZED_BOUNDARY, &column->boundaries);
    return !wire.damaged;
}

static bool read_boolean(struct bytes bytes, struct forest_column *column)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (!read_int(&field, BOOLEAN_COUNT_TRUE, &column->true_count))
            read_int(&field, BOOLEAN_COUNT_FALSE, &column->false_count);
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
        if (read_int(&field, COLUMN_TYPE, &column->type) ||
            read_text(&field, COLUMN_NAME, &column->name))
            continue;
        for (size_t i = 0; i < COUNT(specs); i++)
            if (wire_is(&field, specs[i].number, WIRE_BYTES) && !specs[i].read(field.bytes, column))
                return damaged("a column of data_spec.pb");
    }
    return wire.damaged ? damaged("a column of data_spec.pb") : status_ok();
}

static struct status read_columns(struct forest_reader *r)
{
    struct wire wire = wire_of(r->source->data_spec);
    struct wire_field field;
    size_t count = 0;
    while (wire_next(&wire, &field))
        count += wire_is(&field, DATA_SPEC_COLUMN, WIRE_BYTES);
    if (wire.damaged || count > INT32_MAX)
        return damaged("data_spec.pb");
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

static int input_of(const struct forest_column *column)
{
    switch (column->type) {
    case NUMERICAL:
    case DISCRETIZED:
        return FOREST_NUMBERS;
    case BOOLEAN:
        return FOREST_TRUTHS;
    case CATEGORICAL:
        return FOREST_CATEGORIES;
    case CATEGORICAL_SET:
        return FOREST_SETS;
    default:
        return FOREST_INPUTS;
    }
}

/* Each feature is the next column of its input. */
static struct status place_feature(struct forest_reader *r, int64_t index)
{
    if (index < 0 || index >= r->columns_count)
        return damaged("a feature that is no column");
    struct forest_column *column = &r->columns[index];
    int input = input_of(column);
    if (input == FOREST_INPUTS)
        return status_error(
            STATUS_UNIMPLEMENTED, "Non supported feature type \"%lld\" for feature \"%.*s\".",
            (long long)column->type, (int)bytes_first(column->name, 100).size, column->name.data);
    if (column->place >= 0)
        return damaged("a feature that stands there twice");
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

static struct status read_features(struct forest_reader *r)
{
    struct forest *forest = r->forest;
    struct wire wire = wire_of(r->source->header);
    struct wire_field field;
    uint64_t index;
    while (wire_next(&wire, &field))
        while (field.number == HEADER_FEATURE && next_number(&field, WIRE_VARINT, &index))
            TRY(place_feature(r, (int32_t)index));
    forest->categories =
        ARENA_ARRAY(forest->arena, int32_t, forest->columns[FOREST_CATEGORIES] + 1);
    forest->set_values = ARENA_ARRAY(forest->arena, int32_t, forest->columns[FOREST_SETS] + 1);
    for (int i = 0; i < FOREST_SETS; i++)
        forest->usual[i] = ARENA_ARRAY(forest->arena, uint32_t, forest->columns[i] + 1);
    for (int i = 0; i < r->columns_count; i++) {
        const struct forest_column *column = &r->columns[i];
        int input = input_of(column);
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

/* ---- outputs ---- */

static struct bytes keep_text(struct arena *arena, struct bytes text)
{
    return (struct bytes){ arena_memdup(arena, text.data, text.size), text.size };
}

static bool read_item(struct bytes bytes, struct bytes *text, int64_t *index)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    struct bytes value = { "", 0 };
    *text = value;
    *index = 0;
    while (wire_next(&wire, &field))
        if (!read_text(&field, ITEM_TEXT, text))
            read_text(&field, ITEM_VALUE, &value);
    if (wire.damaged)
        return false;
    wire = wire_of(value);
    while (wire_next(&wire, &field))
        read_int(&field, ITEM_VALUE_INDEX, index);
    return !wire.damaged;
}

static struct status name_classes(struct forest_reader *r, const struct forest_column *label)
{
    struct forest *forest = r->forest;
    struct wire wire = wire_of(label->categorical);
    struct wire_field field;
    while (!label->is_integer && wire_next(&wire, &field)) {
        struct bytes text;
        int64_t index;
        if (!wire_is(&field, CATEGORICAL_ITEM, WIRE_BYTES))
            continue;
        if (!read_item(field.bytes, &text, &index))
            return damaged("a class of the label");
        if (index >= 1 && index <= r->classes && forest->names[index - 1].data == NULL)
            forest->names[index - 1] = keep_text(forest->arena, text);
    }
    for (int i = 0; i < forest->outputs_count; i++)
        if (forest->names[i].data == NULL)
            forest->names[i] =
                bytes_of(arena_printf(forest->arena, label->is_integer ? "%d" : "NA(%d)", i + 1));
    return status_ok();
}

static struct status name_outputs(struct forest_reader *r)
{
    struct forest *forest = r->forest;
    const struct forest_column *label = NULL;
    forest->outputs_count = 1;
    if (r->task == CLASSIFICATION) {
        if (r->label < 0 || r->label >= r->columns_count)
            return damaged("no label");
        label = &r->columns[r->label];
        r->classes = label->values_count - 1; /* without the one for unknown values */
        if (r->classes < 1)
            return damaged("no classes");
        if (r->classes > CLASSES_MAX)
            return status_error(STATUS_UNIMPLEMENTED, "decision forest: %lld classes",
                                (long long)r->classes);
        if (r->classes != 2 || r->is_probability)
            forest->outputs_count = (int)r->classes;
    }
    size_t count = (size_t)forest->outputs_count;
    TRY(r->source->may_take(r->source->argument, count * 2 * sizeof *forest->names));
    forest->names = ARENA_ARRAY(forest->arena, struct bytes, count);
    if (label != NULL && forest->outputs_count == (int)r->classes)
        return name_classes(r, label);
    forest->names[0] = bytes_of(label != NULL ? "logit" : "");
    return status_ok();
}

/* ---- the header of the trees ---- */

struct status forest_nodes_count(struct bytes trees, int *out)
{
    static const char *const formats[] = { "BLOB_SEQUENCE", "BLOB_SEQUENCE_GZIP" };
    struct wire wire = wire_of(trees);
    struct wire_field field;
    struct bytes format = bytes_of("TFE_RECORDIO");
    int64_t count = 0;
    while (wire_next(&wire, &field))
        if (!read_int(&field, TREES_SHARDS, &count))
            read_text(&field, TREES_FORMAT, &format);
    if (wire.damaged || count < 0 || count > FOREST_SHARDS_MAX)
        return damaged("the header of the trees");
    *out = (int)count;
    if (BYTES_FIND(format, formats) >= 0)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED, "decision forest: nodes in the format '%.*s'",
                        (int)bytes_first(format, 100).size, format.data);
}

static struct status read_trees(struct forest_reader *r)
{
    struct wire wire = wire_of(r->source->trees);
    struct wire_field field;
    r->each_round = 1;
    r->votes = true;
    while (wire_next(&wire, &field)) {
        if (read_int(&field, TREES_COUNT, &r->trees_count))
            continue;
        if (!r->is_boosted)
            read_flag(&field, TREES_VOTE, &r->votes);
        else if (!read_int(&field, TREES_LOSS, &r->loss) &&
                 !read_int(&field, TREES_EACH_ROUND, &r->each_round))
            read_flag(&field, TREES_LOGITS, &r->gives_logits);
    }
    if (wire.damaged || r->trees_count < 0 || r->trees_count > INT32_MAX || r->each_round < 1 ||
        r->each_round > INT32_MAX)
        return damaged("the header of the trees");
    r->forest->trees_count = (int)r->trees_count;
    return status_ok();
}

/* What the sums of boosted trees begin with. */
static struct status read_first(struct forest_reader *r)
{
    struct wire wire = wire_of(r->source->trees);
    struct wire_field field;
    uint64_t bits;
    int count = 0;
    while (r->is_boosted && wire_next(&wire, &field))
        while (field.number == TREES_FIRST && next_number(&field, WIRE_FIXED32, &bits)) {
            if (count == r->forest->sums_count)
                return damaged("initial predictions");
            r->forest->first[count++] = float_of_bits((uint32_t)bits);
        }
    return r->is_boosted && count != r->forest->sums_count ? damaged("initial predictions")
                                                           : status_ok();
}

/* By the number of the loss. */
static const struct {
    unsigned tasks; /* 1 << enum forest_task */
    enum forest_finish finish;
} losses[] = {
    [1] = { 1u << CLASSIFICATION, FOREST_SIGMOID },              /* binomial */
    [2] = { 1u << REGRESSION | 1u << RANKING, FOREST_AS_IT_IS }, /* squared error */
    [3] = { 1u << CLASSIFICATION, FOREST_SOFTMAX },              /* multinomial */
    [4] = { 1u << RANKING, FOREST_AS_IT_IS },                    /* LambdaMART NDCG5 */
    [5] = { 1u << RANKING, FOREST_AS_IT_IS },                    /* XE-NDCG-MART */
    [6] = { 1u << CLASSIFICATION, FOREST_SIGMOID },              /* focal */
    [7] = { 1u << REGRESSION, FOREST_EXP },                      /* Poisson */
    [8] = { 1u << REGRESSION, FOREST_AS_IT_IS },                 /* mean absolute error */
    [9] = { 1u << RANKING, FOREST_AS_IT_IS },                    /* LambdaMART NDCG */
};

static struct status choose_boosted(struct forest_reader *r)
{
    struct forest *forest = r->forest;
    if (r->loss < 0 || r->loss >= (int64_t)COUNT(losses) || r->task < 0 || r->task > 31 ||
        (losses[r->loss].tasks & 1u << r->task) == 0)
        return status_error(STATUS_UNIMPLEMENTED,
                            "decision forest: boosted trees with loss %lld for task %lld",
                            (long long)r->loss, (long long)r->task);
    forest->finish =
        r->gives_logits && r->task == CLASSIFICATION ? FOREST_AS_IT_IS : losses[r->loss].finish;
    forest->sums_count = (int)r->each_round;
    bool is_softmax = losses[r->loss].finish == FOREST_SOFTMAX;
    int64_t wanted = is_softmax ? r->classes : 1;
    if (r->each_round != wanted || (r->task == CLASSIFICATION && !is_softmax && r->classes != 2))
        return damaged("the number of trees of each round");
    return status_ok();
}

static struct status choose_sums(struct forest_reader *r)
{
    struct forest *forest = r->forest;
    if (r->is_boosted)
        TRY(choose_boosted(r));
    else if (r->task == CLASSIFICATION)
        forest->sums_count = (int)r->classes;
    else if (r->task == REGRESSION || r->task == CATEGORICAL_UPLIFT || r->task == NUMERICAL_UPLIFT)
        forest->sums_count = 1;
    else
        return status_error(STATUS_UNIMPLEMENTED, "decision forest: task %lld of a random forest",
                            (long long)r->task);
    forest->is_pair = forest->sums_count == 1 && forest->outputs_count == 2;
    if (!forest->is_pair && forest->sums_count != forest->outputs_count)
        return status_error(STATUS_UNIMPLEMENTED,
                            "decision forest: %d sums of leaves for %d outputs", forest->sums_count,
                            forest->outputs_count);
    size_t bytes = (size_t)forest->sums_count * sizeof *forest->first;
    TRY(r->source->may_take(r->source->argument, bytes));
    forest->first = ARENA_ARRAY(forest->arena, float, forest->sums_count);
    return read_first(r);
}

/* ---- nodes ---- */

/* Room for words at node->at; NULL while they are only counted. */
static uint32_t *take_words(struct forest_reader *r, struct forest_node *node, size_t count)
{
    node->at = (uint32_t)r->words;
    r->words += count;
    return r->stores ? &r->forest->words[node->at] : NULL;
}

static struct status read_counts(struct forest_reader *r, struct bytes bytes,
                                 struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    struct bytes counts = { "", 0 };
    double sum = 0;
    while (wire_next(&wire, &field))
        if (!read_text(&field, COUNTS_COUNT, &counts) && wire_is(&field, COUNTS_SUM, WIRE_FIXED64))
            sum = double_of_bits(field.value);
    if (wire.damaged || counts.size != (size_t)(r->classes + 1) * sizeof(double))
        return damaged("the distribution of a leaf");
    node->kind = FOREST_LEAF_OF_MANY;
    uint32_t *words = take_words(r, node, (size_t)r->classes);
    for (int64_t i = 0; words != NULL && i < r->classes; i++) {
        double count = double_of_bits(get_u64le(counts.data + (i + 1) * (int64_t)sizeof(double)));
        words[i] = bits_of_float((float)(count / (sum * (double)r->trees_count)));
    }
    return status_ok();
}

static struct status read_classifier(struct forest_reader *r, struct bytes bytes,
                                     struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    struct bytes counts = { "", 0 };
    int64_t top = 0;
    while (wire_next(&wire, &field))
        if (!read_int(&field, LEAF_TOP, &top))
            read_text(&field, CLASSIFIER_COUNTS, &counts);
    if (wire.damaged || top < 0 || top > r->classes)
        return damaged("the class of a leaf");
    if (!r->votes)
        return read_counts(r, counts, node);
    if (top > 0) { /* no output is for a vote of unknown values */
        node->place = (int32_t)top - 1;
        node->value = 1.0f / (float)r->trees_count;
    }
    return status_ok();
}

static struct status read_regressor(struct forest_reader *r, struct bytes bytes,
                                    struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field))
        read_float(&field, LEAF_TOP, &node->value);
    if (r->is_boosted)
        node->place = (int32_t)(r->trees % r->each_round);
    else
        node->value /= (float)r->trees_count;
    return wire.damaged ? damaged("the value of a leaf") : status_ok();
}

static struct status read_uplift(struct forest_reader *r, struct bytes bytes,
                                 struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    uint64_t bits;
    int count = 0;
    while (wire_next(&wire, &field))
        while (field.number == UPLIFT_EFFECT && next_number(&field, WIRE_FIXED32, &bits)) {
            node->value = float_of_bits((uint32_t)bits) / (float)r->trees_count;
            count++;
        }
    if (wire.damaged)
        return damaged("the effect of a leaf");
    return count == 1 ? status_ok()
                      : status_error(STATUS_UNIMPLEMENTED, "decision forest: %d treatments", count);
}

/* ---- conditions ---- */

static struct status find_feature(const struct forest_reader *r, int64_t index,
                                  const struct forest_column **out)
{
    if (index < 0 || index >= r->columns_count || r->columns[index].place < 0)
        return damaged("a condition on a column that is no feature");
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
        read_float(&field, 1, &node->value);
    if (wire.damaged || column->type != NUMERICAL)
        return damaged("a threshold");
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
        read_int(&field, 1, &least);
    if (wire.damaged || column->type != DISCRETIZED)
        return damaged("an interval");
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
    return column->type == BOOLEAN ? status_ok() : damaged("a truth value");
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
        while (field.number == 1 && next_number(&field, WIRE_VARINT, &number)) {
            int64_t value = (int32_t)number;
            if (value <= before || value >= column->values_count)
                return damaged("the values of a condition");
            if (bits != NULL)
                bits[value / 32] |= 1u << value % 32;
            if (list != NULL)
                list[*count] = (uint32_t)value;
            ++*count;
            *has_usual = *has_usual || value == column->most_frequent;
            before = value;
        }
    }
    return wire.damaged || !has_values(column) ? damaged("the values of a condition") : status_ok();
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
    uint32_t *words = take_words(r, node, size);
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
        read_text(&field, 1, &bits);
    if (wire.damaged || !has_values(column) || bits.size > INT32_MAX / 8 ||
        (int64_t)bits.size * 8 < column->values_count)
        return damaged("the values of a condition");
    size_t count = (bits.size + 3) / 4;
    uint32_t *words = take_words(r, node, count);
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
            read_float(&field, OBLIQUE_THRESHOLD, &out->threshold);
    }
    return !wire.damaged;
}

/* The value that replaces a missing one. An older model does not store it. */
static uint32_t replacement(const struct forest_reader *r, struct oblique *oblique,
                            const struct forest_column *column)
{
    uint64_t bits;
    if (next_number(&oblique->replacements, WIRE_FIXED32, &bits))
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
        return damaged("an oblique condition");
    node->value = oblique.threshold;
    node->at = (uint32_t)r->words;
    while (next_number(&oblique.columns, WIRE_VARINT, &index)) {
        const struct forest_column *term;
        TRY(find_feature(r, (int32_t)index, &term));
        if (input_of(term) != FOREST_NUMBERS ||
            !next_number(&oblique.weights, WIRE_FIXED32, &weight))
            return damaged("an oblique condition");
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
        return damaged("a condition");
    if (type.number == 0 || type.number >= COUNT(readers))
        return status_error(STATUS_UNIMPLEMENTED, "decision forest: a condition of type %u",
                            type.number);
    return readers[type.number](r, column, type.bytes, node);
}

static struct status read_condition(struct forest_reader *r, struct bytes bytes,
                                    struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    struct bytes type = { "", 0 };
    const struct forest_column *column;
    int64_t index = 0;
    while (wire_next(&wire, &field))
        if (!read_flag(&field, CONDITION_IF_MISSING, &node->if_missing) &&
            !read_int(&field, CONDITION_COLUMN, &index))
            read_text(&field, CONDITION_TYPE, &type);
    if (wire.damaged)
        return damaged("a condition");
    TRY(find_feature(r, index, &column));
    node->input = (uint8_t)input_of(column);
    node->place = column->place;
    return read_type(r, column, type, node);
}

/*
 * ---- files of nodes ----
 *
 *     'B' 'S'  version (16 bits)  compression (version 1: 0 none, 1 gzip)  three bytes of 0
 *     then, perhaps compressed, for each node: its length (32 bits), and the node
 */
#define NODES_HEAD_BYTES 8

struct status forest_nodes_body(struct bytes *file, bool *is_gzip)
{
    if (file->size < NODES_HEAD_BYTES || file->data[0] != 'B' || file->data[1] != 'S')
        return damaged("a file of nodes");
    unsigned version = get_u32le(file->data) >> 16;
    int compression = version == 0 ? 0 : (unsigned char)file->data[4];
    if (version > 1 || compression > 1)
        return status_error(STATUS_UNIMPLEMENTED,
                            "decision forest: nodes of version %u with compression %d", version,
                            compression);
    *is_gzip = compression == 1;
    *file = (struct bytes){ file->data + NODES_HEAD_BYTES, file->size - NODES_HEAD_BYTES };
    return status_ok();
}

/* ---- trees ---- */

static struct status read_leaf(struct forest_reader *r, const struct wire_field *leaf,
                               struct forest_node *node)
{
    uint32_t wanted = r->task == CATEGORICAL_UPLIFT || r->task == NUMERICAL_UPLIFT ? NODE_UPLIFT
                      : r->task == CLASSIFICATION && !r->is_boosted                ? NODE_CLASSIFIER
                                                                                   : NODE_REGRESSOR;
    node->kind = FOREST_LEAF;
    if (leaf->number != wanted)
        return damaged("a leaf without a value");
    if (wanted == NODE_UPLIFT)
        return read_uplift(r, leaf->bytes, node);
    return wanted == NODE_CLASSIFIER ? read_classifier(r, leaf->bytes, node)
                                     : read_regressor(r, leaf->bytes, node);
}

static struct status read_node(struct forest_reader *r, struct bytes bytes,
                               struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field, condition = { .number = 0 }, leaf = { .number = 0 };
    *node = (struct forest_node){ .at = 0 };
    while (wire_next(&wire, &field)) {
        if (field.type != WIRE_BYTES)
            continue;
        if (field.number == NODE_CONDITION)
            condition = field;
        else if (field.number == NODE_CLASSIFIER || field.number == NODE_REGRESSOR ||
                 field.number == NODE_UPLIFT)
            leaf = field;
    }
    if (wire.damaged)
        return damaged("a node");
    return condition.number != 0 ? read_condition(r, condition.bytes, node)
                                 : read_leaf(r, &leaf, node);
}

/* After a leaf, the positive child of the innermost open condition begins; if no condition is
 * open, the tree ends. */
static void put_leaf(struct forest_reader *r, struct forest_node *node)
{
    node->next = r->leaves++;
    if (r->open == 0) {
        r->in_tree = false;
        r->trees++;
        return;
    }
    r->open--;
    if (!r->stores)
        return;
    struct forest_node *open = &r->forest->nodes[r->last];
    r->last = open->next;
    open->next = (uint32_t)r->nodes + 1;
}

static void put_node(struct forest_reader *r, struct forest_node *node)
{
    if (!r->in_tree) {
        r->in_tree = true;
        r->leaves = 0;
        if (r->stores)
            r->forest->roots[r->trees] = (uint32_t)r->nodes;
    }
    if (node->kind <= FOREST_LEAF_OF_MANY) {
        put_leaf(r, node);
    } else {
        node->next = r->last;
        r->last = (uint32_t)r->nodes;
        r->open++;
    }
    if (r->stores)
        r->forest->nodes[r->nodes] = *node;
    r->nodes++;
}

static struct status read_records(struct forest_reader *r, struct bytes records)
{
    while (records.size > 0 && r->trees < r->trees_count) {
        struct forest_node node;
        if (records.size < sizeof(uint32_t))
            return damaged("a file of nodes ends early");
        size_t size = get_u32le(records.data);
        if (size > records.size - sizeof(uint32_t))
            return damaged("a file of nodes ends early");
        TRY(read_node(r, (struct bytes){ records.data + sizeof(uint32_t), size }, &node));
        put_node(r, &node);
        records.data += sizeof(uint32_t) + size;
        records.size -= sizeof(uint32_t) + size;
        if (r->nodes >= UINT32_MAX || r->words > UINT32_MAX)
            return status_error(STATUS_UNIMPLEMENTED, "decision forest: more than 2^32 nodes");
    }
    return status_ok();
}

static struct status read_nodes(struct forest_reader *r)
{
    r->nodes = r->words = 0;
    r->trees = 0;
    r->open = r->last = 0;
    for (int i = 0; i < r->source->nodes_count; i++)
        TRY(read_records(r, r->source->nodes[i]));
    return r->trees == r->trees_count ? status_ok() : damaged("trees are missing");
}

static struct status reserve_nodes(struct forest_reader *r)
{
    struct forest *forest = r->forest;
    size_t nodes = r->nodes * sizeof *forest->nodes, words = r->words * sizeof *forest->words,
           roots = (size_t)r->trees_count * sizeof *forest->roots;
    void *memory;
    TRY(r->source->may_take(r->source->argument, nodes + words + roots));
    TRY(arena_reserve(forest->arena, nodes, &memory));
    forest->nodes = memory;
    TRY(arena_reserve(forest->arena, words, &memory));
    forest->words = memory;
    TRY(arena_reserve(forest->arena, roots, &memory));
    forest->roots = memory;
    return status_ok();
}

/* Without memory for a walk, the forest runs plainly. */
static struct status make_walk(struct forest_reader *r)
{
    struct forest *forest = r->forest;
    void *scratch;
    forest->nodes_count = r->nodes;
    forest->words_count = r->words;
    size_t scratch_bytes = r->nodes * sizeof(uint32_t);
    if (!r->is_imputed || !forest_walk_exists(forest) ||
        !status_is_ok(
            r->source->may_take(r->source->argument, forest_walk_bytes(forest) + scratch_bytes)))
        return status_ok();
    TRY(arena_reserve(r->scratch, scratch_bytes, &scratch));
    return forest_walk_make(forest, scratch);
}

static struct status read_all(struct forest_reader *r)
{
    TRY(read_header(r));
    TRY(read_columns(r));
    TRY(read_features(r));
    TRY(read_trees(r));
    TRY(name_outputs(r));
    TRY(choose_sums(r));
    r->is_imputed = !r->source->gives_leaves;
    TRY(read_nodes(r));
    TRY(reserve_nodes(r));
    r->stores = true;
    TRY(read_nodes(r));
    return make_walk(r);
}

struct status forest_parse(const struct forest_source *source, struct forest **out)
{
    struct arena *arena = arena_create(0);
    struct forest_reader reader = { .source = source,
                                    .scratch = arena_create(0),
                                    .forest = ARENA_NEW(arena, struct forest) };
    reader.forest->arena = arena;
    struct status status = read_all(&reader);
    arena_destroy(reader.scratch);
    if (status_is_ok(status))
        *out = reader.forest;
    else
        forest_destroy(reader.forest);
    return status;
}
