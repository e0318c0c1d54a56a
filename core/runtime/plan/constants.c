/* Releases the constants that no step needs when all steps are made. Weights that were cast, scaled
 * or packed would otherwise be in memory in each of these forms. */
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/plan/maker.h"

void note_constant_use(struct plan_maker *maker, const struct tensor *constant)
{
    if (maker->uses_count == maker->uses_capacity) {
        maker->uses_capacity = maker->uses_capacity * 2 + 64;
        maker->uses = xrealloc(maker->uses, (size_t)maker->uses_capacity * sizeof *maker->uses);
    }
    maker->uses[maker->uses_count++] = (struct constant_use){ constant, maker->emitting };
}

static int count_inputs(const struct prepare_context *context, const struct tensor *constant)
{
    int count = 0;
    for (int i = 0; i < prepare_node(context)->inputs_count; i++)
        count += prepare_constant(context, i) == constant;
    return count;
}

void prepare_claim(struct prepare_context *context, int input,
                   void (*take)(void *state, struct tensor *constant, struct buffer *scratch))
{
    struct plan_maker *maker = context->maker;
    const struct tensor *constant = prepare_constant(context, input);
    if (constant == NULL || maker->emitting == NULL || context->is_inner ||
        count_inputs(context, constant) != 1)
        return;
    if (maker->claims_count == maker->claims_capacity) {
        maker->claims_capacity = maker->claims_capacity * 2 + 16;
        maker->claims =
            xrealloc(maker->claims, (size_t)maker->claims_capacity * sizeof *maker->claims);
    }
    maker->claims[maker->claims_count++] =
        (struct constant_claim){ { constant, maker->emitting }, take, context->step->state };
}

static int compare_uses(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct constant_use *)a)->constant;
    uintptr_t y = (uintptr_t)((const struct constant_use *)b)->constant;
    return (x > y) - (x < y);
}

/* The first use of the constant in the sorted list; NULL: none. */
static const struct constant_use *find_uses(const struct plan_maker *maker,
                                            const struct tensor *constant)
{
    int low = 0, high = maker->uses_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((uintptr_t)maker->uses[middle].constant < (uintptr_t)constant)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < maker->uses_count && maker->uses[low].constant == constant;
    return found ? &maker->uses[low] : NULL;
}

static bool is_used_by_others(const struct plan_maker *maker, const struct constant_use *mine)
{
    const struct constant_use *use = find_uses(maker, mine->constant);
    const struct constant_use *end = maker->uses + maker->uses_count;
    for (; use != NULL && use < end && use->constant == mine->constant; use++) {
        if (use->user != mine->user)
            return true;
    }
    return false;
}

/* Once this many bytes are dropped, the gaps that they leave on the heap go back to the system.
 * Otherwise the weights would be in memory almost twice while they are packed. */
#define GIVE_BACK_BYTES ((size_t)16 << 20)

static void count_dropped(size_t bytes, size_t *dropped)
{
    *dropped += bytes;
    if (*dropped >= GIVE_BACK_BYTES) {
        memory_trim();
        *dropped = 0;
    }
}

void plan_settle_constants(struct plan_maker *maker)
{
    struct plan *plan = maker->plan;
    size_t dropped = 0;
    struct buffer scratch = { 0 };
    if (maker->claims_count > 0)
        memory_trim(); /* packing needs the memory of the graphs that the load has dropped */
    if (maker->uses_count > 0)
        qsort(maker->uses, (size_t)maker->uses_count, sizeof *maker->uses, compare_uses);
    for (int i = 0; i < plan->owned_count; i++) {
        if (find_uses(maker, plan->owned[i]) != NULL)
            continue;
        size_t bytes = tensor_bytes(plan->owned[i]);
        tensor_release(plan->owned[i]);
        count_dropped(bytes, &dropped);
    }
    for (int i = 0; i < maker->claims_count; i++) {
        const struct constant_claim *claim = &maker->claims[i];
        struct tensor *constant = (struct tensor *)claim->use.constant;
        if (is_used_by_others(maker, &claim->use) || !tensor_writable(constant))
            continue;
        claim->take(claim->state, constant, &scratch);
        count_dropped(constant->buffer == NULL ? tensor_bytes(constant) : 0, &dropped);
    }
    buffer_finish(&scratch);
}
