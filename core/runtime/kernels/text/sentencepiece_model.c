#include "runtime/kernels/text/sentencepiece_model.h"

#include <float.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/float_bits.h"
#include "proto/wire.h"

/* Fields of the messages of a model's file. */
enum model_field { MODEL_PIECE = 1, MODEL_TRAINER = 2, MODEL_NORMAL = 3, MODEL_DENORMAL = 5 };
enum piece_field { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_KIND = 3 };
enum trainer_field {
    TRAINER_METHOD = 3,
    TRAINER_SPACE_IS_SUFFIX = 24,
    TRAINER_BYTE_FALLBACK = 35,
    TRAINER_UNKNOWN_SURFACE = 44,
    TRAINER_BOS = 46,
    TRAINER_EOS = 47
};
enum rules_field {
    RULES_CHARSMAP = 2,
    RULES_DUMMY_PREFIX = 3,
    RULES_REMOVE_SPACES = 4,
    RULES_ESCAPE_SPACES = 5
};

#define PIECE_SIZE_MAX 8000
#define NODES_MAX      ((uint32_t)1 << 23) /* Gemma's 262144 pieces need 1.2 million */

static void destroy(struct object *object)
{
    struct sentencepiece_model *model = (struct sentencepiece_model *)object;
    arena_destroy(model->arena);
    free(model);
}

const struct object_type sentencepiece_type = { "sentencepiece model", destroy };

static struct status damaged(const char *what)
{
    return status_error(STATUS_INTERNAL, "Sentencepiece model: %s", what);
}

/* ---- the tree of pieces ---- */

static struct piece_edge *find_edge(const struct sentencepiece_model *model, uint32_t key)
{
    uint32_t at = key * 0x9E3779B1u;
    for (at ^= at >> 15;; at++) {
        struct piece_edge *edge = &model->edges[at & model->edges_mask];
        if (edge->key == key || edge->key == 0)
            return edge;
    }
}

uint32_t piece_child(const struct sentencepiece_model *model, uint32_t node, char byte)
{
    uint32_t key = node << 8 | (uint8_t)byte;
    return key == 0 ? 0 : find_edge(model, key)->child;
}

uint32_t piece_node_of(const struct sentencepiece_model *model, struct bytes text)
{
    uint32_t node = 0;
    for (size_t i = 0; i < text.size; i++) {
        node = piece_child(model, node, text.data[i]);
        if (node == 0)
            return 0;
    }
    return node;
}

int32_t piece_id(const struct sentencepiece_model *model, struct bytes text)
{
    const struct piece_node *node = &model->nodes[piece_node_of(model, text)];
    if (node->reserved >= 0)
        return node->reserved;
    return node->id >= 0 ? node->id : model->unknown;
}

size_t user_defined_size(const struct sentencepiece_model *model, struct bytes text)
{
    size_t size = 0;
    uint32_t node = 0;
    for (size_t i = 0; model->has_user_defined && i < text.size; i++) {
        node = piece_child(model, node, text.data[i]);
        if (node == 0)
            break;
        int32_t id = model->nodes[node].id;
        if (id >= 0 && model->pieces[id].kind == PIECE_USER_DEFINED)
            size = i + 1;
    }
    return size;
}

static struct status make_tree(struct sentencepiece_model *model, size_t bytes)
{
    size_t slots = 64;
    void *memory;
    if (bytes >= NODES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "Sentencepiece model: its pieces have %zu bytes, at most %u are "
                            "allowed",
                            bytes, NODES_MAX - 1);
    while (slots < 2 * bytes)
        slots *= 2;
    TRY(arena_reserve(model->arena, slots * sizeof *model->edges, &memory));
    model->edges = memset(memory, 0, slots * sizeof *model->edges);
    model->edges_mask = (uint32_t)slots - 1;
    TRY(arena_reserve(model->arena, (bytes + 1) * sizeof *model->nodes, &memory));
    model->nodes = memset(memory, 0xff, (bytes + 1) * sizeof *model->nodes);
    model->nodes_count = 1;
    return status_ok();
}

/* The id that its node has for a piece of this kind. */
static int32_t *place_of(struct sentencepiece_model *model, const struct sentence_piece *piece)
{
    uint32_t node = 0;
    for (size_t i = 0; i < piece->text.size; i++) {
        struct piece_edge *edge = find_edge(model, node << 8 | (uint8_t)piece->text.data[i]);
        if (edge->key == 0) {
            edge->key = node << 8 | (uint8_t)piece->text.data[i];
            edge->child = model->nodes_count++;
        }
        node = edge->child;
    }
    bool is_reserved =
        piece->kind == PIECE_CONTROL || piece->kind == PIECE_UNKNOWN || piece->kind == PIECE_BYTE;
    return is_reserved ? &model->nodes[node].reserved : &model->nodes[node].id;
}

