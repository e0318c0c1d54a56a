#include "runtime/kernels/random/random_seeded.h"

struct status random_seeded_init(const struct node *node, struct random_seeded *out)
{
    int64_t seed = 0, seed2 = 0;
    if (node_attr(node, "seed") != NULL)
        TRY(node_attr_int(node, "seed", &seed));
    if (node_attr(node, "seed2") != NULL)
        TRY(node_attr_int(node, "seed2", &seed2));
    out->seed = (uint64_t)seed;
    out->seed2 = (uint64_t)seed2;
    return status_ok();
}

struct status random_seeded_prepare(struct prepare_context *p)
{
    return random_seeded_init(prepare_node(p),
                              prepare_state(p, sizeof(struct random_seeded), NULL));
}

struct philox random_seeded_take(struct kernel_context *k, const struct random_seeded *seeded,
                                 uint64_t blocks)
{
    /* A kernel's state is const, because runs share it. This count, which is atomic, is the only
     * part that a run changes. */
    _Atomic uint64_t *count = (_Atomic uint64_t *)&seeded->blocks;
    if (seeded->seed == 0 && seeded->seed2 == 0)
        return philox_of_key(kernel_random_seed(k), 0, 0);
    uint64_t taken = atomic_fetch_add_explicit(count, blocks, memory_order_relaxed);
    return philox_of_key(seeded->seed, taken, seeded->seed2);
}
