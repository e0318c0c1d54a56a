/*
 * contents: InferTensorContents, the elements of a tensor as repeated fields: bool_contents,
 * int_contents and so on, one for each kind of datatype. FP16 and BF16 have no such field and are
 * sent as raw contents (raw.h).
 */
#ifndef SERVER_OIP_CONTENTS_H
#define SERVER_OIP_CONTENTS_H

#include "base/arena.h"
#include "tensor/tensor.h"

/**
 * Makes a tensor of the message.
 *
 * Owner   *out borrows from the arena and the message; it may be unaligned
 * Errors  INVALID_ARGUMENT damaged; FP16 and BF16; more or fewer elements than the shape has; an
 *         integer out of the dtype's range; RESOURCE_EXHAUSTED the arena's limit
 */
struct status contents_read(struct bytes message, enum dtype dtype, const struct shape *shape,
                            struct arena *arena, struct tensor *out);

/* Does the dtype have a repeated field? */
bool contents_can_put(enum dtype dtype);
/* The size of the message, and its bytes. The dtype must pass contents_can_put. */
size_t contents_size(const struct tensor *tensor);
void contents_put(const struct tensor *tensor, struct buffer *out);

#endif
