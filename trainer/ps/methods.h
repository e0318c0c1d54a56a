/*
 * methods: the methods of the ps service, in the order of ps.c's table. Each is called without the
 * lock.
 */
#ifndef TRAINER_PS_METHODS_H
#define TRAINER_PS_METHODS_H

#include "rpc/channel.h"

method_function ps_join, ps_create_variables, ps_write, ps_open, ps_pull, ps_push, ps_hold, ps_cut,
    ps_read_snapshot, ps_drop, ps_finish, ps_await, ps_heartbeat, ps_post, ps_fetch, ps_stop_early,
    ps_pass, ps_take, ps_totals;

#endif
