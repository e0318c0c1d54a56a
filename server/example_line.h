/*
 * example_line: a curl command that works when it is pasted, for the operator to start with.
 *
 *     example_line_print(servable, "http://localhost:8501", &line);
 */
#ifndef SERVER_EXAMPLE_LINE_H
#define SERVER_EXAMPLE_LINE_H

#include "server/models/servable.h"

/* Appends the command to `out`. It asks the default signature if its inputs are numbers, or else
 * another such signature. If there is none, it asks for the metadata. */
void example_line_print(const struct servable *servable, const char *server, struct buffer *out);

#endif
