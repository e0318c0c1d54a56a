/*
 * normalize: TensorFlow Text's NormalizeUTF8, Unicode's normal forms, and CaseFoldUTF8;
 * NormalizeUTF8WithOffsetsMap, which also tells what it changed, and FindSourceOffsets, which finds
 * places of the normal text in the original one.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"
#include "runtime/kernels/plain/text_normal.h"
#include "runtime/kernels/ragged/ragged_splits.h"
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
static struct status prepare_form(struct prepare_context *p, const char *unknown)
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
        return status_error(STATUS_INVALID_ARGUMENT, "%s: %.*s", unknown, (int)size, upper);
    state->form = (enum text_form)found;
    return status_ok();
}

static struct status normalize_prepare(struct prepare_context *p)
{
    return prepare_form(p, "Unknown normalization form requrested");
}

static struct status changes_prepare(struct prepare_context *p)
{
    return prepare_form(p, "Offset not supported for this normalization form");
}

/* The output of normalized texts. */
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
        return kernel_error(n->k, STATUS_RESOURCE_EXHAUSTED,
                            "no memory to normalize a text of %zu bytes", part.size);
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

/* ---- what changes ---- */

/* A part of a text and what it became. The last one of a text is its end. */
struct text_change {
    int64_t begin, end;               /* in the normal text */
    int64_t source_begin, source_end; /* in the original one */
};

/* The changes of a text, in scratch memory. */
struct text_changes {
    struct normalizing_texts n;
    struct tensor memory;
    int64_t count;
};

static struct status add_change(struct text_changes *c, struct text_change change)
{
    TRY(kernel_scratch_reserve(c->n.k, &c->memory, c->count, 1, sizeof change));
    ((struct text_change *)c->memory.data)[c->count++] = change;
    return status_ok();
}

static struct status normalize_segment(struct text_changes *c, struct bytes text, size_t at,
                                       size_t size)
{
    const struct text_block *block = &c->n.block;
    size_t begin = block->size - block->begin;
    TRY(append_part(&c->n, (struct bytes){ text.data + at, size }));
    size_t end = block->size - block->begin;
    if (end - begin == size &&
        memcmp(block->data + block->begin + begin, text.data + at, size) == 0)
        return status_ok();
    return add_change(
        c, (struct text_change){ (int64_t)begin, (int64_t)end, (int64_t)at, (int64_t)(at + size) });
}

static struct status normalize_segments(struct text_changes *c, struct bytes text,
                                        struct bytes *out)
{
    bool is_normal = text_is_normal(text.data, text.size, c->n.form);
    c->count = 0;
    for (size_t at = 0, size; at < text.size && !is_normal; at += size) {
        size = text_normal_segment(text.data + at, text.size - at, c->n.form);
        TRY(normalize_segment(c, text, at, size));
        if (++c->n.parts % PARTS_PER_CHECK == 0)
            TRY(kernel_check(c->n.k));
    }
    *out = is_normal ? text : text_block_end(&c->n.block);
    return add_change(c, (struct text_change){ (int64_t)out->size, (int64_t)out->size,
                                               (int64_t)text.size, (int64_t)text.size });
}

static struct status box_changes(const struct text_changes *c, struct object **out)
{
    struct shape shape = shape_of(c->count * (int64_t)sizeof(struct text_change));
    struct tensor part;
    TRY(kernel_scratch(c->n.k, DT_UINT8, &shape, &part));
    memcpy(part.data, c->memory.data, tensor_bytes(&part));
    return tensor_box_create(c->n.k, BOX_TEXT_CHANGES, 1, &part, out);
}

static struct status changes_compute(struct kernel_context *k)
{
    const struct normalizer *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct text_changes c = {
        .n = { .k = k, .form = state->form, .block = { .arena = kernel_arena(k) } }
    };
    struct status status = status_ok();
    struct tensor *out, *maps;
    TRY(kernel_output(k, 0, &x->shape, &out));
    TRY(kernel_output(k, 1, &x->shape, &maps));
    for (int64_t i = 0; i < x->size && status_is_ok(status); i++) {
        status = normalize_segments(&c, tensor_strings(x)[i], &tensor_strings_mut(out)[i]);
        if (status_is_ok(status))
            status = box_changes(&c, &tensor_variants_mut(maps)[i]);
    }
    tensor_release(&c.n.room);
    tensor_release(&c.memory);
    return status;
}

/* ---- places in the original text ---- */

/* The source offset of an offset in the normal text. Within a change, it is the end of the
 * changed text. */
static int64_t find_source(const struct tensor *changes, int64_t place)
{
    const struct text_change *at = changes->data;
    int64_t count = changes->size / (int64_t)sizeof *at, low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (at[middle].begin <= place)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return place > 0 ? place : 0;
    const struct text_change *last = &at[low - 1];
    if (place == last->begin || low == count)
        return last->source_begin;
    return last->source_end + (place > last->end ? place - last->end : 0);
}

enum { MAPS, PLACES, ROWS };

static struct status sources_compute(struct kernel_context *k)
{
    const struct tensor *maps = kernel_input(k, MAPS), *places = kernel_input(k, PLACES),
                        *splits = kernel_input(k, ROWS);
    struct tensor *out;
    struct shape shape = shape_of(places->size);
    TRY(ragged_splits_check(splits, places->size));
    if (maps->dtype != DT_VARIANT || splits->size - 1 < maps->size)
        return kernel_error(
            k, STATUS_INVALID_ARGUMENT,
            "Input offset tensor dimension did not match the offset map dimension.");
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t row = 0; row + 1 < splits->size; row++) {
        int64_t begin = tensor_index(splits, row), end = tensor_index(splits, row + 1);
        const struct tensor_box *box =
            row < maps->size ? tensor_box_at(maps, row, BOX_TEXT_CHANGES) : NULL;
        if (box == NULL && begin < end)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "offsets_map has no offsets of row %lld", (long long)row);
        for (int64_t i = begin; i < end; i++)
            tensor_int64s_mut(out)[i] = find_source(&box->parts[0], tensor_int64s(places)[i]);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "CaseFoldUTF8", DTYPES_ALL, .prepare = fold_prepare, .compute = normalize_compute },
    { "NormalizeUTF8", DTYPES_ALL, .prepare = normalize_prepare, .compute = normalize_compute },
    { "NormalizeUTF8WithOffsetsMap", DTYPES_ALL, .prepare = changes_prepare,
      .compute = changes_compute },
    { "FindSourceOffsets", DTYPES_ALL, .compute = sources_compute },
};
const struct kernel_table kernels_normalize = { rows, COUNT(rows) };
