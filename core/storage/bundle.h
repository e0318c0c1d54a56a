/*
 * bundle: a checkpoint of format V2: `P.index`, a table from names to entries, and
 * `P.data-NNNNN-of-MMMMM`, raw elements. If there is no P.index, checkpoints of format V1 (`P` or
 * `P-?????-of-?????`, tables that contain the values) are read through the same interface.
 *
 *     struct bundle *bundle;
 *     struct tensor weights;
 *     TRY(bundle_open("model/1/variables/variables", &bundle));
 *     TRY_OR(fail, bundle_read(bundle, "dense/kernel", &weights));
 *
 *     strings in a data file := varint size of each  masked checksum of sizes(4)  all characters
 *     checksum of strings    := over each size as u32 (u64 from 2^32 on), the 4 stored bytes, and
 *                               the characters
 */
#ifndef STORAGE_BUNDLE_H
#define STORAGE_BUNDLE_H

#include "storage/slice.h"

struct bundle;

struct bundle_entry {
    const char *name;
    enum dtype dtype;
    struct shape shape; /* of the whole tensor */
};

/**
 * Reads and checks the whole index. Opens the data files; bundle_read reads from them.
 *
 * Owner   *out is the caller's: bundle_close
 * Errors  NOT_FOUND no such files; DATA_LOSS damaged index; INVALID_ARGUMENT a version or a
 *         header that cannot be read
 */
struct status bundle_open(const char *prefix, struct bundle **out);
void bundle_close(struct bundle *bundle); /* accepts NULL */

/* Entries are sorted by name, as bytes. */
size_t bundle_count(const struct bundle *bundle);
const struct bundle_entry *bundle_at(const struct bundle *bundle, size_t index);
const struct bundle_entry *bundle_find(const struct bundle *bundle, const char *name); /* or NULL */

/* Do two tensors have the same type, shape and checksum? false if either is stored in slices. */
bool bundle_is_same_value(const struct bundle *bundle, const char *a, const char *b);

/**
 * Reads one tensor, assembles it if it is stored in slices, and verifies its checksums.
 *
 * Types   DT_VARIANT becomes DT_STRING, each element a serialized VariantTensorDataProto
 * Owner   elements and characters of strings in a buffer of out's own
 * Errors  NOT_FOUND `Key x not found in checkpoint`, or no data file; OUT_OF_RANGE the data file is
 *         too short; DATA_LOSS size, checksum or a bool that is neither 0 nor 1; INVALID_ARGUMENT
 *         slices that do not cover the tensor; RESOURCE_EXHAUSTED no memory
 * Threads safe: several may read one bundle
 */
struct status bundle_read(const struct bundle *bundle, const char *name, struct tensor *out);

/* The same for one tensor of RestoreV2: `spec` is its shape_and_slice ("": the whole tensor),
 * `dtype` the expected type. */
struct status bundle_restore(const struct bundle *bundle, const char *name, const char *spec,
                             enum dtype dtype, struct tensor *out);

/* A tensor of numbers that is read chunk by chunk, in native byte order. One that is stored in
 * slices, in format V1 or in another byte order is read as a whole. */
struct bundle_stream {
    const struct bundle *bundle;
    const struct bundle_piece *piece; /* NULL: `tensor` is the whole */
    uint64_t offset;
    uint32_t crc;
    struct tensor tensor;
    char *room; /* of a chunk */
};

/* Errors: as bundle_read; damage may be found only at the end. The stream is zeroed
 * or was used before; the bundle outlives it. */
struct status bundle_stream_begin(struct bundle_stream *stream, const struct bundle *bundle,
                                  const char *name);
/* The next bytes, valid until the next call; size 0: its end. */
struct status bundle_stream_next(struct bundle_stream *stream, struct bytes *chunk);
void bundle_stream_finish(struct bundle_stream *stream); /* accepts a zeroed one */

/* Prepares for reading these tensors, which will have the same lifetime: large ones are
 * allocated in one block of memory (tensor_block.h). Call it once. */
void bundle_expect(struct bundle *bundle, const char *const *names, int count);

#endif
