/*
 * output_shapes_wire: makes a saved_model.pb cheaper to unpack. TensorFlow stores the inferred
 * shapes of each node in an attribute `_output_shapes`, a hint for its Python that graph_from_proto
 * ignores. Two thirds of the messages in the file of a large network belong to these attributes.
 */
#ifndef SAVEDMODEL_OUTPUT_SHAPES_WIRE_H
#define SAVEDMODEL_OUTPUT_SHAPES_WIRE_H

#include "base/bytes.h"

/* Renumbers the attributes `_output_shapes` of all nodes of a serialized SavedModel, in place,
 * to a field number that our NodeDef lacks: protobuf keeps the bytes of an unknown field without
 * parsing them. Bytes that are not a SavedModel stay invalid. */
void hide_output_shapes(struct buffer *saved_model);

#endif
