#include "server/inference/batch_target.h"

#include "server/models/servable.h"

struct batch_target batch_target_choose(const struct cost_table *costs, struct cost_key size,
                                        int64_t target_ns, bool explores)
{
    int64_t run_max_ns = target_ns / 5 * 2;
    struct batch_target choice = { .rows_max = 1 };
    for (int64_t rows = 1; rows <= BATCH_ROWS_MAX; rows *= 2) {
        struct cost_key key = { rows, size.shape };
        int64_t cost_ns = cost_measured(costs, key);
        if (cost_ns == 0 || (rows > 1 && cost_ns > run_max_ns)) {
            if ((cost_ns == 0 || explores) && choice.run_ns > 0 && choice.run_ns <= run_max_ns)
                choice.rows_max = rows;
            break;
        }
        choice = (struct batch_target){ rows, cost_ns };
    }
    return choice;
}
