/*
 * pull: answers pulls, and adds values to the replies of pushes.
 */
#ifndef TRAINER_PS_PULL_H
#define TRAINER_PS_PULL_H

#include "trainer/ps/row_lists.h"

struct wanted_values {
    struct piece_range range;
    bool before;              /* as they were before the last step */
    bool evaluated;           /* a key without a row has the default value */
    struct row_list rows;     /* checked */
    struct key_list_set keys; /* checked; borrowed */
};

/* Adds values to *reply: whole slices by reference, rows as a copy. ABORTED: values from before
 * the last step were not kept; RESOURCE_EXHAUSTED: no memory for the rows. */
struct status attach_values(const struct ps *ps, const struct wanted_values *wanted,
                            struct message *reply);

#endif
