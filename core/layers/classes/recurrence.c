/*
 * recurrence: runs a cell over the steps of a sequence, either unrolled or as a While loop.
 * Source: keras/src/backend/tensorflow/rnn.py.
 */
#include "graph/while_loop.h"
#include "layers/classes/recurrent.h"
#include "layers/sizes.h"

/* The input and output of one step, without the states. */
struct recurrent_step {
    struct endpoint x, mask; /* [batch, gates · units], [batch, 1] */
    struct endpoint output;  /* before the step, of the previous one; afterwards, of this one */
};

static struct endpoint choose(struct layer_context *context, struct endpoint mask,
                              struct endpoint yes, struct endpoint no)
{
    return mask.node == NULL ? yes : build_select(&context->builder, mask, yes, no);
}

/* A masked step keeps the states, and the output of the previous step or 0. */
static void build_step(struct layer_context *context, const struct recurrence *r,
                       const struct endpoint *constants, struct recurrent_step *step,
                       struct endpoint *states)
{
    const struct cell_class *class = r->cell->class;
    struct endpoint next[CELL_STATES_MAX];

    class->step(context, r->cell, constants, step->x, states, next);
    struct endpoint otherwise = r->zero_output_for_mask && step->mask.node != NULL
                                    ? build_const_float(&context->builder, 0)
                                    : step->output;
    step->output = choose(context, step->mask, next[0], otherwise);
    for (int i = 0; i < class->states; i++)
        states[i] = choose(context, step->mask, next[i], states[i]);
}

/* Zeros [batch, units]. */
static struct endpoint zero_state(struct layer_context *context, const struct recurrence *r)
{
    struct builder *b = &context->builder;
    struct endpoint dims = build_sizes(b, r->x, 2, (const int64_t[]){ SIZE_OF(1), r->cell->units });

    return build_binary(b, "Fill", NULL, dims, build_const_float(b, 0));
}

/* ---- nodes for each step ---- */

static struct node *unpack(struct builder *b, struct endpoint x)
{
    return build_node(
        b, "Unpack", NULL, 1, &x, 0, NULL,
        (const struct attr[]){ attr_int("num", endpoint_shape(x)->dims[0]), ATTR_END });
}

static void unroll(struct layer_context *context, struct recurrence *r, struct endpoint zeros)
{
    struct builder *b = &context->builder;
    int steps = (int)endpoint_shape(r->x)->dims[0];
    struct node *x = unpack(b, r->x), *mask = r->mask.node != NULL ? unpack(b, r->mask) : NULL;
    struct endpoint *outputs = ARENA_ARRAY(context->arena, struct endpoint, steps);
    struct recurrent_step step = { .output = zeros };

    for (int i = 0; i < steps && status_is_ok(b->status); i++) {
        step.x = (struct endpoint){ x, i };
        step.mask = (struct endpoint){ mask, i };
        build_step(context, r, r->cell->constants, &step, r->states);
        outputs[i] = step.output;
    }
    r->last = step.output;
    if (r->all_outputs)
        r->outputs = build(b, "Pack", NULL, steps, outputs, NULL);
}

/* ---- a loop ---- */

/* The indices of the loop-carried values. */
enum { CARRIED_X, CARRIED_MASK, CARRIED_OUTPUT, CARRIED_LIST, CARRIED_STATES };
/* The last is the number of steps, if only the batch has it. */
#define CARRIED_MAX (CARRIED_STATES + CELL_STATES_MAX + CELL_CONSTANTS_MAX + 1)

static struct endpoint list_of(struct builder *b, struct endpoint tensor)
{
    const struct shape *shape = endpoint_shape(tensor);
    int32_t dims[2] = { (int32_t)shape->dims[1], (int32_t)shape->dims[2] };

    return build_binary(b, "TensorListFromTensor", NULL, tensor,
                        build_const_ints(b, NULL, 2, dims));
}

/* Element `time` of a list of tensors of `shape`. */
static struct endpoint item_of(struct builder *b, struct endpoint list, struct endpoint time,
                               enum dtype dtype, const struct shape *shape)
{
    const int32_t dims[] = { (int32_t)shape->dims[1], (int32_t)shape->dims[2] };
    const struct endpoint inputs[] = { list, time, build_const_ints(b, NULL, 2, dims) };

    return build(b, "TensorListGetItem", NULL, 3, inputs,
                 (const struct attr[]){ attr_type("element_dtype", dtype), ATTR_END });
}

/* An empty list of `steps` outputs. */
static struct endpoint reserve(struct builder *b, const struct recurrence *r)
{
    const struct shape *shape = endpoint_shape(r->x);
    const int32_t dims[] = { (int32_t)shape->dims[1], (int32_t)r->cell->units };

