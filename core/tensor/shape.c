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

/* Dimensions that are no sizes, or too large together. */
static struct status check_dims(int rank, const int64_t *dims)
{
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "dimension %d of a shape is %" PRId64 ", must be >= 0", i, dims[i]);
        empty |= dims[i] == 0;
        /* The product of the other dimensions must fit as well, so that no order of multiplication
         * overflows. */
        if (dims[i] != 0 && __builtin_mul_overflow(product, dims[i], &product))
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "shape has more elements than fit into 64 bits (at dimension %d, %" PRId64 ")%s", i,
                dims[i], empty ? " beside an empty dimension" : "");
    }
    return status_ok();
}

struct status shape_check(int rank, const int64_t *dims, struct shape *out)
{
    if (rank < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "shape of rank %d, must be >= 0", rank);
    TRY(shape_check_rank(rank));
    TRY(check_dims(rank, dims));
    *out = shape_make(rank, dims);
    return status_ok();
}

/* ---- packed shapes ---- */

/* The rank, a bit for each dimension that is not 1, then those as varints. Equal shapes have equal
 * bytes. The dimensions of a tensor with elements always fit: one of n bits takes at most n - 1
 * bytes, and their product is below 2^63. */
struct packed_dims {
    uint8_t rank;
    uint8_t others[(SHAPE_RANK_TENSORFLOW + 7) / 8]; /* bit i % 8 of byte i / 8: dims[i] != 1 */
    uint8_t varints[63];
};
_Static_assert(sizeof(struct packed_dims) == sizeof((struct shape){ 0 }.dims), "fills dims");

static bool pack_dim(struct packed_dims *packed, int i, uint64_t dim, size_t *used)
{
    packed->others[i / 8] |= (uint8_t)(1U << (i % 8));
    for (;; dim >>= 7) {
        if (*used == sizeof packed->varints)
            return false;
        packed->varints[(*used)++] = (uint8_t)(dim < 0x80 ? dim : (dim & 0x7f) | 0x80);
        if (dim < 0x80)
            return true;
    }
}

struct status shape_check_any(int rank, const int64_t *dims, struct shape *out)
{
    struct packed_dims packed = { .rank = (uint8_t)rank };
    size_t used = 0;
    if (rank <= SHAPE_RANK_MAX || rank > SHAPE_RANK_TENSORFLOW)
        return shape_check(rank, dims, out);
    TRY(check_dims(rank, dims));
    for (int i = 0; i < rank; i++)
        if (dims[i] != 1 && !pack_dim(&packed, i, (uint64_t)dims[i], &used))
            return status_error(STATUS_UNIMPLEMENTED,
                                "tensors of rank %d with more than %zu dimensions other than 1 are "
                                "not implemented",
                                rank, sizeof packed.varints);
    *out = (struct shape){ .rank = SHAPE_PACKED };
    memcpy(out->dims, &packed, sizeof packed);
    return status_ok();
}

static int64_t unpack_dim(const struct packed_dims *packed, size_t *used)
{
    uint64_t dim = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = packed->varints[(*used)++];
        dim |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return (int64_t)dim;
    }
}

int shape_unpack(const struct shape *shape, int64_t dims[SHAPE_RANK_TENSORFLOW])
{
    struct packed_dims packed;
    size_t used = 0;
    if (shape->rank != SHAPE_PACKED) {
        memcpy(dims, shape->dims, (size_t)shape->rank * sizeof *dims);
        return shape->rank;
    }
    memcpy(&packed, shape->dims, sizeof packed);
    for (int i = 0; i < packed.rank; i++)
        dims[i] = packed.others[i / 8] >> (i % 8) & 1 ? unpack_dim(&packed, &used) : 1;
    return packed.rank;
}

static int64_t packed_size(const struct shape *shape)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW], size = 1;
    int rank = shape_unpack(shape, dims);
    for (int i = 0; i < rank; i++)
        size *= dims[i];
    return size;
}

