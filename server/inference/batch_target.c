#include "server/inference/batch_target.h"

#include "server/models/servable.h"

/* Fewer rows have the shorter waits, so more rows must save at least this part of a row's cost. */
#define SAVES_PART 32
/* The cost around a run: the pool's lock, and waking the pool's thread and the loop. */
#define AROUND_NS  10000

static bool saves_time(struct batch_target more, struct batch_target fewer)
{
    return (more.run_ns + AROUND_NS) * fewer.rows_max * SAVES_PART <=
           (fewer.run_ns + AROUND_NS) * more.rows_max * (SAVES_PART - 1);
}

struct batch_target batch_target_choose(const struct cost_table *costs, struct cost_key size,
                                        int64_t target_ns, bool explores)
{
    int64_t run_max_ns = target_ns / 5 * 2;
    struct batch_target choice = { .rows_max = 1 }, largest = choice;
    for (int64_t rows = 1; rows <= BATCH_ROWS_MAX; rows *= 2) {
        int64_t cost_ns = cost_measured(costs, (struct cost_key){ rows, size.shape });
        if (cost_ns > run_max_ns && rows > 1)
            break;
        if (cost_ns == 0)
            continue;
        largest = (struct batch_target){ rows, cost_ns };
        if (choice.run_ns == 0 || saves_time(largest, choice))
            choice = largest;
    }
    if (largest.run_ns == 0 || largest.run_ns > run_max_ns)
        return choice;
    struct cost_key next = { largest.rows_max, size.shape };
    if (next.rows < BATCH_ROWS_MAX)
        next.rows *= 2;
    bool saves = choice.rows_max == largest.rows_max;
    if (explores || (saves && cost_measured(costs, next) == 0))
        choice.rows_max = next.rows;
    return choice;
}
