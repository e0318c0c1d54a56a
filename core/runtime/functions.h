/*
 * functions: a kernel runs the functions of its node's attributes, for ops with the trait
 * OP_FUNCTIONS. The plan holds their bodies as it holds the bodies of branches and loops. The last
 * arguments of a function are its captures: inputs of the node, the same in each call. An
 * object that the kernel makes, such as a dataset that maps, may keep the function and the captures
 * for later, as long as the run goes on.
 */
#ifndef RUNTIME_FUNCTIONS_H
#define RUNTIME_FUNCTIONS_H

#include "runtime/kernel.h"

struct plan_function;

/* Function `index` of the node, in the order of the op's attributes. Lives as long as the plan. */
const struct plan_function *prepare_function(const struct prepare_context *context, int index);
int prepare_functions_count(const struct prepare_context *context);
/* The input of the node that is the first capture, and how many there are. */
int plan_function_first_capture(const struct plan_function *function);
int plan_function_captures_count(const struct plan_function *function);
int plan_function_results_count(const struct plan_function *function);

/**
 * Runs a function on `count` values and its captures, which stand at `captures`.
 *
 * Owner   takes over the `args`, also after a failure; the caller owns the `results`
 * Errors  INVALID_ARGUMENT the function takes other values, or another number of them;
 *         UNIMPLEMENTED the function is running already, and calls itself by way of a dataset;
 *         what its ops say
 */
struct status plan_function_run(struct kernel_context *context,
                                const struct plan_function *function, int count,
                                struct tensor *args, const struct tensor *captures,
                                int results_count, struct tensor *results);

#endif
