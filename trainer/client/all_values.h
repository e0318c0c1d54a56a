/*
 * all_values: the values of all variables at one moment, in memory, for an evaluation.
 *
 *     struct all_values *values = all_values_create(placement);
 *     TRY(all_values_read(values, &snapshot, &enough));
 *     … values->data …
 *     all_values_destroy(values);
 */
#ifndef TRAINER_CLIENT_ALL_VALUES_H
#define TRAINER_CLIENT_ALL_VALUES_H

#include <stdatomic.h>

#include "savedmodel/save.h"
#include "trainer/client/client.h"

struct all_values {
    const struct placement *placement; /* borrowed */
    void **data;                       /* [variables_count] */
};

/* with_rows: also keep the variables by rows, whose data are NULL otherwise. The data of
 * variables by keys are always NULL. */
struct all_values *all_values_create(const struct placement *placement, bool with_rows);
void all_values_destroy(struct all_values *values); /* accepts NULL */

/* Reads the values from `source`, which finds variables by name. CANCELLED: *enough became true.
 * INTERNAL: the source has a different number of bytes for a variable. */
struct status all_values_read(struct all_values *values, struct value_source *source,
                              const _Atomic bool *enough);

#endif
