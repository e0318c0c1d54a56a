/* fuzz: what a target gives to its driver: libFuzzer, or replay.c, or seeds.c. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only for seeds.c. What the bytes stand for, for the one who looks for a bug; and what was done.
 */
void fuzz_print(const uint8_t *data, size_t size);
void fuzz_report(void);

#endif
