/* Print and PrintV2, which write to the program's standard error or output, as TensorFlow's do. */
#include "runtime/kernels/control/print.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "runtime/kernels/elementwise.h"

/* As in a literal of C: control characters become \n, \001 and the like. */
static void print_escaped(struct buffer *text, struct bytes string)
{
    static const char escaped[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";

    for (size_t i = 0; i < string.size; i++) {
        unsigned char c = (unsigned char)string.data[i];
        const char *at = c != '\0' ? strchr(escaped, c) : NULL;
        if (at != NULL)
            buffer_printf(text, "\\%c", letters[at - escaped]);
        else if (c >= ' ' && c != 0x7f)
            buffer_append_char(text, (char)c);
        else
            buffer_printf(text, "\\%03o", c);
    }
}

/* With as many digits as make it the same number again, of two choices. */
static void print_float(struct buffer *text, float x)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.6g", (double)x);
    if (strtof(digits, NULL) != x)
        snprintf(digits, sizeof digits, "%.9g", (double)x);
    buffer_append_text(text, digits);
}

static void print_double(struct buffer *text, double x)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.15g", x);
    if (strtod(digits, NULL) != x)
        snprintf(digits, sizeof digits, "%.17g", x);
    buffer_append_text(text, digits);
}

static void print_element(struct buffer *text, const struct tensor *x, int64_t i)
{
    if (x->dtype == DT_STRING)
        print_escaped(text, tensor_strings(x)[i]);
    else if (x->dtype == DT_DOUBLE)
        print_double(text, tensor_doubles(x)[i]);
    else if (dtype_is_floating(x->dtype))
        print_float(text, (float)floating_element(x, i));
    else if (x->dtype == DT_BOOL)
        buffer_printf(text, "%d", tensor_bools(x)[i]);
    else if (x->dtype == DT_UINT64)
        buffer_printf(text, "%llu", (unsigned long long)tensor_index(x, i));
    else if (dtype_is_integer(x->dtype))
        buffer_printf(text, "%lld", (long long)tensor_index(x, i));
    else
        buffer_append_char(text, '?');
}

struct tensor_summary {
    struct buffer *text;
    const struct tensor *x;
    int64_t most, next; /* elements */
};

static void print_row(struct tensor_summary *summary, int64_t count, bool is_inner)
{
    for (int64_t i = 0; i < count; i++) {
        if (summary->next == summary->most) {
            buffer_append_text(summary->text, is_inner ? "..." : "");
            return;
        }
        if (i > 0)
            buffer_append_char(summary->text, ' ');
        print_element(summary->text, summary->x, summary->next++);
    }
}

/* Prints dimension d and the dimensions inside it. If elements are left out, only the innermost
 * dimension shows an ellipsis. */
static void print_dimension(struct tensor_summary *summary, int d)
{
    const struct shape *shape = &summary->x->shape;
    if (d + 1 >= shape->rank) {
        print_row(summary, d < shape->rank ? shape->dims[d] : 1, d > 0);
        return;
    }
    for (int64_t i = 0; i < shape->dims[d] && summary->next < summary->most; i++) {
        buffer_append_char(summary->text, '[');
        print_dimension(summary, d + 1);
        buffer_append_char(summary->text, ']');
    }
}

void print_tensor(struct buffer *text, const struct tensor *x, int64_t most)
{
    struct tensor_summary summary = { text, x, most < 0 || most > x->size ? x->size : most, 0 };
    buffer_append_char(text, '[');
    if (summary.most > 0)
        print_dimension(&summary, 0);
    buffer_append_text(text, summary.most < x->size ? "..." : "");
    buffer_append_char(text, ']');
}

/* ---- Print ---- */

struct print_node_state {
    struct bytes message;
    int64_t summarize;
    bool is_limited;
    _Atomic int64_t *left; /* prints, of all runs */
};

static struct status print_prepare(struct prepare_context *p)
{
    struct print_node_state *state = prepare_state(p, sizeof *state, NULL);
    int64_t first;
    TRY(node_attr_string(prepare_node(p), "message", &state->message));
    TRY(node_attr_int(prepare_node(p), "summarize", &state->summarize));
    TRY(node_attr_int(prepare_node(p), "first_n", &first));
    state->left = arena_alloc(prepare_arena(p), sizeof *state->left);
    state->is_limited = first >= 0;
    atomic_init(state->left, first);
    return status_ok();
}

static struct status print_compute(struct kernel_context *k)
{
    const struct print_node_state *state = kernel_state(k);
    if (!state->is_limited || atomic_fetch_sub(state->left, 1) > 0) {
        struct buffer text = { 0 };
        buffer_append(&text, state->message.data, state->message.size);
        for (int i = 1; i < kernel_inputs_count(k); i++)
            print_tensor(&text, kernel_input(k, i), state->summarize);
        buffer_append_char(&text, '\n');
        fwrite(text.data, 1, text.size, stderr);
        buffer_finish(&text);
    }
    kernel_output_set(k, 0, kernel_take_input(k, 0));
    return status_ok();
}

/* ---- PrintV2 ---- */

struct print_text_state {
    FILE *to;
    struct bytes end;
};

static struct status print_v2_prepare(struct prepare_context *p)
{
    static const char *const errors[] = { "stderr", "log(info)", "log(warning)", "log(error)" };
    const struct node *node = prepare_node(p);
    struct print_text_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes stream;
    TRY(node_attr_string(node, "end", &state->end));
    TRY(node_attr_string(node, "output_stream", &stream));
    if (bytes_equal(stream, bytes_of("stdout")))
        state->to = stdout;
    if (BYTES_FIND(stream, errors) >= 0)
        state->to = stderr;
    if (state->to != NULL)
        return status_ok();
    if (stream.size >= 7 && memcmp(stream.data, "file://", 7) == 0)
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s' (PrintV2): a model may not write to the file '%.*s'",
                            node->name, (int)stream.size, stream.data);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "node '%s' (PrintV2): Unknown output stream: %.*s, Valid streams are: "
                        "stdout, stderr, log(info), log(warning), log(error)",
                        node->name, (int)stream.size, stream.data);
}

static struct status print_v2_compute(struct kernel_context *k)
{
    const struct print_text_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct buffer text = { 0 };
    if (x->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Input is expected to be scalar, but got %s",
                            shape_text(&x->shape));
    buffer_append(&text, tensor_strings(x)->data, tensor_strings(x)->size);
    buffer_append(&text, state->end.data, state->end.size);
    if (text.size > 0)
        fwrite(text.data, 1, text.size, state->to);
    fflush(state->to);
    buffer_finish(&text);
    return status_ok();
}

static const struct kernel rows[] = {
    { "Print", DTYPES_ALL, .prepare = print_prepare, .compute = print_compute },
    { "PrintV2", DTYPES_ALL, .prepare = print_v2_prepare, .compute = print_v2_compute },
};
const struct kernel_table kernels_print = { rows, COUNT(rows) };
