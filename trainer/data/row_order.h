/*
 * row_order: the order in which a reader takes the rows, where any row can be taken at any time.
 *
 * With `shuffle`, each epoch has a permutation of the rows, the same for all workers with the same
 * seed. Worker w of W takes places w, w + W, w + 2W … of the endless sequence of epochs: together,
 * workers that take equally many rows take every row once per epoch. One batch may hold the end of
 * an epoch and the beginning of the next. Without `repeat`, the first epoch is all.
 */
#ifndef TRAINER_DATA_ROW_ORDER_H
#define TRAINER_DATA_ROW_ORDER_H

#include "trainer/data/batch_source.h"

struct row_order {
    struct batch_order how;
    uint32_t rows;
    uint32_t *permutation; /* of the current epoch; NULL: the rows' own order */
    uint64_t epoch;        /* counts from 0 */
    uint64_t place;        /* this worker's next one in the epoch */
    bool ended;            /* it has none; not with `repeat` */
};

/* rows > 0, worker < workers. If there are more workers than rows, each has rows in some epochs
 * only. */
void row_order_init(struct row_order *order, const struct batch_order *how, uint32_t rows);
/* Takes `count` rows, or fewer at the end if the order does not repeat. Returns how many. */
uint32_t row_order_next(struct row_order *order, uint32_t *rows, uint32_t count);
/* Moves to the position after `count` rows since the beginning. */
void row_order_seek(struct row_order *order, uint64_t count);
void row_order_finish(struct row_order *order);

#endif
