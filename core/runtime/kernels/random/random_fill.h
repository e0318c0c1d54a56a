/*
 * random_fill: common code of random ops: the distribution of each op, a shape that is an input,
 * and a long fill that checks the deadline.
 */
#ifndef KERNELS_RANDOM_FILL_H
#define KERNELS_RANDOM_FILL_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/philox_fill.h"

/* From the node's name and the type of its output. */
struct draw draw_of_node(const struct node *node);

/* Reads the bounds of a UNIFORM_INT from two scalar inputs. INVALID_ARGUMENT unless low < high or
 * the output is empty. */
struct status draw_set_bounds(const struct kernel_context *k, int low, int high,
                              const struct tensor *out, struct draw *draw);

/* The shape that input `index` holds. */
struct status random_shape(struct kernel_context *k, int index, struct shape *out);
/* Output 0 in that shape. */
struct status random_output(struct kernel_context *k, int index, struct tensor **out);

/* Fills a tensor; DEADLINE_EXCEEDED and the like in between. */
struct status random_fill(struct kernel_context *k, struct philox philox, const struct draw *draw,
                          struct tensor *out);

/* The stream of the two numbers in input `index`. */
struct status random_seeds(const struct kernel_context *k, int index, struct philox *out);

/* The stream of a key, a counter and an algorithm: inputs 1 to 3. */
struct status random_key(const struct kernel_context *k, struct philox *out);

/* On a CPU, TensorFlow has ThreeFry only in XlaRngBitGenerator; its other ops refuse it. */
#define ALGORITHM_PHILOX   1
#define ALGORITHM_THREEFRY 2
#define ALGORITHM_AUTO     3 /* Philox on a CPU */

#endif
