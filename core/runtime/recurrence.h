/*
 * recurrence: the node _Recurrence, which plan/fuse_recurrence.c makes of a loop and
 * kernels/nn/recurrence.c runs.
 *
 *     inputs   x [time, batch, inputs]; weights [inputs, gates · cells], recurrent [cells, gates ·
 *              cells] and bias, all constant; M limits; N = 0 or 1 mask [time, batch, 1] of bool;
 *              the carried values that have a role
 *     outputs  those of the loop; an output without a role has no users
 *     cell     "lstm": gates i, f, candidate, o. "gru": z, r, candidate, and a fourth part of the
 *              bias, inside the product with r. "simple": tanh of the sum
 *     roles    of each output, enum recurrence_role
 *     limited  for each limit, the output whose counter must stay below it
 *     masked   "": there is no mask. A step that the mask excludes keeps a row of h and c, and its
 *              output is that of the step before ("keep") or 0 ("zero")
 *     at       the element of the list that each output overwrites; -1: the element of its time
 */
#ifndef RUNTIME_RECURRENCE_H
#define RUNTIME_RECURRENCE_H

enum recurrence_role {
    RECURRENCE_NONE,
    RECURRENCE_TIME, /* an int32 that grows by 1; x is read at it */
    RECURRENCE_COUNTER,
    RECURRENCE_LIST, /* a TensorList that receives outputs */
    RECURRENCE_H,    /* without a mask, h is the output */
    RECURRENCE_C,
    RECURRENCE_OUTPUT, /* with a mask */
    RECURRENCE_ROLES
};

#define RECURRENCE_VALUES_MAX 64 /* that the loop carries, or only reads */
#define RECURRENCE_LIMITS_MAX 2

#endif
