/* normalize: TensorFlow Text's NormalizeUTF8, Unicode's normal forms, and CaseFoldUTF8. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/text_normal.h"
#include "runtime/kernels/text/text_block.h"

#define PARTS_PER_CHECK 512 /* of the deadline */

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

/* Where results are written. */
struct normalizing_texts {
    struct kernel_context *k;
    enum text_form form;
    struct text_block block;
    struct tensor room; /* for the result of a part */
    int parts;          /* that were written */
};

static struct status append_part(struct normalizing_texts *n, struct bytes part)
{
    int64_t room = (int64_t)(TEXT_NORMAL_GROWTH * part.size);
    TRY(kernel_scratch_reserve(n->k, &n->room, 0, room, 1));
    size_t length = text_normalize(part.data, part.size, n->form, n->room.data);
    if (length == TEXT_NORMAL_FAILED)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory to normalize a text of %zu bytes",
                            part.size);
    return text_block_add(&n->block, n->room.data, length);
}

static struct status normalize_text(struct normalizing_texts *n, struct bytes text,
                                    struct bytes *out)
{
    *out = text;
    if (text_is_normal(text.data, text.size, n->form))
        return status_ok();
    for (size_t at = 0; at < text.size;) {
        size_t size = text_normal_part(text.data + at, text.size - at);
        TRY(append_part(n, (struct bytes){ text.data + at, size }));
        at += size;
        if (++n->parts % PARTS_PER_CHECK == 0)
            TRY(kernel_check(n->k));
    }
    *out = text_block_end(&n->block);
    return status_ok();
}

static struct status normalize_compute(struct kernel_context *k)
{
    const struct normalizer *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct normalizing_texts n = { .k = k,
                                   .form = state->form,
                                   .block = { .arena = kernel_arena(k) } };
    struct status status = status_ok();
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size && status_is_ok(status); i++)
        status = normalize_text(&n, tensor_strings(x)[i], &tensor_strings_mut(out)[i]);
    tensor_release(&n.room);
    return status;
}

static const struct kernel rows[] = {
    { "CaseFoldUTF8", DTYPES_ALL, .prepare = fold_prepare, .compute = normalize_compute },
    { "NormalizeUTF8", DTYPES_ALL, .prepare = normalize_prepare, .compute = normalize_compute },
};
const struct kernel_table kernels_normalize = { rows, COUNT(rows) };
