/*
 * example_line: a curl command that works when it is pasted, for the operator to start with.
 */
#ifndef SERVER_EXAMPLE_LINE_H
#define SERVER_EXAMPLE_LINE_H

#include "server/models/servable.h"

/* Appends the command to `out`. It asks the default signature if its inputs are numbers, or else
 * another such signature. If there is none, it asks for the metadata. */
void example_line_print(const struct servable *servable, int port, struct buffer *out);

#endif
