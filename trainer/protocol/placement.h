/*
 * placement: decides which ps holds which part of a variable. Variables are cut along their first
 * dimension into pieces of limited size, as evenly as TensorFlow's partitioner does (a row is only
 * cut if it is larger than PLACEMENT_PIECE_MAX). The pieces of a variable are ranges of rows, which
 * TensorFlow calls the strategy "div". Each piece is assigned to a ps: by bytes (the largest piece
 * first, each to the least loaded ps) or round-robin. Placement is a pure function of its inputs:
 * every task computes the same result, and a hash in the handshake verifies it.
 */
#ifndef TRAINER_PROTOCOL_PLACEMENT_H
#define TRAINER_PROTOCOL_PLACEMENT_H

#include "tensor/constraint.h"
#include "trainer/protocol/row_keys.h"

#define PLACEMENT_PIECE_BYTES ((size_t)1 << 20)
#define PLACEMENT_PIECE_MAX   ((size_t)1 << 30) /* a piece must fit in one message, of 2 GiB */

struct placed_variable {
    const char *name;
    enum dtype dtype;
    struct shape shape;
    bool trainable;
    /* Instead of trainable: the update carries a value, towards which the variable moves by this
     * momentum, as a moving average does. */
    bool averaged;
    double momentum;
    struct constraint constraint; /* a variable with a constraint that joins rows stays in one
                                   * piece */
    /* Above 0: an update first divides the values by spectral_divide with this many iterations.
     * The vector is the next variable, which is averaged. It is on the same ps, and neither is
     * split. */
    uint32_t power_iterations;
    /* Pulled and pushed by rows of the first dimension instead of as a whole. Its rank is at
     * least 1, its dtype DT_FLOAT, and a row has from 4 bytes to PLACEMENT_PIECE_MAX. */
    bool by_rows;
    /* Like by_rows, with 64-bit keys instead of row numbers: a hash table. Its first dimension
     * is -1, and it is trainable. Its piece on each ps holds the keys that key_ps assigns to
     * that ps. */
    bool by_keys;
    struct row_keys_spec keys;
    int first_piece, pieces_count; /* set by placement_create */
};

/* Is it pulled in part, by rows or by keys? */
static inline bool placed_variable_is_sparse(const struct placed_variable *variable)
{
    return variable->by_rows || variable->by_keys;
}

struct piece {
    int variable, ps;
    size_t offset, size; /* bytes within the variable; 0 if it is by keys */
};

struct placement {
    int ps_count, variables_count, pieces_count;
    struct placed_variable *variables;
    struct piece *pieces; /* in order of variables, then offset: the index is the piece's id */
    uint64_t hash;
};

enum placement_strategy {
    PLACE_BY_BYTES,
    PLACE_IN_TURN,
    /* All pieces of a variable on the same ps, for an optimizer that measures whole variables. */
    PLACE_WHOLE_BY_BYTES,
    PLACE_WHOLE_IN_TURN,
};

/* `variables` is copied, except for names (borrowed). Owner: placement_finish. */
void placement_create(const struct placed_variable *variables, int variables_count, int ps_count,
                      size_t piece_bytes_max, enum placement_strategy strategy,
                      struct placement *out);
void placement_finish(struct placement *placement);

/* Does an update of the variable need a gradient or a value from every worker? */
bool placed_variable_is_pushed(const struct placed_variable *variable);
/* UNIMPLEMENTED: a constraint that a single piece cannot satisfy, or a variable that is too
 * large to be split. */
struct status placed_variable_check(const struct placed_variable *variable);

/* Bytes of a row of a variable that is pulled by rows or by keys. */
size_t placement_row_bytes(const struct placed_variable *variable);

/* Is any variable pulled in part? */
bool placement_has_sparse(const struct placement *placement);

/* Rows of the variable. */
struct shape placement_piece_shape(const struct placement *placement, int piece);

size_t placement_bytes(const struct placement *placement, int ps); /* what that ps holds */

#endif
