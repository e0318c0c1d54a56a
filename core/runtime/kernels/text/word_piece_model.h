/*
 * word_piece_model: the vocabulary of TensorFlow Text's FastWordpieceTokenizer, as a trie that also
 * tells where to continue when a text leaves it ("Fast WordPiece Tokenization", Song and others,
 * 2021).
 *
 * A tensor holds it, and it is used in place: loading a large one takes no longer. Nodes and pieces
 * are checked when a text reaches them.
 */
#ifndef KERNELS_TEXT_WORD_PIECE_MODEL_H
#define KERNELS_TEXT_WORD_PIECE_MODEL_H

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/text/double_array.h"

#define NO_NODE UINT32_MAX

struct word_piece_model {
    struct flat_table table;
    struct flat_vector units;     /* the trie of the pieces: a double_array */
    struct flat_vector failures;  /* of each node, where no child fits: see word_piece_failure */
    struct flat_vector pools;     /* pieces that nodes refer to */
    struct flat_vector indicated; /* the pieces of the indicator, as a word */
    struct flat_vector texts;     /* of the pieces, without the indicator, if `joins` */
    struct flat_vector inner;     /* bool of each of `texts`: it begins with the indicator */
    struct bytes indicator;       /* of pieces that do not begin a word, such as "##" */
    struct bytes unknown;         /* replaces words that the pieces do not make up */
    int32_t unknown_number, bytes_max; /* bytes_max: of a word that is not unknown */
    uint32_t inner_root;               /* the node of the indicator */
    uint32_t divider;                  /* after punctuation, which is a word by itself */
    bool divides;                      /* texts, not words */
    bool joins;                        /* can be asked for texts */
};

/* The action in a node without a child for the next byte: begin + count pieces of `pools` end
 * there, and the text continues at node `next`. NO_NODE: no pieces make up the word. */
struct word_piece_failure {
    uint32_t next;
    size_t begin, count;
};

/* A piece is a number of 32 bits in the trie and in `pools`. */
static inline int64_t word_piece_number(uint32_t piece)
{
    return piece >> 8 & 0x3FFFFF;
}

/* Without the indicator, in bytes. */
static inline size_t word_piece_size(uint32_t piece)
{
    return (piece & 0xFF) + 1;
}

static inline bool word_piece_is_inner(uint32_t piece)
{
    return piece >> 30 != 0;
}

/* DATA_LOSS: it is damaged. */
struct status word_piece_model_read(const struct tensor *tensor, struct word_piece_model *model);
struct status word_piece_failure(const struct word_piece_model *model, uint32_t node,
                                 struct word_piece_failure *failure);

#endif
