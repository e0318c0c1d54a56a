#include "trainer/data/row_order.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/random.h"

/* + epoch: the random streams of a seed that permute rows */
#define STREAM_EPOCHS 0x65706f6368000000u

static void epoch_begin(struct row_order *order, uint64_t epoch)
{
    struct random random;

    random_init(&random, order->seed, STREAM_EPOCHS + epoch);
    random_permutation(&random, order->permutation, order->rows);
    order->epoch = epoch;
}

void row_order_init(struct row_order *order, uint64_t seed, uint32_t rows, uint32_t worker,
                    uint32_t workers)
{
    assert(rows > 0);
    assert(worker < workers);
    *order = (struct row_order){
        .seed = seed, .rows = rows, .worker = worker, .workers = workers, .place = worker
    };
    order->permutation = zalloc(rows * sizeof *order->permutation);
    epoch_begin(order, 0);
}

/* This worker's first place in an epoch. If there are more workers than rows, it moves with the
 * epoch: each worker has rows in some epochs. */
static uint64_t first_place(const struct row_order *order, uint64_t epoch)
{
    return order->workers <= order->rows ? order->worker : (order->worker + epoch) % order->workers;
}

static uint64_t share(const struct row_order *order, uint64_t epoch)
{
    uint64_t first = first_place(order, epoch);

    return first < order->rows ? (order->rows - first + order->workers - 1) / order->workers : 0;
}

void row_order_seek(struct row_order *order, uint64_t count)
{
    uint64_t epoch = 0;

    if (order->workers <= order->rows) { /* the share is the same in every epoch */
        epoch = count / share(order, 0);
        count %= share(order, 0);
    }
    for (; count >= share(order, epoch) && count > 0; epoch++)
        count -= share(order, epoch);
    epoch_begin(order, epoch);
    order->place = first_place(order, epoch) + count * order->workers;
}

void row_order_next(struct row_order *order, uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while (order->place >= order->rows) {
            epoch_begin(order, order->epoch + 1);
            order->place = first_place(order, order->epoch);
        }
        rows[i] = order->permutation[order->place];
        order->place += order->workers;
    }
}

void row_order_finish(struct row_order *order)
{
    free(order->permutation);
    order->permutation = NULL;
}
