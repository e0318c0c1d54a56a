/*
 * strings: ops that join, split and print strings, and ReadFile. New characters live in the run's
 * arena.
 */
#include <stdio.h>

#include "base/clones.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/text_case.h"
#include "runtime/kernels/read_file.h"
#include "runtime/kernels/string_to_number.h"
#include "runtime/resources.h"

static struct status keep(struct kernel_context *k, const void *data, size_t size,
                          struct bytes *out)
{
    void *copy;
    TRY(arena_reserve(kernel_arena(k), size + 1, &copy));
    if (size > 0)
        memcpy(copy, data, size);
    *out = (struct bytes){ copy, size };
    return status_ok();
}

/* ---- StringJoin: scalars go with every element ---- */

static struct status join_prepare(struct prepare_context *p)
{
    struct bytes *separator = prepare_state(p, sizeof *separator, NULL);
    return node_attr_string(prepare_node(p), "separator", separator);
}

static struct bytes element_of(const struct tensor *tensor, int64_t i)
{
    return tensor_strings(tensor)[tensor->shape.rank == 0 ? 0 : i];
}

static struct status join_element(struct kernel_context *k, int64_t i, struct bytes *out)
{
    const struct bytes *separator = kernel_state(k);
    int count = kernel_inputs_count(k);
    size_t size = separator->size * (size_t)(count > 0 ? count - 1 : 0);
    for (int n = 0; n < count; n++)
        size += element_of(kernel_input(k, n), i).size;
    void *text;
    TRY(arena_reserve(kernel_arena(k), size + 1, &text));
    char *at = text;
    for (int n = 0; n < count; n++) {
        struct bytes part = element_of(kernel_input(k, n), i);
        if (n > 0 && separator->size > 0)
            memcpy(at, separator->data, separator->size);
        at += n > 0 ? separator->size : 0;
        if (part.size > 0)
            memcpy(at, part.data, part.size);
        at += part.size;
    }
    *out = (struct bytes){ text, size };
    return status_ok();
}

static struct status join_compute(struct kernel_context *k)
{
    struct shape shape = shape_scalar();
    struct tensor *out;
    for (int n = 0; n < kernel_inputs_count(k); n++) {
        const struct shape *each = &kernel_input(k, n)->shape;
        if (each->rank == 0)
            continue;
        if (shape.rank != 0 && !shape_equal(&shape, each))
            return status_error(STATUS_INVALID_ARGUMENT, "Input shapes do not match: %s vs. %s",
                                shape_text(&shape), shape_text(each));
        shape = *each;
    }
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < out->size; i++)
        TRY(join_element(k, i, &tensor_strings_mut(out)[i]));
    return status_ok();
}

/* ---- names of checkpoint shards ---- */

static struct status sharded_compute(struct kernel_context *k)
{
    bool spec = kernel_inputs_count(k) == 2; /* ShardedFilespec has no shard */
    struct shape scalar = shape_scalar();
    struct tensor *out;
    char tail[64];
    for (int i = 0; i < kernel_inputs_count(k); i++)
        if (kernel_input(k, i)->shape.rank != 0)
            return status_error(STATUS_INVALID_ARGUMENT, "input %d must be a scalar, got shape %s",
                                i, shape_text(&kernel_input(k, i)->shape));
    int shards = tensor_int32s(kernel_input(k, spec ? 1 : 2))[0];
    int length = spec ? snprintf(tail, sizeof tail,
                                 "-?"
                                 "?"
                                 "?"
                                 "?"
                                 "?-of-%05d",
                                 shards)
                      : snprintf(tail, sizeof tail, "-%05d-of-%05d",
                                 tensor_int32s(kernel_input(k, 1))[0], shards);
    struct bytes base = tensor_strings(kernel_input(k, 0))[0];
    void *text;
    TRY(kernel_output(k, 0, &scalar, &out));
    TRY(arena_reserve(kernel_arena(k), base.size + (size_t)length + 1, &text));
    if (base.size > 0)
        memcpy(text, base.data, base.size);
    memcpy((char *)text + base.size, tail, (size_t)length);
    tensor_strings_mut(out)[0] = (struct bytes){ text, base.size + (size_t)length };
    return status_ok();
}

