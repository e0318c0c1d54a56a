/*
 * slice: a part of a tensor that is stored in pieces: a start and a length for each dimension.
 */
#ifndef STORAGE_SLICE_H
#define STORAGE_SLICE_H

#include "tensor/tensor.h"

#define SLICE_WHOLE (-1) /* a length: the whole dimension */

struct tensor_slice {
    int rank;
    int64_t start[SHAPE_RANK_MAX], length[SHAPE_RANK_MAX];
};

struct Tensorflow__TensorSliceProto;

struct tensor_slice slice_whole(int rank);

/* INVALID_ARGUMENT: rank, negative numbers. SLICE_WHOLE is kept, because keys contain it. */
struct status slice_from_proto(const struct Tensorflow__TensorSliceProto *proto,
                               struct tensor_slice *out);

/**
 * Reads the specification of RestoreV2: the full shape, a blank, then `-` or `start,length` for
 * each dimension, joined by ':', such as "1000 8 0,500:-".
 */
struct status slice_parse(const char *spec, struct shape *full_shape, struct tensor_slice *out);

/* Replaces SLICE_WHOLE by the dimension's length. INVALID_ARGUMENT: another rank than the shape's,
 * or beyond its end. */
struct status slice_resolve(const struct tensor_slice *slice, const struct shape *shape,
                            struct tensor_slice *out);

struct shape slice_shape(const struct tensor_slice *resolved);
bool slice_intersect(const struct tensor_slice *a, const struct tensor_slice *b,
                     struct tensor_slice *out); /* Returns false if they have nothing in common. */

/* "0,500:-", in a buffer of the thread. */
const char *slice_text(const struct tensor_slice *slice);

/* Appends the key of this slice of tensor `name`. */
void slice_key(struct bytes name, const struct tensor_slice *slice, struct buffer *key);

/* Copies the elements of `part` from the data of slice `from` to the data of slice `to`. */
void slice_copy(const struct tensor_slice *part, const struct tensor_slice *from,
                const void *from_data, const struct tensor_slice *to, void *to_data,
                size_t element_bytes);

#endif
