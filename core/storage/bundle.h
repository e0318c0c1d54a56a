/*
 * bundle: a checkpoint of format V2: `P.index`, a table of names to entries, and
 * `P.data-NNNNN-of-MMMMM`, raw elements. Where P.index is not there, checkpoints of format V1 (`P`
 * or `P-?????-of-?????`, tables with the values in them) are read through the same interface.
 *
 *     struct bundle *bundle;
 *     TRY(bundle_open("model/1/variables/variables", &bundle));
 *     struct tensor weights;
 *     TRY_OR(fail, bundle_read(bundle, "dense/kernel", &weights));
 *
 *     data file of strings: varint size of each, masked checksum of the sizes(4), all characters
 *     checksum of strings:  over each size as u32 (u64 from 2^32 on), the 4 stored bytes, the
 * characters
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
 * Reads the whole index and checks it. Data files are opened here and read when a tensor is asked
 * for.
 *
 * Owner   *out is the caller's: bundle_close
 * Errors  NOT_FOUND no such files; DATA_LOSS damaged index; INVALID_ARGUMENT a version or a header
 * that cannot be read
 */
struct status bundle_open(const char *prefix, struct bundle **out);
void bundle_close(struct bundle *bundle); /* accepts NULL */

/* Entries in order of their names' bytes. */
size_t bundle_count(const struct bundle *bundle);
const struct bundle_entry *bundle_at(const struct bundle *bundle, size_t index);
const struct bundle_entry *bundle_find(const struct bundle *bundle, const char *name); /* or NULL */
int bundle_shards_count(const struct bundle *bundle);

/**
 * Reads one tensor, put together where it is stored in slices, and verifies its checksums.
 *
 * Owner   elements and characters of strings in a buffer of out's own. Elements of DT_VARIANT come
 * as DT_STRING, each a serialized VariantTensorDataProto. Errors  NOT_FOUND `Key x not found in
 * checkpoint`, or the data file; OUT_OF_RANGE the data file is too short; DATA_LOSS size or
 * checksum; INVALID_ARGUMENT slices that do not cover it; RESOURCE_EXHAUSTED Threads safe: any
 * number may read one bundle
 */
struct status bundle_read(const struct bundle *bundle, const char *name, struct tensor *out);

/* The same for one tensor of RestoreV2: `spec` is its shape_and_slice ("" means all), `dtype` what
 * is expected. */
struct status bundle_restore(const struct bundle *bundle, const char *name, const char *spec,
                             enum dtype dtype, struct tensor *out);

#endif
