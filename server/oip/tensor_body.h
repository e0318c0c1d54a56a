/*
 * tensor_body: a body that is a single tensor: its raw elements (raw.h), or a .npy file. It is the
 * only input of its signature; the result is an ordinary request.
 */
#ifndef SERVER_OIP_TENSOR_BODY_H
#define SERVER_OIP_TENSOR_BODY_H

#include "server/oip/infer.h"

/**
 * Reads raw elements of the signature's dtype. `shape`: "2,3", or "" for a scalar; NULL: the
 * signature's, in which one dimension may be unknown and follows from the size of the body. Without
 * `shape`, a body for an input of strings is one string, without its length.
 *
 * Owner   *out borrows from the body and the arena
 * Errors  INVALID_ARGUMENT the signature does not have exactly one input; a shape that does not
 *         follow, or
 *         does not parse; a body of another size; a bool that is neither 0 nor 1
 */
struct status tensor_body_read_raw(struct bytes body, const char *shape,
                                   const struct signature *signature, struct arena *arena,
                                   struct infer_request *out);

/* The same for a .npy file, which has dtype and shape. UNIMPLEMENTED: an array of text. */
struct status tensor_body_read_npy(struct bytes body, const struct signature *signature,
                                   struct arena *arena, struct infer_request *out);

/* The size of a .npy file, and its bytes. UNIMPLEMENTED: numpy has no name for the dtype. */
struct status tensor_body_npy_size(const struct tensor *tensor, size_t *out);
void tensor_body_put_npy(const struct tensor *tensor, struct buffer *out);

/* "2,3"; in `arena`. */
const char *tensor_body_shape_text(const struct shape *shape, struct arena *arena);

#endif
