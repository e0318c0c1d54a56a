#include "runtime/kernels/forests/forest_parse.h"

#include "runtime/kernels/forests/forest_reader.h"
#include "runtime/kernels/forests/forest_walk.h"

/* The fields that are read, by message. */
enum item_field { ITEM_TEXT = 1, ITEM_VALUE = 2 };
enum item_value_field { ITEM_VALUE_INDEX = 1 };
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

#define CLASSES_MAX (1 << 20)

bool forest_next_number(struct wire_field *field, enum wire_type type, uint64_t *out)
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
        field_get_text(&field, HEADER_KIND, &kind);
    if (wire.damaged)
        return forest_damaged("header.pb");
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
        if (field_get_text(&field, HEADER_KIND, &kind))
            r->is_boosted = bytes_equal(kind, bytes_of("GRADIENT_BOOSTED_TREES"));
        else if (field.number == HEADER_POSTPROCESSOR)
            return status_error(STATUS_UNIMPLEMENTED, "decision forest: a postprocessor");
        else if (!field_get_int(&field, HEADER_TASK, &r->task) &&
                 !field_get_int(&field, HEADER_LABEL, &r->label))
            field_get_flag(&field, HEADER_IS_PROBABILITY, &r->is_probability);
    }
    if (wire.damaged)
        return forest_damaged("header.pb");
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
        if (!field_get_text(&field, ITEM_TEXT, text))
            field_get_text(&field, ITEM_VALUE, &value);
    if (wire.damaged)
        return false;
    wire = wire_of(value);
    while (wire_next(&wire, &field))
        field_get_int(&field, ITEM_VALUE_INDEX, index);
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
            return forest_damaged("a class of the label");
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
            return forest_damaged("no label");
        label = &r->columns[r->label];
        r->classes = label->values_count - 1; /* without the one for unknown values */
        if (r->classes < 1)
            return forest_damaged("no classes");
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
        if (!field_get_int(&field, TREES_SHARDS, &count))
            field_get_text(&field, TREES_FORMAT, &format);
    if (wire.damaged || count < 0 || count > FOREST_SHARDS_MAX)
        return forest_damaged("the header of the trees");
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
        if (field_get_int(&field, TREES_COUNT, &r->trees_count))
            continue;
        if (!r->is_boosted)
            field_get_flag(&field, TREES_VOTE, &r->votes);
        else if (!field_get_int(&field, TREES_LOSS, &r->loss) &&
                 !field_get_int(&field, TREES_EACH_ROUND, &r->each_round))
            field_get_flag(&field, TREES_LOGITS, &r->gives_logits);
    }
    if (wire.damaged || r->trees_count < 0 || r->trees_count > INT32_MAX || r->each_round < 1 ||
        r->each_round > INT32_MAX)
        return forest_damaged("the header of the trees");
    r->forest->trees_count = (int)r->trees_count;
    return status_ok();
}

/* Reads the initial sums of boosted trees. */
static struct status read_first(struct forest_reader *r)
{
    struct wire wire = wire_of(r->source->trees);
    struct wire_field field;
    uint64_t bits;
    int count = 0;
    while (r->is_boosted && wire_next(&wire, &field))
        while (field.number == TREES_FIRST && forest_next_number(&field, WIRE_FIXED32, &bits)) {
            if (count == r->forest->sums_count)
                return forest_damaged("initial predictions");
            r->forest->first[count++] = float_of_bits((uint32_t)bits);
        }
    return r->is_boosted && count != r->forest->sums_count ? forest_damaged("initial predictions")
                                                           : status_ok();
}

/* The index is the number of the loss in the file. */
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
        return forest_damaged("the number of trees of each round");
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

/* ---- everything ---- */

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
    TRY(forest_read_columns(r));
    TRY(forest_read_features(r));
    TRY(read_trees(r));
    TRY(name_outputs(r));
    TRY(choose_sums(r));
    r->is_imputed = !r->source->gives_leaves;
    TRY(forest_read_nodes(r));
    TRY(reserve_nodes(r));
    r->stores = true;
    TRY(forest_read_nodes(r));
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
