#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"

static enum log_level level_min = LOG_INFO;

static char speaker[48];

static int patience_ms = -1;
static _Atomic int lost; /* lines dropped since the last report of them */

/* Taken from the poll to the write: otherwise two threads may see the same room in the pipe, and
 * the second one blocks for ever. Only with patience. log_write does not take it, because a signal
 * may interrupt the thread that has it. */
static bool room_taken;
static pthread_mutex_t room_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t room_given = PTHREAD_COND_INITIALIZER;

static const char *const names[] = { "debug", "info", "warning", "error", "none" };

void log_set_level(enum log_level level)
{
    level_min = level;
}

void log_set_name(const char *name)
{
    snprintf(speaker, sizeof speaker, *name != '\0' ? "%s: " : "%s", name);
}

void log_set_patience(int ms)
{
    patience_ms = ms;
}

bool log_level_parse(const char *name, enum log_level *out)
{
    int found = BYTES_FIND(bytes_of(name), names);
    if (found >= 0)
        *out = (enum log_level)found;
    return found >= 0;
}

static int print_head(enum log_level level, char *out, size_t size)
{
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &parts);
    size_t used = strftime(out, size, "%Y-%m-%d %H:%M:%S", &parts);
    return (int)used + snprintf(out + used, size - used, ".%03ld %c %s", now.tv_nsec / 1000000,
                                "DIWE"[level], speaker);
}

void log_head(enum log_level level, char out[LOG_HEAD_MAX])
{
    print_head(level, out, LOG_HEAD_MAX);
}

static int wait_ms(void)
{
    return atomic_load(&lost) > 0 ? 0 : patience_ms;
}

/* A pipe with room takes PIPE_BUF bytes without waiting. */
static bool has_room(void)
{
    struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
    int count, timeout_ms = wait_ms();
    do
        count = poll(&out, 1, timeout_ms);
    while (count < 0 && errno == EINTR);
    return count != 0;
}

bool log_write(const char *text, size_t size)
{
    size_t most = patience_ms < 0 ? size : PIPE_BUF;
    while (size > 0) {
        if (patience_ms >= 0 && !has_room())
            return false;
        /* If stderr cannot be written, there is no place to report it. */
        ssize_t written = write(STDERR_FILENO, text, size < most ? size : most);
        if (written <= 0)
            return true;
        text += written;
        size -= (size_t)written;
    }
    return true;
}

static void report_lost(void)
{
    char line[LOG_HEAD_MAX + 80];
    int count = atomic_exchange(&lost, 0);
    if (count == 0)
        return;
    int size = print_head(LOG_WARNING, line, LOG_HEAD_MAX);
    size += snprintf(line + size, 80, "%d lines of this log are lost: nobody read it\n", count);
    if (!log_write(line, (size_t)size))
        atomic_fetch_add(&lost, count);
}

/* False: timed out. The thread that has it is blocked, because another process filled the pipe
 * after its poll. */
static bool take_room(void)
{
    int64_t end_ns = clock_deadline_ns(clock_monotonic(), wait_ms());
    struct timespec end = { .tv_sec = (time_t)(end_ns / NS_PER_S),
                            .tv_nsec = (long)(end_ns % NS_PER_S) };
    int error = 0;
    pthread_mutex_lock(&room_lock);
    while (room_taken && error == 0)
        error = pthread_cond_clockwait(&room_given, &room_lock, CLOCK_MONOTONIC, &end);
    bool taken = !room_taken;
    room_taken = true;
    pthread_mutex_unlock(&room_lock);
    return taken;
}

static void give_room(void)
{
    pthread_mutex_lock(&room_lock);
    room_taken = false;
    pthread_cond_signal(&room_given);
    pthread_mutex_unlock(&room_lock);
}

static void put_if_read(const char *line, size_t size)
{
    if (!take_room()) {
        atomic_fetch_add(&lost, 1);
        return;
    }
    if (atomic_load(&lost) > 0 && has_room())
        report_lost();
    if (!log_write(line, size))
        atomic_fetch_add(&lost, 1);
    give_room();
}

void log_line(enum log_level level, const char *format, ...)
{
    char local[1024], head[LOG_HEAD_MAX];
    va_list arguments;
    if (level < level_min || level >= LOG_NONE)
        return;

    int head_size = print_head(level, head, sizeof head);
    va_start(arguments, format);
    int body = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (body < 0)
        return;
    size_t size = (size_t)head_size + (size_t)body + 1; /* the NUL becomes the newline */
    char *line = size <= sizeof local ? local : malloc(size);
    if (line == NULL)
        return;
    memcpy(line, head, (size_t)head_size);
    va_start(arguments, format);
    vsnprintf(line + head_size, (size_t)body + 1, format, arguments);
    va_end(arguments);
    for (char *at = line; at < line + size - 1; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = ' ';
    line[size - 1] = '\n';
    if (patience_ms < 0)
        log_write(line, size);
    else
        put_if_read(line, size);
    if (line != local)
        free(line);
}
