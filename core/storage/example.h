/*
 * example: tf.Example to tensors, straight from the wire, and small Examples to the wire.
 *
 * What ParseExample, ParseExampleV2 and ParseSingleExample do, so that their kernels only fetch
 * attributes and inputs:
 *
 *     struct example_spec *spec;                         once: in prepare, where the keys are
 * constants TRY(example_spec_create(features, count, &spec)); TRY(example_parse(spec, serialized,
 * names, defaults, pool, outputs));
 *
 * Outputs stand in the order of the op's: sparse indices, sparse values, sparse shapes, dense
 * values, ragged values, ragged row splits; within each group in the order of the features given.
 * Source: savedmodel-format.md §17.1; error texts are TensorFlow's.
 */
#ifndef STORAGE_EXAMPLE_H
#define STORAGE_EXAMPLE_H

#include "tensor/tensor.h"

struct arena;

enum example_form { EXAMPLE_SPARSE, EXAMPLE_DENSE, EXAMPLE_RAGGED };

struct example_feature {
    enum example_form form;
    struct bytes key;
    enum dtype dtype; /* DT_FLOAT, DT_INT64 or DT_STRING */
    struct shape
        shape; /* dense: of one example; its first dimension may be -1 (variable length, padded) */
    enum dtype splits_type; /* ragged: DT_INT32 or DT_INT64 */
};

struct example_spec;

/**
 * Copies the features; the order among those of one form is that of the outputs.
 *
 * Owner   *out is the caller's: example_spec_destroy
 * Errors  INVALID_ARGUMENT another dtype, of row splits too, a dense shape with unknown inner
 * dimensions; INTERNAL a key twice
 */
struct status example_spec_create(const struct example_feature *features, int count,
                                  struct example_spec **out);
void example_spec_destroy(struct example_spec *spec); /* accepts NULL */
int example_spec_outputs_count(const struct example_spec *spec);

/**
 * Parses a vector of serialized Examples, or one of rank 0 (then nothing has a batch dimension and
 * texts no name).
 *
 * Shapes  serialized [b] or []; names as serialized, or without elements, or NULL; defaults[i] for
 *         the i-th dense feature
 * Owner   outputs[example_spec_outputs_count] are the caller's, none after a failure; buffers are
 *         from `pool` (may be NULL). Strings point into `serialized` and `defaults`
 * Errors  INVALID_ARGUMENT with TensorFlow's texts; RESOURCE_EXHAUSTED
 * Threads safe
 */
struct status example_parse(const struct example_spec *spec, const struct tensor *serialized,
                            const struct tensor *names, const struct tensor *const *defaults,
                            struct tensor_pool *pool, struct tensor *outputs);

/* Makes one Example: zero-initialise, add features, take the bytes of `example_builder_end`,
 * finish. */
struct example_builder {
    struct buffer features, example;
};

void example_builder_add_floats(struct example_builder *builder, struct bytes key,
                                const float *values, size_t count);
void example_builder_add_int64s(struct example_builder *builder, struct bytes key,
                                const int64_t *values, size_t count);
void example_builder_add_strings(struct example_builder *builder, struct bytes key,
                                 const struct bytes *values, size_t count);
/* Forgets the features that were added since `builder->features` had `size` bytes. */
void example_builder_rewind(struct example_builder *builder, size_t size);
/* The serialized Example; valid until the builder changes. The next Example begins empty. */
struct bytes example_builder_end(struct example_builder *builder);
void example_builder_finish(struct example_builder *builder);

#endif
