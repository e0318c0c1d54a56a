/*
 * checkpoint_v1_writer: writes a checkpoint of format V1 in one file, byte for byte as TensorFlow's
 * op SaveSlices does. checkpoint_v1.c draws the format. Its table is sorted and begins with the
 * list of all tensors, so they are declared first, and their values are written in that order.
 *
 *     struct checkpoint_v1_writer *writer;
 *     TRY(checkpoint_v1_writer_open("export-00000-of-00001", tensors, count, &writer));
 *     TRY_OR(fail, checkpoint_v1_writer_append(writer, data, size));   once per chunk
 *     TRY_OR(fail, checkpoint_v1_writer_end(writer));                  moves to the next tensor
 *     return checkpoint_v1_writer_commit(writer);
 *     fail:
 *     checkpoint_v1_writer_abandon(writer);
 *
 * A tensor larger than CHECKPOINT_V1_SLICE_BYTES is split by rows into slices, as TensorFlow stores
 * a partitioned variable. The writer therefore needs memory only for a slice, and no value reaches
 * protobuf's limit of 2 GiB.
 */
#ifndef STORAGE_CHECKPOINT_V1_WRITER_H
#define STORAGE_CHECKPOINT_V1_WRITER_H

#include "tensor/tensor.h"

#define CHECKPOINT_V1_SLICE_BYTES ((size_t)64 << 20)
#define CHECKPOINT_V1_ROW_BYTES   ((size_t)128 << 20) /* the largest row that can be written */

struct checkpoint_v1_writer;

struct checkpoint_v1_tensor {
    const char *name;
    enum dtype dtype;
    struct shape shape;
};

/**
 * Owner   *out is the caller's: commit or abandon. `tensors`, sorted by name as bytes, must live as
 *         long
 * Errors  INVALID_ARGUMENT an empty name, a name twice, names out of order; UNIMPLEMENTED a type
 *         that the format does not have (uint32, uint64, bfloat16, quantized, …), or a row of more
 *         than CHECKPOINT_V1_ROW_BYTES; those of the file system
 */
struct status checkpoint_v1_writer_open(const char *path,
                                        const struct checkpoint_v1_tensor *tensors, size_t count,
                                        struct checkpoint_v1_writer **out);

/* Elements of the current tensor, a number or a bool, in host order. INVALID_ARGUMENT: more bytes
 * than its shape has. */
struct status checkpoint_v1_writer_append(struct checkpoint_v1_writer *writer, const void *data,
                                          size_t size);
/* INVALID_ARGUMENT: bytes are missing. */
struct status checkpoint_v1_writer_end(struct checkpoint_v1_writer *writer);

/* Writes the current tensor, also one of strings, and continues with the next. INVALID_ARGUMENT:
 * it has another dtype or shape than declared. */
struct status checkpoint_v1_writer_add(struct checkpoint_v1_writer *writer,
                                       const struct tensor *tensor);

/* Both free the writer. INVALID_ARGUMENT: tensors are missing. A failure leaves no file. */
struct status checkpoint_v1_writer_commit(struct checkpoint_v1_writer *writer);
void checkpoint_v1_writer_abandon(struct checkpoint_v1_writer *writer); /* accepts NULL */

#endif
