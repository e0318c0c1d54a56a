/*
 * example_wire: reads a serialized Example as TensorFlow's fast parser does: without building a
 * message.
 *
 *     Example  := Features*              field 1; concatenated Examples merge
 *     Features := entry*                 field 1
 *     entry    := key and Feature        fields 1 and 2, in either order
 *     Feature  := one list               field 1 bytes, 2 float, 3 int64
 *     list     := one packed chunk, or elements one by one          field 1
 */
#ifndef STORAGE_EXAMPLE_WIRE_H
#define STORAGE_EXAMPLE_WIRE_H

#include "base/bytes.h"
#include "tensor/dtype.h"

struct example_entry {
    struct bytes key, feature;
};

/* Appends the entries of an Example (struct example_entry) to `entries`, in wire order. False:
 * damaged. */
bool example_wire_entries(struct bytes example, struct buffer *entries);

/*
 * A SequenceExample has the features of an Example, called its context, and lists of features:
 *
 *     SequenceExample := Features* and FeatureLists*    fields 1 and 2
 *     FeatureLists    := list entry*                     field 1
 *     list entry      := key and FeatureList             fields 1 and 2, in either order
 *     FeatureList     := Feature*                        field 1
 *
 * Appends the context's entries to `entries` as example_wire_entries does, and the list entries,
 * with a FeatureList as `feature`, to `lists`. An Example is a SequenceExample without lists.
 * False: damaged.
 */
bool sequence_wire_entries(struct bytes sequence, struct buffer *entries, struct buffer *lists);

/* Removes the next Feature from the front of a FeatureList. Returns false if it is damaged.
 * *found is false at the end. */
bool sequence_wire_next(struct bytes *list, struct bytes *feature, bool *found);

/* Finds the type of a Feature's list; DT_INVALID: none. Returns false if it is not a Feature. */
bool example_wire_dtype(struct bytes feature, enum dtype *out);

/* An upper bound of the number of elements in the list. */
size_t example_wire_bound(struct bytes feature, enum dtype dtype);

/* Reads the elements of the list into `out`, which has room for `capacity` of them: float,
 * int64_t, or struct bytes that point into the list. *count: the length of the list. Returns
 * false if it is damaged, or has more strings than fit. */
bool example_wire_list(struct bytes feature, enum dtype dtype, void *out, size_t capacity,
                       size_t *count);

#endif