/* ---- any shape ---- */

bool shape_fits(const struct shape *shape, int64_t *size)
{
    int64_t product = 1;
    bool empty = false;
    if (shape->rank == SHAPE_PACKED) { /* it was checked when it was packed */
        *size = packed_size(shape);
        return true;
    }
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
    if (shape->rank == SHAPE_PACKED)
        return packed_size(shape);
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
    return shape->rank != SHAPE_UNKNOWN_RANK;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    if (a->rank != b->rank)
        return false;
    if (a->rank == SHAPE_PACKED)
        return memcmp(a->dims, b->dims, sizeof a->dims) == 0;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

bool shape_compatible(const struct shape *known, const struct shape *pattern)
{
    if (pattern->rank == SHAPE_UNKNOWN_RANK)
        return true;
    if (known->rank != pattern->rank)
        return false;
    if (known->rank == SHAPE_PACKED)
        return shape_equal(known, pattern);
    for (int i = 0; i < known->rank; i++)
        if (pattern->dims[i] >= 0 && known->dims[i] != pattern->dims[i])
            return false;
    return true;
}

/* Dimension `i` from the end (0 is the last one); missing ones are 1. */
static int64_t dim_from_end(const int64_t *dims, int rank, int i)
{
    return i < rank ? dims[rank - 1 - i] : 1;
}

static struct status broadcast_packed(const struct shape *a, const struct shape *b,
                                      struct shape *out)
{
    int64_t x[SHAPE_RANK_TENSORFLOW], y[SHAPE_RANK_TENSORFLOW], dims[SHAPE_RANK_TENSORFLOW];
    int x_rank = shape_unpack(a, x), y_rank = shape_unpack(b, y);
    int rank = x_rank > y_rank ? x_rank : y_rank;
    for (int i = 0; i < rank; i++) {
        int64_t x_dim = dim_from_end(x, x_rank, i), y_dim = dim_from_end(y, y_rank, i);
        dims[rank - 1 - i] = x_dim == 1 ? y_dim : x_dim;
        if (x_dim != y_dim && x_dim != 1 && y_dim != 1)
            return status_error(STATUS_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s",
                                shape_text(a), shape_text(b));
    }
    return shape_check_any(rank, dims, out);
}

struct status shape_broadcast(const struct shape *a, const struct shape *b, struct shape *out)
{
    if (a->rank == SHAPE_UNKNOWN_RANK || b->rank == SHAPE_UNKNOWN_RANK) {
        *out = shape_unknown();
        return status_ok();
    }
    if (a->rank == SHAPE_PACKED || b->rank == SHAPE_PACKED)
        return broadcast_packed(a, b, out);
    struct shape result = { .rank = a->rank > b->rank ? a->rank : b->rank };
    for (int i = 0; i < result.rank; i++) {
        int64_t x = dim_from_end(a->dims, a->rank, i), y = dim_from_end(b->dims, b->rank, i);
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

/* Room for SHAPE_RANK_MAX dimensions of any size; of a packed shape, at most 63 are not 1, whose
 * digits are at most 3 for each byte of a varint. */
#define SHAPE_TEXT_MAX (SHAPE_RANK_TENSORFLOW * 2 + 63 * 3 + 4)

const char *shape_text(const struct shape *shape)
{
    static _Thread_local char ring[8][SHAPE_TEXT_MAX];
    static _Thread_local unsigned next;
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    if (shape->rank == SHAPE_UNKNOWN_RANK)
        return "<unknown>";
    int rank = shape_unpack(shape, dims);
    char *text = ring[next++ % COUNT(ring)];
    size_t at = 0;
    text[at++] = '[';
    for (int i = 0; i < rank; i++) {
        if (i > 0)
            text[at++] = ',';
        if (dims[i] < 0)
            text[at++] = '?';
        else
            at += (size_t)snprintf(text + at, 21, "%" PRId64, dims[i]);
    }
    text[at++] = ']';
    text[at] = '\0';
    return text;
}
