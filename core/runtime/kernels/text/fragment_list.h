/*
 * fragment_list: the parts of a text that may be sentences, as the ops of TensorFlow Text that find
 * them return them, and the signs that end sentences.
 */
#ifndef KERNELS_TEXT_FRAGMENT_LIST_H
#define KERNELS_TEXT_FRAGMENT_LIST_H

#include "runtime/kernels/kernel_tools.h"

enum sign_kind { SIGN_TERMINAL, SIGN_CLOSES, SIGN_OPENS }; /* closes and opens: brackets */

bool sentence_sign(int32_t character, enum sign_kind kind);

enum { /* bits of sentence_fragment.properties */
       FRAGMENT_TERMINAL = 1,
       FRAGMENT_SEVERAL_TERMINAL = 2,
       FRAGMENT_CLOSES = 4,
       FRAGMENT_IN_BRACKETS = 8
};

struct sentence_fragment {
    int64_t begin, end, properties;
    int64_t terminal; /* where the signs that end it begin; -1: there are none */
};

#define FRAGMENT_COLUMNS 4 /* of the above, and outputs of the ops */

/* Zero-initialise it, but for `k`. The owner releases `memory`. */
struct fragment_list {
    struct kernel_context *k;
    struct tensor memory;
    int64_t count;
};

/* RESOURCE_EXHAUSTED, or kernel_check's reason to end the run. */
struct status fragment_list_add(struct fragment_list *list, struct sentence_fragment fragment);
/* Makes outputs 0 to 3, vectors of int64. */
struct status fragment_list_output(const struct fragment_list *list);

#endif
