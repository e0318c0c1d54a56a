/*
 * example: parses serialized tf.Examples into tensors, and writes small Examples.
 *
 * It does the work of ParseExample, ParseExampleV2 and ParseSingleExample; their kernels only fetch
 * attributes and inputs. The features are described once, in `prepare`, when the keys are
 * constants:
 *
 *     struct example_spec *spec;
 *     TRY(example_spec_create(features, count, &spec));
 *     TRY(example_parse(spec, serialized, names, defaults, pool, outputs));
 *
 * Outputs have the order of the op's: sparse indices, sparse values, sparse shapes, dense values,
 * ragged values, ragged row splits. Within each group they have the order of the features. The
 * error texts are TensorFlow's (its example_proto_fast_parsing.cc).
 */
#ifndef STORAGE_EXAMPLE_H
#define STORAGE_EXAMPLE_H

#include "tensor/tensor.h"

enum example_form { EXAMPLE_SPARSE, EXAMPLE_DENSE, EXAMPLE_RAGGED };

struct example_feature {
    enum example_form form;
    struct bytes key;
    enum dtype dtype; /* DT_FLOAT, DT_INT64 or DT_STRING */
    /* Dense: of one example. The first dimension may be -1: variable length, padded. */
    struct shape shape;
    enum dtype splits_type; /* ragged: DT_INT32 or DT_INT64 */
};

struct example_spec;

/**
 * Copies the features.
 *
 * Owner   *out is the caller's: example_spec_destroy
 * Errors  INVALID_ARGUMENT another dtype (also of row splits), a dense shape with unknown inner
 *         dimensions; INTERNAL a key twice
 */
struct status example_spec_create(const struct example_feature *features, int count,
                                  struct example_spec **out);
void example_spec_destroy(struct example_spec *spec); /* accepts NULL */
int example_spec_outputs_count(const struct example_spec *spec);

/**
 * Parses a vector of serialized Examples, or a scalar: then the outputs have no batch dimension and
 * the error texts no name.
 *
 * Shapes  serialized [b] or []; names as serialized, or empty, or NULL; defaults[i] belongs to the
 *         i-th dense feature
 * Owner   outputs[example_spec_outputs_count] are the caller's, none after a failure; their buffers
 *         come from `pool`, which may be NULL. Strings point into `serialized` and `defaults`
 * Errors  INVALID_ARGUMENT with TensorFlow's texts; RESOURCE_EXHAUSTED
 * Threads safe
 */
struct status example_parse(const struct example_spec *spec, const struct tensor *serialized,
                            const struct tensor *names, const struct tensor *const *defaults,
                            struct tensor_pool *pool, struct tensor *outputs);

/* Writes one Example at a time: zero-initialise it, add features, use the bytes that
 * example_builder_end returns, finish. */
struct example_builder {
    struct buffer features, example;
};

void example_builder_add_floats(struct example_builder *builder, struct bytes key,
                                const float *values, size_t count);
void example_builder_add_int64s(struct example_builder *builder, struct bytes key,
                                const int64_t *values, size_t count);
void example_builder_add_strings(struct example_builder *builder, struct bytes key,
                                 const struct bytes *values, size_t count);
/* Removes the features that were added after `builder->features` had `size` bytes. */
void example_builder_rewind(struct example_builder *builder, size_t size);
/* Returns the serialized Example, valid until the builder changes, and starts the next one. */
struct bytes example_builder_end(struct example_builder *builder);
void example_builder_finish(struct example_builder *builder);

#endif
