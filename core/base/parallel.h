/*
 * parallel: splits a loop over the processors. The items of the loop are independent: each writes
 * its own part of the result.
 *
 *     parallel_set_width(0);                        once, in main; until then, the width is 1
 *     parallel_for(rows, cost_ns, sum_rows, &sums); calls sum_rows(&sums, first, end) in parts
 *
 * The width is one budget for the process. A thread inside parallel_enter … parallel_leave (a run
 * of a plan) takes one processor of it; the helpers of a loop take the remaining ones. A run alone
 * on the machine therefore uses all processors, and as many runs as processors use one each. A
 * helper leaves a loop after its part when there are more runs than processors.
 *
 * The partition of a loop depends only on the number of items and on their cost, never on the
 * width: results have the same bits for any width. A nested loop, or one that finds no free
 * processor, runs its parts in order in the calling thread.
 *
 * The calling thread works as well. At the end it takes back the parts that nobody has begun, and
 * waits only for helpers that are busy with its own loop. A loop allocates nothing.
 */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

#define PARALLEL_WIDTH_MAX 256
#define PARALLEL_PARTS_MAX 16

/* Threads that wait for work are kept. Call it while no loop runs. width 0: cores_available(). */
void parallel_set_width(int width);
int parallel_width(void);
/* For tests: the minimum cost of a part instead of 25 us; 0: all loops are split. Call it while
 * no loop runs. */
void parallel_set_part_ns(double ns);
/* Starts the threads now rather than in the first large loop. Returns the number that the system
 * did not allow; loops then have fewer helpers. */
int parallel_start(void);
/* The same. Returns false if some are missing, with the number in the text. */
#define PARALLEL_TEXT_BYTES 160
bool parallel_start_all(char text[PARALLEL_TEXT_BYTES]);
int parallel_threads(void); /* number of started threads: at most width - 1 */

/* Computes the items [first, end). It flushes denormals if the caller of parallel_for does. */
typedef void parallel_body(void *context, int64_t first, int64_t end);

/* The number of parts of a loop that takes cost_ns in one thread: 1 below 50 us, otherwise a
 * power of two such that parts take at least 25 us, up to PARALLEL_PARTS_MAX. */
int parallel_parts(int64_t items, double cost_ns);

/* Threads  any; a part must not wait for another part */
void parallel_for(int64_t items, double cost_ns, parallel_body *body, void *context);
/* The same with the number of parts given. Part i of n has the items from
 * parallel_part_begin(i). */
void parallel_for_parts(int64_t items, int parts, parallel_body *body, void *context);

/* The larger parts come first, so that the smaller ones fill up the end. */
static inline int64_t parallel_part_begin(int64_t items, int parts, int part)
{
    int64_t each = items / parts, larger = items % parts;
    return each * part + (part < larger ? part : larger);
}

void parallel_enter(void);
void parallel_leave(void);
/* Releases the processor while the thread waits, however often it has entered, and takes it
 * again. */
void parallel_pause(void);
void parallel_resume(void);
/* From now on, loops of this thread have no helpers, and its runs take no processor of the
 * width: for a thread of low priority, which only uses idle processors. */
void parallel_disable_helpers(void);
/* Gives the calling thread and all helpers this nice value (base/scheduling.h), for good. Threads
 * that have not called it get no helpers any more: they would wait for one of lower priority. */
void parallel_lower_priority(int nice);

#endif
