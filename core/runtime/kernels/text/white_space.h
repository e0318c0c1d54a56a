/*
 * white_space: divides a text at white space, as TensorFlow Text's WhitespaceTokenizer does.
 */
#ifndef KERNELS_TEXT_WHITE_SPACE_H
#define KERNELS_TEXT_WHITE_SPACE_H

#include "runtime/kernels/text/token_list.h"

/* Appends the words. `spaces` is the tokenizer's configuration: bit c says whether character c is
 * white space; characters beyond its end are not. */
struct status white_space_words(struct token_list *list, struct bytes text, struct bytes spaces);

#endif
