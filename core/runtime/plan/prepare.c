/* The functions that kernels call while they are prepared. */
#include "runtime/plan/maker.h"

const struct node *prepare_node(const struct prepare_context *context)
{
    return context->node;
}

const struct tensor *prepare_constant(const struct prepare_context *context, int input)
{
    bool hidden = context->maker->plan->options.no_fold || input >= context->node->inputs_count;
    if (hidden || context->node->inputs[input].node == NULL) /* inside a fused node */
        return NULL;
    const struct tensor *constant =
        region_value(context->region, context->node->inputs[input])->constant;
    if (constant != NULL && context->maker->emitting != NULL)
        note_constant_use(context->maker, constant);
    return constant;
}

struct arena *prepare_arena(struct prepare_context *context)
{
    return context->maker->arena;
}

size_t prepare_memory_left(const struct prepare_context *context)
{
    const struct run *run = context->maker->run;
    size_t left = run->kept_max - run->kept_bytes;
    return run->kept_max > 0 && left == 0 ? 1 : left;
}

void prepare_count_memory(struct prepare_context *context, size_t bytes)
{
    struct run *run = context->maker->run;
    size_t left = run->kept_max - run->kept_bytes;
    run->kept_bytes += bytes < left ? bytes : left;
}

struct resources *prepare_resources(struct prepare_context *context)
{
    return context->maker->plan->resources;
}

void *prepare_state(struct prepare_context *context, size_t size_bytes,
                    void (*destroy)(void *state))
{
    struct plan *plan = context->maker->plan;
    void *state = arena_alloc(context->maker->arena, size_bytes);
    if (destroy != NULL) {
        if (plan->cleanups_count == plan->cleanups_capacity) {
            plan->cleanups_capacity = plan->cleanups_capacity * 2 + 16;
            plan->cleanups =
                xrealloc(plan->cleanups, (size_t)plan->cleanups_capacity * sizeof *plan->cleanups);
        }
        plan->cleanups[plan->cleanups_count++] = (struct plan_cleanup){ destroy, state };
    }
    context->step->state = state;
    return state;
}

const struct plan_function *prepare_function(const struct prepare_context *context, int index)
{
    assert(index < context->step->functions_count);
    return &context->step->functions[index];
}

int prepare_functions_count(const struct prepare_context *context)
{
    return context->step->functions_count;
}

struct status prepare_inner(const struct prepare_context *context, const struct node *node,
                            const struct kernel *kernel, struct step *step)
{
    struct prepare_context inner = *context;
    inner.node = node;
    inner.step = step;
    inner.is_inner = true;
    return kernel->prepare != NULL ? kernel->prepare(&inner) : status_ok();
}
