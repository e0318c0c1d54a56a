#include "trainer/ps/created_pieces.h"

#include <inttypes.h>
#include <stdint.h>

#include "tensor/spectral.h"
#include "trainer/protocol/placement.h"

static struct status check_rows(const struct created_piece *piece)
{
    if (piece->row_bytes % sizeof(float) != 0 || piece->size_bytes % piece->row_bytes != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u: %" PRIu64 " bytes in rows of %" PRIu64
                            ": rows must be whole floats, and whole",
                            piece->id, piece->size_bytes, piece->row_bytes);
    if (piece->size_bytes / piece->row_bytes > UINT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u: %" PRIu64 " rows, and a piece has at most %u", piece->id,
                            piece->size_bytes / piece->row_bytes, UINT32_MAX);
    return status_ok();
}

static struct status check_update(const struct created_piece *piece)
{
    bool constrained = piece->constraint.kind != CONSTRAINT_NONE;

    if (piece->averaged &&
        (piece->trainable || piece->row_bytes != 0 || piece->size_bytes % sizeof(float) != 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u is averaged: it must be whole floats, not be trained, and "
                            "have no rows",
                            piece->id);
    if (constrained && (!piece->trainable || piece->row_bytes != 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u is constrained: it must be trained, and have no rows",
                            piece->id);
    return status_ok();
}

static struct status check_keys(const struct created_piece *piece)
{
    if (piece->size_bytes != 0 || !piece->trainable || piece->continues || piece->row_bytes == 0 ||
        piece->row_bytes > PLACEMENT_PIECE_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u by keys, of %" PRIu64 " bytes in rows of %" PRIu64
                            ": it must begin empty, be trained, and have rows of 4 to %zu bytes",
                            piece->id, piece->size_bytes, piece->row_bytes, PLACEMENT_PIECE_MAX);
    if (piece->keys->ps_count == 0 || piece->keys->ps_count > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "piece %u by keys: over %u ps tasks",
                            piece->id, piece->keys->ps_count);
    return status_ok();
}

static struct status check_piece(const struct created_piece *piece,
                                 const struct created_piece *before, uint64_t *total)
{
    if (piece->id > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "piece %u: its id must be at most %d",
                            piece->id, INT32_MAX);
    if (before != NULL && piece->id <= before->id)
        return status_error(STATUS_INVALID_ARGUMENT, "piece %u after piece %u: ids must ascend",
                            piece->id, before->id);
    if ((piece->trainable || piece->averaged || piece->row_bytes != 0) &&
        piece->dtype != PIECE_FLOAT)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u is of dtype %u: only float (%d) is trained or has rows",
                            piece->id, piece->dtype, PIECE_FLOAT);
    if (piece->row_bytes != 0)
        TRY(check_rows(piece));
    TRY(check_update(piece));
    if (piece->keys != NULL)
        TRY(check_keys(piece));
    if (piece->trainable && piece->size_bytes % sizeof(float) != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u: %" PRIu64 " bytes are no whole floats", piece->id,
                            piece->size_bytes);
    if (__builtin_add_overflow(*total, piece->size_bytes, total) || *total > SIZE_MAX / 64)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u of %" PRIu64
                            " bytes: with it, the sizes of all pieces overflow",
                            piece->id, piece->size_bytes);
    return status_ok();
}

/* Checks a piece that is divided by its norm, and the next one with the vector. */
static struct status check_divided(const struct created_piece *piece,
                                   const struct created_piece *next)
{
    int rank = piece->shape.rank;

    if (piece->power_iterations == 0)
        return status_ok();
    if (piece->power_iterations > SPECTRAL_ITERATIONS_MAX || !piece->trainable ||
        piece->row_bytes != 0 || piece->continues || rank == 0 || piece->size_bytes == 0 ||
        (uint64_t)shape_size(&piece->shape) * sizeof(float) != piece->size_bytes)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u is divided: it must be trained, whole and have no rows, and "
                            "at most %d iterations",
                            piece->id, SPECTRAL_ITERATIONS_MAX);
    if (next == NULL || next->id != piece->id + 1 || !next->averaged ||
        next->size_bytes != (uint64_t)piece->shape.dims[rank - 1] * sizeof(float))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u is divided: the next piece must be its vector", piece->id);
    return status_ok();
}

struct status created_pieces_check(const struct create_request *request)
{
    size_t count = request->pieces_count;
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++)
        TRY(check_piece(&request->pieces[i], i > 0 ? &request->pieces[i - 1] : NULL, &total));
    for (size_t i = 0; i < count; i++)
        TRY(check_divided(&request->pieces[i], i + 1 < count ? &request->pieces[i + 1] : NULL));
    return status_ok();
}
