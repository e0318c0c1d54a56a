#include "trainer/model/rows_pass.h"

#include "trainer/inputs/feeder.h"

#define BATCH_ROWS 500

/* Reused from one batch to the next. */
struct pass_run {
    struct feeder *feeder;
    struct run *run;
    struct row_scratch scratch;
};

static struct status feed(const struct rows_pass *pass, struct pass_run *of,
                          const struct batch *batch)
{
    const void *const *given;

    TRY(feeder_fill_data(of->feeder, batch));
    if (pass->ids != NULL)
        TRY(feeder_find_rows(of->feeder, pass->ids, of->run, &of->scratch));
    TRY(pass->values->get(pass->values, of->feeder->rows, &given));
    feeder_fill_values(of->feeder, given);
    return status_ok();
}

static struct status add_batch(const struct rows_pass *pass, struct pass_run *of,
                               const struct batch *batch)
{
    struct tensor fetches[ROWS_PASS_FETCHES_MAX] = { 0 };

    TRY(feed(pass, of, batch));
    TRY(plan_run(pass->plan, of->run, of->feeder->tensors, fetches));
    struct status status = pass->take(pass->context, batch->rows, fetches);
    run_reset(of->run);
    return status;
}

static struct status add_all(const struct rows_pass *pass, struct pass_run *of,
                             struct batch_source *source)
{
    struct batch batch;

    for (;;) {
        if (atomic_load_explicit(pass->stop, memory_order_relaxed))
            return status_error(STATUS_CANCELLED, "stopped");
        TRY(source->next(source, BATCH_ROWS, &batch));
        if (batch.rows == 0)
            return status_ok();
        TRY(add_batch(pass, of, &batch));
    }
}

struct status rows_pass_run(const struct rows_pass *pass, const struct data_split *split)
{
    const struct batch_order in_order = { .workers = 1 };
    struct pass_run of = { 0 };
    struct batch_source *source;

    TRY(feeder_create(pass->graph, pass->pass, split, &of.feeder));
    of.feeder->candidates = pass->candidates;
    struct status status = split->open(split, &in_order, &source);
    if (status_is_ok(status)) {
        of.run = run_create(0);
        status = add_all(pass, &of, source);
        run_destroy(of.run);
        source->destroy(source);
    }
    row_scratch_free(&of.scratch);
    feeder_destroy(of.feeder);
    return status;
}
