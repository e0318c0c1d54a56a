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
    *order = (struct row_order){ .how = *how, .rows = rows };
    if (how->shuffle)
        order->permutation = zalloc(rows * sizeof *order->permutation);
    epoch_begin(order, 0);
    row_order_seek(order, 0);
}

/* Moves to the row of this number in the endless sequence of epochs. */
static void go_to(struct row_order *order, uint64_t number)
{
    uint64_t epoch = number / order->rows;

    if (epoch != order->epoch)
        epoch_begin(order, epoch);
    order->place = number % order->rows;
}

void row_order_seek(struct row_order *order, uint64_t count)
{
    const struct batch_order *how = &order->how;
    uint64_t share = how->worker < order->rows
                         ? (order->rows - how->worker + how->workers - 1) / how->workers
                         : 0;

    order->ended = !how->repeat && count >= share;
    if (!order->ended)
        go_to(order, count * how->workers + how->worker);
}

uint32_t row_order_next(struct row_order *order, uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (order->ended)
            return i;
        rows[i] =
            order->permutation != NULL ? order->permutation[order->place] : (uint32_t)order->place;
        uint64_t next = order->place + order->how.workers;
        order->ended = !order->how.repeat && next >= order->rows;
        if (!order->ended)
            go_to(order, order->epoch * order->rows + next);
    }
    return count;
}

void row_order_finish(struct row_order *order)
{
    free(order->permutation);
    order->permutation = NULL;
}
