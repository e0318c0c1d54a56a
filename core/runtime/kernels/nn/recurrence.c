/*
 * recurrence: _Recurrence, the whole loop of a recurrent layer (runtime/recurrence.h). Weights are
 * packed when the plan is made. The products of x are computed for several steps at a time; a step
 * itself is the product of h and the gates.
 *
 * Rows are independent, so a batch is cut into blocks of rows, and each block goes through the
 * steps by itself. h and c of a block, its sums and the recurrent weights stay in the cache.
 */
#include "runtime/recurrence.h"

#include "base/parallel.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/recurrent.h"
#include "runtime/kernels/lists/tensor_list.h"

#define BLOCK_ROWS   24   /* with 64 cells, the sums of an LSTM's block are 24 KiB */
#define PRODUCT_ROWS 96   /* of x that are multiplied at a time */
#define SPAN_NS      1e6  /* between two checks of the deadline */
#define PRODUCTS_NS  60.0 /* multiplications in a nanosecond */
#define GATE_NS      3.0  /* of one cell */

enum { X, WEIGHTS, RECURRENT, BIAS, LIMITS };

enum fused_cell { LSTM, GRU, SIMPLE, CELLS };

static const struct {
    const char *name;
    int gates; /* columns of the weights, in cells */
    bool has_c;
} cell_kinds[CELLS] = { { "lstm", 4, true }, { "gru", 3, false }, { "simple", 1, false } };

struct fused_recurrence {
    enum fused_cell cell;
    int64_t inputs, cells, at;
    bool masked, zeroed;              /* there is a mask; the output of a masked step is 0 */
    int64_t gates_columns;            /* of the sums that x and h have together, in whole panels */
    int64_t columns;                  /* of all sums; a GRU's candidate begins at gates_columns */
    struct tensor weights, recurrent; /* packed */
    struct tensor bias;               /* [columns], and a GRU's inner bias */
    int limits_count;
    int limited[RECURRENCE_LIMITS_MAX]; /* inputs */
    int input_of[RECURRENCE_ROLES];     /* of role; -1: none. Of RECURRENCE_COUNTER: unused */
    enum recurrence_role roles[RECURRENCE_VALUES_MAX];
};

/* ---- preparing ---- */

static void recurrence_destroy(void *state)
{
    struct fused_recurrence *r = state;
    tensor_release(&r->weights);
    tensor_release(&r->recurrent);
    tensor_release(&r->bias);
}

static struct status not_of_a_plan(const struct node *node)
{
    return status_error(STATUS_UNIMPLEMENTED, "node '%s' (%s) was not made by a plan", node->name,
                        node->op_name);
}

static bool has_type(const struct node *node, int output, enum recurrence_role role)
{
    static const enum dtype types[RECURRENCE_ROLES] = {
        [RECURRENCE_TIME] = DT_INT32,   [RECURRENCE_COUNTER] = DT_INT32,
        [RECURRENCE_LIST] = DT_VARIANT, [RECURRENCE_H] = DT_FLOAT,
        [RECURRENCE_C] = DT_FLOAT,      [RECURRENCE_OUTPUT] = DT_FLOAT,
    };
    return role == RECURRENCE_NONE || node->outputs[output].dtype == types[role];
}

/* The mask follows the limits, the carried values follow the mask. */
static int first_carried(const struct fused_recurrence *r)
{
    return LIMITS + r->limits_count + r->masked;
}

/* Limits are int32, and a carried value has the type of its result. The attributes of a node that
 * was not made by a plan may say otherwise. */
static bool have_types(const struct node *node, const struct fused_recurrence *r)
{
    int input = first_carried(r);
    for (int i = 0; i < r->limits_count; i++)
        if (endpoint_dtype(node->inputs[LIMITS + i]) != DT_INT32)
            return false;
    for (int i = 0; i < node->outputs_count; i++)
        if (r->roles[i] != RECURRENCE_NONE &&
            endpoint_dtype(node->inputs[input++]) != node->outputs[i].dtype)
            return false;
    return true;
}

