/*
 * token_list: the tokens that a tokenizer of TensorFlow Text finds, until their number is known and
 * the outputs can be made.
 *
 *     struct token_list list = { .k = k };
 *     TRY(token_list_add(&list, text, begin, end));
 *     status = token_list_output(&list, 0, 2, 3);
 *     token_list_finish(&list);
 */
#ifndef KERNELS_TEXT_TOKEN_LIST_H
#define KERNELS_TEXT_TOKEN_LIST_H

#include "runtime/kernels/kernel_tools.h"

struct text_token {
    struct bytes text;  /* of the input, of a constant, or of the run's arena */
    int64_t begin, end; /* of its place in the text that was divided, in bytes */
    int64_t number;     /* of it in a vocabulary, for tokenizers that add it with one */
};

/* Zero-initialise it, but for `k`. */
struct token_list {
    struct kernel_context *k;
    struct text_token *at;
    int64_t count;
    struct tensor memory;
};

/* RESOURCE_EXHAUSTED, or kernel_check's reason to end the run. */
struct status token_list_add(struct token_list *list, struct bytes text, int64_t begin,
                             int64_t end);
struct status token_list_add_numbered(struct token_list *list, struct text_token token);
/* Makes the outputs of these numbers: vectors of texts, of int32 or int64 for the places. Texts may
 * be of uint8: then each token is its first byte. */
struct status token_list_output(const struct token_list *list, int texts, int begins, int ends);
void token_list_finish(struct token_list *list);

#endif
