/*
 * example_line: prints a curl command that an operator can paste to try the server.
 *
 *     example_line_print(servable, "http://localhost:8501", &line);
 */
#ifndef SERVER_EXAMPLE_LINE_H
#define SERVER_EXAMPLE_LINE_H

#include "server/models/servable.h"

/* Appends the command to `out`. It uses the default signature if its inputs are numbers, or else
 * another such signature. Without one, it requests the metadata. */
void example_line_print(const struct servable *servable, const char *server, struct buffer *out);

#endif
