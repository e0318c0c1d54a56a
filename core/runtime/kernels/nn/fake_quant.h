/* fake_quant: what FakeQuantWithMinMax* and their gradients share. */
#ifndef KERNELS_FAKE_QUANT_H
#define KERNELS_FAKE_QUANT_H

#include "runtime/kernel.h"

struct fake_quant_state {
    float least, most; /* numbers of the first and last step: 0 or 1, and 2^num_bits - 1 */
    float min, max;    /* of an op that has them as attributes */
};

/* Reads and checks the attributes into the kernel's state. */
struct status fake_quant_prepare(struct prepare_context *p);

/* The shifted range of one channel. */
struct fake_quant_steps {
    float min, max, size, zero;
};
/* Shifts the range so that 0 is a step. */
struct fake_quant_steps fake_quant_nudged(const struct fake_quant_state *state, float min,
                                          float max);

/* Have inputs `first` (min) and `first` + 1 (max) this rank and size? */
struct status fake_quant_check_range(struct kernel_context *k, int first, int rank, int64_t size);

#endif
