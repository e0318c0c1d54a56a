#include "server/inference/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/characters.h"
#include "base/file.h"

#define SUFFIX      ".tfrecord"
#define SECOND_SIZE (sizeof "20260102-030405" - 1)
#define RETRY_NS    NS_PER_S
#define NAMES_MAX   1000 /* that other processes may have used in the same second */

void log_file_close(struct log_file *file)
{
    if (file->path == NULL)
        return;
    close(file->fd);
    free(file->path);
    file->path = NULL;
}

/* Does the text begin with the pattern, in which a 0 matches any digit? */
static bool begins(const char *text, const char *pattern)
{
    for (; *pattern != '\0'; text++, pattern++)
        if (*pattern == '0' ? !is_digit(*text) : *text != *pattern)
            return false;
    return true;
}

/* Matches only names that open_next makes: m-00001-of-00002.tfrecord is not a log, and the log
 * m-x has its own files. */
static bool is_ours(const char *name, const char *stem)
{
    static const char pattern[] = "-00000000-000000-000000";
    size_t stem_size = strlen(stem);
    if (strncmp(name, stem, stem_size) != 0 || !begins(name + stem_size, pattern))
        return false;
    const char *rest = name + stem_size + strlen(pattern);
    return strcmp(rest + strspn(rest, "0123456789"), SUFFIX) == 0;
}

/* Our files, the oldest first: their names sort by time. */
struct log_names {
    const char *directory;
    size_t stem_size;
    const char **names;
    size_t count;
};

static struct log_names list_names(const struct log_file *file, struct arena *arena)
{
    const char *slash = strrchr(file->prefix, '/');
    const char *stem = slash != NULL ? slash + 1 : file->prefix;
    struct log_names ours = { file_parent(arena, file->prefix), strlen(stem), NULL, 0 };
    struct file_list entries;
    if (!status_is_ok(file_list(ours.directory, arena, &entries)))
        return ours;
    ours.names = entries.names;
    for (size_t i = 0; i < entries.count; i++)
        if (is_ours(entries.names[i], stem))
            ours.names[ours.count++] = entries.names[i];
    return ours;
}

/* Chooses the time and the number of the next name. The number orders names of the same second,
 * even after the first were removed. If the clock was set back, the newest file's second is
 * kept: otherwise the next one would sort, and be deleted, as the oldest. */
static void choose_name(struct log_file *file, struct arena *arena, char second[SECOND_SIZE + 1])
{
    struct tm time_utc;
    time_t now = time(NULL);
    strftime(second, SECOND_SIZE + 1, "%Y%m%d-%H%M%S", gmtime_r(&now, &time_utc));
    struct log_names ours = list_names(file, arena);
    if (ours.count == 0)
        return;
    const char *newest = ours.names[ours.count - 1] + ours.stem_size + 1;
    if (strncmp(newest, second, SECOND_SIZE) < 0)
        return;
    memcpy(second, newest, SECOND_SIZE);
    unsigned long number = strtoul(newest + SECOND_SIZE + 1, NULL, 10);
    if (number > file->number && number < UINT_MAX)
        file->number = (unsigned)number;
}

static struct status open_next(struct log_file *file, struct arena *arena)
{
    char second[SECOND_SIZE + 1];
    choose_name(file, arena, second);
    for (int i = 0;; i++) {
        const char *path =
            arena_printf(arena, "%s-%s-%06u" SUFFIX, file->prefix, second, ++file->number);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0 && errno == EEXIST && i < NAMES_MAX)
            continue;
        if (fd < 0)
            return status_errno(errno, "open '%s'", path);
        file->fd = fd;
        file->path = xstrdup(path);
        file->size = 0;
        return status_ok();
    }
}

static void remove_oldest(const struct log_file *file, int files_max, struct arena *arena)
{
    if (files_max <= 0)
        return;
    struct log_names ours = list_names(file, arena);
    for (size_t i = 0; i + (size_t)files_max < ours.count; i++)
        unlink(file_join(arena, ours.directory, ours.names[i]));
}

static bool is_old(const struct log_file *file, const struct log_file_limits *limits,
                   int64_t now_ns)
{
    return limits->file_ns_max > 0 && now_ns - file->opened_ns >= limits->file_ns_max;
}

void log_file_age(struct log_file *file, const struct log_file_limits *limits, int64_t now_ns)
{
    if (file->path != NULL && is_old(file, limits, now_ns))
        log_file_close(file);
}

static struct status open_if_needed(struct log_file *file, const struct log_file_limits *limits,
                                    size_t more, int64_t now_ns)
{
    bool full =
        file->path != NULL && file->size > 0 && file->size + (int64_t)more > limits->file_bytes_max;
    if (full)
        log_file_close(file);
    log_file_age(file, limits, now_ns);
    if (file->path != NULL)
        return status_ok();
    struct arena *arena = arena_create(0);
    struct status status = open_next(file, arena);
    if (status_is_ok(status)) {
        file->opened_ns = now_ns;
        remove_oldest(file, limits->files_max, arena);
    }
    arena_destroy(arena);
    return status;
}

static struct status write_all(struct log_file *file, struct bytes records)
{
    for (size_t done = 0; done < records.size;) {
        ssize_t put = write(file->fd, records.data + done, records.size - done);
        if (put < 0 && errno != EINTR) {
            struct status status = status_errno(errno, "write '%s'", file->path);
            if (ftruncate(file->fd, file->size) < 0)
                log_file_close(file); /* it ends with half a record, so the next ones go
                                       * elsewhere */
            else
                lseek(file->fd, file->size, SEEK_SET);
            return status;
        }
        done += put > 0 ? (size_t)put : 0;
    }
    file->size += (int64_t)records.size;
    return status_ok();
}

struct status log_file_write(struct log_file *file, const struct log_file_limits *limits,
                             struct bytes records, int64_t now_ns)
{
    if (now_ns < file->retry_ns)
        return status_error(STATUS_UNAVAILABLE, "waiting for '%s'", file->prefix);
    struct status status = open_if_needed(file, limits, records.size, now_ns);
    if (status_is_ok(status))
        status = write_all(file, records);
    file->retry_ns = status_is_ok(status) ? 0 : now_ns + RETRY_NS;
    return status;
}
