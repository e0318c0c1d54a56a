/*
 * shell_value: a value of some shape as JSON, for a command that people paste into a shell.
 *
 *     [-1, 784]        [[$(yes 0.5 | head -n 784 | paste -sd, -)]]
 *     [-1, 28, 28, 1]  [[$(yes "[$(yes "[0.5]" | head -n 28 | paste -sd, -)]" | head -n 28 | …)]]
 */
#ifndef TENSOR_SHELL_VALUE_H
#define TENSOR_SHELL_VALUE_H

#include "base/bytes.h"
#include "tensor/shape.h"

/* Nested lists of one number, an unknown dimension as 1, to stand between double quotes: the shell
 * writes out what is long. */
void shell_value_print(const struct shape *shape, const char *number, struct buffer *out);

/**
 * The whole command: sends `body`, which expands to about `expanded` bytes, to the URL. What a
 * command line cannot carry goes through curl's standard input.
 */
void shell_command_print(struct bytes body, uint64_t expanded, const char *url, struct buffer *out);

/* Letters, digits and - _ . / : = only: nothing that a shell or a URL would take for more. */
bool shell_is_plain(const char *text);

/* One word of a command: as it is where that is plain, else quoted. */
void shell_word_print(const char *text, struct buffer *out);

/* Of what shell_value_print gives, as the shell expands it; UINT64_MAX: more than that. */
uint64_t shell_value_expanded(const struct shape *shape, const char *number);

#endif
