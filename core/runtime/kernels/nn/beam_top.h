/*
 * beam_top: the best n entries of a beam search.
 *
 * Among entries of equal probability, the order of comparisons determines which ones stay, and
 * their order in the result. The comparisons are those of TensorFlow's TopN over the heap functions
 * of the standard library that its builds use.
 */
#ifndef KERNELS_BEAM_TOP_H
#define KERNELS_BEAM_TOP_H

#include "base/bytes.h"

/* Log-probabilities of a sequence: of ending in a blank, in its last label, and their sum. */
struct beam_chance {
    double total, blank, label;
};

/* A sequence of labels, as a tree: its parent is the sequence without the last label. */
struct beam_entry {
    struct beam_entry *parent, *children, *sibling;
    int64_t label;                  /* -1: the root */
    struct beam_chance before, now; /* at the last step, and at this one */
};

enum beam_top_state { TOP_UNORDERED, TOP_BOTTOM_KNOWN, TOP_HEAP };

/* Zero-initialise it and set the limit. Call buffer_finish on `held` at the end. */
struct beam_top {
    struct buffer held; /* of struct beam_entry * */
    int64_t limit;      /* n >= 1 */
    enum beam_top_state state;
};

int64_t beam_top_count(const struct beam_top *top);
struct beam_entry *const *beam_top_entries(const struct beam_top *top); /* in no order */
void beam_top_push(struct beam_top *top, struct beam_entry *entry);
/* The worst entry; there must be one. */
struct beam_entry *beam_top_bottom(struct beam_top *top);
/* Moves the entries to `out`, the best first, and empties `top`. */
void beam_top_extract(struct beam_top *top, struct buffer *out);

#endif
