#include "tensor/shape.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct shape shape_make(int rank, const int64_t *dims)
{
    assert(rank >= 0);
    assert(rank <= SHAPE_RANK_MAX);
    struct shape shape = { .rank = rank };
    memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
    return shape;
}

struct status shape_check_rank(int64_t rank)
{
    if (rank > SHAPE_RANK_TENSORFLOW)
        return status_error(STATUS_INVALID_ARGUMENT, "Too many dimensions: at most %d",
                            SHAPE_RANK_TENSORFLOW);
    if (rank > SHAPE_RANK_MAX)
        return status_error(STATUS_UNIMPLEMENTED,
                            "tensors of rank %" PRId64 " are not implemented, at most %d", rank,
                            SHAPE_RANK_MAX);
    return status_ok();
}

struct status shape_check(int rank, const int64_t *dims, struct shape *out)
{
    if (rank < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "shape of rank %d, must be >= 0", rank);
    TRY(shape_check_rank(rank));
    struct shape shape = { .rank = rank };
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "dimension %d of a shape is %" PRId64 ", must be >= 0", i, dims[i]);
        shape.dims[i] = dims[i];
        empty |= dims[i] == 0;
        /* The product of the other dimensions must fit as well, so that no order of multiplication
         * overflows. */
        if (dims[i] != 0 && __builtin_mul_overflow(product, dims[i], &product))
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "shape has more elements than fit into 64 bits (at dimension %d, %" PRId64 ")%s", i,
                dims[i], empty ? " beside an empty dimension" : "");
    }
    *out = shape;
    return status_ok();
}

bool shape_fits(const struct shape *shape, int64_t *size)
{
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < shape->rank; i++) {
        empty |= shape->dims[i] == 0;
        if (shape->dims[i] < 0 ||
            (shape->dims[i] != 0 && __builtin_mul_overflow(product, shape->dims[i], &product)))
            return false;
    }
    *size = empty ? 0 : product;
    return true;
}

int64_t shape_size(const struct shape *shape)
{
    assert(shape->rank >= 0);
    int64_t size = 1;
    for (int i = 0; i < shape->rank; i++) {
        assert(shape->dims[i] >= 0);
        size *= shape->dims[i];
    }
    return size;
}

bool shape_is_known(const struct shape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0)
            return false;
    return shape->rank >= 0;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

bool shape_compatible(const struct shape *known, const struct shape *pattern)
{
    if (pattern->rank < 0)
        return true;
    if (known->rank != pattern->rank)
        return false;
    for (int i = 0; i < known->rank; i++)
        if (pattern->dims[i] >= 0 && known->dims[i] != pattern->dims[i])
            return false;
    return true;
}

/* Dimension `i` from the end (0 is the last one); missing ones are 1. */
static int64_t dim_from_end(const struct shape *shape, int i)
{
    return i < shape->rank ? shape->dims[shape->rank - 1 - i] : 1;
}

struct status shape_broadcast(const struct shape *a, const struct shape *b, struct shape *out)
{
    if (a->rank < 0 || b->rank < 0) {
        *out = shape_unknown();
        return status_ok();
    }
    struct shape result = { .rank = a->rank > b->rank ? a->rank : b->rank };
    for (int i = 0; i < result.rank; i++) {
        int64_t x = dim_from_end(a, i), y = dim_from_end(b, i);
        int64_t *dim = &result.dims[result.rank - 1 - i];
        if (x == y || y == 1)
            *dim = x;
        else if (x == 1)
            *dim = y;
        else if (x < 0 || y < 0)
            *dim = x < 0 ? y : x; /* a known one over 1 decides; the other must be 1 or equal */
        else
            return status_error(STATUS_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s",
                                shape_text(a), shape_text(b));
    }
    *out = result;
    return status_ok();
}

void shape_append(struct shape *shape, int64_t dim)
{
    assert(shape->rank >= 0);
    assert(shape->rank < SHAPE_RANK_MAX);
    shape->dims[shape->rank++] = dim;
}

const char *shape_text(const struct shape *shape)
{
    static _Thread_local char ring[8][SHAPE_RANK_MAX * 21 + 4];
    static _Thread_local unsigned next;
    if (shape->rank < 0)
        return "<unknown>";
    char *text = ring[next++ % COUNT(ring)];
    size_t at = 0;
    text[at++] = '[';
    for (int i = 0; i < shape->rank; i++) {
        if (i > 0)
            text[at++] = ',';
        if (shape->dims[i] < 0)
            text[at++] = '?';
        else
            at += (size_t)snprintf(text + at, 21, "%" PRId64, shape->dims[i]);
    }
    text[at++] = ']';
    text[at] = '\0';
    return text;
}
