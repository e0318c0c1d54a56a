#include "storage/slice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/characters.h"
#include "proto/tensor.pb-c.h"
#include "storage/ordered_code.h"

struct tensor_slice slice_whole(int rank)
{
    struct tensor_slice slice = { .rank = rank };
    for (int i = 0; i < rank; i++)
        slice.length[i] = SLICE_WHOLE;
    return slice;
}

struct status slice_from_proto(const struct Tensorflow__TensorSliceProto *proto,
                               struct tensor_slice *out)
{
    TRY(shape_check_rank((int64_t)proto->n_extent));
    struct tensor_slice slice = slice_whole((int)proto->n_extent);
    for (int i = 0; i < slice.rank; i++) {
        const Tensorflow__TensorSliceProto__Extent *extent = proto->extent[i];
        if (extent->has_length_case == TENSORFLOW__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH_LENGTH) {
            slice.start[i] = extent->start;
            slice.length[i] = extent->length;
            if (extent->start < 0 || extent->length < 0)
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "slice with extent %" PRId64 ",%" PRId64, extent->start,
                                    extent->length);
        }
    }
    *out = slice;
    return status_ok();
}

static bool number(const char **at, int64_t *out)
{
    if (!is_digit(**at))
        return false;
    char *end;
    errno = 0;
    *out = strtoll(*at, &end, 10);
    *at = end;
    return errno == 0;
}

struct status slice_parse(const char *spec, struct shape *full_shape, struct tensor_slice *out)
{
    int64_t dims[SHAPE_RANK_MAX];
    int rank = 0;
    const char *at = spec, *last = strrchr(spec, ' ');
    while (last != NULL && at < last) {
        if (rank == SHAPE_RANK_MAX || !number(&at, &dims[rank++]) || *at != ' ')
            goto wrong;
        at++;
    }
    struct tensor_slice slice = slice_whole(rank);
    if (rank == 0 && *at != '\0' && strcmp(at, "-") != 0)
        goto wrong;
    for (int i = 0; i < rank; i++) {
        if (*at == '-')
            at++;
        else if (!number(&at, &slice.start[i]) || *at++ != ',' || !number(&at, &slice.length[i]))
            goto wrong;
        if (*at++ != (i == rank - 1 ? '\0' : ':'))
            goto wrong;
    }
    TRY(shape_check(rank, dims, full_shape));
    *out = slice;
    return status_ok();
wrong:
    return status_error(STATUS_INVALID_ARGUMENT,
                        "shape_and_slice '%s' is not a shape and a slice such as '10 8 0,5:-'",
                        spec);
}

struct status slice_resolve(const struct tensor_slice *slice, const struct shape *shape,
                            struct tensor_slice *out)
{
    if (slice->rank != shape->rank)
        return status_error(STATUS_INVALID_ARGUMENT, "slice '%s' of rank %d, shape %s",
                            slice_text(slice), slice->rank, shape_text(shape));
    struct tensor_slice resolved = *slice;
    for (int i = 0; i < slice->rank; i++) {
        if (slice->length[i] == SLICE_WHOLE)
            resolved.length[i] = shape->dims[i];
        if (slice->start[i] > shape->dims[i] ||
            resolved.length[i] > shape->dims[i] - slice->start[i])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "slice '%s' reaches beyond the shape %s in dimension %d",
                                slice_text(slice), shape_text(shape), i);
    }
    *out = resolved;
    return status_ok();
}

struct shape slice_shape(const struct tensor_slice *resolved)
{
    return shape_make(resolved->rank, resolved->length);
}

bool slice_intersect(const struct tensor_slice *a, const struct tensor_slice *b,
                     struct tensor_slice *out)
{
    assert(a->rank == b->rank);
    out->rank = a->rank;
    for (int i = 0; i < a->rank; i++) {
        int64_t start = a->start[i] > b->start[i] ? a->start[i] : b->start[i];
        int64_t end_a = a->start[i] + a->length[i], end_b = b->start[i] + b->length[i];
        int64_t end = end_a < end_b ? end_a : end_b;
        if (end <= start)
            return false;
        out->start[i] = start;
        out->length[i] = end - start;
    }
    return true;
}

const char *slice_text(const struct tensor_slice *slice)
{
    static _Thread_local char text[SHAPE_RANK_MAX * 42 + 1];
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < slice->rank; i++) {
        const char *colon = i == 0 ? "" : ":";
        int size = slice->length[i] == SLICE_WHOLE
                       ? snprintf(text + at, sizeof text - at, "%s-", colon)
                       : snprintf(text + at, sizeof text - at, "%s%" PRId64 ",%" PRId64, colon,
                                  slice->start[i], slice->length[i]);
        at += (size_t)size;
    }
    return text;
}

void slice_key(struct bytes name, const struct tensor_slice *slice, struct buffer *key)
{
    ordered_put_num(key, 0);
    ordered_put_string(key, name);
    ordered_put_num(key, (uint64_t)slice->rank);
    for (int i = 0; i < slice->rank; i++) {
        ordered_put_snum(key, slice->start[i]);
        ordered_put_snum(key, slice->length[i]);
    }
}

/* The stride of dimension i, in elements. */
static void strides_of(const struct tensor_slice *slice, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = slice->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= slice->length[i];
    }
}

void slice_copy(const struct tensor_slice *part, const struct tensor_slice *from,
                const void *from_data, const struct tensor_slice *to, void *to_data,
                size_t element_bytes)
{
    int64_t from_strides[SHAPE_RANK_MAX], to_strides[SHAPE_RANK_MAX], at[SHAPE_RANK_MAX] = { 0 };
    strides_of(from, from_strides);
    strides_of(to, to_strides);

    /* Runs of `run` elements are contiguous in both: the last dimensions that are whole in both,
     * and one more. */
    int outer = part->rank;
    int64_t run = 1;
    while (outer > 0) {
        outer--;
        run *= part->length[outer];
        if (part->length[outer] != from->length[outer] || part->length[outer] != to->length[outer])
            break;
    }

    for (;;) {
        int64_t from_at = 0, to_at = 0;
        for (int i = 0; i < part->rank; i++) {
            from_at += (part->start[i] - from->start[i] + at[i]) * from_strides[i];
            to_at += (part->start[i] - to->start[i] + at[i]) * to_strides[i];
        }
        memcpy((char *)to_data + (size_t)to_at * element_bytes,
               (const char *)from_data + (size_t)from_at * element_bytes,
               (size_t)run * element_bytes);
        int i = outer - 1;
        while (i >= 0 && ++at[i] == part->length[i])
            at[i--] = 0;
        if (i < 0)
            return;
    }
}