static struct status read_file_compute(struct kernel_context *k)
{
    const struct tensor *name = kernel_input(k, 0);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    if (name->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input filename tensor must be scalar, but had shape: %s",
                            shape_text(&name->shape));
    struct bytes content;
    TRY(read_model_file(k, tensor_strings(name)[0], &content));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_strings_mut(out)[0] = content;
    return status_ok();
}

/* ---- one string to one string ---- */

static struct status case_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct bytes encoding;
    bool *utf8 = prepare_state(p, sizeof *utf8, NULL);
    TRY(node_attr_string(node, "encoding", &encoding));
    *utf8 = encoding.size > 0;
    if (*utf8 && !bytes_equal(encoding, bytes_of("utf-8")))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "only utf-8 or '' (no encoding) is supported, received %.*s",
                            (int)encoding.size, encoding.data);
    return status_ok();
}

/* Changes the case of the 26 letters that begin at `first`. */
CLONES static void change_letters(const char *text, size_t size, char first, char *out)
{
    for (size_t c = 0; c < size; c++) {
        bool letter = (unsigned char)(text[c] - first) < 26;
        out[c] = (char)(text[c] ^ (letter ? 0x20 : 0));
    }
}

/* TensorFlow passes a C string to its library: the text ends at the first NUL. */
static struct bytes up_to_nul(struct bytes text)
{
    const void *nul = text.size > 0 ? memchr(text.data, '\0', text.size) : NULL;
    if (nul != NULL)
        text.size = (size_t)((const char *)nul - text.data);
    return text;
}

static bool is_ascii(struct bytes text)
{
    unsigned char all = 0;
    for (size_t c = 0; c < text.size; c++)
        all |= (unsigned char)text.data[c];
    return all < 0x80;
}

/* Buffers for the valid form and the other case of the longest text. */
static struct status case_room(struct kernel_context *k, const struct tensor *x, struct tensor *out)
{
    size_t longest = 0;
    for (int64_t i = 0; i < x->size; i++)
        longest = tensor_strings(x)[i].size > longest ? tensor_strings(x)[i].size : longest;
    if (longest > SIZE_MAX / (4 * TEXT_CASE_GROWTH))
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "a string of %zu bytes", longest);
    struct shape shape = shape_of((int64_t)(2 * TEXT_CASE_GROWTH * longest));
    return kernel_scratch(k, DT_UINT8, &shape, out);
}

static struct status change_unicode(struct kernel_context *k, struct bytes text, bool upper,
                                    const struct tensor *room, struct bytes *out)
{
    char *valid = room->data, *changed = valid + room->size / 2;
    size_t size = text_change_case(text.data, text.size, upper, valid, changed);
    if (size == TEXT_CASE_FAILED)
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "no memory for a string of %zu bytes",
                            text.size);
    return keep(k, changed, size, out);
}

static struct status change_text(struct kernel_context *k, struct bytes text, bool upper,
                                 const struct tensor *room, struct bytes *out)
{
    const bool *utf8 = kernel_state(k);
    if (*utf8) {
        text = up_to_nul(text);
        if (!is_ascii(text))
            return change_unicode(k, text, upper, room, out);
    }
    TRY(keep(k, text.data, text.size, out));
    change_letters(text.data, text.size, upper ? 'a' : 'A', (char *)out->data);
    return status_ok();
}

static struct status change_case(struct kernel_context *k, bool upper)
{
    const bool *utf8 = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out, room = { 0 };
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (*utf8)
        TRY(case_room(k, x, &room));
    struct status status = status_ok();
    for (int64_t i = 0; i < x->size && status_is_ok(status); i++)
        status = change_text(k, tensor_strings(x)[i], upper, &room, &tensor_strings_mut(out)[i]);
    tensor_release(&room);
    return status;
}

