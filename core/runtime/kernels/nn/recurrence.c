/*
 * recurrence: _Recurrence, the whole loop of a recurrent layer (runtime/recurrence.h): the inputs
 * and the outputs of a run.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_list.h"
#include "runtime/kernels/nn/fused_recurrence.h"

/* ---- sizes of a run ---- */

static struct status read_count(struct kernel_context *k, int input, int64_t *out)
{
    const struct tensor *count = kernel_input(k, input);
    if (count->size != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input %d must be a scalar, not %s", input,
                            shape_text(&count->shape));
    *out = tensor_int32s(count)[0];
    return status_ok();
}

/* The number of steps, and the time of the first one. */
static struct status count_steps(struct kernel_context *k, int64_t *out, int64_t *out_time)
{
    const struct fused_recurrence *r = kernel_state(k);
    int64_t steps = INT64_MAX;
    for (int i = 0; i < r->limits_count; i++) {
        int64_t limit = 0, from = 0;
        TRY(read_count(k, INPUT_LIMITS + i, &limit));
        TRY(read_count(k, r->limited[i], &from));
        steps = limit - from < steps ? limit - from : steps;
    }
    *out = steps > 0 ? steps : 0;
    return read_count(k, r->input_of[RECURRENCE_TIME], out_time);
}

static struct status check_input(struct kernel_context *k, int64_t time, int64_t steps)
{
    const struct fused_recurrence *r = kernel_state(k);
    const struct shape *x = &kernel_input(k, INPUT_X)->shape;
    if (x->rank != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "In[0] and In[1] has different ndims: %s vs. %s", shape_text(x),
                            shape_text(&kernel_input(k, INPUT_WEIGHTS)->shape));
    if (x->dims[2] != r->inputs)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Matrix size-incompatible: In[0]: [%lld,%lld], In[1]: %s",
                            (long long)x->dims[1], (long long)x->dims[2],
                            shape_text(&kernel_input(k, INPUT_WEIGHTS)->shape));
    if (time < 0 || time > x->dims[0] - steps)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Trying to access element %lld in a list with %lld elements.",
                            (long long)(time < 0 ? time : x->dims[0]), (long long)x->dims[0]);
    return status_ok();
}

/* Rows of x and of a state are the same number, or one of them is 1, as in a sum of matrices. */
static struct status join_rows(struct kernel_context *k, int input, int64_t *rows)
{
    const struct fused_recurrence *r = kernel_state(k);
    const struct shape *state = &kernel_input(k, input)->shape;
    if (state->rank != 2 || state->dims[1] != r->cells ||
        (state->dims[0] != *rows && state->dims[0] != 1 && *rows != 1))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Incompatible shapes: a state %s for %lld rows of %lld cells",
                            shape_text(state), (long long)*rows, (long long)r->cells);
    *rows = *rows == 1 ? state->dims[0] : *rows;
    return status_ok();
}

static struct status find_mask(struct kernel_context *k, int64_t time, struct recurrence_run *run)
{
    const struct tensor *mask = kernel_input(k, INPUT_LIMITS + run->cell->limits_count);
    const int64_t *dims = mask->shape.dims;
    if (mask->shape.rank != 3 || dims[2] != 1 || (dims[1] != run->rows && dims[1] != 1) ||
        time > dims[0] - run->steps)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Incompatible shapes: a mask %s for %lld steps of %lld rows",
                            shape_text(&mask->shape), (long long)(time + run->steps),
                            (long long)run->rows);
    run->mask_rows = dims[1];
    run->mask = (const bool *)mask->data + time * run->mask_rows;
    return status_ok();
}

static struct status find_sizes(struct kernel_context *k, int64_t time, struct recurrence_run *run)
{
    const struct fused_recurrence *r = run->cell;
    const struct tensor *x = kernel_input(k, INPUT_X);
    run->x_rows = run->rows = x->shape.dims[1];
    run->x = tensor_floats(x) + time * (run->x_rows * r->inputs);
    TRY(join_rows(k, r->input_of[RECURRENCE_H], &run->rows));
    if (r->input_of[RECURRENCE_C] >= 0)
        TRY(join_rows(k, r->input_of[RECURRENCE_C], &run->rows));
    if (r->masked) {
        TRY(join_rows(k, r->input_of[RECURRENCE_OUTPUT], &run->rows));
        TRY(find_mask(k, time, run));
    }
    recurrence_cut(run);
    return status_ok();
}