    return build(
        b, "TensorListReserve", NULL, 2,
        (const struct endpoint[]){ build_const_ints(b, NULL, 2, dims), build_size(b, r->x, 0) },
        (const struct attr[]){ attr_type("element_dtype", DT_FLOAT), ATTR_END });
}

static struct endpoint stack(struct builder *b, const struct recurrence *r, struct endpoint list)
{
    const struct shape *shape = endpoint_shape(r->x);
    const int32_t dims[] = { (int32_t)shape->dims[1], (int32_t)r->cell->units };

    return build(b, "TensorListStack", NULL, 2,
                 (const struct endpoint[]){ list, build_const_ints(b, NULL, 2, dims) },
                 (const struct attr[]){ attr_type("element_dtype", DT_FLOAT),
                                        attr_int("num_elements", shape->dims[0]), ATTR_END });
}

/* Builds the body of the loop, from the carried values to those of the next iteration. A carried
 * value that no step needs (the mask, the list of outputs) is a constant 0. */
static void build_body(const struct layer_context *context, struct recurrence *r,
                       struct while_loop *loop, struct endpoint *results)
{
    struct layer_context inner = *context; /* the steps only add nodes */
    struct builder *b = &inner.builder;
    int states = r->cell->class->states;
    struct recurrent_step step = { .output = loop->values[CARRIED_OUTPUT] };

    for (int i = 0; i < loop->count; i++)
        results[i] = loop->values[i];
    inner.builder = loop->builder;
    step.x =
        item_of(b, loop->values[CARRIED_X], loop->time, endpoint_dtype(r->x), endpoint_shape(r->x));
    if (r->mask.node != NULL)
        step.mask =
            item_of(b, loop->values[CARRIED_MASK], loop->time, DT_BOOL, endpoint_shape(r->mask));
    build_step(&inner, r, loop->values + CARRIED_STATES + states, &step, results + CARRIED_STATES);
    results[CARRIED_OUTPUT] = step.output;
    if (r->all_outputs)
        results[CARRIED_LIST] = build(
            b, "TensorListSetItem", NULL, 3,
            (const struct endpoint[]){ loop->values[CARRIED_LIST], loop->time, step.output }, NULL);
    loop->builder = inner.builder;
}

static struct status run_loop(struct layer_context *context, struct recurrence *r,
                              struct endpoint zeros)
{
    struct builder *b = &context->builder;
    const struct cell *cell = r->cell;
    int states = cell->class->states, count = CARRIED_STATES + states + cell->constants_count;
    struct endpoint carried[CARRIED_MAX], results[CARRIED_MAX], outputs[CARRIED_MAX];
    struct endpoint nothing = build_const_int(b, 0);
    int64_t steps = endpoint_shape(r->x)->dims[0];
    int limit = steps < 0 ? count++ : -1;
    struct while_loop loop;

    carried[CARRIED_X] = list_of(b, r->x);
    carried[CARRIED_MASK] = r->mask.node != NULL ? list_of(b, r->mask) : nothing;
    carried[CARRIED_OUTPUT] = zeros;
    carried[CARRIED_LIST] = r->all_outputs ? reserve(b, r) : nothing;
    for (int i = 0; i < states; i++)
        carried[CARRIED_STATES + i] = r->states[i];
    for (int i = 0; i < cell->constants_count; i++)
        carried[CARRIED_STATES + states + i] = cell->constants[i];
    if (limit >= 0)
        carried[limit] = build_size(b, r->x, 0);
    TRY(while_loop_begin(&loop, b, "while", count, carried));
    loop.limit = limit;
    build_body(context, r, &loop, results);
    TRY(while_loop_end(&loop, (int32_t)steps, results, outputs));
    r->last = outputs[CARRIED_OUTPUT];
    for (int i = 0; i < states; i++)
        r->states[i] = outputs[CARRIED_STATES + i];
    if (r->all_outputs)
        r->outputs = stack(b, r, outputs[CARRIED_LIST]);
    return status_ok();
}

void recurrence_build(struct layer_context *context, struct recurrence *r)
{
    struct builder *b = &context->builder;

    if (!status_is_ok(b->status))
        return;
    struct endpoint zeros = zero_state(context, r);
    for (int i = 0; i < r->cell->class->states; i++)
        r->states[i] = r->initial[i].node != NULL ? r->initial[i] : zeros;
    if (r->unroll) {
        unroll(context, r, zeros);
        return;
    }
    struct status status = run_loop(context, r, zeros);
    if (!status_is_ok(status) && status_is_ok(b->status))
        b->status = status_keep(context->arena, status);
}
