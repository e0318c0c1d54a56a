#include "trainer/checkpoint/checkpoint_layout.h"

#include <string.h>

#include "base/arena.h"

struct status checkpoint_layout_init(struct checkpoint_layout *layout,
                                     const struct placement *placement,
                                     const struct client_job *job)
{
    *layout = (struct checkpoint_layout){ .placement = placement,
                                          .optimizer_of = job->optimizer_of,
                                          .rows_per_turn = job->rows_per_turn,
                                          .rows_per_unit = job->rows_per_unit,
                                          .units_per_step = job->units_per_step,
                                          .loss_scale = job->loss_scale };
    if (job->units_per_step > 0)
        layout->rows_per_turn = 1;
    if (job->others_count > OPTIMIZERS_MAX - 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%d other optimizers, and at most %d",
                            job->others_count, OPTIMIZERS_MAX - 1);
    for (int i = 0; i <= job->others_count; i++) {
        const struct optimizer_choice choice = client_job_optimizer(job, i);
        struct layout_optimizer *out = &layout->optimizers[i];
        TRY(optimizer_choose(&choice, out->settings, &out->optimizer));
    }
    return status_ok();
}

const struct layout_optimizer *checkpoint_layout_of(const struct checkpoint_layout *layout,
                                                    int variable)
{
    return &layout->optimizers[layout->optimizer_of != NULL ? layout->optimizer_of[variable] : 0];
}

const char *checkpoint_layout_key(const struct checkpoint_layout *layout, int variable, int part,
                                  struct arena *arena)
{
    const struct placed_variable *row = &layout->placement->variables[variable];

    if (part == 0)
        return row->name;
    const struct layout_optimizer *of = checkpoint_layout_of(layout, variable);
    const char *suffix = optimizer_slot_suffix(of->optimizer, of->settings, part - 1);
    return suffix != NULL ? arena_printf(arena, "%s/%s", row->name, suffix) : NULL;
}

int checkpoint_layout_parts(const struct checkpoint_layout *layout, int variable)
{
    const struct optimizer *optimizer = checkpoint_layout_of(layout, variable)->optimizer;

    return 1 + (layout->placement->variables[variable].trainable ? optimizer->slots_count : 0);
}

const char *checkpoint_layout_scalar_key(const struct checkpoint_layout *layout, int optimizer,
                                         int scalar, struct arena *arena)
{
    const char *name = layout->optimizers[optimizer].optimizer->scalars[scalar].name;
    int earlier = 0;

    for (int o = 0; o < optimizer && name != NULL; o++) {
        const struct optimizer *other = layout->optimizers[o].optimizer;
        for (int s = 0; s < other->scalars_count; s++)
            earlier += other->scalars[s].name != NULL && strcmp(other->scalars[s].name, name) == 0;
    }
    return earlier == 0 ? name : arena_printf(arena, "%s_%d", name, earlier);
}

bool checkpoint_layout_has(const struct checkpoint_layout *layout, int optimizer)
{
    return optimizer < OPTIMIZERS_MAX && layout->optimizers[optimizer].optimizer != NULL;
}
