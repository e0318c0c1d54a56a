/*
 * example_line: a curl command that works as pasted, for the operator to begin with.
 */
#ifndef SERVER_EXAMPLE_LINE_H
#define SERVER_EXAMPLE_LINE_H

#include "server/servable.h"

/* The default signature where its inputs are numbers, else another such; else a look at the
 * metadata. In `out`. */
void example_line_print(const struct servable *servable, int port, struct buffer *out);

#endif
