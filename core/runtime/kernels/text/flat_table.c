#include "runtime/kernels/text/flat_table.h"

/* Are there `size` bytes from a place on? */
static struct status check_place(struct bytes bytes, size_t at, size_t size)
{
    if (at <= bytes.size && size <= bytes.size - at)
        return status_ok();
    return status_error(STATUS_DATA_LOSS,
                        "the model is damaged: it refers to %zu bytes at %zu, and has %zu bytes",
                        size, at, bytes.size);
}

static struct status read_u32(struct bytes bytes, size_t at, uint32_t *value)
{
    TRY(check_place(bytes, at, sizeof *value));
    *value = get_u32le(bytes.data + at);
    return status_ok();
}

static struct status read_u16(struct bytes bytes, size_t at, size_t *value)
{
    uint16_t bits;
    TRY(check_place(bytes, at, sizeof bits));
    memcpy(&bits, bytes.data + at, sizeof bits);
    *value = bits;
    return status_ok();
}

/* Opens the table at an offset. The offsets of its fields may be before or after it. */
static struct status open_at(struct bytes bytes, size_t at, struct flat_table *table)
{
    uint32_t back;
    TRY(read_u32(bytes, at, &back));
    int64_t fields = (int64_t)at - (int32_t)back;
    table->bytes = bytes;
    table->at = at;
    table->fields = fields < 0 ? SIZE_MAX : (size_t)fields;
    TRY(read_u16(bytes, table->fields, &table->fields_size));
    return check_place(bytes, table->fields, table->fields_size);
}

struct status flat_table_open(struct bytes bytes, struct flat_table *table)
{
    uint32_t root;
    TRY(read_u32(bytes, 0, &root));
    return open_at(bytes, root, table);
}

/* The place of a field in the bytes; 0: it is missing. Two numbers precede the first field's. */
static struct status find_field(const struct flat_table *table, int field, size_t *at)
{
    size_t entry = ((size_t)field + 2) * sizeof(uint16_t), place = 0;
    if (entry + sizeof(uint16_t) <= table->fields_size)
        TRY(read_u16(table->bytes, table->fields + entry, &place));
    *at = place == 0 ? 0 : table->at + place;
    return status_ok();
}

struct status flat_table_child(const struct flat_table *table, int field, struct flat_table *child)
{
    uint32_t distance;
    size_t at;
    *child = (struct flat_table){ .bytes = table->bytes };
    TRY(find_field(table, field, &at));
    if (at == 0)
        return status_ok();
    TRY(read_u32(table->bytes, at, &distance));
    return open_at(table->bytes, at + distance, child);
}

struct status flat_table_u32(const struct flat_table *table, int field, uint32_t *value)
{
    size_t at;
    TRY(find_field(table, field, &at));
    return at == 0 ? status_ok() : read_u32(table->bytes, at, value);
}

struct status flat_table_bool(const struct flat_table *table, int field, bool *value)
{
    size_t at;
    TRY(find_field(table, field, &at));
    if (at == 0)
        return status_ok();
    TRY(check_place(table->bytes, at, 1));
    *value = table->bytes.data[at] != 0;
    return status_ok();
}

/* The vector that the place `at` refers to, by its distance. */
static struct status read_vector(struct bytes bytes, size_t at, size_t element_bytes,
                                 struct flat_vector *vector)
{
    uint32_t distance, count;
    TRY(read_u32(bytes, at, &distance));
    TRY(read_u32(bytes, at + distance, &count));
    size_t first = at + distance + sizeof count;
    TRY(check_place(bytes, first, count * element_bytes));
    *vector = (struct flat_vector){ bytes.data + first, count };
    return status_ok();
}

struct status flat_table_vector(const struct flat_table *table, int field, size_t element_bytes,
                                struct flat_vector *vector)
{
    size_t at;
    *vector = (struct flat_vector){ 0 };
    TRY(find_field(table, field, &at));
    return at == 0 ? status_ok() : read_vector(table->bytes, at, element_bytes, vector);
}

struct status flat_table_text(const struct flat_table *table, int field, struct bytes *text)
{
    struct flat_vector vector;
    TRY(flat_table_vector(table, field, 1, &vector));
    *text = (struct bytes){ vector.data, vector.count };
    return status_ok();
}

struct status flat_vector_text(const struct flat_table *table, const struct flat_vector *vector,
                               size_t i, struct bytes *text)
{
    struct flat_vector found;
    size_t at = (size_t)(vector->data - table->bytes.data) + i * sizeof(uint32_t);
    TRY(read_vector(table->bytes, at, 1, &found));
    *text = (struct bytes){ found.data, found.count };
    return status_ok();
}
