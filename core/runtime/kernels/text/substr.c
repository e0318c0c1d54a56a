/*
 * substr: Substr, parts of texts by position and length, in bytes or in characters. A negative
 * position counts from the end of the text.
 */
#include "runtime/kernels/kernel_tools.h"

struct substr_state {
    bool characters; /* positions and lengths count these; otherwise bytes */
};

static struct status substr_prepare(struct prepare_context *p)
{
    struct substr_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes unit;

    TRY(node_attr_string(prepare_node(p), "unit", &unit));
    state->characters = bytes_equal(unit, bytes_of("UTF8_CHAR"));
    return status_ok();
}

/* ---- places in a text ---- */

static bool continues_character(char c)
{
    return (c & 0xc0) == 0x80;
}

/* Moves *at over `count` characters; false: the text ends before. */
static bool move_forward(struct bytes text, int64_t count, int64_t *at)
{
    int64_t size = (int64_t)text.size;

    for (; count > 0 && *at < size; count--) {
        do
            ++*at;
        while (*at < size && continues_character(text.data[*at]));
    }
    return count <= 0;
}

static bool move_back(struct bytes text, int64_t count, int64_t *at)
{
    for (; count > 0 && *at > 0; count--) {
        do
            --*at;
        while (*at > 0 && continues_character(text.data[*at]));
    }
    return count <= 0;
}

static struct bytes part(struct bytes text, int64_t begin, int64_t end)
{
    return (struct bytes){ end > begin ? text.data + begin : "", (size_t)(end - begin) };
}

/* As in TensorFlow, a negative length takes all bytes up to the end. */
static bool part_of_bytes(struct bytes text, int64_t position, int64_t length, struct bytes *out)
{
    int64_t size = (int64_t)text.size;
    int64_t begin = position < 0 ? position + size : position;

    if (begin < 0 || begin > size)
        return false;
    bool whole = length < 0 || length > size - begin;
    *out = part(text, begin, whole ? size : begin + length);
    return true;
}

/* As in TensorFlow, a negative length takes no characters, and is refused after a negative
 * position. */
static bool part_of_characters(struct bytes text, int64_t position, int64_t length,
                               struct bytes *out)
{
    int64_t size = (int64_t)text.size, begin = 0, end = size;

    if (position >= 0) {
        if (!move_forward(text, position, &begin))
            return false;
        end = begin;
        move_forward(text, length, &end);
        *out = part(text, begin, end);
        return true;
    }
    if (position < -size || length < 0)
        return false;
    int64_t left = length < -position ? -position - length : 0; /* characters after the part */
    if (!move_back(text, left, &end))
        return false;
    begin = end;
    if (!move_back(text, -position - left, &begin))
        return false;
    *out = part(text, begin, end);
    return true;
}

/* ---- shapes ---- */

/* The shape of the output: TensorFlow broadcasts up to two dimensions. */
static struct status output_shape(const struct kernel_context *k, struct shape *out)
{
    const struct tensor *texts = kernel_input(k, 0), *position = kernel_input(k, 1);
    const struct tensor *length = kernel_input(k, 2);

    if (!shape_equal(&position->shape, &length->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "pos and len should have the same shape, got: %s vs. %s",
                            shape_text(&position->shape), shape_text(&length->shape));
    *out = texts->shape;
    if (position->shape.rank == 0 || shape_equal(&texts->shape, &position->shape))
        return status_ok();
    TRY(shape_broadcast(&texts->shape, &position->shape, out));
    if (out->rank > 2)
        return status_error(STATUS_UNIMPLEMENTED,
                            "Substr broadcast not implemented for %d dimensions", out->rank);
    return status_ok();
}

/* The place in an operand of element `at` of the output. */
static int64_t source_of(const struct shape *operand, const struct shape *out, int64_t at)
{
    int64_t place = 0, stride = 1;

    if (operand->rank == 0 || shape_equal(operand, out))
        return operand->rank == 0 ? 0 : at;
    for (int d = 1; d <= out->rank; d++) {
        int64_t size = out->dims[out->rank - d];
        if (d <= operand->rank && operand->dims[operand->rank - d] > 1) {
            place += at % size * stride;
            stride *= operand->dims[operand->rank - d];
        }
        at /= size;
    }
    return place;
}

static struct status out_of_range(bool characters, int64_t position, struct bytes text, int64_t at)
{
    if (characters)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "pos %lld out of range for string at index %lld", (long long)position,
                            (long long)at);
    return status_error(
        STATUS_INVALID_ARGUMENT, "pos %lld out of range for string b'%.*s' at index %lld",
        (long long)position, (int)(text.size < 200 ? text.size : 200), text.data, (long long)at);
}

static struct status substr_compute(struct kernel_context *k)
{
    const struct substr_state *state = kernel_state(k);
    const struct tensor *texts = kernel_input(k, 0), *positions = kernel_input(k, 1);
    struct shape shape;
    struct tensor *out;
    int64_t work = 0;

    TRY(output_shape(k, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < out->size; i++) {
        struct bytes text = tensor_strings(texts)[source_of(&texts->shape, &shape, i)];
        int64_t from = source_of(&positions->shape, &shape, i);
        int64_t position = tensor_index(positions, from);
        int64_t length = tensor_index(kernel_input(k, 2), from);
        if (!(state->characters ? part_of_characters : part_of_bytes)(text, position, length,
                                                                      &tensor_strings_mut(out)[i]))
            return out_of_range(state->characters, position, text, i);
        if (state->characters) /* many positions in one long text */
            TRY(kernel_work(k, &work, (int64_t)text.size));
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "Substr", DTYPES(DT_INT32) | DTYPES(DT_INT64), "T", .prepare = substr_prepare,
      .compute = substr_compute },
};
const struct kernel_table kernels_substr = { rows, COUNT(rows) };
