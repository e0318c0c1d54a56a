/*
 * line_printer: copies a task's output line by line, each prefixed by the task's name:
 *
 *     [worker 0] the line
 */
#ifndef TRAINER_LAUNCH_LINE_PRINTER_H
#define TRAINER_LAUNCH_LINE_PRINTER_H

#include <stdio.h>

#include "base/bytes.h"

struct line_printer {
    const char *name;
    FILE *out;
    struct buffer line; /* the incomplete last line */
};

/* Prints the complete lines. Splits lines beyond 64 KiB. */
void line_printer_add(struct line_printer *printer, const char *data, size_t size);

/* Prints an unfinished last line, and frees the memory. */
void line_printer_finish(struct line_printer *printer);

#endif
