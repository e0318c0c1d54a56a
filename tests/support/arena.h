/*
 * arena: memory for one test, or for a group of tests.
 */
#ifndef SUPPORT_ARENA_H
#define SUPPORT_ARENA_H

#include "base/arena.h"

static struct arena *arena;

static inline int arena_setup(void **state)
{
    (void)state;
    arena = arena_create(0);
    return 0;
}

static inline int arena_teardown(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

#endif
