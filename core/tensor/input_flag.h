/*
 * input_flag: the value of a command's --input: NAME=FILE.npy, or NAME=JSON.
 */
#ifndef TENSOR_INPUT_FLAG_H
#define TENSOR_INPUT_FLAG_H

#include "tensor/tensor.h"

struct input_flag {
    const char *name;
    const char *value; /* borrowed from the text */
};

/* Splits the text at its first "="; the name lives in `arena`. INVALID_ARGUMENT: there is no "=",
 * or no name in front of it. */
struct status input_flag_parse(const char *text, struct arena *arena, struct input_flag *out);

/* Is the value a file, which has a dtype of its own, and not JSON, which has none? */
bool input_flag_is_file(const struct input_flag *input);

/**
 * Reads the tensor. `dtype` is that of JSON; a file may have `max_bytes`.
 *
 * Owner   *out is the caller's, its strings lie in `arena`
 * Errors  those of npy_read_file and value_from_json, with the flag in front
 */
struct status input_flag_read(const struct input_flag *input, enum dtype dtype, size_t max_bytes,
                              struct arena *arena, struct tensor *out);

#endif