/* ---- the messages ---- */

static struct status read_rules(struct bytes bytes, struct piece_rules *rules)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    struct bytes map = { 0 };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, RULES_CHARSMAP, WIRE_BYTES))
            map = field.bytes;
        else if (wire_is(&field, RULES_DUMMY_PREFIX, WIRE_VARINT))
            rules->add_dummy_prefix = field.value != 0;
        else if (wire_is(&field, RULES_REMOVE_SPACES, WIRE_VARINT))
            rules->remove_extra_whitespaces = field.value != 0;
        else if (wire_is(&field, RULES_ESCAPE_SPACES, WIRE_VARINT))
            rules->escape_whitespaces = field.value != 0;
    }
    if (wire.damaged)
        return damaged("the rules of normalization are cut short");
    if (map.size == 0)
        return status_ok();
    if (map.size <= 4)
        return status_error(STATUS_INTERNAL, "Blob for normalization rule is broken.");
    const uint8_t *size = (const uint8_t *)map.data;
    size_t trie = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
    if (trie > map.size - 4)
        return status_error(STATUS_INTERNAL, "Trie data size exceeds the input blob size.");
    rules->trie = (struct bytes){ map.data + 4, trie };
    rules->texts = (struct bytes){ map.data + 4 + trie, map.size - 4 - trie };
    return status_ok();
}

static struct status read_trainer(struct sentencepiece_model *model, struct bytes bytes)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, TRAINER_METHOD, WIRE_VARINT) && field.value >= DIVIDE_UNIGRAM &&
            field.value <= DIVIDE_CHAR) /* protobuf keeps the default for other numbers */
            model->method = (enum sentencepiece_method)field.value;
        else if (wire_is(&field, TRAINER_SPACE_IS_SUFFIX, WIRE_VARINT))
            model->normal.space_is_suffix = field.value != 0;
        else if (wire_is(&field, TRAINER_BYTE_FALLBACK, WIRE_VARINT))
            model->byte_fallback = field.value != 0;
        else if (wire_is(&field, TRAINER_UNKNOWN_SURFACE, WIRE_BYTES))
            model->unknown_surface =
                bytes_first(field.bytes, strnlen(field.bytes.data, field.bytes.size));
        else if (wire_is(&field, TRAINER_BOS, WIRE_BYTES) && field.bytes.size > 0)
            model->bos_text = field.bytes;
        else if (wire_is(&field, TRAINER_EOS, WIRE_BYTES) && field.bytes.size > 0)
            model->eos_text = field.bytes;
    }
    return wire.damaged ? damaged("the settings of its training are cut short") : status_ok();
}

static struct status read_piece(struct bytes bytes, struct sentence_piece *piece)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    *piece = (struct sentence_piece){ .kind = PIECE_NORMAL };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, PIECE_TEXT, WIRE_BYTES))
            piece->text = field.bytes;
        else if (wire_is(&field, PIECE_SCORE, WIRE_FIXED32))
            piece->score = float_of_bits((uint32_t)field.value);
        else if (wire_is(&field, PIECE_KIND, WIRE_VARINT) && field.value >= PIECE_NORMAL &&
                 field.value <= PIECE_BYTE)
            piece->kind = (enum piece_kind)field.value;
    }
    if (wire.damaged)
        return damaged("a piece is cut short");
    if (piece->text.size == 0)
        return status_error(STATUS_INTERNAL, "piece must not be empty.");
    if (piece->text.size >= PIECE_SIZE_MAX)
        return status_error(STATUS_INTERNAL, "piece is too long.");
    if (memchr(piece->text.data, '\0', piece->text.size) != NULL)
        return status_error(STATUS_INTERNAL, "piece must not include null character.");
    return status_ok();
}

/* The parts but the pieces, which are counted. A part that comes twice is merged, as in protobuf.
 */
static struct status read_parts(struct sentencepiece_model *model, struct bytes bytes)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, MODEL_PIECE, WIRE_BYTES))
            model->pieces_count++;
        else if (wire_is(&field, MODEL_TRAINER, WIRE_BYTES))
            TRY(read_trainer(model, field.bytes));
        else if (wire_is(&field, MODEL_NORMAL, WIRE_BYTES))
            TRY(read_rules(field.bytes, &model->normal));
        else if (wire_is(&field, MODEL_DENORMAL, WIRE_BYTES))
            TRY(read_rules(field.bytes, &model->denormal));
    }
    return wire.damaged ? damaged("it is cut short") : status_ok();
}

