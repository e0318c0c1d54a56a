/*
 * sentencepiece_model: what a SentencePiece model says (a ModelProto, as spm_train writes it): its
 * pieces, how texts are normalized, and how they are divided. It never changes after it was read.
 */
#ifndef KERNELS_TEXT_SENTENCEPIECE_MODEL_H
#define KERNELS_TEXT_SENTENCEPIECE_MODEL_H

#include "base/bytes.h"
#include "tensor/tensor.h"

extern const struct object_type sentencepiece_type;

/* The numbers are those of the file. */
enum piece_kind {
    PIECE_NORMAL = 1,
    PIECE_UNKNOWN = 2,
    PIECE_CONTROL = 3,      /* <s>: no text becomes it */
    PIECE_USER_DEFINED = 4, /* never divided */
    PIECE_UNUSED = 5,       /* no text becomes it, but pieces are merged through it */
    PIECE_BYTE = 6          /* <0x41>: what a character without a piece becomes */
};
enum sentencepiece_method { DIVIDE_UNIGRAM = 1, DIVIDE_BPE = 2, DIVIDE_WORD = 3, DIVIDE_CHAR = 4 };

struct sentence_piece {
    struct bytes text;
    float score;
    enum piece_kind kind;
    uint8_t byte; /* of a PIECE_BYTE */
};

/* Rules that replace prefixes, and what happens to spaces. */
struct piece_rules {
    struct bytes trie;  /* a double array of little-endian words of 4 bytes; empty: no rules */
    struct bytes texts; /* that its values are offsets in; each ends with a NUL */
    bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
    bool space_is_suffix;
};

/* The pieces as a tree of bytes. Node 0 is the root. */
struct piece_node {
    int32_t id;       /* of the normal, user-defined or unused piece that ends here; -1: none */
    int32_t reserved; /* of the control, unknown or byte piece that ends here; -1: none */
};
struct piece_edge {
    uint32_t key; /* of an edge: parent << 8 | byte; 0: no edge, as no piece contains a NUL */
    uint32_t child;
};

struct sentencepiece_model {
    struct object object;
    struct arena *arena;
    enum sentencepiece_method method;
    struct sentence_piece *pieces;
    int32_t pieces_count, unknown;
    int32_t bos, eos;   /* a piece without such a name is the unknown one */
    bool byte_fallback; /* then there is a piece for each byte: */
    int32_t byte_ids[256];
    bool has_user_defined, has_unused;
    float score_min, score_max; /* of normal pieces */
    struct bytes unknown_surface, bos_text, eos_text;
    struct piece_rules normal, denormal; /* denormal.trie is empty: none */
    struct piece_node *nodes;
    struct piece_edge *edges; /* a hash table */
    uint32_t nodes_count, edges_mask;
};

/**
 * Reads a model; it copies the bytes. It keeps at most `limit_bytes` of memory; 0: no limit.
 *
 * Owner   *out: object_release
 * Errors  INTERNAL, the code that TensorFlow Text gives, if the model is damaged;
 *         RESOURCE_EXHAUSTED, too many pieces or too much memory
 */
struct status sentencepiece_model_read(struct bytes bytes, size_t limit_bytes, struct object **out);

/* The child of a node; 0: none. */
uint32_t piece_child(const struct sentencepiece_model *model, uint32_t node, char byte);
/* The node at the end of a text; 0: no piece begins with it. */
uint32_t piece_node_of(const struct sentencepiece_model *model, struct bytes text);
/* A reserved piece has precedence. Returns the unknown piece if no piece has that text. */
int32_t piece_id(const struct sentencepiece_model *model, struct bytes text);
/* The size of the longest user-defined piece that the text begins with; 0: none. */
size_t user_defined_size(const struct sentencepiece_model *model, struct bytes text);

#endif
