#include "runtime/kernels/text/fragment_list.h"

#define FRAGMENTS_PER_CHECK 65536 /* of the deadline */

struct sign_range {
    enum sign_kind kind;
    int32_t first, last;
};

static const struct sign_range signs[] = {
#define SIGN(kind, first, last) { kind, first, last },
#include "runtime/kernels/text/sentence_signs.def"
#undef SIGN
};

bool sentence_sign(int32_t character, enum sign_kind kind)
{
    size_t low = 0, high = COUNT(signs); /* they go up by kind, then by character */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        bool is_behind = signs[middle].kind > kind ||
                         (signs[middle].kind == kind && signs[middle].first > character);
        low = is_behind ? low : middle;
        high = is_behind ? middle : high;
    }
    return signs[low].kind == kind && character >= signs[low].first && character <= signs[low].last;
}

struct status fragment_list_add(struct fragment_list *list, struct sentence_fragment fragment)
{
    TRY(kernel_scratch_reserve(list->k, &list->memory, list->count, 1, sizeof fragment));
    ((struct sentence_fragment *)list->memory.data)[list->count++] = fragment;
    return list->count % FRAGMENTS_PER_CHECK == 0 ? kernel_check(list->k) : status_ok();
}

struct status fragment_list_output(const struct fragment_list *list)
{
    const struct sentence_fragment *fragments = list->memory.data;
    struct shape shape = shape_of(list->count);
    struct tensor *columns[FRAGMENT_COLUMNS];
    for (int i = 0; i < FRAGMENT_COLUMNS; i++)
        TRY(kernel_output(list->k, i, &shape, &columns[i]));
    for (int64_t i = 0; i < list->count; i++) {
        tensor_int64s_mut(columns[0])[i] = fragments[i].begin;
        tensor_int64s_mut(columns[1])[i] = fragments[i].end;
        tensor_int64s_mut(columns[2])[i] = fragments[i].properties;
        tensor_int64s_mut(columns[3])[i] = fragments[i].terminal;
    }
    return status_ok();
}
