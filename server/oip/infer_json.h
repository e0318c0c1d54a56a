/*
 * infer_json: bodies of REST inference requests and their answers: a JSON object, followed by the
 * elements of tensors that are sent as binary data.
 *
 *     { "id": "42", "parameters": {"signature_name": "s", "binary_data_output": false},
 *       "inputs": [{"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [1, 2, 3, 4]}],
 *       "outputs": [{"name": "y", "parameters": {"binary_data": true}}] }
 *
 * `data` is flat, or nested like `shape`. Instead of it an input may have the parameter
 * `binary_data_size`: the number of bytes after the object that are its elements (raw.h). Members
 * may have any order; members and parameters that infer_json.c does not know are skipped.
 */
#ifndef SERVER_OIP_INFER_JSON_H
#define SERVER_OIP_INFER_JSON_H

#include "server/oip/infer.h"

/* No header Inference-Header-Content-Length: the whole body is JSON. */
#define INFER_JSON_ALL SIZE_MAX

/**
 * Parses a body, which must be followed by JSON_PADDING zero bytes and live as long as the request.
 * Writes numbers directly into tensors, in one pass. `json_size`: the bytes of the JSON object.
 *
 * Errors  INVALID_ARGUMENT not JSON; a member of another type; elements that do not match their
 *         shape; UNIMPLEMENTED shared memory, classification; RESOURCE_EXHAUSTED the arena's limit
 */
struct status infer_json_read(struct bytes body, size_t json_size, struct arena *arena,
                              struct infer_request *out);

/* Upper bound of the bytes that infer_json_print writes; SIZE_MAX if it overflows. The outputs
 * must have passed infer_check_outputs. */
size_t infer_json_size_max(const struct infer_answer *answer, const struct tensor *outputs);

/**
 * Prints the answer; `outputs` are in the signature's order. *json_size: the bytes of its JSON
 * object, if binary data follow; otherwise INFER_JSON_ALL.
 *
 * Errors  INVALID_ARGUMENT an output of bytes that are not UTF-8, which JSON requires
 */
struct status infer_json_print(const struct infer_answer *answer, const struct tensor *outputs,
                               struct buffer *out, size_t *json_size);

#endif
