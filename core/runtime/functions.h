/*
 * functions: a kernel runs the functions of its node's attributes, for ops with the trait
 * OP_FUNCTIONS. The plan contains their bodies, like the bodies of branches and loops. The last
 * arguments of a function are its captures: inputs of the node, the same in each call. An object
 * that the kernel makes, such as a mapped dataset, may keep the function and the captures until the
 * run ends.
 */
#ifndef RUNTIME_FUNCTIONS_H
#define RUNTIME_FUNCTIONS_H

#include "runtime/kernel.h"

struct plan_function;

/* Function `index` of the node, in the order of the op's attributes. Lives as long as the plan. */
const struct plan_function *prepare_function(const struct prepare_context *context, int index);
int prepare_functions_count(const struct prepare_context *context);
/* The index of the node's first capture input, and the number of captures. */
int plan_function_first_capture(const struct plan_function *function);
int plan_function_captures_count(const struct plan_function *function);
int plan_function_results_count(const struct plan_function *function);
/* Does each of its ops work element by element, so that one call with vectors gives what a call for
 * each element gives? For functions of scalars. */
bool plan_function_is_elementwise(const struct plan_function *function);

/**
 * Runs a function on `count` values and its captures, given in `captures`.
 *
 * Owner   takes over the `args`, also after a failure; the caller owns the `results`
 * Errors  INVALID_ARGUMENT the function takes other values, or another number of them;
 *         UNIMPLEMENTED the function is running already, and calls itself through a dataset;
 *         those of its ops
 */
struct status plan_function_run(struct kernel_context *context,
                                const struct plan_function *function, int count,
                                struct tensor *args, const struct tensor *captures,
                                int results_count, struct tensor *results);

#endif