static struct status read_roles(const struct node *node, struct fused_recurrence *r)
{
    const struct attr_value *roles, *limited;
    int input_of[RECURRENCE_VALUES_MAX] = { 0 };
    TRY(node_attr_list_of(node, "roles", ATTR_INT, &roles));
    TRY(node_attr_list_of(node, "limited", ATTR_INT, &limited));
    r->limits_count = limited->count;
    if (roles->count != node->outputs_count || roles->count > RECURRENCE_VALUES_MAX ||
        limited->count < 1 || limited->count > RECURRENCE_LIMITS_MAX)
        return not_of_a_plan(node);
    int at = first_carried(r);
    for (int i = 0; i < RECURRENCE_ROLES; i++)
        r->input_of[i] = -1;
    for (int i = 0; i < roles->count; i++) {
        int64_t role = roles->elements[i].i;
        if (role < 0 || role >= RECURRENCE_ROLES || !has_type(node, i, (enum recurrence_role)role))
            return not_of_a_plan(node);
        r->roles[i] = (enum recurrence_role)role;
        if (role == RECURRENCE_NONE)
            continue;
        r->input_of[role] = input_of[i] = at++;
    }
    for (int i = 0; i < limited->count; i++) {
        int64_t output = limited->elements[i].i;
        if (output < 0 || output >= roles->count ||
            (r->roles[output] != RECURRENCE_TIME && r->roles[output] != RECURRENCE_COUNTER))
            return not_of_a_plan(node);
        r->limited[i] = input_of[output];
    }
    bool is_complete = r->input_of[RECURRENCE_TIME] >= 0 && r->input_of[RECURRENCE_H] >= 0 &&
                       (r->input_of[RECURRENCE_C] >= 0) == cell_kinds[r->cell].has_c &&
                       (r->input_of[RECURRENCE_OUTPUT] >= 0) == r->masked;
    return is_complete && node->inputs_count == at && have_types(node, r) ? status_ok()
                                                                          : not_of_a_plan(node);
}

static struct status read_cell(const struct node *node, struct fused_recurrence *r)
{
    struct bytes name, masked;
    int64_t masks;
    TRY(node_attr_string(node, "cell", &name));
    TRY(node_attr_string(node, "masked", &masked));
    TRY(node_attr_int32(node, "N", &masks));
    r->masked = masked.size > 0;
    r->zeroed = bytes_equal(masked, bytes_of("zero"));
    if (masks != r->masked)
        return not_of_a_plan(node);
    TRY(node_attr_int32(node, "at", &r->at));
    for (int i = 0; i < CELLS; i++)
        if (bytes_equal(name, bytes_of(cell_kinds[i].name))) {
            r->cell = (enum fused_cell)i;
            return status_ok();
        }
    return not_of_a_plan(node);
}

static bool is_matrix(const struct tensor *matrix)
{
    return matrix != NULL && matrix->dtype == DT_FLOAT && matrix->shape.rank == 2;
}

static struct status read_sizes(struct prepare_context *p, struct fused_recurrence *r)
{
    const struct tensor *weights = prepare_constant(p, WEIGHTS);
    const struct tensor *recurrent = prepare_constant(p, RECURRENT);
    const struct tensor *bias = prepare_constant(p, BIAS);
    if (!is_matrix(weights) || !is_matrix(recurrent) || bias == NULL)
        return not_of_a_plan(prepare_node(p));
    int64_t cells = recurrent->shape.dims[0], columns = recurrent->shape.dims[1];
    r->inputs = weights->shape.dims[0];
    r->cells = cells;
    int gates = cell_kinds[r->cell].gates;
    if (cells < 1 || columns % gates != 0 || columns / gates != cells ||
        weights->shape.dims[1] != columns || bias->dtype != DT_FLOAT ||
        bias->size != columns + (r->cell == GRU ? cells : 0))
        return not_of_a_plan(prepare_node(p));
    r->gates_columns = panels_columns(r->cell == GRU ? 2 * cells : columns);
    r->columns = r->gates_columns + (r->cell == GRU ? panels_columns(cells) : 0);
    return status_ok();
}

