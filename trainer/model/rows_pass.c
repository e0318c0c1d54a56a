#include "trainer/model/rows_pass.h"

#include "trainer/inputs/feeder.h"

#define BATCH_ROWS 500

static struct status feed(const struct rows_pass *pass, struct feeder *feeder, struct run *run,
                          const struct batch *batch)
{
    const void *const *given;

    TRY(feeder_fill_data(feeder, batch));
    if (pass->ids != NULL)
        TRY(feeder_find_rows(feeder, pass->ids, run));
    TRY(pass->values->get(pass->values, feeder->rows, &given));
    feeder_fill_values(feeder, given);
    return status_ok();
}

static struct status add_batch(const struct rows_pass *pass, struct feeder *feeder, struct run *run,
                               const struct batch *batch)
{
    struct tensor fetches[ROWS_PASS_FETCHES_MAX] = { 0 };

    TRY(feed(pass, feeder, run, batch));
    TRY(plan_run(pass->plan, run, feeder->tensors, fetches));
    struct status status = pass->take(pass->context, batch->rows, fetches);
    run_reset(run);
    return status;
}

static struct status add_all(const struct rows_pass *pass, struct feeder *feeder, struct run *run,
                             struct batch_source *source)
{
    struct batch batch;

    for (;;) {
        if (atomic_load_explicit(pass->stop, memory_order_relaxed))
            return status_error(STATUS_CANCELLED, "stopped");
        TRY(source->next(source, BATCH_ROWS, &batch));
        if (batch.rows == 0)
            return status_ok();
        TRY(add_batch(pass, feeder, run, &batch));
    }
}

struct status rows_pass_run(const struct rows_pass *pass, const struct data_split *split)
{
    const struct batch_order in_order = { .workers = 1 };
    struct feeder *feeder;
    struct batch_source *source;

    TRY(feeder_create(pass->graph, pass->pass, split, &feeder));
    feeder->candidates = pass->candidates;
    struct status status = split->open(split, &in_order, &source);
    if (status_is_ok(status)) {
        struct run *run = run_create(0);
        status = add_all(pass, feeder, run, source);
        run_destroy(run);
        source->destroy(source);
    }
    feeder_destroy(feeder);
    return status;
}
