#include "base/append_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

#define PENDING_MAX ((size_t)64 * 1024)

static struct status check_regular(int fd, const char *path)
{
    struct stat found;

    if (fstat(fd, &found) < 0)
        return status_errno(errno, "stat '%s'", path);
    if (!S_ISREG(found.st_mode))
        return status_error(STATUS_FAILED_PRECONDITION, "'%s' is not a regular file", path);
    return status_ok();
}

static struct status open_with(const char *path, int flags, struct append_file *out)
{
    /* Without O_NONBLOCK, opening a FIFO waits for a reader. */
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | flags, 0666);

    if (fd < 0)
        return status_errno(errno, "open '%s'", path);
    struct status status = check_regular(fd, path);
    if (!status_is_ok(status)) {
        close(fd);
        return status;
    }
    *out = (struct append_file){ .fd = fd, .path = xstrdup(path) };
    return status_ok();
}

struct status append_file_open(const char *path, struct append_file *out)
{
    return open_with(path, 0, out);
}

struct status append_file_create(const char *path, struct append_file *out)
{
    return open_with(path, O_EXCL, out);
}

struct status append_file_add(struct append_file *file, struct bytes piece)
{
    if (piece.size > 0)
        buffer_append(&file->pending, piece.data, piece.size);
    return file->pending.size >= PENDING_MAX ? append_file_flush(file) : status_ok();
}

struct status append_file_flush(struct append_file *file)
{
    size_t size = file->pending.size, done = 0;

    file->pending.size = 0;
    while (done < size) {
        ssize_t put = write(file->fd, file->pending.data + done, size - done);
        if (put < 0 && errno != EINTR)
            return status_errno(errno, "write '%s'", file->path);
        done += put > 0 ? (size_t)put : 0;
    }
    return status_ok();
}

struct status append_file_close(struct append_file *file)
{
    if (file->path == NULL)
        return status_ok();
    struct status status = append_file_flush(file);
    if (status_is_ok(status) && fsync(file->fd) < 0)
        status = status_errno(errno, "fsync '%s'", file->path);
    if (close(file->fd) < 0 && status_is_ok(status))
        status = status_errno(errno, "close '%s'", file->path);
    free(file->path);
    buffer_finish(&file->pending);
    *file = (struct append_file){ .fd = -1 };
    return status;
}
