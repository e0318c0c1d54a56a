/*
 * log: lines for the operator on stderr, each in one write, so that the lines of threads and
 * processes do not mix. Only programs (main.c) and request edges log; shared code returns a status
 * instead.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/status.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_NONE };

#define LOG_LEVEL_NAMES "debug info warning error none" /* the choices of a --log_level flag */

/* Lines below this level are not printed. The default is LOG_INFO. Set it before threads start. */
void log_set_level(enum log_level level);
/* A prefix for each line, such as "worker 3: "; copied. Threads: as above. */
void log_set_name(const char *name);
bool log_level_parse(const char *name, enum log_level *out);
/* The milliseconds that a line waits while stderr takes none, because it is a pipe or a terminal
 * that nobody reads. Lines that find no room are lost, and a later line says how many. After a lost
 * line, others do not wait until there is room again. The default, -1, is to wait without end.
 * Threads: as above. */
void log_set_patience(int ms);

/* Prints "2026-01-02 03:04:05.678 I text". Control characters in the text, such as a newline that a
 * peer sent, become spaces. */
void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* Writes to stderr as log_line does, also from a signal handler. False: there was no room. */
bool log_write(const char *text, size_t size);

/* The start of a line, "2026-01-02 03:04:05.678 I worker 3: ", for lines on another stream. */
#define LOG_HEAD_MAX 128
void log_head(enum log_level level, char out[LOG_HEAD_MAX]);

#define log_debug(...)   log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)    log_line(LOG_INFO, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_error(...)   log_line(LOG_ERROR, __VA_ARGS__)

#endif
