/*
 * string_format: StringFormat, a template whose placeholders are replaced by printed tensors, as
 * tf.strings.format and tf.print show them: [[0 1 2 ... 7 8 9]], nested by dimension.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float8.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/text/text_block.h"

struct format_state {
    struct bytes *pieces; /* of the template: one more than placeholders */
    int64_t summarize;    /* elements shown at both ends of a dimension; negative: all */
};

/* ---- the template ---- */

/* The size of the piece at the start of a text. An empty placeholder is between any two
 * characters. */
static size_t piece_size(struct bytes text, struct bytes placeholder)
{
    if (placeholder.size == 0)
        return text.size > 1 ? 1 : text.size;
    for (size_t at = 0; at + placeholder.size <= text.size; at++)
        if (memcmp(text.data + at, placeholder.data, placeholder.size) == 0)
            return at;
    return text.size;
}

/* Cuts the template into pieces; with `out` NULL only counts them. */
static int cut(struct bytes text, struct bytes placeholder, struct bytes *out)
{
    for (int count = 0;; count++) {
        size_t size = piece_size(text, placeholder);
        if (out != NULL)
            out[count] = (struct bytes){ text.data, size };
        if (size == text.size)
            return count + 1;
        text.data += size + placeholder.size;
        text.size -= size + placeholder.size;
    }
}

static bool is_printed(enum dtype dtype)
{
    return dtype_is_floating(dtype) || dtype == DT_STRING || dtype == DT_BOOL ||
           (DTYPES(dtype) & (DTYPES_REAL | DTYPES(DT_COMPLEX64) | DTYPES(DT_COMPLEX128))) != 0;
}

static struct status format_prepare(struct prepare_context *p)
{
    struct format_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    const struct attr_value *types;
    struct bytes template, placeholder;

    TRY(node_attr_string(node, "template", &template));
    TRY(node_attr_string(node, "placeholder", &placeholder));
    TRY(node_attr_int(node, "summarize", &state->summarize));
    TRY(node_attr_list(node, "T", &types));
    for (int i = 0; i < types->count; i++)
        if (!is_printed(dtype_base(types->elements[i].type)))
            return status_error(STATUS_UNIMPLEMENTED, "StringFormat of %s",
                                dtype_name(types->elements[i].type));
    int pieces = cut(template, placeholder, NULL);
    if (pieces - 1 != node->inputs_count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "num placeholders in template and num inputs must match: %d vs. %d",
                            pieces - 1, node->inputs_count);
    state->pieces = ARENA_ARRAY(prepare_arena(p), struct bytes, pieces);
    cut(template, placeholder, state->pieces);
    return status_ok();
}

/* ---- one element ---- */

/* The six digits that TensorFlow tries first, or as many as identify the number. */
static int print_floating(const struct tensor *x, int64_t i, char *out, size_t size)
{
    double value = floating_element(x, i);

    if (x->dtype == DT_DOUBLE) {
        int length = snprintf(out, size, "%.15g", value);
        return strtod(out, NULL) != value && value == value ? snprintf(out, size, "%.17g", value)
                                                            : length;
    }
    if (value != value) /* only an eight-bit one shows its sign */
        return snprintf(out, size, signbit(value) && dtype_is_float8(x->dtype) ? "-nan" : "nan");
    int length = snprintf(out, size, "%.6g", value);
    return strtof(out, NULL) != (float)value ? snprintf(out, size, "%.9g", value) : length;
}

/* The text in quotes. As C escapes it, but for bytes beyond ASCII. */
static struct status print_string(struct bytes text, struct text_block *out)
{
    static const char special[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";
    char escaped[5];

    TRY(text_block_add(out, "\"", 1));
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        const char *found = c != 0 ? strchr(special, c) : NULL;
        int length = 1;
        if (found != NULL)
            length = snprintf(escaped, sizeof escaped, "\\%c", letters[found - special]);
        else if (c < 0x20 || c == 0x7f)
            length = snprintf(escaped, sizeof escaped, "\\%03o", (unsigned)c);
        else
            escaped[0] = (char)c;
        TRY(text_block_add(out, escaped, (size_t)length));
    }
    return text_block_add(out, "\"", 1);
}

static struct status print_element(const struct tensor *x, int64_t i, struct text_block *out)
{
    char text[64];
    int length;