static struct status create(int64_t a, int64_t b, struct tensor *out)
{
    struct shape shape = shape_of(a, b);
    TRY(shape_check(2, shape.dims, &shape));
    TRY(tensor_create(DT_FLOAT, &shape, out));
    memset(out->data, 0, tensor_bytes(out));
    return status_ok();
}

static void pack(const struct fused_recurrence *r, const struct tensor *matrix,
                 struct tensor *packed)
{
    int64_t depth = matrix->shape.dims[0], columns = matrix->shape.dims[1];
    int64_t gates = r->cell == GRU ? 2 * r->cells : columns;
    float *out = tensor_floats_mut(packed);
    panels_pack(depth, gates, tensor_floats(matrix), columns, out);
    panels_pack(depth, columns - gates, tensor_floats(matrix) + gates, columns,
                out + r->gates_columns * depth);
}

/* In the order of the columns of the sums, followed by a GRU's inner bias. */
static void place_bias(const struct fused_recurrence *r, const float *bias, float *out)
{
    int64_t gates = r->cell == GRU ? 2 * r->cells : r->cells * cell_kinds[r->cell].gates;
    memcpy(out, bias, (size_t)gates * sizeof *out);
    if (r->cell != GRU)
        return;
    memcpy(out + r->gates_columns, bias + gates, (size_t)r->cells * sizeof *out);
    memcpy(out + r->columns, bias + gates + r->cells, (size_t)r->cells * sizeof *out);
}

static struct status recurrence_prepare(struct prepare_context *p)
{
    struct fused_recurrence *r = prepare_state(p, sizeof *r, recurrence_destroy);
    TRY(read_cell(prepare_node(p), r));
    TRY(read_roles(prepare_node(p), r));
    TRY(read_sizes(p, r));
    TRY(create(r->inputs, r->columns, &r->weights));
    TRY(create(r->cells, r->columns, &r->recurrent));
    TRY(create(1, 2 * r->columns, &r->bias));
    pack(r, prepare_constant(p, WEIGHTS), &r->weights);
    pack(r, prepare_constant(p, RECURRENT), &r->recurrent);
    place_bias(r, tensor_floats(prepare_constant(p, BIAS)), tensor_floats_mut(&r->bias));
    return status_ok();
}

/* ---- sizes of a run ---- */

struct turns {
    const struct fused_recurrence *cell;
    const float *x;       /* [steps, x_rows, inputs], from the first step on */
    int64_t steps, rows;  /* rows: of h */
    int64_t x_rows;       /* rows, or 1 */
    int64_t first, end;   /* the steps of a span */
    const float *h_first; /* [rows, cells] */
    float *h;             /* [steps, rows, cells]; without `keeps`: [rows, cells], h_first */
    float *c;             /* [rows, cells] */
    bool keeps;           /* each step's h */
    const bool *mask;     /* [steps, mask_rows]; NULL: h is the output */
    int64_t mask_rows;    /* rows, or 1 */
    float *output;        /* [steps, rows, cells]; without `keeps_output`: [rows, cells] */
    const float *output_first;
    bool keeps_output;
    float *sums;        /* [blocks] [block_sums] */
    int64_t block_sums; /* floats */
    int64_t products;   /* steps of x that a block multiplies at a time */
    int blocks;
};

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
        TRY(read_count(k, LIMITS + i, &limit));
        TRY(read_count(k, r->limited[i], &from));
        steps = limit - from < steps ? limit - from : steps;
    }
    *out = steps > 0 ? steps : 0;
    return read_count(k, r->input_of[RECURRENCE_TIME], out_time);
}

