/* forest_file: reads a forest from the directory of a model. */
#ifndef KERNELS_FORESTS_FOREST_FILE_H
#define KERNELS_FORESTS_FOREST_FILE_H

#include "runtime/kernel.h"
#include "runtime/kernels/forests/forest.h"

/**
 * Reads the files whose names begin with `prefix`, and counts the memory of the forest as that of a
 * table.
 *
 * Owner   *out: the caller, forest_destroy
 * Errors  of read_model_file, decompress and forest_parse
 */
struct status forest_file_read(struct kernel_context *k, struct bytes directory,
                               struct bytes prefix, bool gives_leaves, struct forest **out);

#endif
