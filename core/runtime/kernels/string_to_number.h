/*
 * string_to_number: reads a number in a text, as TensorFlow's StringToNumber and DecodeCSV do:
 * white space may surround it, and nothing else.
 */
#ifndef KERNELS_STRING_TO_NUMBER_H
#define KERNELS_STRING_TO_NUMBER_H

#include "runtime/kernel.h"

/* White space, as TensorFlow's ops on texts see it. */
static inline bool is_white_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Reads element i of an int32, int64, uint32, uint64, float or double tensor. *valid is false if
 * the text is no number of that type. RESOURCE_EXHAUSTED: no memory for a copy of the text. */
struct status string_to_number(struct kernel_context *k, struct bytes text, struct tensor *out,
                               int64_t i, bool *valid);

#endif
