#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool find_file_system(const char *path, struct statvfs *out)
{
    char parent[PATH_MAX];

    snprintf(parent, sizeof parent, "%s", path);
    while (statvfs(parent, out) != 0) {
        char *slash = strrchr(parent, '/');
        if (errno != ENOENT || strcmp(parent, ".") == 0)
            return false;
        if (slash == NULL)
            snprintf(parent, sizeof parent, ".");
        else
            slash[slash == parent] = '\0';
    }
    return true;
}

/* Without a limit, RLIM_INFINITY is larger than any size. */
static struct status check_limit(const char *path, uint64_t size_bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || size_bytes <= limit.rlim_cur)
        return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "'%s' takes a file of %" PRIu64 " KB, and this process may write files of "
                        "%" PRIu64 " KB (ulimit -f)",
                        path, (size_bytes + 1023) / 1024, (uint64_t)limit.rlim_cur / 1024);
}

struct status file_check_space(const char *path, uint64_t size_bytes)
{
    struct statvfs disk;

    TRY(check_limit(path, size_bytes));
    if (!find_file_system(path, &disk))
        return status_ok();
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (size_bytes <= free_bytes)
        return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "'%s' takes %" PRIu64 " KB, and its disk has %" PRIu64 " KB left", path,
                        (size_bytes + 1023) / 1024, free_bytes / 1024);
}

bool file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool file_is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool file_is_link(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

struct status file_sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return status_errno(errno, "open directory '%s'", path);
    struct status status = status_ok();
    if (fsync(fd) < 0 && errno != EINVAL) /* some file systems cannot fsync a directory */
        status = status_errno(errno, "fsync directory '%s'", path);
    close(fd);
    return status;
}

struct status file_make_directories(const char *path)
{
    char *copy = xstrdup(path);
    struct status status = status_ok();
    for (char *at = copy + 1; status_is_ok(status); at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(copy, 0777) < 0) {
            int error = errno;
            if (!file_is_directory(copy))
                status = status_errno(error == EEXIST ? ENOTDIR : error, "mkdir '%s'", copy);
        }
        *at = end;
        if (end == '\0')
            break;
    }
    free(copy);
    return status;
}

struct status file_list(const char *path, struct arena *arena, struct file_list *out)
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return status_errno(errno, "open directory '%s'", path);
    const char **names = NULL;
    size_t count = 0, capacity = 0;
    struct dirent *entry;
    while ((errno = 0, entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (count == capacity)
            names = xrealloc(names, (capacity = capacity ? 2 * capacity : 16) * sizeof *names);
        names[count++] = arena_strdup(arena, entry->d_name);
    }
    struct status status = status_ok();
    if (errno != 0)
        status = status_errno(errno, "read directory '%s'", path);
    closedir(directory);
    if (status_is_ok(status)) {
        texts_sort(names, count);
        out->names = ARENA_ARRAY(arena, const char *, count);
        if (count > 0)
            memcpy(out->names, names, count * sizeof *names);
        out->count = count;
    }
    free(names);
    return status;
}

struct status file_remove_tree(const char *path)
{
    struct stat info;
    if (lstat(path, &info) < 0)
        return errno == ENOENT ? status_ok() : status_errno(errno, "remove '%s'", path);
    if (!S_ISDIR(info.st_mode)) {
        if (unlink(path) < 0 && errno != ENOENT)
            return status_errno(errno, "remove '%s'", path);
        return status_ok();
    }

    struct arena *arena = arena_create(0);
    struct file_list entries = { 0 };
    struct status status = file_list(path, arena, &entries);
    for (size_t i = 0; i < entries.count && status_is_ok(status); i++)
        status = file_remove_tree(file_join(arena, path, entries.names[i]));
    arena_destroy(arena);
    if (status_is_ok(status) && rmdir(path) < 0 && errno != ENOENT)
        status = status_errno(errno, "remove '%s'", path);
    return status;
}

struct status file_check_local(const char *path)
{
    size_t scheme = strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789+.-");

    if (scheme == 0 || strncmp(path + scheme, "://", 3) != 0)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "File system scheme '%.*s' not implemented (file: '%s')", (int)scheme, path,
                        path);
}

const char *file_path_of_uri(const char *path)
{
    static const char scheme[] = "file://";
    bool is_uri = strncmp(path, scheme, sizeof scheme - 1) == 0;
    const char *after_host = is_uri ? strchr(path + sizeof scheme - 1, '/') : NULL;
    return after_host != NULL ? after_host : path;
}

bool file_tree_is_empty(const char *path)
{
    struct stat info;
    if (lstat(path, &info) < 0 || !S_ISDIR(info.st_mode))
        return false;
    struct arena *arena = arena_create(0);
    struct file_list entries = { 0 };
    bool bare = status_is_ok(file_list(path, arena, &entries));
    for (size_t i = 0; i < entries.count && bare; i++)
        bare = file_tree_is_empty(file_join(arena, path, entries.names[i]));
    arena_destroy(arena);
    return bare;
}

void file_remove_empty_tree(const char *path)
{
    struct arena *arena = arena_create(0);
    struct file_list entries = { 0 };
    status_ignore(file_list(path, arena, &entries));
    for (size_t i = 0; i < entries.count; i++)
        file_remove_empty_tree(file_join(arena, path, entries.names[i]));
    arena_destroy(arena);
    rmdir(path);
}

#define COMPARE_BYTES ((size_t)16 << 10)

static bool same_bytes(const struct file_reader *a, const struct file_reader *b)
{
    char left[COMPARE_BYTES], right[COMPARE_BYTES];
    bool same = a->size == b->size;

    for (uint64_t at = 0; same && at < a->size; at += COMPARE_BYTES) {
        size_t rest = a->size - at < COMPARE_BYTES ? (size_t)(a->size - at) : COMPARE_BYTES;
        same = status_is_ok(file_reader_get(a, at, left, rest)) &&
               status_is_ok(file_reader_get(b, at, right, rest)) && memcmp(left, right, rest) == 0;
    }
    return same;
}

static bool same_files(const char *a, const char *b)
{
    struct file_reader left = { 0 }, right = { 0 };

    bool same = status_is_ok(file_reader_open(a, &left)) &&
                status_is_ok(file_reader_open(b, &right)) && same_bytes(&left, &right);
    file_reader_close(&left);
    file_reader_close(&right);
    return same;
}

static bool same_directories(const char *a, const char *b)
{
    struct arena *arena = arena_create(0);
    struct file_list left, right;
    bool same = status_is_ok(file_list(a, arena, &left)) &&
                status_is_ok(file_list(b, arena, &right)) && left.count == right.count;

    for (size_t i = 0; same && i < left.count; i++)
        same = strcmp(left.names[i], right.names[i]) == 0 &&
               file_contents_equal(file_join(arena, a, left.names[i]),
                                   file_join(arena, b, right.names[i]));
    arena_destroy(arena);
    return same;
}

bool file_contents_equal(const char *a, const char *b)
{
    bool directory = file_is_directory(a);

    if (directory != file_is_directory(b))
        return false;
    return directory ? same_directories(a, b) : same_files(a, b);
}
