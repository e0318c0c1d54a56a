/* Trees and their leaves. */
#include "runtime/kernels/forests/forest_reader.h"

/* The fields that are read, by message. */
enum node_field { NODE_CLASSIFIER = 1, NODE_REGRESSOR = 2, NODE_CONDITION = 3, NODE_UPLIFT = 5 };
enum leaf_field { LEAF_TOP = 1, CLASSIFIER_COUNTS = 2, UPLIFT_EFFECT = 4 };
enum counts_field { COUNTS_COUNT = 1, COUNTS_SUM = 2 };

/* ---- leaves ---- */

static struct status read_counts(struct forest_reader *r, struct bytes bytes,
                                 struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    struct bytes counts = { "", 0 };
    double sum = 0;
    while (wire_next(&wire, &field))
        if (!field_get_text(&field, COUNTS_COUNT, &counts) &&
            wire_is(&field, COUNTS_SUM, WIRE_FIXED64))
            sum = double_of_bits(field.value);
    if (wire.damaged || counts.size != (size_t)(r->classes + 1) * sizeof(double))
        return forest_damaged("the distribution of a leaf");
    node->kind = FOREST_LEAF_OF_MANY;
    uint32_t *words = forest_take_words(r, node, (size_t)r->classes);
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
        if (!field_get_int(&field, LEAF_TOP, &top))
            field_get_text(&field, CLASSIFIER_COUNTS, &counts);
    if (wire.damaged || top < 0 || top > r->classes)
        return forest_damaged("the class of a leaf");
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
        field_get_float(&field, LEAF_TOP, &node->value);
    if (r->is_boosted)
        node->place = (int32_t)(r->trees % r->each_round);
    else
        node->value /= (float)r->trees_count;
    return wire.damaged ? forest_damaged("the value of a leaf") : status_ok();
}

static struct status read_uplift(struct forest_reader *r, struct bytes bytes,
                                 struct forest_node *node)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    uint64_t bits;
    int count = 0;
    while (wire_next(&wire, &field))
        while (field.number == UPLIFT_EFFECT && forest_next_number(&field, WIRE_FIXED32, &bits)) {
            node->value = float_of_bits((uint32_t)bits) / (float)r->trees_count;
            count++;
        }
    if (wire.damaged)
        return forest_damaged("the effect of a leaf");
    return count == 1 ? status_ok()
                      : status_error(STATUS_UNIMPLEMENTED, "decision forest: %d treatments", count);
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
        return forest_damaged("a file of nodes");
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
        return forest_damaged("a leaf without a value");
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
        return forest_damaged("a node");
    return condition.number != 0 ? forest_read_condition(r, condition.bytes, node)
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
            return forest_damaged("a file of nodes ends early");
        size_t size = get_u32le(records.data);
        if (size > records.size - sizeof(uint32_t))
            return forest_damaged("a file of nodes ends early");
        TRY(read_node(r, (struct bytes){ records.data + sizeof(uint32_t), size }, &node));
        put_node(r, &node);
        records.data += sizeof(uint32_t) + size;
        records.size -= sizeof(uint32_t) + size;
        if (r->nodes >= UINT32_MAX || r->words > UINT32_MAX)
            return status_error(STATUS_UNIMPLEMENTED, "decision forest: more than 2^32 nodes");
    }
    return status_ok();
}

struct status forest_read_nodes(struct forest_reader *r)
{
    r->nodes = r->words = 0;
    r->trees = 0;
    r->open = r->last = 0;
    for (int i = 0; i < r->source->nodes_count; i++)
        TRY(read_records(r, r->source->nodes[i]));
    return r->trees == r->trees_count ? status_ok() : forest_damaged("trees are missing");
}
