/*
 * row_place: the position of a synchronous job in its rows.
 *
 * The rows are divided among readers, each with its own order. The job takes *units* (batches) from
 * them round-robin: unit u is the next batch of reader u mod `readers`
 * (trainer/data/unit_source.h). A step of W workers takes W units for each batch of a worker's
 * push. There are as many readers as the job had workers when it began, so each worker has one.
 * With another number of workers later, the units stay the same, and every row still occurs once
 * per epoch.
 */
#ifndef TRAINER_PROTOCOL_ROW_PLACE_H
#define TRAINER_PROTOCOL_ROW_PLACE_H

#include <stdint.h>

#define ROW_READERS_MAX 4096

struct row_place {
    uint64_t readers; /* 0: one per worker, and nothing was taken yet */
    uint64_t rows;    /* number that each reader had returned before units were counted */
    uint64_t units;   /* that were taken since */
};

#endif
