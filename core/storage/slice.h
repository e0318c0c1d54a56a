/*
 * slice: a block of a tensor that is stored in pieces: a start and a length for each dimension.
 */
#ifndef STORAGE_SLICE_H
#define STORAGE_SLICE_H

#include "tensor/tensor.h"

#define SLICE_WHOLE (-1) /* as a length: the whole dimension */

struct slice {
    int rank;
    int64_t start[SHAPE_RANK_MAX], length[SHAPE_RANK_MAX];
};

struct Tensorflow__TensorSliceProto;

struct slice slice_whole(int rank);

/* INVALID_ARGUMENT: rank, negative numbers. Lengths stay as listed: keys are made of them. */
struct status slice_from_proto(const struct Tensorflow__TensorSliceProto *proto, struct slice *out);

/**
 * Reads the specification of RestoreV2: the full shape, a blank, then `-` or `start,length` for
 * each dimension, joined by
 * ':'. "1000 8 0,500:-".
 */
struct status slice_parse(const char *spec, struct shape *full_shape, struct slice *out);

/* With the lengths of whole dimensions filled in from `shape`. INVALID_ARGUMENT: rank, or past the
 * shape's end. */
struct status slice_resolve(const struct slice *slice, const struct shape *shape,
                            struct slice *out);

struct shape slice_shape(const struct slice *resolved);
bool slice_intersect(const struct slice *a, const struct slice *b,
                     struct slice *out); /* false: nothing in common */

/* "0,500:-" */
const char *slice_text(const struct slice *slice); /* in a buffer of the thread */

/* Appends the key of this piece of tensor `name`. */
void slice_key(struct bytes name, const struct slice *slice, struct buffer *key);

/* Copies the elements of `part` from a tensor that holds slice `from` to one that holds slice `to`,
 * of elements of so many bytes. */
void slice_copy(const struct slice *part, const struct slice *from, const void *from_data,
                const struct slice *to, void *to_data, size_t element_bytes);

#endif
