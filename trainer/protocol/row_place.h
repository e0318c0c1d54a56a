/*
 * row_place: how far a synchronous job has come in its rows.
 *
 * Readers share the rows, each with an order of its own. The job takes *units* (batches) from them
 * in turn: unit u is the next batch of reader u mod `readers` (trainer/data/unit_source.h). A step
 * of W workers takes W units for each batch that a worker's push is made of. There are as many
 * readers as the job had workers when it began, so that each worker has one. With another number of
 * workers, the units are the same, and every row still comes once in an epoch.
 */
#ifndef TRAINER_PROTOCOL_ROW_PLACE_H
#define TRAINER_PROTOCOL_ROW_PLACE_H

#include <stdint.h>

#define ROW_READERS_MAX 4096

struct row_place {
    uint64_t readers; /* 0: as many as there are workers, and nothing was taken */
    uint64_t rows;    /* that each reader had given before units were counted */
    uint64_t units;   /* that were taken since */
};

#endif
