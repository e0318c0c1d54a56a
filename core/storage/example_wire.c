#include "storage/example_wire.h"

#define TAG(field, wire) ((field) << 3 | (wire))
enum { VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5 };

/* Reads a length and that many bytes, and moves *at past them. */
static bool delimited(const char **at, const char *end, struct bytes *out)
{
    uint64_t size;
    if (!varint_get(at, end, &size) || size > (uint64_t)(end - *at))
        return false;
    *out = (struct bytes){ *at, (size_t)size };
    *at += size;
    return true;
}

/* The same for nested messages and unknown fields: TensorFlow cuts a length past the end to the
 * end. */
static bool nested(const char **at, const char *end, struct bytes *out)
{
    uint64_t size;
    if (!varint_get(at, end, &size))
        return false;
    uint32_t low = (uint32_t)size; /* lengths are read as 32 bits */
    *out = (struct bytes){ *at, low < (uint64_t)(end - *at) ? low : (size_t)(end - *at) };
    *at += out->size;
    return true;
}

static bool skip(const char **at, const char *end, uint64_t tag)
{
    struct bytes ignored;
    uint64_t value;
    size_t size = (tag & 7) == FIXED64 ? 8 : 4;
    switch (tag & 7) {
    case VARINT:
        return varint_get(at, end, &value);
    case DELIMITED:
        return nested(at, end, &ignored);
    case FIXED64:
    case FIXED32:
        if ((size_t)(end - *at) < size)
            return false;
        *at += size;
        return true;
    default:
        return false;
    }
}

/* Reads a key and a Feature, once each. Writes to *out field by field: a copy of what was just
 * written in halves would wait until the halves are in the cache. */
static bool entry_of(struct bytes bytes, struct example_entry *out)
{
    const char *at = bytes.data, *end = bytes.data + bytes.size;

    out->key.data = out->feature.data = "";
    out->key.size = out->feature.size = 0;
    for (int i = 0; i < 2; i++) {
        if (at == end)
            return false;
        char tag = *at++;
        if (tag != TAG(1, DELIMITED) && tag != TAG(2, DELIMITED))
            return false;
        if (!delimited(&at, end, tag == TAG(1, DELIMITED) ? &out->key : &out->feature))
            return false;
    }
    return at == end;
}

static bool features_of(struct bytes bytes, struct buffer *entries)
{
    const char *at = bytes.data, *end = bytes.data + bytes.size;
    while (at < end) {
        struct bytes held;
        if (*at++ != TAG(1, DELIMITED) || !nested(&at, end, &held))
            return false;
        buffer_reserve(entries, sizeof(struct example_entry));
        if (!entry_of(held, (struct example_entry *)(void *)(entries->data + entries->size)))
            return false;
        entries->size += sizeof(struct example_entry);
    }
    return true;
}

/* lists: NULL: field 2 is unknown and skipped. */
static bool entries_of(struct bytes example, struct buffer *entries, struct buffer *lists)
{
    if (example.size == 0)
        return true; /* its data may be NULL */
    const char *at = example.data, *end = example.data + example.size;
    while (at < end) {
        struct bytes held;
        uint64_t tag;
        if (!varint_get(&at, end, &tag) || tag >> 3 == 0)
            return false;
        bool is_list = tag == TAG(2, DELIMITED) && lists != NULL;
        if (tag == TAG(1, DELIMITED) || is_list) {
            if (!nested(&at, end, &held) || !features_of(held, is_list ? lists : entries))
                return false;
        } else if (!skip(&at, end, tag)) {
            return false;
        }
    }
    return true;
}

bool example_wire_entries(struct bytes example, struct buffer *entries)
{
    return entries_of(example, entries, NULL);
}

bool sequence_wire_entries(struct bytes sequence, struct buffer *entries, struct buffer *lists)
{
    return entries_of(sequence, entries, lists);
}

bool sequence_wire_next(struct bytes *list, struct bytes *feature, bool *found)
{
    const char *at = list->data, *end = list->data + list->size;
    *found = list->size > 0;
    if (!*found)
        return true;
    if (*at++ != TAG(1, DELIMITED) || !delimited(&at, end, feature))
        return false;
    *list = (struct bytes){ at, (size_t)(end - at) };
    return true;
}

bool example_wire_dtype(struct bytes feature, enum dtype *out)
{
    *out = DT_INVALID;
    if (feature.size == 0)
        return true;
    switch (feature.data[0]) {
    case TAG(1, DELIMITED):
        *out = DT_STRING;
        return true;
    case TAG(2, DELIMITED):
        *out = DT_FLOAT;
        return true;
    case TAG(3, DELIMITED):
        *out = DT_INT64;
        return true;
    default:
        return false;
    }
}

