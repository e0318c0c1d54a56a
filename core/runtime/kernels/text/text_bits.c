/*
 * text_bits: TensorFlow Text's Utf8Binarize, which writes the numbers of a word's first characters
 * as bits, the lowest one first.
 */
#include "base/utf8.h"
#include "runtime/kernels/kernel_tools.h"

struct text_bits {
    int64_t characters; /* of each word */
    int64_t bits;       /* of each character */
    int32_t malformed;  /* replaces bytes that are no character */
};

static struct status bits_prepare(struct prepare_context *p)
{
    struct text_bits *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    int64_t malformed;
    TRY(node_attr_int(node, "word_length", &state->characters));
    TRY(node_attr_int(node, "bits_per_char", &state->bits));
    TRY(node_attr_int(node, "replacement_char", &malformed));
    state->malformed = (int32_t)malformed;
    if (state->characters < 0 || state->bits < 0 || state->characters > INT32_MAX ||
        state->bits > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): word_length %lld and bits_per_char %lld must be from "
                            "0 to %d",
                            node->name, node->op_name, (long long)state->characters,
                            (long long)state->bits, INT32_MAX);
    return status_ok();
}

static void write_word(const struct text_bits *state, struct bytes text, float *out)
{
    size_t at = 0;
    for (int64_t i = 0; i < state->characters; i++) {
        int32_t character = 0;
        if (at < text.size) {
            at += utf8_read(text.data + at, text.size - at, &character);
            character = character >= 0 ? character : state->malformed;
        }
        for (int64_t bit = 0; bit < state->bits; bit++)
            *out++ = (float)(character >> (bit < 31 ? bit : 31) & 1);
    }
}

static struct status bits_compute(struct kernel_context *k)
{
    const struct text_bits *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int64_t width = state->characters * state->bits;
    struct shape shape = shape_of(x->size, width);
    struct tensor *out;
    TRY(kernel_vector(k, 0, "input_tokens"));
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        write_word(state, tensor_strings(x)[i], tensor_floats_mut(out) + i * width);
        if (i % 1024 == 1023)
            TRY(kernel_check(k));
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "TFText>Utf8Binarize", DTYPES_ALL, .prepare = bits_prepare, .compute = bits_compute },
};
const struct kernel_table kernels_text_bits = { rows, COUNT(rows) };
