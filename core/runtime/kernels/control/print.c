/* Print and PrintV2, which write to the program's standard error or output, as TensorFlow's do. */
#include "runtime/kernels/control/print.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/arena.h"
#include "runtime/kernel.h"

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

static void print_element(struct buffer *text, const struct tensor *x, int64_t i)
{
    switch (x->dtype) {
    case DT_STRING:
        print_escaped(text, tensor_strings(x)[i]);
        break;
    case DT_FLOAT:
        buffer_printf(text, "%.9g", (double)tensor_floats(x)[i]);
        break;
    case DT_DOUBLE:
        buffer_printf(text, "%.17g", tensor_doubles(x)[i]);
        break;
    case DT_BOOL:
        buffer_printf(text, "%d", tensor_bools(x)[i]);
        break;
    case DT_INT32:
    case DT_INT64:
        buffer_printf(text, "%lld", (long long)tensor_index(x, i));
        break;
    default:
        buffer_printf(text, "?");
    }
}

void print_tensor(struct buffer *text, const struct tensor *x, int64_t most)
{
    buffer_append_char(text, '[');
    for (int64_t i = 0; i < x->size; i++) {
        if (most >= 0 && i == most) {
            buffer_append_text(text, "...");
            break;
        }
        if (i > 0)
            buffer_append_char(text, ' ');
        print_element(text, x, i);
    }
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
