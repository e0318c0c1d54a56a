/*
 * json_tensor: converts nested JSON lists to tensors.
 *
 * Two readers append to the same elements. json_tensor_read makes one pass over unchecked text,
 * writes numbers directly into the tensor, and gives up on anything unusual without reporting why.
 * json_tensor_read_checked needs checked text, and works in the order and with the error texts of
 * TensorFlow Serving's json_tensor.cc.
 */
#ifndef SERVER_JSON_TENSOR_H
#define SERVER_JSON_TENSOR_H

#include "base/arena.h"
#include "server/json/text.h"
#include "tensor/tensor.h"

/* The elements of one input so far. */
struct json_tensor {
    struct arena *arena;
    enum dtype dtype;
    char *data;
    size_t count, capacity;
    bool full; /* the arena's limit was reached */
};

/* expected_count: a guess at the number of elements, which saves growing. */
void json_tensor_init(struct json_tensor *tensor, struct arena *arena, enum dtype dtype,
                      size_t expected_count);

/* Counts the lists that open at `at` before the first element: the rank of the tensor. Stops
 * beyond SHAPE_RANK_TENSORFLOW. */
int json_tensor_rank(const char *at);

/* Appends the elements of the value at `at`. Returns its end; NULL if it gave up. */
const char *json_tensor_read(struct json_tensor *tensor, const char *at, struct shape *shape);

/* The same for checked text with at most SHAPE_RANK_TENSORFLOW levels of lists.
 * INVALID_ARGUMENT, UNIMPLEMENTED (JSON cannot express the dtype), RESOURCE_EXHAUSTED. */
struct status json_tensor_read_checked(struct json_tensor *tensor, const char *at,
                                       struct shape *shape);

/* Makes a tensor that borrows the elements. */
struct tensor json_tensor_finish(const struct json_tensor *tensor, const struct shape *shape);

#endif
