/*
 * white_space: TensorFlow Text's WhitespaceTokenizeWithOffsetsV2, which divides texts at white
 * space, and ByteSplitWithOffsets, which divides them into bytes.
 */
#include "runtime/kernels/text/white_space.h"

#include "base/utf8.h"

static bool is_space(struct bytes bits, int32_t character)
{
    size_t byte = (size_t)(character >> 3);
    return character >= 0 && byte < bits.size && (bits.data[byte] >> (character & 7) & 1);
}

static struct status add_part(struct token_list *list, struct bytes text, size_t begin, size_t end)
{
    return token_list_add(list, (struct bytes){ text.data + begin, end - begin }, (int64_t)begin,
                          (int64_t)end);
}

/* A word ends one byte before the end of the white space after it: the other bytes of a longer
 * character, such as U+3000, belong to it, as in TensorFlow Text. */
struct status white_space_words(struct token_list *list, struct bytes text, struct bytes spaces)
{
    size_t begin = 0, at = 0;
    while (at < text.size) {
        int32_t character;
        size_t next = at + utf8_read(text.data + at, text.size - at, &character);
        if (is_space(spaces, character)) {
            if (at > begin)
                TRY(add_part(list, text, begin, next - 1));
            begin = next;
        }
        at = next;
    }
    return at == begin ? status_ok() : add_part(list, text, begin, at);
}

static struct status add_bytes(struct token_list *list, struct bytes text, struct bytes ignored)
{
    (void)ignored;
    for (size_t i = 0; i < text.size; i++)
        TRY(add_part(list, text, i, i + 1));
    return status_ok();
}

static struct status divide_all(struct token_list *list, struct bytes config,
                                struct status (*divide)(struct token_list *list, struct bytes text,
                                                        struct bytes config))
{
    const struct tensor *x = kernel_input(list->k, 0);
    struct shape shape = shape_of(x->size + 1);
    struct tensor *splits;
    TRY(kernel_vector(list->k, 0, "input_values"));
    TRY(kernel_output(list->k, 1, &shape, &splits));
    tensor_int64s_mut(splits)[0] = 0;
    for (int64_t i = 0; i < x->size; i++) {
        TRY(divide(list, tensor_strings(x)[i], config));
        tensor_int64s_mut(splits)[i + 1] = list->count;
    }
    return token_list_output(list, 0, 2, 3);
}

static struct status words_compute(struct kernel_context *k)
{
    struct token_list list = { .k = k };
    const struct tensor *config;
    TRY(kernel_scalar(k, 1, "input_config", &config));
    struct status status = divide_all(&list, tensor_strings(config)[0], white_space_words);
    token_list_finish(&list);
    return status;
}

static struct status bytes_compute(struct kernel_context *k)
{
    struct token_list list = { .k = k };
    struct status status = divide_all(&list, (struct bytes){ 0 }, add_bytes);
    token_list_finish(&list);
    return status;
}

static const struct kernel rows[] = {
    { "TFText>WhitespaceTokenizeWithOffsetsV2", DTYPES_ALL, .compute = words_compute },
    { "TFText>ByteSplitWithOffsets", DTYPES_ALL, .compute = bytes_compute },
};
const struct kernel_table kernels_white_space = { rows, COUNT(rows) };
