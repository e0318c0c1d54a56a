/*
 * scripts: the script of a character (Latin, Han, …) by ICU's numbers.
 */
#ifndef KERNELS_PLAIN_SCRIPTS_H
#define KERNELS_PLAIN_SCRIPTS_H

#include <stdint.h>

/* 103 for a code point without a character; -1 for a number that is no code point. */
int32_t script_of(int32_t code_point);

#endif
