/*
 * fast_normalize: TensorFlow Text's FastBertNormalize, which replaces single characters by a model:
 * a FlatBuffer with a trie of the characters and a pool of their replacements.
 */
#include "base/utf8.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/text/double_array.h"
#include "runtime/kernels/text/text_block.h"

/* The fields of the model's table, by their numbers. Field 0 describes how the model was made. */
enum { UNITS = 1, ZERO, POOL };

#define REPLACED 0x40000000 /* in the value of a character: another text replaces it */

struct normalizing {
    struct kernel_context *k;
    struct flat_vector units;
    uint32_t zero; /* the value of U+0000, which the trie cannot have */
    struct bytes pool;
    struct text_block block;
    bool with_offsets;
    struct tensor memory; /* of the offsets, int64 */
    int64_t count;
};

static struct status read_model(struct normalizing *n, const struct tensor *x)
{
    struct flat_table table;
    TRY(flat_table_open((struct bytes){ x->data, (size_t)x->size }, &table));
    TRY(flat_table_vector(&table, UNITS, sizeof(uint32_t), &n->units));
    TRY(flat_table_u32(&table, ZERO, &n->zero));
    return flat_table_text(&table, POOL, &n->pool);
}

/* Appends the offsets in the text of the next bytes of the result; each of them is `step` more
 * than the last. */
static struct status add_offsets(struct normalizing *n, size_t offset, size_t count, int64_t step)
{
    if (!n->with_offsets)
        return status_ok();
    TRY(kernel_scratch_reserve(n->k, &n->memory, n->count, (int64_t)count, sizeof(int64_t)));
    int64_t *at = (int64_t *)n->memory.data + n->count;
    for (size_t i = 0; i < count; i++)
        at[i] = (int64_t)offset + step * (int64_t)i;
    n->count += (int64_t)count;
    return status_ok();
}

/* Bytes that stay. */
static struct status keep(struct normalizing *n, struct bytes text, size_t begin, size_t end)
{
    TRY(text_block_add(&n->block, text.data + begin, end - begin));
    return add_offsets(n, begin, end - begin, 1);
}

static uint32_t find_value(const struct normalizing *n, const char *character, size_t size)
{
    uint32_t node = 0, value;
    if (*character == '\0')
        return n->zero;
    return double_array_walk(&n->units, &node, character, size) &&
                   double_array_value(&n->units, node, &value)
               ? value
               : 0;
}

/* Writes the replacement of the character at a byte. */
static struct status replace(struct normalizing *n, size_t at, uint32_t value)
{
    size_t size = value & 0x3F, begin = (value & (REPLACED - 1)) >> 6;
    if (size == 0)
        return status_ok();
    if (begin + size > n->pool.size)
        return kernel_error(n->k, STATUS_DATA_LOSS, "the model is damaged: it has no text at %zu",
                            begin);
    TRY(text_block_add(&n->block, n->pool.data + begin, size));
    return add_offsets(n, at, size, 0);
}

static struct status normalize(struct normalizing *n, struct bytes text, struct bytes *out)
{
    size_t kept = 0; /* up to where the result is written */
    for (size_t at = 0, next; at < text.size; at = next) {
        int32_t ignored;
        next = at + utf8_read(text.data + at, text.size - at, &ignored);
        uint32_t value = find_value(n, text.data + at, next - at);
        if (!(value & REPLACED))
            continue;
        TRY(keep(n, text, kept, at));
        TRY(replace(n, at, value));
        kept = next;
    }
    if (kept == 0) {
        *out = text;
        return add_offsets(n, 0, text.size + 1, 1);
    }
    TRY(keep(n, text, kept, text.size));
    *out = text_block_end(&n->block);
    return add_offsets(n, text.size, 1, 0);
}

static struct status normalize_all(struct normalizing *n)
{
    const struct tensor *x = kernel_input(n->k, 0);
    struct tensor *out, *offsets, *splits;
    struct shape shape = shape_of(x->size + 1);
    TRY(read_model(n, kernel_input(n->k, 1)));
    TRY(kernel_output(n->k, 0, &x->shape, &out));
    TRY(kernel_output(n->k, 2, &shape, &splits));
    tensor_int64s_mut(splits)[0] = 0;
    for (int64_t i = 0; i < x->size; i++) {
        TRY(kernel_check(n->k));
        TRY(normalize(n, tensor_strings(x)[i], &tensor_strings_mut(out)[i]));
        tensor_int64s_mut(splits)[i + 1] = n->count;
    }
    shape = shape_of(n->count);
    TRY(kernel_output(n->k, 1, &shape, &offsets));
    copy_elements(DT_INT64, offsets->data, n->memory.data, n->count);
    return status_ok();
}

static struct status normalize_compute(struct kernel_context *k)
{
    struct normalizing n = { .k = k, .block = { .arena = kernel_arena(k) } };
    TRY(kernel_vector(k, 0, "input_values"));
    TRY(node_attr_bool(kernel_node(k), "get_offsets", &n.with_offsets));
    struct status status = normalize_all(&n);
    tensor_release(&n.memory);
    return status;
}

static const struct kernel rows[] = {
    { "FastBertNormalize", DTYPES_ALL, .compute = normalize_compute },
};
const struct kernel_table kernels_fast_normalize = { rows, COUNT(rows) };
