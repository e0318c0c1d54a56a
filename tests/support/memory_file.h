/* A file in memory with a path, for code that opens files. */
#ifndef TESTS_MEMORY_FILE_H
#define TESTS_MEMORY_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct memory_file {
    int fd;
    char path[64];
};

static inline struct memory_file memory_file_make(const void *data, size_t size)
{
    struct memory_file file = { .fd = memfd_create("test", 0) };

    if (file.fd < 0 || write(file.fd, data, size) != (ssize_t)size)
        abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

static inline void memory_file_close(struct memory_file *file)
{
    close(file->fd);
}

#endif