static struct status lower_compute(struct kernel_context *k)
{
    return change_case(k, false);
}

static struct status upper_compute(struct kernel_context *k)
{
    return change_case(k, true);
}

static struct status strip_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        struct bytes text = tensor_strings(x)[i];
        while (text.size > 0 && is_white_space(text.data[0]))
            text = (struct bytes){ text.data + 1, text.size - 1 };
        while (text.size > 0 && is_white_space(text.data[text.size - 1]))
            text.size--;
        tensor_strings_mut(out)[i] = text;
    }
    return status_ok();
}

/* ---- strings and numbers ---- */

static struct status length_prepare(struct prepare_context *p)
{
    bool *characters = prepare_state(p, sizeof *characters, NULL);
    struct bytes unit;
    TRY(node_attr_string(prepare_node(p), "unit", &unit));
    *characters = bytes_equal(unit, bytes_of("UTF8_CHAR"));
    return status_ok();
}

static struct status length_compute(struct kernel_context *k)
{
    const bool *characters = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        struct bytes text = tensor_strings(x)[i];
        int32_t length = (int32_t)text.size;
        for (size_t c = 0; c < text.size && *characters; c++)
            length -= (text.data[c] & 0xc0) == 0x80; /* a byte that continues a character */
        tensor_int32s_mut(out)[i] = length;
    }
    return status_ok();
}

static struct status number_error(struct bytes text)
{
    return status_error(STATUS_INVALID_ARGUMENT,
                        "StringToNumberOp could not correctly convert string: %.*s", (int)text.size,
                        text.data);
}

static struct status store_number(struct kernel_context *k, struct bytes text, struct tensor *out,
                                  int64_t i)
{
    bool valid;
    TRY(string_to_number(k, text, out, i, &valid));
    return valid ? status_ok() : number_error(text);
}

static struct status to_number_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++)
        TRY(store_number(k, tensor_strings(x)[i], out, i));
    return status_ok();
}

struct print_state {
    char format[32];
};

static struct status print_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct print_state *state = prepare_state(p, sizeof *state, NULL);
    int64_t precision, width;
    bool scientific, shortest;
    struct bytes fill;
    enum dtype dtype;
    TRY(node_attr_int32(node, "precision", &precision));
    TRY(node_attr_int32(node, "width", &width));
    TRY(node_attr_bool(node, "scientific", &scientific));
    TRY(node_attr_bool(node, "shortest", &shortest));
    TRY(node_attr_string(node, "fill", &fill));
    TRY(node_attr_type(node, "T", &dtype));
    bool is_whole = !dtype_is_floating(dtype) && !dtype_is_complex(dtype);
    if (is_whole && precision >= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "precision not supported for datatype %s",
                            dtype_name(dtype));
    if (is_whole && (scientific || shortest))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "scientific and shortest format not supported for datatype %s",
                            dtype_name(dtype));
    if (scientific && shortest)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Cannot select both scientific and shortest notation");
    if (fill.size > 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Fill string must be one or fewer characters");
    if (fill.size == 1 && memchr(" +-0#", fill.data[0], 5) == NULL) /* printf's flags */
        return status_error(STATUS_INVALID_ARGUMENT, "Fill argument not supported: \"%.*s\"",
                            (int)fill.size, fill.data);
    if (width > 200 || precision > 200)
        return status_error(STATUS_UNIMPLEMENTED, "width or precision over 200");
    char numbers[24] = "";
    if (width > 0)
        snprintf(numbers, sizeof numbers, "%d", (int)width);
    if (precision >= 0)
        snprintf(numbers + strlen(numbers), sizeof numbers - strlen(numbers), ".%d",
                 (int)precision);
    snprintf(state->format, sizeof state->format, "%%%.*s%s%s", (int)fill.size, fill.data, numbers,
             scientific ? "e"
             : shortest ? "g"
                        : "f");
    return status_ok();
}

