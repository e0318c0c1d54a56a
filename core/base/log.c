#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"

static enum log_level level_min = LOG_INFO;

static char speaker[48];

static const char *const names[] = { "debug", "info", "warning", "error", "none" };

void log_set_level(enum log_level level)
{
    level_min = level;
}

void log_set_name(const char *name)
{
    snprintf(speaker, sizeof speaker, *name != '\0' ? "%s: " : "%s", name);
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
    /* If stderr cannot be written, there is no place to report it. */
    ssize_t written = write(STDERR_FILENO, line, size);
    (void)written;
    if (line != local)
        free(line);
}
