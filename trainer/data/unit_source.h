/*
 * unit_source: the batches of one worker of a synchronous job. They are units of several readers:
 * unit u is the next batch of reader u mod `readers`, and reader r reads the rows of worker r of
 * `readers`.
 *
 *     TRY(unit_source(split, &order, batch_rows, &source));
 *     unit_source_go_to(source, 3, 0, unit)      then each `next` advances by W units
 */
#ifndef TRAINER_DATA_UNIT_SOURCE_H
#define TRAINER_DATA_UNIT_SOURCE_H

#include "trainer/data/batch_source.h"

/* order->workers: the number of units from one batch to the next. Reads nothing before
 * unit_source_go_to. `split` outlives it. Owner: destroy. */
struct batch_source *unit_source(const struct data_split *split, const struct batch_order *order,
                                 int64_t batch_rows);

/* Moves to a unit of `readers` (> 0) readers, each of which had returned `rows` rows before
 * units were counted. Opens readers on demand. Errors: those of data_split.open. */
struct status unit_source_go_to(struct batch_source *source, uint32_t readers, uint64_t rows,
                                uint64_t unit);

#endif
