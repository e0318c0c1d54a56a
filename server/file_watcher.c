#include "server/file_watcher.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/log.h"

struct file_watcher {
    struct watched_file *files;
    size_t count;
    struct clock *clock;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed, ended_changed;
    bool stopping, ended;
};

#define RETRIES 60 /* of a failed reload, one per check */

/* Timeout for a disk that does not respond. */
#define END_NS (5 * NS_PER_S)

/* Follows links: Kubernetes replaces a secret by moving a link. */
static uint64_t fingerprint(const char *path)
{
    struct stat info;
    if (stat(path, &info) < 0)
        return 0;
    const int64_t facts[] = { (int64_t)info.st_dev, (int64_t)info.st_ino, info.st_size,
                              info.st_mtim.tv_sec,  info.st_mtim.tv_nsec, info.st_ctim.tv_sec,
                              info.st_ctim.tv_nsec };
    return bytes_hash((struct bytes){ (const char *)facts, sizeof facts });
}

void watched_file_note(struct watched_file *file)
{
    file->seen = fingerprint(file->path);
}

/* Reloads the file if it has changed. A file that is read in the middle of a copy changes once
 * more. A reload may also fail for other temporary reasons: no memory or descriptors, or a
 * referenced file that is written later. */
static void look(struct watched_file *file)
{
    uint64_t seen = fingerprint(file->path);
    bool changed = seen != file->seen;
    if (!changed && file->retries == 0)
        return;
    file->seen = seen;
    file->retries = changed ? RETRIES : file->retries - 1;
    struct status status = file->reload(file->context);
    if (status_is_ok(status)) {
        log_info("%s=%s: has changed, and was read again", file->flag, file->path);
        file->retries = 0;
    } else if (changed) {
        log_error("%s=%s: %s: what was read before stays in use", file->flag, file->path,
                  status.message);
    }
}

static void *watch(void *context)
{
    struct file_watcher *watcher = context;
    pthread_mutex_lock(&watcher->lock);
    while (!watcher->stopping) {
        pthread_mutex_unlock(&watcher->lock);
        for (size_t i = 0; i < watcher->count; i++)
            look(&watcher->files[i]);
        pthread_mutex_lock(&watcher->lock);
        if (!watcher->stopping)
            clock_wait(watcher->clock, &watcher->changed, &watcher->lock,
                       clock_now_ns(watcher->clock) + NS_PER_S);
    }
    watcher->ended = true;
    pthread_cond_signal(&watcher->ended_changed);
    pthread_mutex_unlock(&watcher->lock);
    return NULL;
}

struct status file_watcher_create(struct watched_file *files, size_t count, struct clock *clock,
                                  struct file_watcher **out)
{
    struct file_watcher *watcher = zalloc(sizeof *watcher);
    watcher->files = files;
    watcher->count = count;
    watcher->clock = clock;
    pthread_mutex_init(&watcher->lock, NULL);
    clock_cond_init(&watcher->changed);
    clock_cond_init(&watcher->ended_changed);
    int error = pthread_create(&watcher->thread, NULL, watch, watcher);
    if (error != 0) {
        free(watcher);
        return status_errno(error, "start the thread that watches files");
    }
    *out = watcher;
    return status_ok();
}

void file_watcher_destroy(struct file_watcher *watcher)
{
    if (watcher == NULL)
        return;
    pthread_mutex_lock(&watcher->lock);
    watcher->stopping = true;
    pthread_cond_signal(&watcher->changed);
    int64_t deadline_ns = clock_now_ns(clock_monotonic()) + END_NS;
    while (!watcher->ended &&
           clock_wait(clock_monotonic(), &watcher->ended_changed, &watcher->lock, deadline_ns))
        ;
    bool ended = watcher->ended;
    pthread_mutex_unlock(&watcher->lock);
    if (!ended) {
        pthread_detach(watcher->thread); /* its memory stays until the process ends */
        return;
    }
    pthread_join(watcher->thread, NULL);
    pthread_cond_destroy(&watcher->ended_changed);
    pthread_cond_destroy(&watcher->changed);
    pthread_mutex_destroy(&watcher->lock);
    free(watcher);
}
