/*
 * Last uses. Walking a block backwards, the first step that is met using a slot is its last user:
 * it gives the slot up, and may take its value where it uses the slot once and in no body.
 * What a block uses of others (its captures) is a use by the branch or loop around it.
 */
#include "runtime/plan_internal.h"

struct walk {
    struct maker *maker;
    struct block *block;
    uint32_t *releases;
    int releases_count;
};

static bool owned_here(const struct walk *walk, uint32_t slot)
{
    return walk->maker->owners[slot] == walk->block->id;
}

static bool is_stamped(const struct walk *walk, uint32_t slot)
{
    return walk->maker->stamps[slot] == walk->maker->stamp;
}

/* Is the slot one that the control's own loop writes? */
static bool owned_within(const struct walk *walk, const struct control *control, uint32_t slot)
{
    for (int i = 0; i < control->blocks_count; i++) {
        if (walk->maker->owners[slot] == control->blocks[i]->id)
            return true;
    }
    return false;
}

static void capture(struct walk *walk, uint32_t slot)
{
    /* The list grows by doubling in the arena; capacities are powers of two. */
    struct block *block = walk->block;
    int count = block->captures_count;
    if ((count & (count - 1)) == 0) {
        uint32_t *captures = ARENA_ARRAY(walk->maker->arena, uint32_t, count == 0 ? 1 : count * 2);
        for (int i = 0; i < count; i++)
            captures[i] = block->captures[i];
        block->captures = captures;
    }
    block->captures[block->captures_count++] = slot;
}

/* Notes a use; true: it is the last one of a slot of this block. */
static bool last_use(struct walk *walk, uint32_t slot)
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

static int uses_of(const struct step *step, uint32_t slot)
{
    int uses = 0;
    for (int i = 0; i < step->inputs_count; i++)
        uses += (step->inputs[i] & SLOT_INDEX) == slot;
    return uses;
}

static int captures_of(const struct step *step)
{
    int count = 0;
    for (int i = 0; step->control != NULL && i < step->control->blocks_count; i++)
        count += step->control->blocks[i]->captures_count;
    return count;
}

static void note_captures(struct walk *walk, const struct step *step)
{
    const struct control *control = step->control;
    for (int i = 0; control != NULL && i < control->blocks_count; i++) {
        const struct block *inner = control->blocks[i];
        for (int j = 0; j < inner->captures_count; j++) {
            uint32_t slot = inner->captures[j];
            if (!owned_within(walk, control, slot) && last_use(walk, slot))
                walk->releases[walk->releases_count++] = slot;
        }
    }
}

static void note_inputs(struct walk *walk, struct step *step)
{
    for (int i = 0; i < step->inputs_count; i++) {
        uint32_t slot = step->inputs[i];
        if (!last_use(walk, slot))
            continue;
        walk->releases[walk->releases_count++] = slot;
        if (uses_of(step, slot) == 1)
            step->inputs[i] |= SLOT_LAST;
    }
}

static void note_outputs(struct walk *walk, struct step *step)
{
    bool *unwanted = NULL;
    for (int i = 0; i < step->outputs_count; i++) {
        uint32_t slot = step->first_output + (uint32_t)i;
        if (is_stamped(walk, slot))
            continue;
        if (unwanted == NULL)
            unwanted = ARENA_ARRAY(walk->maker->arena, bool, step->outputs_count);
        unwanted[i] = true;
        walk->releases[walk->releases_count++] = slot; /* a kernel may make it all the same */
    }
    step->unwanted = unwanted;
}

void block_liveness(struct maker *maker, struct block *block)
{
    struct walk walk = { .maker = maker, .block = block };
    maker->stamp++;
    for (int i = block->results_count - 1; i >= 0; i--) {
        if (last_use(&walk, block->results[i]))
            block->results[i] |= SLOT_LAST;
    }
    for (int i = block->steps_count - 1; i >= 0; i--) {
        struct step *step = &block->steps[i];
        int most = step->inputs_count + step->outputs_count + captures_of(step);
        walk.releases = ARENA_ARRAY(maker->arena, uint32_t, most + 1);
        walk.releases_count = 0;
        note_outputs(&walk, step);
        note_captures(&walk, step); /* first: what a body reads must not be taken */
        note_inputs(&walk, step);
        step->releases = walk.releases;
        step->releases_count = walk.releases_count;
    }
}
