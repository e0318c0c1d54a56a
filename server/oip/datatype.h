/*
 * datatype: the Open Inference Protocol's names of element types.
 */
#ifndef SERVER_OIP_DATATYPE_H
#define SERVER_OIP_DATATYPE_H

#include "base/bytes.h"
#include "tensor/dtype.h"

/* "FP32"; NULL: the protocol has no name for the dtype. */
const char *datatype_name(enum dtype dtype);

/* The same for error texts, which need a name: TensorFlow's ("DT_COMPLEX64") if the protocol has
 * none. */
const char *datatype_show(enum dtype dtype);

/* INVALID_ARGUMENT: the protocol has no such type. */
struct status datatype_parse(struct bytes name, enum dtype *out);

#endif
