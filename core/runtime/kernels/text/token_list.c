#include "runtime/kernels/text/token_list.h"

#define TOKENS_PER_CHECK 65536 /* of the deadline */

struct status token_list_add_numbered(struct token_list *list, struct text_token token)
{
    TRY(kernel_scratch_reserve(list->k, &list->memory, list->count, 1, sizeof *list->at));
    list->at = list->memory.data;
    list->at[list->count++] = token;
    return list->count % TOKENS_PER_CHECK == 0 ? kernel_check(list->k) : status_ok();
}

struct status token_list_add(struct token_list *list, struct bytes text, int64_t begin, int64_t end)
{
    return token_list_add_numbered(list, (struct text_token){ text, begin, end, 0 });
}

struct status token_list_output(const struct token_list *list, int texts, int begins, int ends)
{
    struct shape shape = shape_of(list->count);
    struct tensor *text, *begin, *end;
    TRY(kernel_output(list->k, texts, &shape, &text));
    TRY(kernel_output(list->k, begins, &shape, &begin));
    TRY(kernel_output(list->k, ends, &shape, &end));
    for (int64_t i = 0; i < list->count; i++) {
        const struct text_token *token = &list->at[i];
        if (text->dtype == DT_UINT8)
            ((uint8_t *)text->data)[i] = (uint8_t)token->text.data[0];
        else
            tensor_strings_mut(text)[i] = token->text;
        tensor_set_index(begin, i, token->begin);
        tensor_set_index(end, i, token->end);
    }
    return status_ok();
}

void token_list_finish(struct token_list *list)
{
    tensor_release(&list->memory);
}