/* ---- values that the loop carries ---- */

/* A copy of the state in `input`; a single row becomes all rows. */
static struct status copy_state(struct kernel_context *k, const struct recurrence_run *run,
                                int input, struct tensor *out)
{
    const struct tensor *state = kernel_input(k, input);
    struct shape shape = shape_of(run->rows, run->cell->cells);
    TRY(shape_check(2, shape.dims, &shape));
    TRY(kernel_scratch(k, DT_FLOAT, &shape, out));
    bool is_one = state->shape.dims[0] == 1;
    size_t row = (size_t)run->cell->cells * sizeof(float);
    for (int64_t i = 0; i < run->rows; i++)
        memcpy((char *)out->data + (size_t)i * row,
               (const char *)state->data + (is_one ? 0 : (size_t)i * row), row);
    return status_ok();
}

struct carried_values {
    struct tensor first, h;             /* h: of all steps; empty: `first` becomes the last one */
    struct tensor output_first, output; /* the same with a mask */
    struct tensor c, sums;
};

static void values_release(struct carried_values *v)
{
    struct tensor *all[] = { &v->first, &v->h, &v->output_first, &v->output, &v->c, &v->sums };
    for (size_t i = 0; i < COUNT(all); i++)
        tensor_release(all[i]);
}

/* Room for the values of all steps. Without `keeps`, each step overwrites `first`. */
static struct status make_steps(struct kernel_context *k, const struct recurrence_run *run,
                                bool keeps, const struct tensor *first, struct tensor *all,
                                float **out)
{
    struct shape shape = shape_of(run->steps, run->rows, run->cell->cells);
    *out = first->data;
    if (!keeps)
        return status_ok();
    TRY(shape_check(3, shape.dims, &shape));
    TRY(kernel_scratch(k, DT_FLOAT, &shape, all));
    *out = all->data;
    return status_ok();
}

static struct status make_values(struct kernel_context *k, struct recurrence_run *run,
                                 struct carried_values *v)
{
    const struct fused_recurrence *r = run->cell;
    struct shape sums = shape_of(run->blocks, run->block_sums);
    TRY(shape_check(2, sums.dims, &sums));
    TRY(kernel_scratch(k, DT_FLOAT, &sums, &v->sums));
    TRY(copy_state(k, run, r->input_of[RECURRENCE_H], &v->first));
    TRY(make_steps(k, run, run->keeps, &v->first, &v->h, &run->h));
    if (r->input_of[RECURRENCE_C] >= 0)
        TRY(copy_state(k, run, r->input_of[RECURRENCE_C], &v->c));
    if (r->masked) {
        TRY(copy_state(k, run, r->input_of[RECURRENCE_OUTPUT], &v->output_first));
        TRY(make_steps(k, run, run->keeps_output, &v->output_first, &v->output, &run->output));
    }
    run->h_first = v->first.data;
    run->output_first = v->output_first.data;
    run->c = v->c.data;
    run->sums = v->sums.data;
    return status_ok();
}

/* The value of a step, of all steps or of the only one that is kept. */
static struct tensor step_view(const struct recurrence_run *run, const struct tensor *all,
                               const struct tensor *only, int64_t step)
{
    if (all->buffer == NULL)
        return tensor_acquire(only);
    struct tensor view = tensor_acquire(all);
    view.shape = shape_of(run->rows, run->cell->cells);
    view.size = run->rows * run->cell->cells;
    view.data = (float *)all->data + step * view.size;
    return view;
}

static struct tensor h_view(const struct recurrence_run *run, const struct carried_values *v,
                            int64_t step)
{
    return step_view(run, &v->h, &v->first, step);
}

static struct tensor output_view(const struct recurrence_run *run, const struct carried_values *v,
                                 int64_t step)
{
    return run->cell->masked ? step_view(run, &v->output, &v->output_first, step)
                             : h_view(run, v, step);
}

