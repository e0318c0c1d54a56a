/*
 * recurrence: the node _Recurrence, which plan/fuse_recurrence.c makes of a loop and
 * kernels/recurrence.c runs.
 *
 *     inputs   x [time, batch, inputs]; weights [inputs, gates · cells], recurrent [cells, gates ·
 *              cells] and bias, all constant; M limits; the carried values that have a role
 *     outputs  those of the loop; an output without a role has no users
 *     cell     "lstm": gates i, f, candidate, o. "gru": z, r, candidate, and a fourth part of the
 *              bias, inside the product with r. "simple": tanh of the sum
 *     roles    of each output, enum recurrence_role
 *     limited  for each limit, the output whose counter must stay below it
 *     at       the element of the list that each h overwrites; -1: the element of its time
 */
#ifndef RUNTIME_RECURRENCE_H
#define RUNTIME_RECURRENCE_H

enum recurrence_role {
    RECURRENCE_NONE,
    RECURRENCE_TIME, /* an int32 that grows by 1; x is read at it */
    RECURRENCE_COUNTER,
    RECURRENCE_LIST, /* a TensorList that receives h */
    RECURRENCE_H,
    RECURRENCE_C,
    RECURRENCE_ROLES
};

#define RECURRENCE_VALUES_MAX 64 /* that the loop carries, or only reads */
#define RECURRENCE_LIMITS_MAX 2

#endif
