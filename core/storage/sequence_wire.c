#include "storage/sequence_wire.h"

#define TAG(field, wire) ((field) << 3 | (wire))
enum { VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5 };

static bool expect(struct sequence_wire *wire, int tag)
{
    if (wire->at == wire->end || *wire->at != tag)
        return false;
    wire->at++;
    return true;
}

/* A length is the low 32 bits of its varint. */
static bool get_length(struct sequence_wire *wire, uint32_t *out)
{
    uint64_t value;
    if (!varint_get(&wire->at, wire->end, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

static size_t left(const struct sequence_wire *wire)
{
    return (size_t)(wire->end - wire->at);
}

bool sequence_enter(struct sequence_wire *wire, const char **outer)
{
    uint32_t size;
    if (!get_length(wire, &size))
        return false;
    *outer = wire->end;
    if (size < left(wire))
        wire->end = wire->at + size;
    return true;
}

static bool get_string(struct sequence_wire *wire, struct bytes *out)
{
    uint32_t size;
    if (!get_length(wire, &size) || size > left(wire))
        return false;
    *out = (struct bytes){ wire->at, size };
    wire->at += size;
    return true;
}

static bool skip(struct sequence_wire *wire, uint64_t tag)
{
    struct bytes ignored;
    uint64_t value;
    size_t size = (tag & 7) == FIXED64 ? 8 : 4;
    switch (tag & 7) {
    case VARINT:
        return varint_get(&wire->at, wire->end, &value);
    case DELIMITED:
        return get_string(wire, &ignored);
    case FIXED64:
    case FIXED32:
        if (left(wire) < size)
            return false;
        wire->at += size;
        return true;
    default:
        return false;
    }
}

enum sequence_field sequence_next_field(struct sequence_wire *wire)
{
    uint64_t tag;
    if (expect(wire, TAG(1, DELIMITED)))
        return SEQUENCE_CONTEXT;
    if (expect(wire, TAG(2, DELIMITED)))
        return SEQUENCE_LISTS;
    return varint_get(&wire->at, wire->end, &tag) && skip(wire, tag) ? SEQUENCE_OTHER
                                                                     : SEQUENCE_DAMAGED;
}

bool sequence_next_entry(struct sequence_wire *wire, struct sequence_entry *out)
{
    const char *outer;
    if (!expect(wire, TAG(1, DELIMITED)) || !sequence_enter(wire, &outer) ||
        !expect(wire, TAG(1, DELIMITED)) || !get_string(wire, &out->key) ||
        !expect(wire, TAG(2, DELIMITED)) || !get_string(wire, &out->value) ||
        !sequence_at_end(wire))
        return false;
    wire->end = outer;
    return true;
}

/* ---- lists of values ---- */

static int64_t strings(struct sequence_wire *wire, struct bytes *out)
{
    int64_t count = 0;
    for (; !sequence_at_end(wire); count++) {
        uint32_t size;
        if (!expect(wire, TAG(1, DELIMITED)) || !get_length(wire, &size))
            return -1;
        if (size > left(wire) && out != NULL)
            return -1;
        if (size > left(wire))
            size = (uint32_t)left(wire);
        if (out != NULL)
            out[count] = (struct bytes){ wire->at, size };
        wire->at += size;
    }
    return count;
}

static bool get_float(struct sequence_wire *wire, void *out)
{
    if (left(wire) < sizeof(float))
        return false;
    uint32_t bits = get_u32le(wire->at);
    wire->at += sizeof(float);
    if (out != NULL)
        memcpy(out, &bits, sizeof bits);
    return true;
}

static bool get_int64(struct sequence_wire *wire, void *out)
{
    uint64_t value;
    if (!varint_get(&wire->at, wire->end, &value))
        return false;
    if (out != NULL)
        memcpy(out, &value, sizeof value);
    return true;
}

/* tag: before each number; 0: packed. */
static int64_t numbers(struct sequence_wire *wire, enum dtype dtype, int tag, char *out)
{
    size_t each = dtype_size(dtype);
    int64_t count = 0;
    for (; !sequence_at_end(wire); count++) {
        void *to = out != NULL ? out + (size_t)count * each : NULL;
        if (tag != 0 && !expect(wire, tag))
            return -1;
        if (!(dtype == DT_FLOAT ? get_float : get_int64)(wire, to))
            return -1;
    }
    return count;
}

static int64_t packed_or_not(struct sequence_wire *wire, enum dtype dtype, void *out)
{
    int single = TAG(1, dtype == DT_FLOAT ? FIXED32 : VARINT);
    const char *outer;
    if (sequence_at_end(wire))
        return -1;
    if (*wire->at == single)
        return numbers(wire, dtype, single, out);
    if (!expect(wire, TAG(1, DELIMITED)) || !sequence_enter(wire, &outer))
        return -1;
    int64_t count = numbers(wire, dtype, 0, out);
    wire->end = outer;
    return count;
}

static int list_tag(enum dtype dtype)
{
    return TAG(dtype == DT_STRING ? 1 : dtype == DT_FLOAT ? 2 : 3, DELIMITED);
}

int64_t sequence_values(struct sequence_wire *wire, enum dtype dtype, void *out)
{
    struct sequence_wire before;
    const char *outer;
    uint32_t size;
    if (!expect(wire, list_tag(dtype)))
        return -1;
    before = *wire;
    if (!get_length(&before, &size) || !sequence_enter(wire, &outer))
        return -1;
    if (size == 0)
        wire->end = outer;
    if (size == 0)
        return 0;
    int64_t count = dtype == DT_STRING ? strings(wire, out) : packed_or_not(wire, dtype, out);
    wire->end = outer;
    return count;
}

/* A Feature of two bytes is a list without values. */
static bool skip_empty(struct sequence_wire *wire, enum dtype dtype)
{
    uint32_t size;
    return expect(wire, list_tag(dtype)) && get_length(wire, &size) && size == 0;
}

enum sequence_row sequence_next_row(struct sequence_wire *wire, enum dtype dtype, void *out,
                                    int64_t *count)
{
    const char *outer;
    uint32_t size;
    *count = 0;
    if (!expect(wire, TAG(1, DELIMITED)))
        return SEQUENCE_ROW_DAMAGED;
    struct sequence_wire before = *wire;
    if (!get_length(&before, &size))
        return SEQUENCE_ROW_DAMAGED;
    if (size <= 2) {
        *wire = before;
        if (size == 1)
            return SEQUENCE_ROW_DAMAGED;
        return size == 0 || skip_empty(wire, dtype) ? SEQUENCE_ROW_OK : SEQUENCE_ROW_OTHER_TYPE;
    }
    if (!sequence_enter(wire, &outer))
        return SEQUENCE_ROW_DAMAGED;
    *count = sequence_values(wire, dtype, out);
    wire->end = outer;
    return *count < 0 ? SEQUENCE_ROW_OTHER_TYPE : SEQUENCE_ROW_OK;
}
