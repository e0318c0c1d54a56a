/*
 * while_loop: adds a While loop to a graph: `count` iterations of a body over carried values, as
 * TensorFlow's while_loop writes it.
 *
 *     struct while_loop loop;
 *     TRY(while_loop_begin(&loop, b, "lstm", carried_count, carried));
 *     … nodes by loop.builder, over loop.values and loop.time …
 *     TRY(while_loop_end(&loop, count, results, outputs));
 */
#ifndef GRAPH_WHILE_LOOP_H
#define GRAPH_WHILE_LOOP_H

#include "graph/build.h"
#include "graph/function.h"

struct while_loop {
    struct builder *outer;
    struct builder builder; /* of the body */
    const char *name;
    int count;                      /* carried values */
    const struct endpoint *carried; /* before the first iteration */
    struct function_body body;
    struct endpoint time; /* in the body: the number of the iteration, int32 */
    int limit; /* the carried value, int32, that is the number of iterations; -1: a constant. Set it
                * between begin and end */
    struct endpoint *values; /* in the body: the carried values [count] */
};

/* The name of a function of a loop: the node's with what it is, as TensorFlow allows it. */
const char *while_loop_function_name(struct arena *arena, const char *node, const char *what);

/* The body's values have the types and shapes of `carried`, which must not change from one
 * iteration to the next. Everything lives in the arena of the outer graph. */
struct status while_loop_begin(struct while_loop *loop, struct builder *outer, const char *name,
                               int count, const struct endpoint *carried);

/* Adds the loop. results: the values after an iteration; outputs: the values after the last. A
 * value that does not change is its own result. */
struct status while_loop_end(struct while_loop *loop, int32_t iterations,
                             const struct endpoint *results, struct endpoint *outputs);

#endif