static struct status check_input(struct kernel_context *k, int64_t time, int64_t steps)
{
    const struct fused_recurrence *r = kernel_state(k);
    const struct shape *x = &kernel_input(k, X)->shape;
    if (x->rank != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "In[0] and In[1] has different ndims: %s vs. %s", shape_text(x),
                            shape_text(&kernel_input(k, WEIGHTS)->shape));
    if (x->dims[2] != r->inputs)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Matrix size-incompatible: In[0]: [%lld,%lld], In[1]: %s",
                            (long long)x->dims[1], (long long)x->dims[2],
                            shape_text(&kernel_input(k, WEIGHTS)->shape));
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

static struct status find_mask(struct kernel_context *k, int64_t time, struct turns *t)
{
    const struct tensor *mask = kernel_input(k, LIMITS + t->cell->limits_count);
    const int64_t *dims = mask->shape.dims;
    if (mask->shape.rank != 3 || dims[2] != 1 || (dims[1] != t->rows && dims[1] != 1) ||
        time > dims[0] - t->steps)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Incompatible shapes: a mask %s for %lld steps of %lld rows",
                            shape_text(&mask->shape), (long long)(time + t->steps),
                            (long long)t->rows);
    t->mask_rows = dims[1];
    t->mask = (const bool *)mask->data + time * t->mask_rows;
    return status_ok();
}

static struct status find_sizes(struct kernel_context *k, int64_t time, struct turns *t)
{
    const struct fused_recurrence *r = t->cell;
    const struct tensor *x = kernel_input(k, X);
    t->x_rows = t->rows = x->shape.dims[1];
    t->x = tensor_floats(x) + time * (t->x_rows * r->inputs);
    TRY(join_rows(k, r->input_of[RECURRENCE_H], &t->rows));
    if (r->input_of[RECURRENCE_C] >= 0)
        TRY(join_rows(k, r->input_of[RECURRENCE_C], &t->rows));
    if (r->masked) {
        TRY(join_rows(k, r->input_of[RECURRENCE_OUTPUT], &t->rows));
        TRY(find_mask(k, time, t));
    }
    int64_t blocks = t->rows / BLOCK_ROWS + (t->rows % BLOCK_ROWS > 0);
    t->blocks = blocks < INT32_MAX ? (int)blocks : INT32_MAX;
    /* The rows of x of several steps lie one after the other if the block has all of them. */
    int64_t most = PRODUCT_ROWS / (t->x_rows > 0 ? t->x_rows : 1);
    bool several = (blocks == 1 || t->x_rows == 1) && most > 1;
    t->products = !several ? 1 : most < t->steps ? most : t->steps;
    int64_t x_rows = t->x_rows < BLOCK_ROWS ? t->x_rows : BLOCK_ROWS;
    t->block_sums = (t->products * x_rows + BLOCK_ROWS) * r->columns;
    return status_ok();
}

/* ---- steps ---- */

/* Rows [row, row + count) of the batch; x_count of x, from x_row on. */
struct row_block {
    int64_t row, count, x_row, x_count;
    float *products; /* [products, x_count, columns] */
    float *sums;     /* [count, columns] */
};

static void multiply_input(const struct turns *t, const struct row_block *b, int64_t step,
                           int64_t steps)
{
    const struct fused_recurrence *r = t->cell;
    const struct panels_size size = { steps * b->x_count, r->inputs, r->columns,
                                      r->inputs,          0,         r->columns };
    panels_multiply(&size, t->x + (step * t->x_rows + b->x_row) * r->inputs,
                    tensor_floats(&r->weights), tensor_floats(&r->bias), b->products);
}

/* The sums of the gates, from the products of x of this step. */
static void multiply_state(const struct turns *t, const struct row_block *b, const float *products,
                           const float *h)
{
    const struct fused_recurrence *r = t->cell;
    const float *packed = tensor_floats(&r->recurrent);
    int64_t ld_start = b->x_count == b->count ? r->columns : 0;
    const struct panels_size gates = { b->count, r->cells, r->gates_columns,
                                       r->cells, ld_start, r->columns };
    panels_multiply(&gates, h, packed, products, b->sums);
    if (r->cell != GRU)
        return;
    const struct panels_size inner = { b->count, r->cells, r->columns - r->gates_columns,
                                       r->cells, 0,        r->columns };
    panels_multiply(&inner, h, packed + r->gates_columns * r->cells,
                    tensor_floats(&r->bias) + r->columns, b->sums + r->gates_columns);
}