static struct status read_pieces(struct sentencepiece_model *model, struct bytes bytes)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    size_t size = 0;
    void *memory;
    int32_t id = 0;
    TRY(arena_reserve(model->arena, (size_t)model->pieces_count * sizeof *model->pieces + 1,
                      &memory));
    model->pieces = memory;
    while (wire_next(&wire, &field))
        if (wire_is(&field, MODEL_PIECE, WIRE_BYTES)) {
            TRY(read_piece(field.bytes, &model->pieces[id]));
            size += model->pieces[id++].text.size;
        }
    return make_tree(model, size);
}

/* ---- what the pieces mean ---- */

/* The byte of `<0x41>`; -1: it is not written so. */
static int byte_of(struct bytes text)
{
    static const char digits[] = "0123456789ABCDEF";
    if (text.size != 6 || memcmp(text.data, "<0x", 3) != 0 || text.data[5] != '>')
        return -1;
    const char *high = memchr(digits, text.data[3], 16), *low = memchr(digits, text.data[4], 16);
    return high != NULL && low != NULL ? (int)((high - digits) << 4 | (low - digits)) : -1;
}

static struct status piece_error(const struct sentence_piece *piece, const char *before,
                                 const char *behind)
{
    return status_error(STATUS_INTERNAL, "%s%.*s%s", before, (int)piece->text.size,
                        piece->text.data, behind);
}

static struct status add_byte(struct sentencepiece_model *model, struct sentence_piece *piece,
                              int32_t id)
{
    int byte = byte_of(piece->text);
    if (!model->byte_fallback)
        return piece_error(piece, "byte piece ", " is found although `byte_fallback` is false.");
    if (byte < 0)
        return piece_error(piece, "byte piece ", " is invalid.");
    piece->byte = (uint8_t)byte;
    model->byte_ids[byte] = id;
    return status_ok();
}

static struct status add_piece(struct sentencepiece_model *model, int32_t id)
{
    struct sentence_piece *piece = &model->pieces[id];
    int32_t *place = place_of(model, piece);
    if (*place >= 0)
        return piece_error(piece, "", " is already defined.");
    *place = id;
    if (piece->kind == PIECE_UNKNOWN) {
        if (model->unknown >= 0)
            return status_error(STATUS_INTERNAL, "unk is already defined.");
        model->unknown = id;
    } else if (piece->kind == PIECE_NORMAL) {
        model->score_min = piece->score < model->score_min ? piece->score : model->score_min;
        model->score_max = piece->score > model->score_max ? piece->score : model->score_max;
    }
    model->has_user_defined |= piece->kind == PIECE_USER_DEFINED;
    model->has_unused |= piece->kind == PIECE_UNUSED;
    return piece->kind == PIECE_BYTE ? add_byte(model, piece, id) : status_ok();
}

static struct status add_pieces(struct sentencepiece_model *model)
{
    for (int32_t id = 0; id < model->pieces_count; id++)
        TRY(add_piece(model, id));
    if (model->unknown < 0)
        return status_error(STATUS_INTERNAL, "unk is not defined.");
    for (int i = 0; model->byte_fallback && i < 256; i++)
        if (model->byte_ids[i] < 0)
            return status_error(STATUS_INTERNAL,
                                "there are not 256 byte pieces although `byte_fallback` is true.");
    model->bos = piece_id(model, model->bos_text);
    model->eos = piece_id(model, model->eos_text);
    return status_ok();
}

static struct status read_model(struct sentencepiece_model *model, struct bytes bytes)
{
    void *copy;
    TRY(arena_reserve(model->arena, bytes.size + 1, &copy));
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    bytes.data = copy;
    TRY(read_parts(model, bytes));
    TRY(read_pieces(model, bytes));
    return add_pieces(model);
}

struct status sentencepiece_model_read(struct bytes bytes, size_t limit_bytes, struct object **out)
{
    struct sentencepiece_model *model = zalloc(sizeof *model);
    model->object = (struct object){ .type = &sentencepiece_type, .references = 1 };
    model->arena = arena_create(limit_bytes);
    model->method = DIVIDE_UNIGRAM;
    model->unknown = -1;
    model->score_min = FLT_MAX;
    model->score_max = FLT_MIN;
    memset(model->byte_ids, 0xff, sizeof model->byte_ids);
    model->unknown_surface = bytes_of(" \xe2\x81\x87 ");
    model->bos_text = bytes_of("<s>");
    model->eos_text = bytes_of("</s>");
    model->normal = (struct piece_rules){ .add_dummy_prefix = true,
                                          .remove_extra_whitespaces = true,
                                          .escape_whitespaces = true };
    model->denormal = model->normal;
    struct status status = read_model(model, bytes);
    if (status_is_ok(status))
        *out = &model->object;
    else
        object_release(&model->object);
    return status;
}
