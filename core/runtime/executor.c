/*
 * Runs plans: the only code on the warm path besides the kernels. It allocates from the run's pool
 * only, takes no lock and looks nothing up by name.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/denormals.h"
#include "base/parallel.h"
#include "runtime/steps.h"

/* ---- what kernels see ---- */

const void *kernel_state(const struct kernel_context *context)
{
    return context->step->state;
}

const struct node *kernel_node(const struct kernel_context *context)
{
    return context->step->node;
}

int kernel_inputs_count(const struct kernel_context *context)
{
    return context->step->inputs_count;
}

int kernel_outputs_count(const struct kernel_context *context)
{
    return context->step->outputs_count;
}

const struct tensor *kernel_input(const struct kernel_context *context, int index)
{
    assert(index >= 0);
    assert(index < context->step->inputs_count);
    return context->values[context->step->inputs[index] & SLOT_INDEX];
}

bool kernel_output_wanted(const struct kernel_context *context, int index)
{
    assert(index >= 0);
    assert(index < context->step->outputs_count);
    return context->step->unwanted == NULL || !context->step->unwanted[index];
}

static struct tensor *output_place(const struct kernel_context *context, int index)
{
    assert(index >= 0);
    assert(index < context->step->outputs_count);
    return &context->storage[context->step->first_output + (uint32_t)index];
}

/* Readers of the output rely on its declared type. A reference is the handle of its variable. */
static inline bool is_declared(const struct kernel_context *context, int index, enum dtype dtype)
{
    const struct output *declared = &context->step->node->outputs[index];
    return declared->dtype == dtype || declared->is_ref || declared->dtype == DT_INVALID;
}

struct status kernel_output_typed(struct kernel_context *context, int index, enum dtype dtype,
                                  const struct shape *shape, struct tensor **out)
{
    struct tensor *place = output_place(context, index);
    assert(is_declared(context, index, dtype));
    if (place->buffer != NULL)
        tensor_release(place);
    struct status status = tensor_create_pooled(context->run->pool, dtype, shape, place);
    if (!status_is_ok(status))
        return kernel_error(context, status.code, "%s", status.message);
    *out = place;
    return status;
}

struct status kernel_output(struct kernel_context *context, int index, const struct shape *shape,
                            struct tensor **out)
{
    return kernel_output_typed(context, index, context->step->node->outputs[index].dtype, shape,
                               out);
}

struct status kernel_output_forward(struct kernel_context *context, int index, int input,
                                    const struct shape *shape, struct tensor **out)
{
    assert(input >= 0);
    assert(input < context->step->inputs_count);
    uint32_t marked = context->step->inputs[input];
    struct tensor *from = &context->storage[marked & SLOT_INDEX];
    enum dtype dtype = context->step->node->outputs[index].dtype;
    int64_t size;
    if (!(marked & SLOT_LAST) || from->dtype != dtype || !tensor_writable(from) ||
        !shape_fits(shape, &size) || from->size != size)
        return kernel_output_typed(context, index, dtype, shape, out);

    struct tensor *place = output_place(context, index);
    if (place->buffer != NULL)
        tensor_release(place);
    *place = *from; /* the input can still be read: only its buffer's owner has changed */
    place->shape = *shape;
    from->buffer = NULL;
    *out = place;
    return status_ok();
}

bool kernel_may_spoil_input(const struct kernel_context *context)
{
    return !context->plan->has_effects && !context->run->is_repeated;
}

struct status kernel_repeat(struct kernel_context *context)
{
    assert(kernel_may_spoil_input(context));
    context->run->must_repeat = true;
    return kernel_error(context, STATUS_INTERNAL, "an input is spoilt");
}

void kernel_output_set(struct kernel_context *context, int index, struct tensor tensor)
{
    struct tensor *place = output_place(context, index);
    assert(is_declared(context, index, tensor.dtype));
    if (place->buffer != NULL)
        tensor_release(place);
    *place = tensor;
}

struct tensor kernel_take_input(struct kernel_context *context, int index)
{
    assert(index >= 0);
    assert(index < context->step->inputs_count);
    return take_value(context, context->step->inputs[index]);
}

struct status kernel_scratch(struct kernel_context *context, enum dtype dtype,
                             const struct shape *shape, struct tensor *out)
{
    return tensor_create_pooled(context->run->pool, dtype, shape, out);
}

struct tensor_pool *kernel_pool(struct kernel_context *context)
{
    return context->run->pool;
}

struct arena *kernel_arena(struct kernel_context *context)
{
    return context->run->arena;
}

