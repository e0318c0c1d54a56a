/* normalize: TensorFlow Text's NormalizeUTF8, Unicode's normal forms, and CaseFoldUTF8. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/text_normal.h"
#include "runtime/kernels/text/text_block.h"

#define PARTS_PER_CHECK 1024 /* of the deadline */

struct normalizer {
    enum text_form form;
};

static struct status fold_prepare(struct prepare_context *p)
{
    struct normalizer *state = prepare_state(p, sizeof *state, NULL);
    state->form = TEXT_NFKC_CASEFOLD;
    return status_ok();
}

/* In letters of any case; the error repeats TensorFlow Text's word. */
static struct status normalize_prepare(struct prepare_context *p)
{
    static const char *const names[] = { "NFC", "NFD", "NFKC", "NFKD" };
    struct normalizer *state = prepare_state(p, sizeof *state, NULL);
    struct bytes name;
    char upper[32];
    TRY(node_attr_string(prepare_node(p), "normalization_form", &name));
    size_t size = name.size < sizeof upper ? name.size : sizeof upper;
    for (size_t i = 0; i < size; i++)
        upper[i] = (char)(name.data[i] >= 'a' && name.data[i] <= 'z' ? name.data[i] - 'a' + 'A'
                                                                     : name.data[i]);
    int found = BYTES_FIND(((struct bytes){ upper, size }), names);
    if (found < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Unknown normalization form requrested: %.*s",
                            (int)size, upper);
    state->form = (enum text_form)found;
    return status_ok();
}

/* Appends a text in its form, part by part: `room` has room for the result of the largest. */
static struct status append_parts(struct kernel_context *k, struct bytes text, enum text_form form,
                                  char *room, struct text_block *block)
{
    int parts = 0;
    for (size_t at = 0; at < text.size;) {
        size_t size = text_normal_part(text.data + at, text.size - at);
        size_t length = text_normalize(text.data + at, size, form, room);
        if (length == TEXT_NORMAL_FAILED)
            return status_error(STATUS_RESOURCE_EXHAUSTED,
                                "no memory to normalize a text of %zu bytes", size);
        TRY(text_block_add(block, room, length));
        at += size;
        if (++parts % PARTS_PER_CHECK == 0)
            TRY(kernel_check(k));
    }
    return status_ok();
}

/* Of the texts that are not normal. */
static struct status find_largest_part(struct kernel_context *k, enum text_form form, size_t *out)
{
    const struct tensor *x = kernel_input(k, 0);
    int parts = 0;
    *out = 0;
    for (int64_t i = 0; i < x->size; i++) {
        struct bytes text = tensor_strings(x)[i];
        if (text_is_normal(text.data, text.size, form))
            continue;
        for (size_t at = 0; at < text.size;) {
            size_t size = text_normal_part(text.data + at, text.size - at);
            *out = size > *out ? size : *out;
            at += size;
            if (++parts % PARTS_PER_CHECK == 0)
                TRY(kernel_check(k));
        }
    }
    return status_ok();
}

static struct status normalize_all(struct kernel_context *k, char *room, struct tensor *out)
{
    const struct normalizer *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct text_block block = { .arena = kernel_arena(k) };
    for (int64_t i = 0; i < x->size; i++) {
        struct bytes text = tensor_strings(x)[i];
        if (text_is_normal(text.data, text.size, state->form)) {
            tensor_strings_mut(out)[i] = text;
            continue;
        }
        TRY(append_parts(k, text, state->form, room, &block));
        tensor_strings_mut(out)[i] = text_block_end(&block);
    }
    return status_ok();
}

static struct status normalize_compute(struct kernel_context *k)
{
    const struct normalizer *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out, room;
    size_t largest;
    TRY(find_largest_part(k, state->form, &largest));
    struct shape shape = shape_of((int64_t)(TEXT_NORMAL_GROWTH * largest));
    TRY(kernel_output(k, 0, &x->shape, &out));
    TRY(kernel_scratch(k, DT_UINT8, &shape, &room));
    struct status status = normalize_all(k, room.data, out);
    tensor_release(&room);
    return status;
}

static const struct kernel rows[] = {
    { "CaseFoldUTF8", DTYPES_ALL, .prepare = fold_prepare, .compute = normalize_compute },
    { "NormalizeUTF8", DTYPES_ALL, .prepare = normalize_prepare, .compute = normalize_compute },
};
const struct kernel_table kernels_normalize = { rows, COUNT(rows) };
