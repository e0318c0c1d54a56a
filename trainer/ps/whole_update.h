/*
 * whole_update: updates of variables whose optimizer takes all elements together, such as the rows
 * and columns of a matrix. Add the slices of a variable one by one; after the last one, all are
 * updated.
 *
 *     whole_update_add(&whole, slice, &update, gradient);     each slice of the variable, in order
 *     whole_update_apply(&whole, slices, count, &update);
 *     …the next variable…
 *     whole_update_finish(&whole);
 *
 * Memory  a second copy of the largest variable's values, gradient and slots
 * Threads nobody may update the slices between whole_update_add and whole_update_apply
 */
#ifndef TRAINER_PS_WHOLE_UPDATE_H
#define TRAINER_PS_WHOLE_UPDATE_H

#include "trainer/ps/slice.h"

struct whole_update {
    struct shape shape;     /* of the slices so far */
    size_t count, capacity; /* floats in use in each buffer, and their room */
    float *g, *w, *slots[OPTIMIZER_SLOTS_MAX];
};

void whole_update_add(struct whole_update *whole, struct slice *slice,
                      const struct slice_update *update, const float *g);
/* The same for the gradient of some rows; the others' gradient is 0. */
void whole_update_add_rows(struct whole_update *whole, struct slice *slice,
                           const struct slice_update *update, const struct rows_gradient *gradient);
void whole_update_apply(struct whole_update *whole, struct slice *slices, int count,
                        const struct slice_update *update);
void whole_update_finish(struct whole_update *whole);

#endif