struct resources *kernel_resources(struct kernel_context *context)
{
    return context->plan->resources;
}

struct status kernel_keep(struct kernel_context *context, const struct tensor *value,
                          const struct tensor *replaced)
{
    struct run *run = context->run;
    if (run->kept_max == 0)
        return status_ok();
    size_t bytes = tensor_content_bytes(value),
           before = replaced != NULL ? tensor_content_bytes(replaced) : 0;
    run->kept_bytes -= run->kept_bytes < before ? run->kept_bytes : before;
    if (bytes > run->kept_max - run->kept_bytes)
        return kernel_error(context, STATUS_RESOURCE_EXHAUSTED,
                            "a value of %zu bytes for a variable or table: the load keeps %zu of "
                            "at most %zu bytes already",
                            bytes, run->kept_bytes, run->kept_max);
    run->kept_bytes += bytes;
    return status_ok();
}

struct status kernel_table_may_grow(struct kernel_context *context, size_t bytes, size_t more)
{
    const struct run *run = context->run;
    size_t most = bytes > run->grown_bytes ? bytes : run->grown_bytes;
    if (run->memory_max == 0 || (most <= run->memory_max && more <= run->memory_max - most))
        return status_ok();
    return kernel_error(context, STATUS_RESOURCE_EXHAUSTED,
                        "a table would have %zu bytes more, after %zu; a run may hold %zu", more,
                        most, run->memory_max);
}

void kernel_table_grew(struct kernel_context *context, size_t bytes)
{
    context->run->grown_bytes += bytes;
}

void kernel_table_shrank(struct kernel_context *context, size_t bytes)
{
    struct run *run = context->run;
    run->grown_bytes -= bytes < run->grown_bytes ? bytes : run->grown_bytes;
}

struct status kernel_check(const struct kernel_context *context)
{
    return run_check(context->run);
}

int64_t kernel_name_object(struct kernel_context *context, struct object *object)
{
    struct run *run = context->run;
    if (run->named_count == run->named_capacity) {
        run->named_capacity = 2 * run->named_capacity + 8;
        run->named = xrealloc(run->named, (size_t)run->named_capacity * sizeof(struct object *));
    }
    run->named[run->named_count] = object;
    return run->named_count++;
}

struct object *kernel_named_object(const struct kernel_context *context, int64_t number)
{
    const struct run *run = context->run;
    return number >= 0 && number < run->named_count ? run->named[number] : NULL;
}

uint64_t kernel_random_seed(struct kernel_context *context)
{
    uint64_t z = context->run->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct status kernel_error(const struct kernel_context *context, enum status_code code,
                           const char *format, ...)
{
    const struct node *node = context->step->node;
    va_list arguments;
    va_start(arguments, format);
    struct status status = status_errorv(code, format, arguments);
    va_end(arguments);
    return status_error(code, "%s [node '%s' (%s)]", status.message, node->name, node->op_name);
}

/* ---- running ---- */

static inline void release_slots(struct kernel_context *context, const struct step *step)
{
    for (int i = 0; i < step->releases_count; i++) {
        struct tensor *tensor = &context->storage[step->releases[i]];
        if (tensor->buffer != NULL)
            tensor_release(tensor);
    }
}

/* The deadline is checked at least once in this many steps: a step that is not marked as costly may
 * still take long on a large tensor. */
#define CHECK_STEPS 16

/* Few kernels read packed shapes; the others would take them for scalars. */
static struct status check_packed(const struct kernel_context *context)
{
    const struct step *step = context->step;
    if (step->any_rank)
        return status_ok();
    for (int i = 0; i < step->inputs_count; i++) {
        const struct shape *shape = &kernel_input(context, i)->shape;
        if (shape->rank == SHAPE_PACKED)
            return kernel_error(context, STATUS_UNIMPLEMENTED,
                                "input %d has shape %s; more than %d dimensions are not "
                                "implemented here",
                                i, shape_text(shape), SHAPE_RANK_MAX);
    }
    return status_ok();
}

/* Tells the profile the step's own time: what its inner blocks took is theirs. */
static struct status compute_timed(struct kernel_context *context, const struct step *step)
{
    struct run_profile *profile = context->run->profile;
    int64_t outer_ns = profile->inner_ns, began_ns = clock_now_ns(clock_monotonic());
    profile->inner_ns = 0;
    struct status status = step->compute(context);
    int64_t took_ns = clock_now_ns(clock_monotonic()) - began_ns;
    profile->step(profile, step->node, took_ns - profile->inner_ns);
    profile->inner_ns = outer_ns + took_ns;
    return status;
}

static struct status run_block_timed(struct kernel_context *context, const struct plan_block *block)
{
    const struct step *step = block->steps;
    for (int left = block->steps_count; left > 0; left--, step++) {
        TRY(run_check(context->run));
        context->step = step;
        if (context->run->packed)
            TRY(check_packed(context));
        TRY(compute_timed(context, step));
        release_slots(context, step);
    }
    return status_ok();
}

struct status run_block(struct kernel_context *context, const struct plan_block *block)
{
    const struct step *step = block->steps;
    if (__builtin_expect(context->run->profile != NULL, 0))
        return run_block_timed(context, block);
    for (int left = block->steps_count; left > 0; left--, step++) {
        if (step->costly || left % CHECK_STEPS == 0)
            TRY(run_check(context->run));
        context->step = step;
        if (context->run->packed)
            TRY(check_packed(context));
        TRY(step->compute(context));
        release_slots(context, step);
    }
    return status_ok();
}

static struct status set_feeds(const struct plan *plan, struct run *run, struct run_frame *frame,
                               const struct tensor *feeds)
{
    run->packed = false;
    for (int i = 0; i < plan->feeds_count; i++) {
        enum dtype wanted = plan->feed_dtypes[i];
        if (feeds[i].dtype != wanted && wanted != DT_INVALID)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expects arg[%d] to be %s but %s is provided", i,
                                dtype_name(wanted), dtype_name(feeds[i].dtype));
        run->packed |= feeds[i].shape.rank == SHAPE_PACKED;
        frame->values[plan->feeds[i]] = &feeds[i];
    }
    return status_ok();
}

