/*
 * example_json: reads a tf.Example from protobuf's JSON.
 *
 *     {"features": {"feature": {"x": {"floatList": {"value": [1, "NaN"]}}}}}
 *
 * Names may have either case, a null means a field that is not set, a single value for a list of
 * one, and numbers may be texts. Protobuf's parser also takes text that is not quite JSON, such as
 * names without quotes; here it must be JSON, without equal keys in an object.
 */
#ifndef STORAGE_EXAMPLE_JSON_H
#define STORAGE_EXAMPLE_JSON_H

#include "base/arena.h"
#include "base/bytes.h"

/**
 * Appends the serialized Example to `out`.
 *
 * Errors  INVALID_ARGUMENT not JSON, or not an Example; RESOURCE_EXHAUSTED over the arena's limit
 */
struct status example_from_json(struct bytes json, struct arena *arena, struct buffer *out);

#endif
