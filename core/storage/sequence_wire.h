/*
 * sequence_wire: reads the parts of a serialized SequenceExample as TensorFlow's fast parser does,
 * which is stricter and looser than protobuf: the key of an entry comes first, and a length past
 * the end of the enclosing message is truncated.
 *
 *     SequenceExample := entries*, lists of them     fields 1 (context) and 2 (feature lists)
 *     entries         := entry*                      field 1
 *     entry           := key, then value             fields 1 and 2; the value is a Feature or a
 *                                                    FeatureList
 *     FeatureList     := Feature*                    field 1
 */
#ifndef STORAGE_SEQUENCE_WIRE_H
#define STORAGE_SEQUENCE_WIRE_H

#include "base/bytes.h"
#include "tensor/dtype.h"

/* A position, and the end of the message that is being read. */
struct sequence_wire {
    const char *at, *end;
};

static inline struct sequence_wire sequence_of(struct bytes bytes)
{
    return (struct sequence_wire){ bytes.data,
                                   bytes.size > 0 ? bytes.data + bytes.size : bytes.data };
}

static inline bool sequence_at_end(const struct sequence_wire *wire)
{
    return wire->at == wire->end;
}

/* Reads a length and enters a nested message. The caller restores wire->end from *outer
 * afterwards. Returns false if it is damaged. */
bool sequence_enter(struct sequence_wire *wire, const char **outer);

enum sequence_field { SEQUENCE_CONTEXT, SEQUENCE_LISTS, SEQUENCE_OTHER, SEQUENCE_DAMAGED };
/* Reads the tag of a field of a SequenceExample, and skips unknown fields. */
enum sequence_field sequence_next_field(struct sequence_wire *wire);

/* An entry. The data of an empty value is not NULL. */
struct sequence_entry {
    struct bytes key, value;
};
bool sequence_next_entry(struct sequence_wire *wire, struct sequence_entry *out);

/* Reads the list of a Feature into `out`. With `out` NULL, only counts, including a truncated
 * string. Returns the number of elements; -1: another type, or damaged. */
int64_t sequence_values(struct sequence_wire *wire, enum dtype dtype, void *out);

enum sequence_row { SEQUENCE_ROW_OK, SEQUENCE_ROW_OTHER_TYPE, SEQUENCE_ROW_DAMAGED };
/* Reads the next Feature of a FeatureList in the same way. */
enum sequence_row sequence_next_row(struct sequence_wire *wire, enum dtype dtype, void *out,
                                    int64_t *count);

#endif
