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

/* Prints nested lists of one number, for use between double quotes; the shell expands long lists.
 * An unknown dimension counts as 1. */
void shell_value_print(const struct shape *shape, const char *number, struct buffer *out);

/**
 * Prints the whole command, which sends `body` to the URL. `expanded` is the size of the body after
 * the shell has expanded it, roughly: if it is too large for a command line, curl reads it from its
 * standard input.
 */
void shell_command_print(struct bytes body, uint64_t expanded, const char *url, struct buffer *out);

/* Only letters, digits and - _ . / : = , which neither a shell nor a URL interprets? */
bool shell_is_plain(const char *text);

/* Prints one word of a command, quoted unless it is plain. */
void shell_word_print(const char *text, struct buffer *out);

/* The size of what shell_value_print prints, after the shell has expanded it; UINT64_MAX: at least
 * that much. */
uint64_t shell_value_expanded(const struct shape *shape, const char *number);

#endif