static bool is_masked(const struct turns *t, int64_t step, int64_t row)
{
    return t->mask != NULL && !t->mask[step * t->mask_rows + (t->mask_rows == 1 ? 0 : row)];
}

static void find_states(const struct turns *t, const struct row_block *b, int64_t step,
                        const float *products, const float *h_before, float *h)
{
    const struct fused_recurrence *r = t->cell;
    int64_t cells = r->cells, x_step = b->x_count == b->count ? r->columns : 0;
    for (int64_t i = 0; i < b->count; i++) {
        const float *sums = b->sums + i * r->columns;
        if (is_masked(t, step, b->row + i)) /* with a mask, h is h_before */
            continue;
        if (r->cell == LSTM)
            lstm_gates(cells, sums, t->c + (b->row + i) * cells, h + i * cells);
        else if (r->cell == GRU)
            gru_gates(cells, sums, products + i * x_step + r->gates_columns,
                      sums + r->gates_columns, h_before + i * cells, h + i * cells);
        else
            simple_gates(cells, sums, h + i * cells);
    }
}

/* The outputs of a step with a mask: h, that of the step before, or 0. */
static void find_outputs(const struct turns *t, const struct row_block *b, int64_t step,
                         const float *h)
{
    int64_t cells = t->cell->cells, each = t->rows * cells, at = b->row * cells;
    float *out = t->output + at + (t->keeps_output ? step * each : 0);
    const float *before = step == 0 || !t->keeps_output ? t->output_first + at : out - each;
    for (int64_t i = 0; i < b->count; i++) {
        bool masked = is_masked(t, step, b->row + i);
        const float *from = masked ? before + i * cells : h + i * cells;
        if (masked && t->cell->zeroed)
            memset(out + i * cells, 0, (size_t)cells * sizeof *out);
        else if (out + i * cells != from)
            memcpy(out + i * cells, from, (size_t)cells * sizeof *out);
    }
}

static void run_step(const struct turns *t, const struct row_block *b, int64_t step,
                     const float *products)
{
    int64_t each = t->rows * t->cell->cells, at = b->row * t->cell->cells;
    float *h = t->h + at + (t->keeps ? step * each : 0);
    const float *before = step == 0 || !t->keeps ? t->h_first + at : h - each;
    multiply_state(t, b, products, before);
    find_states(t, b, step, products, before, h);
    if (t->mask != NULL)
        find_outputs(t, b, step, h);
}

static void run_block(const struct turns *t, int block)
{
    int64_t columns = t->cell->columns;
    struct row_block b = { .row = parallel_part_begin(t->rows, t->blocks, block) };
    b.count = parallel_part_begin(t->rows, t->blocks, block + 1) - b.row;
    b.x_count = t->x_rows == t->rows ? b.count : 1;
    b.x_row = t->x_rows == t->rows ? b.row : 0;
    b.sums = t->sums + block * t->block_sums;
    b.products = b.sums + BLOCK_ROWS * columns;
    for (int64_t step = t->first; step < t->end; step += t->products) {
        int64_t some = t->end - step < t->products ? t->end - step : t->products;
        multiply_input(t, &b, step, some);
        for (int64_t i = 0; i < some; i++)
            run_step(t, &b, step + i, b.products + i * b.x_count * columns);
    }
}

static void run_blocks(void *context, int64_t first, int64_t end)
{
    for (int64_t block = first; block < end; block++)
        run_block(context, (int)block);
}