size_t example_wire_bound(struct bytes feature, enum dtype dtype)
{
    /* Shifts, as a division takes as long as reading a short list. */
    return feature.size >> (dtype == DT_FLOAT ? 2 : dtype == DT_STRING ? 1 : 0);
}

static bool strings_of(const char *at, const char *end, struct bytes *out, size_t capacity,
                       size_t *count)
{
    size_t i = 0;
    while (at < end) {
        struct bytes held;
        if (*at++ != TAG(1, DELIMITED) || !delimited(&at, end, &held) || i == capacity)
            return false;
        out[i++] = held;
    }
    *count = i;
    return true;
}

static bool floats_of(const char *at, const char *end, float *out, size_t capacity, size_t *count)
{
    if (*at == TAG(1, DELIMITED)) {
        uint64_t size;
        at++;
        if (!varint_get(&at, end, &size))
            return false;
        *count = (uint32_t)size / sizeof(float); /* TensorFlow drops a number that is cut short */
        if (*count > (size_t)(end - at) / sizeof(float))
            return false;
        size_t kept = *count < capacity ? *count : capacity;
        if (kept > 0)
            memcpy(out, at, kept * sizeof(float));
        return true;
    }
    size_t i = 0;
    for (; at < end; at += 5, i++) {
        if (*at != TAG(1, FIXED32) || end - at < 5)
            return false;
        if (i < capacity)
            memcpy(&out[i], at + 1, sizeof(float));
    }
    *count = i;
    return true;
}

/* Reads a varint of up to three bytes at the end of a list. */
static inline bool last_id_get(const char **at, const char *end, uint64_t *out)
{
    const unsigned char *byte = (const unsigned char *)*at;
    ptrdiff_t left = end - *at;

    if (left >= 2 && byte[0] >= 0x80 && byte[1] < 0x80) {
        *out = (byte[0] & 0x7fu) | (uint64_t)byte[1] << 7;
        *at += 2;
        return true;
    }
    if (left == 3 && byte[0] >= 0x80 && byte[1] >= 0x80 && byte[2] < 0x80) {
        *out = (byte[0] & 0x7fu) | (byte[1] & 0x7fu) << 7 | (uint64_t)byte[2] << 14;
        *at += 3;
        return true;
    }
    return varint_get(at, end, out);
}

/* Like varint_get, inlined for the sizes of ids: up to four bytes. Most ids of a large table
 * have three. The processor predicts that, so the next id need not wait for the size of this
 * one. */
static inline bool id_get(const char **at, const char *end, uint64_t *out)
{
    uint32_t four;
    if (end - *at < 4)
        return last_id_get(at, end, out);
    memcpy(&four, *at, sizeof four);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint32_t ends = ~four & 0x80808080u; /* the high bits of bytes that end a varint */
    if ((ends & 0x808080u) == 0x800000u) {
        *out = (four & 0x7f) | (four >> 1 & 0x3f80) | (four >> 2 & 0x1fc000);
        *at += 3;
        __asm__("" : "+r"(*at)); /* keeps the compiler from computing the size after all */
        return true;
    }
    if (ends == 0)
        return varint_get(at, end, out);
    int size = (__builtin_ctz(ends) >> 3) + 1;
    four &= (uint32_t)(((uint64_t)1 << 8 * size) - 1);
    *out = (four & 0x7f) | (four >> 1 & 0x3f80) | (four >> 2 & 0x1fc000) | (four >> 3 & 0xfe00000);
    *at += size;
    return true;
#else
    return varint_get(at, end, out);
#endif
}

static bool int64s_of(const char *at, const char *end, int64_t *out, size_t capacity, size_t *count)
{
    struct bytes packed = { at, (size_t)(end - at) };
    bool is_packed = *at == TAG(1, DELIMITED);
    if (is_packed) {
        at++;
        if (!nested(&at, end, &packed))
            return false;
    }
    at = packed.data;
    end = packed.data + packed.size;
    size_t i = 0;
    for (; at < end; i++) {
        uint64_t value;
        if (!is_packed && *at++ != TAG(1, VARINT))
            return false;
        if (!id_get(&at, end, &value))
            return false;
        if (i < capacity)
            out[i] = (int64_t)value;
    }
    *count = i;
    return true;
}

bool example_wire_list(struct bytes feature, enum dtype dtype, void *out, size_t capacity,
                       size_t *count)
{
    const char *at = feature.data + 1; /* after the tag that example_wire_dtype read */
    struct bytes list;
    if (!nested(&at, feature.data + feature.size, &list))
        return false;
    *count = 0;
    if (list.size == 0)
        return true;
    const char *end = list.data + list.size;
    switch (dtype) {
    case DT_STRING:
        return strings_of(list.data, end, out, capacity, count);
    case DT_FLOAT:
        return floats_of(list.data, end, out, capacity, count);
    default:
        return int64s_of(list.data, end, out, capacity, count);
    }
}
