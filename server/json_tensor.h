/*
 * json_tensor: nested JSON lists to tensors.
 *
 * Two readers fill the same elements. json_tensor_read makes one pass over unchecked text, numbers
 * straight into the tensor, and gives up on anything out of the ordinary without saying why.
 * json_tensor_read_checked works as TensorFlow Serving does (serving-api.md §3.2.3, §3.2.4) and has
 * its error texts; its text must have passed json_check.
 */
#ifndef SERVER_JSON_TENSOR_H
#define SERVER_JSON_TENSOR_H

#include "base/arena.h"
#include "server/json_text.h"
#include "tensor/tensor.h"

/* The elements of one input so far. */
struct json_tensor {
    struct arena *arena;
    enum dtype dtype;
    char *data;
    size_t count, capacity;
    bool full; /* the arena's limit was reached */
};

/* expected_count: a guess at the number of elements, to save growing. */
void json_tensor_init(struct json_tensor *tensor, struct arena *arena, enum dtype dtype,
                      size_t expected_count);

/* Appends the elements of the value at `at`. Returns its end, NULL where it gave up. */
const char *json_tensor_read(struct json_tensor *tensor, const char *at, struct shape *shape);

/* The same for checked text. INVALID_ARGUMENT, UNIMPLEMENTED (a dtype that JSON has no form for),
 * RESOURCE_EXHAUSTED. */
struct status json_tensor_read_checked(struct json_tensor *tensor, const char *at,
                                       struct shape *shape);

/* The elements as a tensor that borrows them. */
struct tensor json_tensor_finish(const struct json_tensor *tensor, const struct shape *shape);

#endif
