/*
 * base64: DecodeBase64 and EncodeBase64, with the URL-safe alphabet ('-' and '_'), padded or not.
 */
#include "runtime/kernels/kernel_tools.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* 0 to 63; 64: not in the alphabet. */
static uint32_t value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0') + 52;
    return c == '-' ? 62 : c == '_' ? 63 : 64;
}

/* Cuts off the padding, which is valid only after whole groups of four. */
static size_t unpadded(struct bytes text)
{
    const char *end = text.data + text.size;
    if (text.size == 0 || text.size % 4 != 0 || end[-1] != '=')
        return text.size;
    return text.size - (end[-2] == '=' ? 2 : 1);
}

static struct status decode(struct arena *arena, struct bytes text, struct bytes *out)
{
    size_t size = unpadded(text), whole = size / 4, rest = size % 4, bytes = 3 * whole;
    void *room;
    bytes += rest > 0 ? rest - 1 : 0;
    TRY(arena_reserve(arena, bytes + 1, &room));
    unsigned char *to = room;
    uint32_t bits = 0;
    for (size_t i = 0, done = 0; i < size - (rest == 1); i++) {
        uint32_t value = value_of(text.data[i]);
        if (value == 64)
            return status_error(STATUS_INVALID_ARGUMENT, "Invalid character found in base64.");
        bits = bits << 6 | value;
        if (i % 4 != 0) /* the first character of four completes no byte */
            to[done++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    if (rest == 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Base64 string length cannot be 1 modulo 4.");
    *out = (struct bytes){ room, bytes };
    return status_ok();
}

static struct status encode(struct arena *arena, struct bytes data, bool pad, struct bytes *out)
{
    size_t rest = data.size % 3, size = data.size / 3 * 4 + (rest > 0 ? rest + 1 : 0), done = 0;
    void *room;
    TRY(arena_reserve(arena, size + 3, &room));
    char *to = room;
    for (size_t i = 0; i < data.size; i += 3) {
        uint32_t bits = 0;
        size_t count = data.size - i < 3 ? data.size - i : 3;
        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (j < count ? (unsigned char)data.data[i + j] : 0);
        for (size_t j = 0; j <= count; j++)
            to[done++] = alphabet[bits >> (18 - 6 * j) & 63];
    }
    while (pad && done % 4 != 0)
        to[done++] = '=';
    *out = (struct bytes){ room, done };
    return status_ok();
}

static struct status decode_compute(struct kernel_context *k)
{
    const struct tensor *input = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &input->shape, &out));
    for (int64_t i = 0; i < input->size; i++)
        TRY(decode(kernel_arena(k), tensor_strings(input)[i], &tensor_strings_mut(out)[i]));
    return status_ok();
}

static struct status encode_prepare(struct prepare_context *p)
{
    bool *pad = prepare_state(p, sizeof *pad, NULL);
    return node_attr_bool(prepare_node(p), "pad", pad);
}

static struct status encode_compute(struct kernel_context *k)
{
    const struct tensor *input = kernel_input(k, 0);
    const bool *pad = kernel_state(k);
    struct tensor *out;
    TRY(kernel_output(k, 0, &input->shape, &out));
    for (int64_t i = 0; i < input->size; i++)
        TRY(encode(kernel_arena(k), tensor_strings(input)[i], *pad, &tensor_strings_mut(out)[i]));
    return status_ok();
}

static const struct kernel rows[] = {
    { "DecodeBase64", DTYPES_ALL, .compute = decode_compute },
    { "EncodeBase64", DTYPES_ALL, .prepare = encode_prepare, .compute = encode_compute },
};
const struct kernel_table kernels_base64 = { rows, COUNT(rows) };
