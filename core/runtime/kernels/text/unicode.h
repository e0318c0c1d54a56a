/*
 * unicode: an attribute that is a character, as several ops on texts have one.
 */
#ifndef KERNELS_TEXT_UNICODE_H
#define KERNELS_TEXT_UNICODE_H

#include "graph/graph.h"

/* INVALID_ARGUMENT: the number is none of Unicode. */
struct status node_attr_character(const struct node *node, const char *name, int32_t *out);

#endif