/* INVALID_ARGUMENT: the results do not fit into the list. */
static struct status check_list(struct kernel_context *k, const struct recurrence_run *run,
                                int64_t time)
{
    const struct fused_recurrence *r = run->cell;
    struct tensor item = { .dtype = DT_FLOAT, .shape = shape_of(run->rows, r->cells) };
    int64_t last = r->at >= 0 ? r->at : time + run->steps - 1;
    const struct tensor_list *list;
    TRY(tensor_list_input(k, r->input_of[RECURRENCE_LIST], &list));
    if (last >= list->count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Trying to modify element %lld in a list with %lld elements.",
                            (long long)last, (long long)list->count);
    return tensor_list_check_item(list, &item, "set");
}

static struct status fill_list(struct kernel_context *k, const struct recurrence_run *run,
                               const struct carried_values *v, int64_t time, int output)
{
    const struct fused_recurrence *r = run->cell;
    struct tensor_list *list;
    TRY(tensor_list_take(k, r->input_of[RECURRENCE_LIST], &list));
    for (int64_t step = r->at >= 0 ? run->steps - 1 : 0; step < run->steps; step++) {
        struct tensor *element = &list->elements[r->at >= 0 ? r->at : time + step];
        tensor_release(element);
        *element = output_view(run, v, step);
    }
    return tensor_list_output(k, output, list);
}

/* A counter that limits nothing may have any shape. */
static struct status give_count(struct kernel_context *k, int output, int input, int64_t steps)
{
    const struct tensor *count = kernel_input(k, input);
    struct tensor *out;
    TRY(kernel_output(k, output, &count->shape, &out));
    for (int64_t i = 0; i < count->size; i++)
        tensor_int32s_mut(out)[i] = (int32_t)((uint32_t)tensor_int32s(count)[i] + (uint32_t)steps);
    return status_ok();
}

static struct status give_outputs(struct kernel_context *k, const struct recurrence_run *run,
                                  const struct carried_values *v, int64_t time)
{
    const struct fused_recurrence *r = run->cell;
    int input = recurrence_first_carried(r);
    for (int i = 0; i < kernel_outputs_count(k); i++) {
        enum recurrence_role role = r->roles[i];
        if (role == RECURRENCE_NONE)
            continue;
        if (run->steps == 0)
            kernel_output_set(k, i, kernel_take_input(k, input));
        else if (role == RECURRENCE_TIME || role == RECURRENCE_COUNTER)
            TRY(give_count(k, i, input, run->steps));
        else if (role == RECURRENCE_LIST)
            TRY(fill_list(k, run, v, time, i));
        else if (role == RECURRENCE_C)
            kernel_output_set(k, i, tensor_acquire(&v->c));
        else if (role == RECURRENCE_OUTPUT)
            kernel_output_set(k, i, output_view(run, v, run->steps - 1));
        else
            kernel_output_set(k, i, h_view(run, v, run->steps - 1));
        input++;
    }
    return status_ok();
}

static struct status run_loop(struct kernel_context *k, struct recurrence_run *run, int64_t time)
{
    const struct fused_recurrence *r = run->cell;
    struct carried_values v = { .sums = { 0 } };
    struct status status;
    TRY(check_input(k, time, run->steps));
    TRY(find_sizes(k, time, run));
    bool keeps = r->input_of[RECURRENCE_LIST] >= 0 && r->at < 0;
    run->keeps = keeps && !r->masked;
    run->keeps_output = keeps && r->masked;
    if (r->input_of[RECURRENCE_LIST] >= 0)
        TRY(check_list(k, run, time));
    TRY_OR(done, make_values(k, run, &v));
    if (run->rows > 0)
        TRY_OR(done, recurrence_run_steps(k, run));
    status = give_outputs(k, run, &v, time);
done:
    values_release(&v);
    return status;
}

static struct status recurrence_compute(struct kernel_context *k)
{
    struct recurrence_run run = { .cell = kernel_state(k) };
    int64_t time = 0;
    TRY(count_steps(k, &run.steps, &time));
    return run.steps == 0 ? give_outputs(k, &run, NULL, time) : run_loop(k, &run, time);
}

static const struct kernel rows[] = {
    { "_Recurrence", DTYPES_ALL, .prepare = recurrence_prepare, .compute = recurrence_compute,
      .costly = true },
};
const struct kernel_table kernels_recurrence = { rows, COUNT(rows) };
