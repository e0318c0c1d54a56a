/* fuzz: the functions that a target offers its driver: libFuzzer, replay.c or seeds.c. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* For seeds.c only. fuzz_print prints the input that the bytes stand for, for debugging;
 * fuzz_report prints totals of the inputs so far. */
void fuzz_print(const uint8_t *data, size_t size);
void fuzz_report(void);

#endif