static struct status run_steps(struct kernel_context *k, struct turns *t)
{
    const struct fused_recurrence *r = t->cell;
    double products = (double)r->columns * (double)(r->inputs + r->cells) / PRODUCTS_NS;
    double step_ns = (double)t->rows * (products + (double)r->cells * GATE_NS);
    double most = SPAN_NS / step_ns / (double)t->products;
    int64_t span = t->products * (most < 1 ? 1 : most > 1e6 ? 1000000 : (int64_t)most);
    for (t->first = 0; t->first < t->steps; t->first = t->end) {
        TRY(kernel_check(k));
        t->end = t->steps - t->first < span ? t->steps : t->first + span;
        double cost_ns = step_ns * (double)(t->end - t->first);
        parallel_for_parts(t->blocks, parallel_parts(t->blocks, cost_ns), run_blocks, t);
    }
    return status_ok();
}

/* ---- values that the loop carries ---- */

/* A copy of the state in `input`; a single row becomes all rows. */
static struct status copy_state(struct kernel_context *k, const struct turns *t, int input,
                                struct tensor *out)
{
    const struct tensor *state = kernel_input(k, input);
    struct shape shape = shape_of(t->rows, t->cell->cells);
    TRY(shape_check(2, shape.dims, &shape));
    TRY(kernel_scratch(k, DT_FLOAT, &shape, out));
    bool is_one = state->shape.dims[0] == 1;
    size_t row = (size_t)t->cell->cells * sizeof(float);
    for (int64_t i = 0; i < t->rows; i++)
        memcpy((char *)out->data + (size_t)i * row,
               (const char *)state->data + (is_one ? 0 : (size_t)i * row), row);
    return status_ok();
}

struct turn_values {
    struct tensor first, h;             /* h: of all steps; empty: `first` becomes the last one */
    struct tensor output_first, output; /* the same with a mask */
    struct tensor c, sums;
};

static void values_release(struct turn_values *v)
{
    struct tensor *all[] = { &v->first, &v->h, &v->output_first, &v->output, &v->c, &v->sums };
    for (size_t i = 0; i < COUNT(all); i++)
        tensor_release(all[i]);
}

/* Room for the values of all steps. Without `keeps`, each step overwrites `first`. */
static struct status make_steps(struct kernel_context *k, const struct turns *t, bool keeps,
                                const struct tensor *first, struct tensor *all, float **out)
{
    struct shape shape = shape_of(t->steps, t->rows, t->cell->cells);
    *out = first->data;
    if (!keeps)
        return status_ok();
    TRY(shape_check(3, shape.dims, &shape));
    TRY(kernel_scratch(k, DT_FLOAT, &shape, all));
    *out = all->data;
    return status_ok();
}

static struct status make_values(struct kernel_context *k, struct turns *t, struct turn_values *v)
{
    const struct fused_recurrence *r = t->cell;
    struct shape sums = shape_of(t->blocks, t->block_sums);
    TRY(shape_check(2, sums.dims, &sums));
    TRY(kernel_scratch(k, DT_FLOAT, &sums, &v->sums));
    TRY(copy_state(k, t, r->input_of[RECURRENCE_H], &v->first));
    TRY(make_steps(k, t, t->keeps, &v->first, &v->h, &t->h));
    if (r->input_of[RECURRENCE_C] >= 0)
        TRY(copy_state(k, t, r->input_of[RECURRENCE_C], &v->c));
    if (r->masked) {
        TRY(copy_state(k, t, r->input_of[RECURRENCE_OUTPUT], &v->output_first));
        TRY(make_steps(k, t, t->keeps_output, &v->output_first, &v->output, &t->output));
    }
    t->h_first = v->first.data;
    t->output_first = v->output_first.data;
    t->c = v->c.data;
    t->sums = v->sums.data;
    return status_ok();
}

/* The value of a step, of all steps or of the only one that is kept. */
static struct tensor step_view(const struct turns *t, const struct tensor *all,
                               const struct tensor *only, int64_t step)
{
    if (all->buffer == NULL)
        return tensor_acquire(only);
    struct tensor view = tensor_acquire(all);
    view.shape = shape_of(t->rows, t->cell->cells);
    view.size = t->rows * t->cell->cells;
    view.data = (float *)all->data + step * view.size;
    return view;
}

static struct tensor h_view(const struct turns *t, const struct turn_values *v, int64_t step)
{
    return step_view(t, &v->h, &v->first, step);
}