/* Without run_lend_feeds, a fetch outlives the feeds: a value that borrows their elements is
 * copied. */
static struct status take_fetch(const struct kernel_context *context, uint32_t marked,
                                struct tensor *out)
{
    const struct tensor *value = context->values[marked & SLOT_INDEX];
    bool borrows =
        value->buffer == NULL && value->dtype != DT_RESOURCE && value->dtype != DT_VARIANT;
    if (borrows && !context->run->lends_feeds) {
        TRY(tensor_create_pooled(context->run->pool, value->dtype, &value->shape, out));
        if (value->size > 0)
            memcpy(out->data, value->data, tensor_bytes(value));
        return status_ok();
    }
    *out = take_value(context, marked);
    return status_ok();
}

static struct status take_fetches(const struct kernel_context *context, struct tensor *fetches)
{
    const struct plan_block *block = context->plan->main;
    for (int i = 0; i < block->results_count; i++) {
        struct status status = take_fetch(context, block->results[i], &fetches[i]);
        if (status_is_ok(status))
            continue;
        tensors_release(i, fetches);
        return status;
    }
    return status_ok();
}

static void frame_clear(struct run_frame *frame)
{
    for (uint32_t slot = 0; slot < frame->slots_count; slot++) {
        if (frame->storage[slot].buffer != NULL)
            tensor_release(&frame->storage[slot]);
    }
}

struct status plan_run(const struct plan *plan, struct run *run, const struct tensor *feeds,
                       struct tensor *fetches)
{
    return run_takes_chunks(plan, feeds) ? run_in_chunks(plan, run, feeds, fetches)
                                         : run_whole(plan, run, feeds, fetches);
}

/* Runs the plan's steps, and once more if one asks for it. */
static struct status run_steps(struct kernel_context *context, struct run_frame *frame)
{
    struct run *run = context->run;
    struct status status = run_block(context, context->plan->main);
    if (!run->must_repeat)
        return status;
    frame_clear(frame);
    run->must_repeat = false;
    run->is_repeated = true;
    status = run_block(context, context->plan->main);
    run->is_repeated = false;
    return status;
}

struct status run_whole(const struct plan *plan, struct run *run, const struct tensor *feeds,
                        struct tensor *fetches)
{
    struct run_frame *frame = run_find_frame(run, plan);
    assert(frame->slots_count == plan->slots_count);
    TRY(set_feeds(plan, run, frame, feeds));
    struct kernel_context context = {
        .values = frame->values, .storage = frame->storage, .run = run, .plan = plan
    };
    unsigned long mode = denormals_flush();
    parallel_enter();
    struct status status = run_steps(&context, frame);
    parallel_leave();
    denormals_restore(mode);
    if (status_is_ok(status))
        status = take_fetches(&context, fetches);
    if (!status_is_ok(status))
        frame_clear(frame);
    run_release_named(run);
    return status;
}
