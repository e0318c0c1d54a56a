/*
 * http1_print: the head of an answer as text.
 */
#ifndef SERVER_HTTP1_PRINT_H
#define SERVER_HTTP1_PRINT_H

#include <time.h>

#include "server/http1.h"

#define HTTP1_PRINTED_MAX (HTTP1_HEADERS_MAX + 256)

/* "Sun, 22 Nov 2026 12:00:00 GMT", printed once a second. Zero-initialise it. */
struct http1_date {
    time_t shown;
    char text[32];
};

/* Prints into `out`, of HTTP1_PRINTED_MAX bytes; returns the end. `connection`: the value of that
 * header; NULL: it is left out. */
char *http1_print_head(char *out, const struct http1_answer *answer, const char *connection,
                       struct http1_date *date);

#endif
