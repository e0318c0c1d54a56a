/* Servables without a model. Counters check that each is freed exactly once, and never while a
 * request holds it. */
#ifndef TESTS_FAKE_SERVABLE_H
#define TESTS_FAKE_SERVABLE_H

#include "server/models/servable.h"

static _Atomic int servables_made, servables_freed;

static inline struct servable *make_servable(int64_t version)
{
    struct servable *servable = zalloc(sizeof *servable);
    servable->name = "m";
    servable->version = version;
    atomic_init(&servable->references, 1);
    atomic_fetch_add(&servables_made, 1);
    return servable;
}

static inline void free_servable(struct servable *servable)
{
    assert_int_equal(servable_references(servable), 1);
    atomic_fetch_add(&servables_freed, 1);
    servable_destroy(servable);
}

static inline int servables_alive(void)
{
    return atomic_load(&servables_made) - atomic_load(&servables_freed);
}

#endif