/* (real,imaginary), each in the format. */
static int print_complex(const struct print_state *state, const struct tensor *x, int64_t i,
                         char *text, size_t size)
{
    bool narrow = x->dtype == DT_COMPLEX64;
    int length = 0;
    for (int part = 0; part < 2; part++) {
        double value = narrow ? (double)((const float *)x->data)[2 * i + part]
                              : ((const double *)x->data)[2 * i + part];
        length += snprintf(text + length, size - (size_t)length, "%s", part == 0 ? "(" : ",");
        length += snprintf(text + length, size - (size_t)length, state->format, value);
    }
    return length + snprintf(text + length, size - (size_t)length, ")");
}

/* Integers take the same flags, with their own conversion letter. */
static int print_element(const struct print_state *state, const struct tensor *x, int64_t i,
                         char *text, size_t size)
{
    char format[40];
    if (x->dtype == DT_BOOL)
        return snprintf(text, size, "%s", tensor_bools(x)[i] ? "true" : "false");
    if (dtype_is_floating(x->dtype))
        return snprintf(text, size, state->format, floating_element(x, i));
    if (dtype_is_complex(x->dtype))
        return print_complex(state, x, i, text, size);
    int head = (int)strlen(state->format) - 1;
    if (x->dtype == DT_UINT64) {
        snprintf(format, sizeof format, "%.*sllu", head, state->format);
        return snprintf(text, size, format, (unsigned long long)((const uint64_t *)x->data)[i]);
    }
    snprintf(format, sizeof format, "%.*slld", head, state->format);
    return snprintf(text, size, format, (long long)tensor_index(x, i));
}

static struct status print_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        char text[1280]; /* the longest: twice DBL_MAX by %f with 200 fractional digits */
        if (x->dtype == DT_STRING) {
            tensor_strings_mut(out)[i] = tensor_strings(x)[i];
            continue;
        }
        int length = print_element(kernel_state(k), x, i, text, sizeof text);
        TRY(keep(k, text, (size_t)length, &tensor_strings_mut(out)[i]));
    }
    return status_ok();
}

#define DTYPES_NUMBERS (DTYPES(DT_INT32) | DTYPES(DT_INT64) | DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE))
#define DTYPES_PRINTED                                                                            \
    (DTYPES_NUMBERS | DTYPES(DT_INT8) | DTYPES(DT_INT16) | DTYPES(DT_UINT8) | DTYPES(DT_UINT16) | \
     DTYPES(DT_UINT32) | DTYPES(DT_UINT64) | DTYPES(DT_HALF) | DTYPES(DT_BFLOAT16) |              \
     DTYPES(DT_BOOL) | DTYPES(DT_STRING) | DTYPES_COMPLEX)
static const struct kernel rows[] = {
    { "StringJoin", DTYPES_ALL, .prepare = join_prepare, .compute = join_compute },
    { "ShardedFilename", DTYPES_ALL, .compute = sharded_compute },
    { "ShardedFilespec", DTYPES_ALL, .compute = sharded_compute },
    { "ReadFile", DTYPES_ALL, .compute = read_file_compute },
    { "StringLower", DTYPES_ALL, .prepare = case_prepare, .compute = lower_compute },
    { "StringUpper", DTYPES_ALL, .prepare = case_prepare, .compute = upper_compute },
    { "StringStrip", DTYPES_ALL, .compute = strip_compute },
    { "StringLength", DTYPES_ALL, .prepare = length_prepare, .compute = length_compute },
    { "StringToNumber", DTYPES_NUMBERS | DTYPES(DT_UINT32) | DTYPES(DT_UINT64), "out_type",
      .compute = to_number_compute },
    { "AsString", DTYPES_PRINTED, "T", .prepare = print_prepare, .compute = print_compute },
};
const struct kernel_table kernels_strings = { rows, COUNT(rows) };
