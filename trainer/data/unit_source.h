/*
 * unit_source: the batches that one of the workers of a synchronous job takes, which are units of
 * several readers: unit u is the next batch of reader u mod `readers`, and reader r has the rows
 * that worker r of `readers` has.
 *
 *     TRY(unit_source(split, &order, batch_rows, &source));
 *     unit_source_go_to(source, 3, 0, unit)      then each `next` is W units further
 */
#ifndef TRAINER_DATA_UNIT_SOURCE_H
#define TRAINER_DATA_UNIT_SOURCE_H

#include "trainer/data/batch_source.h"

/* order->workers: how many units further the next batch is. Nothing is read before
 * unit_source_go_to. `split` outlives it. Owner: destroy. */
struct batch_source *unit_source(const struct data_split *split, const struct batch_order *order,
                                 int64_t batch_rows);

/* Goes to a unit of `readers` (> 0) readers, each of which had given `rows` rows before units were
 * counted. A reader is opened when it is needed. Errors: those of data_split.open. */
struct status unit_source_go_to(struct batch_source *source, uint32_t readers, uint64_t rows,
                                uint64_t unit);

#endif
