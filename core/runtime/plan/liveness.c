/*
 * Last uses. Walking a block backwards, the first step found that uses a slot is its last user: it
 * releases the slot, and may take the value if it uses the slot only once and in none of its
 * bodies. A slot of an outer block that a body uses (a capture) is used by the branch or loop
 * around it.
 */
#include <assert.h>

#include "runtime/plan/maker.h"

struct liveness {
    struct plan_maker *maker;
    struct plan_block *block;
    uint32_t *releases;
    int releases_count;
};

static bool owned_here(const struct liveness *walk, uint32_t slot)
{
    return walk->maker->owners[slot] == walk->block->id;
}

static bool is_stamped(const struct liveness *walk, uint32_t slot)
{
    return walk->maker->stamps[slot] == walk->maker->stamp;
}

/* Does one of the control's own blocks write the slot? */
static bool owned_within(const struct liveness *walk, const struct control *control, uint32_t slot)
{
    for (int i = 0; i < control->blocks_count; i++) {
        if (walk->maker->owners[slot] == control->blocks[i]->id)
            return true;
    }
    return false;
}

static void capture(struct liveness *walk, uint32_t slot)
{
    struct plan_block *block = walk->block;
    block->captures = ARENA_ROOM(walk->maker->arena, block->captures, block->captures_count);
    block->captures[block->captures_count++] = slot;
}

/* Notes a use. True: it is the last one, and this block writes the slot. */
static bool is_last_use(struct liveness *walk, uint32_t slot)
{
    if (is_stamped(walk, slot))
        return false;
    walk->maker->stamps[slot] = walk->maker->stamp;
    if (owned_here(walk, slot))
        return true;
    if (walk->maker->plan->constants[slot] == NULL)
        capture(walk, slot);
    return false;
}

static int captures_of(const struct step *step)
{
    int count = 0;
    for (int i = 0; step->control != NULL && i < step->control->blocks_count; i++)
        count += step->control->blocks[i]->captures_count;
    return count;
}

static void note_captures(struct liveness *walk, const struct step *step)
{
    const struct control *control = step->control;
    for (int i = 0; control != NULL && i < control->blocks_count; i++) {
        const struct plan_block *inner = control->blocks[i];
        for (int j = 0; j < inner->captures_count; j++) {
            uint32_t slot = inner->captures[j];
            if (!owned_within(walk, control, slot) && is_last_use(walk, slot))
                walk->releases[walk->releases_count++] = slot;
        }
    }
}

/* An input may take the value, unless the step uses the slot again. */
static void note_inputs(struct liveness *walk, struct step *step)
{
    int *takers = walk->maker->takers;
    for (int i = 0; i < step->inputs_count; i++) {
        uint32_t slot = step->inputs[i];
        if (is_last_use(walk, slot)) {
            walk->releases[walk->releases_count++] = slot;
            step->inputs[i] |= SLOT_LAST;
            takers[slot] = i;
        } else if (takers[slot] < i && step->inputs[takers[slot]] == (slot | SLOT_LAST)) {
            step->inputs[takers[slot]] = slot;
        }
    }
}

static void note_outputs(struct liveness *walk, struct step *step)
{
    bool *unwanted = NULL;
    for (int i = 0; i < step->outputs_count; i++) {
        uint32_t slot = step->first_output + (uint32_t)i;
        if (is_stamped(walk, slot))
            continue;
        if (unwanted == NULL)
            unwanted = ARENA_ARRAY(walk->maker->arena, bool, step->outputs_count);
        unwanted[i] = true;
        walk->releases[walk->releases_count++] = slot; /* a kernel may still write it */
    }
    step->unwanted = unwanted;
}

void block_liveness(struct plan_maker *maker, struct plan_block *block)
{
    struct liveness walk = { .maker = maker, .block = block };
    maker->stamp++;
    for (int i = block->results_count - 1; i >= 0; i--) {
        if (is_last_use(&walk, block->results[i]))
            block->results[i] |= SLOT_LAST;
    }
    for (int i = block->steps_count - 1; i >= 0; i--) {
        struct step *step = &block->steps[i];
        int most = step->inputs_count + step->outputs_count + captures_of(step);
        walk.releases = ARENA_ARRAY(maker->arena, uint32_t, most + 1);
        walk.releases_count = 0;
        note_outputs(&walk, step);
        note_captures(&walk, step); /* before inputs: what a body reads must not be taken */
        note_inputs(&walk, step);
        assert(walk.releases_count <= most);
        step->releases = walk.releases;
        step->releases_count = walk.releases_count;
    }
}
