#include "server/inference/batch_target.h"

#include "server/models/servable.h"

struct batch_target batch_target_choose(const struct cost_table *costs, struct cost_key size,
                                        int64_t target_ns, bool explores)
{
    int64_t run_max_ns = target_ns / 5 * 2;
    struct batch_target choice = { .rows_max = 1 };
    for (int64_t rows = 1; rows <= BATCH_ROWS_MAX; rows *= 2) {
        int64_t cost_ns = cost_measured(costs, (struct cost_key){ rows, size.shape });
        if (cost_ns > run_max_ns && rows > 1)
            break;
        if (cost_ns > 0)
            choice = (struct batch_target){ rows, cost_ns };
    }
    if (choice.run_ns == 0 || choice.run_ns > run_max_ns || choice.rows_max == BATCH_ROWS_MAX)
        return choice;
    struct cost_key next = { 2 * choice.rows_max, size.shape };
    if (explores || cost_measured(costs, next) == 0)
        choice.rows_max = next.rows;
    return choice;
}
