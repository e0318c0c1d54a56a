/*
 * The steps of _Recurrence. The products of x are computed for several steps at a time; a step
 * itself is the product of h and the gates.
 *
 * Rows are independent, so a batch is cut into blocks of rows, and each block goes through the
 * steps by itself. h and c of a block, its sums and the recurrent weights stay in the cache.
 */
#include "runtime/kernels/nn/fused_recurrence.h"

#include <string.h>

#include "base/parallel.h"
#include "runtime/kernels/plain/recurrent.h"

#define BLOCK_ROWS   24   /* with 64 cells, the sums of an LSTM's block are 24 KiB */
#define PRODUCT_ROWS 96   /* of x that are multiplied at a time */
#define SPAN_NS      1e6  /* between two checks of the deadline */
#define PRODUCTS_NS  60.0 /* multiplications in a nanosecond */
#define GATE_NS      3.0  /* of one cell */

void recurrence_cut(struct recurrence_run *run)
{
    int64_t blocks = run->rows / BLOCK_ROWS + (run->rows % BLOCK_ROWS > 0);
    run->blocks = blocks < INT32_MAX ? (int)blocks : INT32_MAX;
    /* The rows of x of several steps lie one after the other if the block has all of them. */
    int64_t most = PRODUCT_ROWS / (run->x_rows > 0 ? run->x_rows : 1);
    bool several = (blocks == 1 || run->x_rows == 1) && most > 1;
    run->products = !several ? 1 : most < run->steps ? most : run->steps;
    int64_t x_rows = run->x_rows < BLOCK_ROWS ? run->x_rows : BLOCK_ROWS;
    run->block_sums = (run->products * x_rows + BLOCK_ROWS) * run->cell->columns;
}

/* Rows [row, row + count) of the batch; x_count of x, from x_row on. */
struct row_block {
    int64_t row, count, x_row, x_count;
    float *products; /* [products, x_count, columns] */
    float *sums;     /* [count, columns] */
};

static void multiply_input(const struct recurrence_run *run, const struct row_block *b,
                           int64_t step, int64_t steps)
{
    const struct fused_recurrence *r = run->cell;
    const struct panels_size size = { steps * b->x_count, r->inputs, r->columns,
                                      r->inputs,          0,         r->columns };
    panels_multiply(&size, run->x + (step * run->x_rows + b->x_row) * r->inputs,
                    tensor_floats(&r->weights), tensor_floats(&r->bias), b->products);
}

/* The sums of the gates, from the products of x of this step. */
static void multiply_state(const struct recurrence_run *run, const struct row_block *b,
                           const float *products, const float *h)
{
    const struct fused_recurrence *r = run->cell;
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

static bool is_masked(const struct recurrence_run *run, int64_t step, int64_t row)
{
    return run->mask != NULL && !run->mask[step * run->mask_rows + (run->mask_rows == 1 ? 0 : row)];
}

static void compute_states(const struct recurrence_run *run, const struct row_block *b,
                           int64_t step, const float *products, const float *h_before, float *h)
{
    const struct fused_recurrence *r = run->cell;
    int64_t cells = r->cells, x_step = b->x_count == b->count ? r->columns : 0;
    for (int64_t i = 0; i < b->count; i++) {
        const float *sums = b->sums + i * r->columns;
        if (is_masked(run, step, b->row + i)) /* with a mask, h is h_before */
            continue;
        if (r->cell == LSTM)
            lstm_gates(cells, sums, run->c + (b->row + i) * cells, h + i * cells);
        else if (r->cell == GRU)
            gru_gates(cells, sums, products + i * x_step + r->gates_columns,
                      sums + r->gates_columns, h_before + i * cells, h + i * cells);
        else
            simple_gates(cells, sums, h + i * cells);
    }
}

/* The outputs of a step with a mask: h, that of the step before, or 0. */
static void compute_outputs(const struct recurrence_run *run, const struct row_block *b,
                            int64_t step, const float *h)
{
    int64_t cells = run->cell->cells, each = run->rows * cells, at = b->row * cells;
    float *out = run->output + at + (run->keeps_output ? step * each : 0);
    const float *before = step == 0 || !run->keeps_output ? run->output_first + at : out - each;
    for (int64_t i = 0; i < b->count; i++) {
        bool masked = is_masked(run, step, b->row + i);
        const float *from = masked ? before + i * cells : h + i * cells;
        if (masked && run->cell->zeroed)
            memset(out + i * cells, 0, (size_t)cells * sizeof *out);
        else if (out + i * cells != from)
            memcpy(out + i * cells, from, (size_t)cells * sizeof *out);
    }
}

static void run_step(const struct recurrence_run *run, const struct row_block *b, int64_t step,
                     const float *products)
{
    int64_t each = run->rows * run->cell->cells, at = b->row * run->cell->cells;
    float *h = run->h + at + (run->keeps ? step * each : 0);
    const float *before = step == 0 || !run->keeps ? run->h_first + at : h - each;
    multiply_state(run, b, products, before);
    compute_states(run, b, step, products, before, h);
    if (run->mask != NULL)
        compute_outputs(run, b, step, h);
}

static void run_block(const struct recurrence_run *run, int block)
{
    int64_t columns = run->cell->columns;
    struct row_block b = { .row = parallel_part_begin(run->rows, run->blocks, block) };
    b.count = parallel_part_begin(run->rows, run->blocks, block + 1) - b.row;
    b.x_count = run->x_rows == run->rows ? b.count : 1;
    b.x_row = run->x_rows == run->rows ? b.row : 0;
    b.sums = run->sums + block * run->block_sums;
    b.products = b.sums + BLOCK_ROWS * columns;
    for (int64_t step = run->first; step < run->end; step += run->products) {
        int64_t some = run->end - step < run->products ? run->end - step : run->products;
        multiply_input(run, &b, step, some);
        for (int64_t i = 0; i < some; i++)
            run_step(run, &b, step + i, b.products + i * b.x_count * columns);
    }
}

static void run_blocks(void *context, int64_t first, int64_t end)
{
    for (int64_t block = first; block < end; block++)
        run_block(context, (int)block);
}

struct status recurrence_run_steps(struct kernel_context *k, struct recurrence_run *run)
{
    const struct fused_recurrence *r = run->cell;
    double products = (double)r->columns * (double)(r->inputs + r->cells) / PRODUCTS_NS;
    double step_ns = (double)run->rows * (products + (double)r->cells * GATE_NS);
    double most = SPAN_NS / step_ns / (double)run->products;
    int64_t span = run->products * (most < 1 ? 1 : most > 1e6 ? 1000000 : (int64_t)most);
    for (run->first = 0; run->first < run->steps; run->first = run->end) {
        TRY(kernel_check(k));
        run->end = run->steps - run->first < span ? run->steps : run->first + span;
        double cost_ns = step_ns * (double)(run->end - run->first);
        parallel_for_parts(run->blocks, parallel_parts(run->blocks, cost_ns), run_blocks, run);
    }
    return status_ok();
}
