/*
 * bundle_writer: writes a checkpoint of one shard, byte for byte as TensorFlow does. Values are
 * passed in chunks, so it needs memory only for a chunk.
 *
 *     struct bundle_writer *writer;
 *     TRY(bundle_writer_open("variables/variables", &writer));
 *     TRY_OR(fail, bundle_writer_begin(writer, "dense/kernel", DT_FLOAT, &shape));
 *     TRY_OR(fail, bundle_writer_append(writer, data, size));     once per chunk
 *     TRY_OR(fail, bundle_writer_end(writer));
 *     return bundle_writer_commit(writer);
 *     fail:
 *     bundle_writer_abandon(writer);
 *
 * Tensors may come in any order: the data file has them in that order, the index is sorted by name.
 * Both files get temporary names, are fsynced, and are renamed. The index comes last: its rename is
 * the commit.
 *
 * Threads  one at a time for each writer
 */
#ifndef STORAGE_BUNDLE_WRITER_H
#define STORAGE_BUNDLE_WRITER_H

#include "tensor/tensor.h"

struct bundle_writer;

struct status bundle_writer_open(const char *prefix, struct bundle_writer **out);
/* As file_writer_bypass_cache, for the data. */
void bundle_writer_bypass_cache(struct bundle_writer *writer);

/* Numbers and bools only. INVALID_ARGUMENT: empty name, another type. */
struct status bundle_writer_begin(struct bundle_writer *writer, const char *name, enum dtype dtype,
                                  const struct shape *shape);
/* Elements in host order. INVALID_ARGUMENT: more bytes than the shape has. */
struct status bundle_writer_append(struct bundle_writer *writer, const void *data, size_t size);
/* INVALID_ARGUMENT: bytes are missing. */
struct status bundle_writer_end(struct bundle_writer *writer);

/* Writes a whole tensor, also one of strings. UNIMPLEMENTED: resource, variant. */
struct status bundle_writer_add(struct bundle_writer *writer, const char *name,
                                const struct tensor *tensor);

/* Frees the writer in any case. INVALID_ARGUMENT: a name twice. A failure leaves no file. */
struct status bundle_writer_commit(struct bundle_writer *writer);
void bundle_writer_abandon(struct bundle_writer *writer); /* accepts NULL */

#endif
