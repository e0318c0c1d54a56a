#include "clients/compare.h"

#include <math.h>

#include "base/text_print.h"
#include "clients/grpc_messages.h"
#include "proto/wire.h"
#include "tensor/value_json.h"

struct comparison {
    const struct tolerance *tolerance;
    struct arena *arena;
    struct buffer *out; /* empty as long as nothing differs */
};

/* Names and labels come from a server: they are escaped for the terminal. */
static void print_name(const char *before, struct bytes name, struct buffer *out)
{
    buffer_printf(out, "%s'", before);
    text_print_visible(out, name);
    buffer_append_char(out, '\'');
}

static bool is_close(const struct comparison *in, double expected, double got)
{
    if (expected == got || (isnan(expected) && isnan(got)))
        return true;
    return fabs(got - expected) <= in->tolerance->atol + in->tolerance->rtol * fabs(expected);
}

/* ---- tensors ---- */

/* Element i of a floating tensor; of a complex one, the real parts are 2i and the others 2i + 1. */
static double number_at(const struct tensor *tensor, int64_t i)
{
    switch (tensor->dtype) {
    case DT_DOUBLE:
    case DT_COMPLEX128:
        return ((const double *)tensor->data)[i];
    case DT_HALF:
        return (double)half_to_float(((const uint16_t *)tensor->data)[i]);
    case DT_BFLOAT16:
        return (double)bfloat16_to_float(((const uint16_t *)tensor->data)[i]);
    default:
        return (double)((const float *)tensor->data)[i];
    }
}

/* The number of numbers in an element; 0: elements are compared byte by byte. */
static int parts_of(enum dtype dtype)
{
    switch (dtype) {
    case DT_FLOAT:
    case DT_DOUBLE:
    case DT_HALF:
    case DT_BFLOAT16:
        return 1;
    case DT_COMPLEX64:
    case DT_COMPLEX128:
        return 2;
    default:
        return 0;
    }
}

static bool is_same_element(const struct comparison *in, const struct tensor *expected,
                            const struct tensor *got, int64_t i)
{
    int parts = parts_of(expected->dtype);
    size_t size = dtype_size(expected->dtype);
    for (int j = 0; j < parts; j++)
        if (!is_close(in, number_at(expected, i * parts + j), number_at(got, i * parts + j)))
            return false;
    if (parts > 0)
        return true;
    if (expected->dtype == DT_STRING)
        return bytes_equal(tensor_strings(expected)[i], tensor_strings(got)[i]);
    return memcmp((const char *)expected->data + (size_t)i * size,
                  (const char *)got->data + (size_t)i * size, size) == 0;
}

static void print_index(const struct shape *shape, int64_t i, struct buffer *out)
{
    int64_t left = i, inner = 1;
    for (int d = 0; d < shape->rank; d++)
        inner *= shape->dims[d];
    for (int d = 0; d < shape->rank; d++) {
        inner /= shape->dims[d];
        buffer_printf(out, "%s%lld", d > 0 ? "," : "[", (long long)(left / inner));
        left %= inner;
    }
    buffer_append_text(out, shape->rank > 0 ? "]" : "");
}

static void compare_tensors(const struct comparison *in, const char *name,
                            const struct tensor *expected, const struct tensor *got)
{
    int64_t count = 0, first = 0;
    if (expected->dtype != got->dtype || !shape_equal(&expected->shape, &got->shape)) {
        print_name("output ", bytes_of(name), in->out);
        buffer_printf(in->out, " is %s %s, was %s %s", dtype_name(got->dtype),
                      shape_text(&got->shape), dtype_name(expected->dtype),
                      shape_text(&expected->shape));
        return;
    }
    for (int64_t i = 0; i < expected->size; i++)
        if (!is_same_element(in, expected, got, i) && count++ == 0)
            first = i;
    if (count == 0)
        return;
    print_name("output ", bytes_of(name), in->out);
    print_index(&expected->shape, first, in->out);
    buffer_append_text(in->out, " is ");
    value_element_to_text(got, first, in->out);
    buffer_append_text(in->out, ", was ");
    value_element_to_text(expected, first, in->out);
    if (count > 1)
        buffer_printf(in->out, " (and %lld more of %lld values)", (long long)count - 1,
                      (long long)expected->size);
}

/* Of several outputs with one name, the last counts, as in a map of protobuf. */
static const struct client_tensor *find_output(const struct client_outputs *outputs,
                                               const char *name)
{
    for (int i = outputs->count - 1; i >= 0; i--)
        if (strcmp(outputs->outputs[i].name, name) == 0)
            return &outputs->outputs[i];
    return NULL;
}

static void tell_output(const struct comparison *in, const char *name, const char *what)
{
    print_name("output ", bytes_of(name), in->out);
    buffer_append_text(in->out, what);
}

static struct status compare_predict(const struct comparison *in, struct bytes expected_message,
                                     struct bytes got_message)
{
    struct client_outputs expected, got;
    TRY(grpc_get_predict(expected_message, in->arena, &expected));
    TRY(grpc_get_predict(got_message, in->arena, &got));
    for (int i = 0; i < expected.count && in->out->size == 0; i++) {
        const struct client_tensor *was = find_output(&expected, expected.outputs[i].name);
        const struct client_tensor *is = find_output(&got, was->name);
        if (is == NULL)
            tell_output(in, was->name, " is missing");
        else
            compare_tensors(in, was->name, &was->tensor, &is->tensor);
    }
    for (int i = 0; i < got.count && in->out->size == 0; i++)
        if (find_output(&expected, got.outputs[i].name) == NULL)
            tell_output(in, got.outputs[i].name, " is new");
    return status_ok();
}

