/*
 * variables: the slices of a ps. Call the functions without the lock, unless stated otherwise.
 */
#ifndef TRAINER_PS_VARIABLES_H
#define TRAINER_PS_VARIABLES_H

#include "trainer/ps/slice.h"
#include "trainer/ps/state.h"
#include "trainer/ps/training.h"

/* Changed only by variables.c, with the lock and while no push is being applied. Read it with
 * the lock, or while a push is being applied. */
struct variables {
    struct training training;
    struct slice *slices; /* in ascending order of ids; they never move */
    int slices_count;
    size_t gradient_bytes;     /* of all trainable slices without rows */
    size_t largest_bytes;      /* of one of them */
    size_t rows_largest_bytes; /* of one slice with rows */
    void *block;               /* initial values of all slices */
    void *slots_block;         /* their initial slots; NULL: not needed yet */
    void *spares_block;        /* [spares_bytes] for copies of rows; NULL: not needed yet */
    size_t spares_bytes;
    int64_t paid_bytes;        /* from the budget */
    float *sum;                /* for a synchronous step: the size of the largest slice */
    bool keep_before;          /* the values before the last step: see slice.h */
    pthread_mutex_t measuring; /* held during an update by an optimizer that measures */
};

/* Pieces by id, in [first, end). */
struct piece_range {
    uint32_t first, end;
};
#define PIECES_END UINT32_MAX /* `end` if the range includes the last piece */

struct variables *variables_create(void);
void variables_destroy(struct variables *variables, struct budget *budget);
/* With the lock: checks the request, and creates the slices unless they exist. Existing slices
 * are kept. */
struct status variables_prepare(struct ps *ps, const struct create_request *request,
                                struct training *out);
/* With the lock, while no push is applied: begins a generation. */
void variables_begin(struct ps *ps, const struct create_request *request,
                     const struct training *training);
/* With the lock, before a snapshot shares the slices: provides memory for the copies that updates
 * of rows then make. */
void variables_lend_spares(struct variables *variables);
struct status variables_check_filled(const struct ps *ps); /* with the lock */
/* With the lock, once they are initialized. */
void variables_open(const struct ps *ps);
/* RESOURCE_EXHAUSTED: a hash table found no memory for a row. */
struct status variables_check_tables(const struct ps *ps);
/* Finds a slice; NULL: it is on another ps. */
struct slice *variables_find(const struct variables *variables, uint32_t id);
/* The index of the first slice whose id is `id` or more. */
int variables_find_from(const struct variables *variables, uint32_t id);
/* The bytes of all gradients for the pieces of a range that have no rows. */
size_t variables_gradient_bytes(const struct variables *variables, struct piece_range range);

/* Reads the range of a request; an `end` of 0 means all pieces from `first` on.
 * INVALID_ARGUMENT: it is empty. */
struct status piece_range_read(uint32_t first, uint32_t end, struct piece_range *out);

#endif
