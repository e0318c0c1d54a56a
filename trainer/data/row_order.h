/*
 * row_order: the order in which a reader reads the rows, for random access.
 *
 * With `shuffle`, each epoch has a permutation of the rows, the same for all workers with the same
 * seed. Worker w of W reads the positions w, w + W, w + 2W … of the endless sequence of epochs:
 * workers that read equally many rows together read every row once per epoch. One batch may contain
 * the end of an epoch and the beginning of the next. Without `repeat`, there is one epoch.
 */
#ifndef TRAINER_DATA_ROW_ORDER_H
#define TRAINER_DATA_ROW_ORDER_H

#include "trainer/data/batch_source.h"

struct row_order {
    struct batch_order how;
    uint32_t rows;
    uint32_t *permutation; /* of the current epoch; NULL: file order */
    uint64_t epoch;        /* counts from 0 */
    uint64_t place;        /* this worker's next position in the epoch */
    bool ended;            /* no rows are left; never with `repeat` */
};

/* rows > 0, worker < workers. If there are more workers than rows, each worker has rows only in
 * some epochs. */
void row_order_init(struct row_order *order, const struct batch_order *how, uint32_t rows);
/* Takes `count` rows, or fewer at the end without `repeat`. Returns their number. */
uint32_t row_order_next(struct row_order *order, uint32_t *rows, uint32_t count);
/* Moves to the position after `count` rows since the beginning. */
void row_order_seek(struct row_order *order, uint64_t count);
void row_order_finish(struct row_order *order);

#endif
