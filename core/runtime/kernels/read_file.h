/* read_file: what a file of the model holds, for ops that read files. */
#ifndef KERNELS_READ_FILE_H
#define KERNELS_READ_FILE_H

#include "runtime/kernel.h"

/**
 * Owner   *out lives in the run's arena
 * Errors  of resources_real_path: an op reads only in the model's directory; RESOURCE_EXHAUSTED the
 *         file is larger than the run may hold
 */
struct status read_model_file(struct kernel_context *k, struct bytes name, struct bytes *out);

#endif
