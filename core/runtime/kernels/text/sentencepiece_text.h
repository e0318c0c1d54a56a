/*
 * sentencepiece_text: normalizes texts by the rules of a SentencePiece model, divides them into its
 * pieces, and joins pieces again. The memory is the run's, and is used again for the next text.
 *
 *     struct piece_work work = { .k = k, .model = model, .tokens.k = k };
 *     TRY(sentencepiece_divide(&work, text, NULL));
 *     TRY(sentencepiece_add(&work));   appends to work.tokens
 *     piece_work_finish(&work);
 */
#ifndef KERNELS_TEXT_SENTENCEPIECE_TEXT_H
#define KERNELS_TEXT_SENTENCEPIECE_TEXT_H

#include "base/random.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/text/sentencepiece_model.h"
#include "runtime/kernels/text/text_block.h"
#include "runtime/kernels/text/token_list.h"

/* An array that grows in scratch memory. */
struct piece_array {
    struct tensor memory;
    int64_t count;
};

/* Zero-initialise it, but for the first two and tokens.k. */
struct piece_work {
    struct kernel_context *k;
    const struct sentencepiece_model *model;
    struct token_list tokens;   /* the result */
    struct piece_array normal;  /* of char: the normalized text */
    struct piece_array origins; /* of uint32_t: where each of its bytes, and its end, come from */
    struct piece_array found;   /* of struct piece_part: what it was divided into */
    /* Scratch of the method that divides. Unigram: best_segmentation or lattice_node; lattice_edge;
     * hypothesis; the agenda. */
    struct piece_array a, b, c, d;
    int nbest_max; /* of unigram_begin_nbest */
    struct text_block block;
};

#define PIECE_SPACE "\xe2\x96\x81" /* U+2581, which represents a space in pieces */

struct piece_part {
    uint32_t begin, size; /* in the normalized text */
    int32_t id;
};

/* The choice among the segmentations of a text. */
struct piece_sampling {
    float alpha;
    int nbest; /* at most 1: among all of them; more: among that many, the best ones. For unigram */
    struct random random;
};

#define PIECE_NBEST_MAX 1024 /* the segmentations that a caller can ask for */

/* Makes room for `more` elements of `size` bytes after the last. */
static inline struct status piece_room(struct piece_work *work, struct piece_array *array,
                                       int64_t more, size_t size)
{
    return kernel_scratch_reserve(work->k, &array->memory, array->count, more, size);
}
/* Appends to work->found. */
struct status piece_found(struct piece_work *work, int64_t begin, int64_t size, int32_t id);

/* Writes work->normal and work->origins. */
struct status sentencepiece_normalize(struct piece_work *work, const struct piece_rules *rules,
                                      struct bytes text);

/* Writes work->found. With `sampling`, at random. Each is for one method of dividing. */
struct status divide_unigram(struct piece_work *work, struct piece_sampling *sampling);
/* Finds all pieces of the normalized text. Then unigram_next_best finds the next best
 * segmentation, a hypothesis of the search; -1: there is none. unigram_take writes work->found. */
struct status unigram_begin_nbest(struct piece_work *work, int count_max);
struct status unigram_next_best(struct piece_work *work, int64_t *hypothesis);
struct status unigram_take(struct piece_work *work, int64_t hypothesis);
struct status divide_bpe(struct piece_work *work, struct piece_sampling *sampling);

/* Writes work->found. sampling: NULL for the best segmentation. */
struct status sentencepiece_divide(struct piece_work *work, struct bytes text,
                                   struct piece_sampling *sampling);
/* Appends the tokens of work->found. */
struct status sentencepiece_add(struct piece_work *work);
/* The n best segmentations of a text, best first: sentencepiece_next_best writes work->found.
 * INTERNAL: the model is not a unigram model. */
struct status sentencepiece_begin_nbest(struct piece_work *work, struct bytes text, int count_max);
struct status sentencepiece_next_best(struct piece_work *work, bool *is_found);
/* The text of tokens, of which each has `number` and `text`. */
struct status sentencepiece_decode(struct piece_work *work, const struct text_token *tokens,
                                   int64_t count, struct bytes *out);
void piece_work_finish(struct piece_work *work);

#endif
