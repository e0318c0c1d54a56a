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

    order->epoch = epoch;
    if (order->permutation == NULL)
        return;
    random_init(&random, order->how.seed, STREAM_EPOCHS + epoch);
    random_permutation(&random, order->permutation, order->rows);
}

void row_order_init(struct row_order *order, const struct batch_order *how, uint32_t rows)
{
    assert(rows > 0);
    assert(how->worker < how->workers);
    *order = (struct row_order){ .how = *how, .rows = rows, .place = how->worker };
    if (how->shuffle)
        order->permutation = zalloc(rows * sizeof *order->permutation);
    epoch_begin(order, 0);
}

/* This worker's first place in an epoch. If there are more workers than rows, it moves with the
 * epoch: each worker has rows in some epochs. */
static uint64_t first_place(const struct row_order *order, uint64_t epoch)
{
    const struct batch_order *how = &order->how;

    return how->workers <= order->rows ? how->worker : (how->worker + epoch) % how->workers;
}

static uint64_t share(const struct row_order *order, uint64_t epoch)
{
    uint64_t first = first_place(order, epoch), workers = order->how.workers;

    return first < order->rows ? (order->rows - first + workers - 1) / workers : 0;
}

void row_order_seek(struct row_order *order, uint64_t count)
{
    const struct batch_order *how = &order->how;
    uint64_t epoch = 0;

    if (!how->repeat) { /* the end is as far as it goes */
        count = count < share(order, 0) ? count : share(order, 0);
    } else {
        if (how->workers <= order->rows) { /* the share is the same in every epoch */
            epoch = count / share(order, 0);
            count %= share(order, 0);
        }
        for (; count >= share(order, epoch) && count > 0; epoch++)
            count -= share(order, epoch);
    }
    epoch_begin(order, epoch);
    order->place = first_place(order, epoch) + count * how->workers;
}

uint32_t row_order_next(struct row_order *order, uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while (order->place >= order->rows) {
            if (!order->how.repeat)
                return i;
            epoch_begin(order, order->epoch + 1);
            order->place = first_place(order, order->epoch);
        }
        rows[i] =
            order->permutation != NULL ? order->permutation[order->place] : (uint32_t)order->place;
        order->place += order->how.workers;
    }
    return count;
}

void row_order_finish(struct row_order *order)
{
    free(order->permutation);
    order->permutation = NULL;
}