static struct tensor output_view(const struct turns *t, const struct turn_values *v, int64_t step)
{
    return t->cell->masked ? step_view(t, &v->output, &v->output_first, step) : h_view(t, v, step);
}

/* INVALID_ARGUMENT: the results do not fit into the list. */
static struct status check_list(struct kernel_context *k, const struct turns *t, int64_t time)
{
    const struct fused_recurrence *r = t->cell;
    struct tensor item = { .dtype = DT_FLOAT, .shape = shape_of(t->rows, r->cells) };
    int64_t last = r->at >= 0 ? r->at : time + t->steps - 1;
    const struct tensor_list *list;
    TRY(tensor_list_input(k, r->input_of[RECURRENCE_LIST], &list));
    if (last >= list->count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Trying to modify element %lld in a list with %lld elements.",
                            (long long)last, (long long)list->count);
    return tensor_list_check_item(list, &item, "set");
}

static struct status fill_list(struct kernel_context *k, const struct turns *t,
                               const struct turn_values *v, int64_t time, int output)
{
    const struct fused_recurrence *r = t->cell;
    struct tensor_list *list;
    TRY(tensor_list_take(k, r->input_of[RECURRENCE_LIST], &list));
    for (int64_t step = r->at >= 0 ? t->steps - 1 : 0; step < t->steps; step++) {
        struct tensor *element = &list->elements[r->at >= 0 ? r->at : time + step];
        tensor_release(element);
        *element = output_view(t, v, step);
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

static struct status give_outputs(struct kernel_context *k, const struct turns *t,
                                  const struct turn_values *v, int64_t time)
{
    const struct fused_recurrence *r = t->cell;
    int input = first_carried(r);
    for (int i = 0; i < kernel_outputs_count(k); i++) {
        enum recurrence_role role = r->roles[i];
        if (role == RECURRENCE_NONE)
            continue;
        if (t->steps == 0)
            kernel_output_set(k, i, kernel_take_input(k, input));
        else if (role == RECURRENCE_TIME || role == RECURRENCE_COUNTER)
            TRY(give_count(k, i, input, t->steps));
        else if (role == RECURRENCE_LIST)
            TRY(fill_list(k, t, v, time, i));
        else if (role == RECURRENCE_C)
            kernel_output_set(k, i, tensor_acquire(&v->c));
        else if (role == RECURRENCE_OUTPUT)
            kernel_output_set(k, i, output_view(t, v, t->steps - 1));
        else
            kernel_output_set(k, i, h_view(t, v, t->steps - 1));
        input++;
    }
    return status_ok();
}

static struct status run_loop(struct kernel_context *k, struct turns *t, int64_t time)
{
    const struct fused_recurrence *r = t->cell;
    struct turn_values v = { .sums = { 0 } };
    struct status status;
    TRY(check_input(k, time, t->steps));
    TRY(find_sizes(k, time, t));
    bool keeps = r->input_of[RECURRENCE_LIST] >= 0 && r->at < 0;
    t->keeps = keeps && !r->masked;
    t->keeps_output = keeps && r->masked;
    if (r->input_of[RECURRENCE_LIST] >= 0)
        TRY(check_list(k, t, time));
    TRY_OR(done, make_values(k, t, &v));
    if (t->rows > 0)
        TRY_OR(done, run_steps(k, t));
    status = give_outputs(k, t, &v, time);
done:
    values_release(&v);
    return status;
}

static struct status recurrence_compute(struct kernel_context *k)
{
    struct turns t = { .cell = kernel_state(k) };
    int64_t time = 0;
    TRY(count_steps(k, &t.steps, &time));
    return t.steps == 0 ? give_outputs(k, &t, NULL, time) : run_loop(k, &t, time);
}

static const struct kernel rows[] = {
    { "_Recurrence", DTYPES_ALL, .prepare = recurrence_prepare, .compute = recurrence_compute,
      .costly = true },
};
const struct kernel_table kernels_recurrence = { rows, COUNT(rows) };
