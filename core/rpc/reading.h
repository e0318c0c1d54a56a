/*
 * reading: the memory that what comes from a socket is read to first, for all connections of a
 * loop. Messages that lie in it whole may stay where they are: whoever keeps one keeps the piece of
 * memory it lies in, and what comes next is read to another. There are a few pieces and no more, so
 * that nothing can be had of keeping them.
 *
 * Threads: the loop's; a piece may be released by any.
 */
#ifndef RPC_READING_H
#define RPC_READING_H

#include <stdbool.h>
#include <stddef.h>

#define READING_BYTES  ((size_t)256 << 10)
#define READING_PIECES 16

struct reading;
struct reading_piece;

struct reading *reading_create(void);
void reading_destroy(struct reading *reading); /* pieces that are kept live on; accepts NULL */

/* One that nobody keeps: READING_BYTES of room. Valid until it is asked for the next time. */
struct reading_piece *reading_next(struct reading *reading);
char *reading_data(struct reading_piece *piece);
bool reading_holds(struct reading_piece *piece, const char *data); /* accepts NULL */

/* False: all others are kept, and this one has to be read to next. In the loop's thread. */
bool reading_keep(struct reading_piece *piece);
void reading_release(struct reading_piece *piece);

#endif
