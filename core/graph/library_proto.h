/* library_proto: FunctionDefLibrary to and from struct function_library. */
#ifndef GRAPH_LIBRARY_PROTO_H
#define GRAPH_LIBRARY_PROTO_H

#include "graph/attr_proto.h"
#include "graph/library.h"

/* INVALID_ARGUMENT names the function and the node or attribute. */
struct status library_from_proto(const struct proto_reader *reader,
                                 const Tensorflow__FunctionDefLibrary *proto,
                                 struct function_library **out);
Tensorflow__FunctionDefLibrary *library_to_proto(const struct function_library *library,
                                                 struct arena *arena);

#endif
