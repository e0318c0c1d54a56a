/*
 * flat_table: reads a table of FlatBuffers, in which each field has a number. A tensor holds the
 * bytes, so that they may be damaged: what lies outside of them is DATA_LOSS. Fields that are
 * missing have the value that the caller gives, or are empty.
 *
 *     struct flat_table table;
 *     TRY(flat_table_open(bytes, &table));
 *     TRY(flat_table_vector(&table, 0, sizeof(uint32_t), &units));
 */
#ifndef KERNELS_TEXT_FLAT_TABLE_H
#define KERNELS_TEXT_FLAT_TABLE_H

#include "base/bytes.h"

struct flat_table {
    struct bytes bytes;
    size_t at;                  /* of the table in the bytes */
    size_t fields, fields_size; /* the places of the fields in the table, of 16 bits each */
};

/* A vector of elements of one size. */
struct flat_vector {
    const char *data;
    size_t count;
};

struct status flat_table_open(struct bytes bytes, struct flat_table *table);
/* The table that a field refers to; one without bytes, which has no fields, if it is missing. */
struct status flat_table_child(const struct flat_table *table, int field, struct flat_table *child);
struct status flat_table_u32(const struct flat_table *table, int field, uint32_t *value);
struct status flat_table_bool(const struct flat_table *table, int field, bool *value);
struct status flat_table_vector(const struct flat_table *table, int field, size_t element_bytes,
                                struct flat_vector *vector);
struct status flat_table_text(const struct flat_table *table, int field, struct bytes *text);
/* Element i of a vector of texts; i must be within it. */
struct status flat_vector_text(const struct flat_table *table, const struct flat_vector *vector,
                               size_t i, struct bytes *text);

/* Element i of a vector of 32 bits; i must be within it. */
static inline uint32_t flat_u32(const struct flat_vector *vector, size_t i)
{
    return get_u32le(vector->data + i * sizeof(uint32_t));
}

#endif
