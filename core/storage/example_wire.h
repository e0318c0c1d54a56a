/*
 * example_wire: reads the wire of an Example as TensorFlow's fast parser does: no message is built.
 *
 *     Example := Features*  (1, concatenated Examples merge)      Features := entry* (1)
 *     entry   := key (1) and Feature (2), either order            Feature  := one list: bytes 1,
 * float 2, int64 3 list    := one packed chunk (1), or elements (1) one by one
 */
#ifndef STORAGE_EXAMPLE_WIRE_H
#define STORAGE_EXAMPLE_WIRE_H

#include "base/bytes.h"
#include "tensor/dtype.h"

struct example_entry {
    struct bytes key, feature;
};

/* Appends the entries of an Example in the order of the wire to `entries` (of struct
 * example_entry). false: damaged. */
bool example_wire_entries(struct bytes example, struct buffer *entries);

/* The type of the list that a Feature holds; DT_INVALID: none is set. false: something else is
 * there. */
bool example_wire_dtype(struct bytes feature, enum dtype *out);

/* At least as many elements as the list has. */
size_t example_wire_bound(struct bytes feature, enum dtype dtype);

/*
 * Reads the list's elements (float, int64_t, struct bytes that point into it) into `out`, which has
 * room for `capacity`; further ones are only counted. false: damaged, or more strings than fit.
 */
bool example_wire_list(struct bytes feature, enum dtype dtype, void *out, size_t capacity,
                       size_t *count);

#endif