    if (x->dtype == DT_STRING)
        return print_string(tensor_strings(x)[i], out);
    if (DTYPES(x->dtype) & DTYPES_FLOATING || dtype_is_float8(x->dtype))
        length = print_floating(x, i, text, sizeof text);
    else if (dtype_is_floating(x->dtype)) /* of four or eight bits, that no kernel computes with */
        length = snprintf(text, sizeof text, "?");
    else if (x->dtype == DT_BOOL)
        length = snprintf(text, sizeof text, "%d", tensor_bools(x)[i]);
    else if (x->dtype == DT_UINT64)
        length =
            snprintf(text, sizeof text, "%llu", (unsigned long long)((const uint64_t *)x->data)[i]);
    else if (x->dtype == DT_COMPLEX64 || x->dtype == DT_COMPLEX128)
        length = snprintf(text, sizeof text, "?"); /* TensorFlow prints no more */
    else
        length = snprintf(text, sizeof text, "%lld", (long long)tensor_index(x, i));
    return text_block_add(out, text, (size_t)length);
}

/* ---- one tensor ---- */

static struct status add_text(struct text_block *out, const char *text)
{
    return text_block_add(out, text, strlen(text));
}

/* The separator of two parts of a dimension: a space, or empty lines and an indent. */
static struct status print_gap(int dim, int rank, struct text_block *out)
{
    if (dim == rank - 1)
        return add_text(out, " ");
    for (int i = 0; i < rank - dim - 1; i++)
        TRY(add_text(out, "\n"));
    for (int i = 0; i <= dim; i++)
        TRY(add_text(out, " "));
    return status_ok();
}

/* Shows `ends` parts at both ends of each dimension. The depth is at most SHAPE_RANK_MAX. */
static struct status print_dim(const struct tensor *x, int dim, int64_t at, int64_t ends,
                               struct text_block *out)
{
    int rank = x->shape.rank;

    if (dim == rank)
        return print_element(x, at, out);
    int64_t count = x->shape.dims[dim], inner = shape_inner(&x->shape, dim);
    int64_t tail = count - ends > ends ? count - ends : ends;
    TRY(add_text(out, "["));
    for (int64_t i = 0; i < count; i++) {
        if (i == ends && count > 2 * ends) {
            TRY(print_gap(dim, rank, out));
            TRY(add_text(out, "..."));
        }
        if (i >= ends && i < tail)
            i = tail;
        if (i == count)
            break;
        if (i > 0)
            TRY(print_gap(dim, rank, out));
        TRY(print_dim(x, dim + 1, at + i * inner, ends, out));
    }
    return add_text(out, "]");
}

static struct status print_tensor(const struct tensor *x, int64_t summarize, struct text_block *out)
{
    int64_t shown = summarize < 0 || summarize > x->size ? x->size : summarize;

    if (x->shape.rank > 0 && (x->dtype == DT_COMPLEX64 || x->dtype == DT_COMPLEX128)) {
        TRY(add_text(out, "["));
        for (int64_t i = 0; i < shown; i++)
            TRY(add_text(out, i > 0 ? " ?" : "?"));
        return add_text(out, shown < x->size && summarize >= 0 ? "...]" : "]");
    }
    if (x->shape.rank == 0 && shown == 0)
        return add_text(out, "...");
    return print_dim(x, 0, 0, shown, out);
}

static struct status format_compute(struct kernel_context *k)
{
    const struct format_state *state = kernel_state(k);
    struct text_block block = { .arena = kernel_arena(k) };
    struct shape scalar = shape_scalar();
    struct tensor *out;

    TRY(kernel_output(k, 0, &scalar, &out));
    TRY(text_block_add(&block, state->pieces[0].data, state->pieces[0].size));
    for (int i = 0; i < kernel_inputs_count(k); i++) {
        TRY(print_tensor(kernel_input(k, i), state->summarize, &block));
        TRY(text_block_add(&block, state->pieces[i + 1].data, state->pieces[i + 1].size));
    }
    tensor_strings_mut(out)[0] = text_block_end(&block);
    return status_ok();
}

static const struct kernel rows[] = {
    { "StringFormat", DTYPES_ALL, .prepare = format_prepare, .compute = format_compute },
};
const struct kernel_table kernels_string_format = { rows, COUNT(rows) };