/* ---- classes and values ---- */

static void compare_rows(const struct comparison *in, const struct client_classes *expected,
                         const struct client_classes *got, int row)
{
    int was_count = expected->classes_count[row], is_count = got->classes_count[row];
    if (was_count != is_count)
        buffer_printf(in->out, "example %d has %d classes, had %d", row, is_count, was_count);
    for (int i = 0; i < was_count && in->out->size == 0; i++) {
        const struct client_class *was = &expected->rows[row][i], *is = &got->rows[row][i];
        if (bytes_equal(was->label, is->label) &&
            is_close(in, (double)was->score, (double)is->score))
            continue;
        buffer_printf(in->out, "example %d, class %d", row, i);
        print_name(" is ", is->label, in->out);
        buffer_printf(in->out, " %.9g", (double)is->score);
        print_name(", was ", was->label, in->out);
        buffer_printf(in->out, " %.9g", (double)was->score);
    }
}

static struct status compare_classes(const struct comparison *in, struct bytes expected_message,
                                     struct bytes got_message)
{
    struct client_classes expected, got;
    TRY(grpc_get_classes(expected_message, in->arena, &expected));
    TRY(grpc_get_classes(got_message, in->arena, &got));
    if (expected.examples_count != got.examples_count)
        buffer_printf(in->out, "%d examples, were %d", got.examples_count, expected.examples_count);
    for (int i = 0; i < expected.examples_count && in->out->size == 0; i++)
        compare_rows(in, &expected, &got, i);
    return status_ok();
}

static struct status compare_values(const struct comparison *in, struct bytes expected_message,
                                    struct bytes got_message)
{
    struct client_values expected, got;
    TRY(grpc_get_values(expected_message, in->arena, &expected));
    TRY(grpc_get_values(got_message, in->arena, &got));
    if (expected.count != got.count)
        buffer_printf(in->out, "%d values, were %d", got.count, expected.count);
    for (int i = 0; i < expected.count && in->out->size == 0; i++)
        if (!is_close(in, (double)expected.values[i], (double)got.values[i]))
            buffer_printf(in->out, "value %d is %.9g, was %.9g", i, (double)got.values[i],
                          (double)expected.values[i]);
    return status_ok();
}

/* ---- MultiInference: a list of results, each of one of the two kinds above ---- */

enum { MULTI_RESULT = 1, RESULT_CLASSES = 2, RESULT_VALUES = 3, RESPONSE_RESULT = 1 };

/* The result in the form of a Classify or Regress answer. */
static struct bytes as_answer(struct bytes result, uint32_t number, struct arena *arena)
{
    struct wire wire = wire_of(result);
    struct wire_field field;
    struct buffer out = { 0 };
    while (wire_next(&wire, &field))
        if (wire_is(&field, number, WIRE_BYTES))
            wire_put_bytes(&out, RESPONSE_RESULT, field.bytes);
    struct bytes answer = { arena_memdup(arena, out.data, out.size), out.size };
    buffer_finish(&out);
    return answer;
}

static bool next_result(struct wire *wire, struct bytes *out)
{
    struct wire_field field;
    while (wire_next(wire, &field))
        if (wire_is(&field, MULTI_RESULT, WIRE_BYTES)) {
            *out = field.bytes;
            return true;
        }
    return false;
}

static struct status compare_multi(const struct comparison *in, struct bytes expected_message,
                                   struct bytes got_message)
{
    struct wire expected = wire_of(expected_message), got = wire_of(got_message);
    struct bytes was, is;
    bool more, same = true;
    while ((more = next_result(&expected, &was)) && (same = next_result(&got, &is))) {
        TRY(compare_classes(in, as_answer(was, RESULT_CLASSES, in->arena),
                            as_answer(is, RESULT_CLASSES, in->arena)));
        if (in->out->size == 0)
            TRY(compare_values(in, as_answer(was, RESULT_VALUES, in->arena),
                               as_answer(is, RESULT_VALUES, in->arena)));
        if (in->out->size > 0)
            return status_ok();
    }
    if (!same || (!more && next_result(&got, &is)))
        buffer_append_text(in->out, "another number of results");
    return status_ok();
}

struct status compare_answers(enum prediction_kind kind, struct bytes expected, struct bytes got,
                              const struct tolerance *tolerance, struct arena *arena,
                              bool *different, struct buffer *out)
{
    struct buffer text = { 0 };
    struct comparison in = { tolerance, arena, &text };
    struct status status = status_ok();
    switch (kind) {
    case PREDICTION_CLASSIFY:
        status = compare_classes(&in, expected, got);
        break;
    case PREDICTION_REGRESS:
        status = compare_values(&in, expected, got);
        break;
    case PREDICTION_MULTI_INFERENCE:
        status = compare_multi(&in, expected, got);
        break;
    default:
        status = compare_predict(&in, expected, got);
    }
    *different = text.size > 0;
    if (text.size > 0)
        buffer_append(out, text.data, text.size);
    buffer_finish(&text);
    return status;
}
