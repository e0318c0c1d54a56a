/*
 * file_watcher: reloads files when they change: certificates, tokens. A separate thread checks them
 * once a second, so that a slow disk does not delay requests.
 */
#ifndef SERVER_FILE_WATCHER_H
#define SERVER_FILE_WATCHER_H

#include "base/clock.h"
#include "base/status.h"

/* Zero-initialise it and set the first four fields. */
struct watched_file {
    const char *flag; /* flag that named the file, for the log: "--ssl_config_file" */
    const char *path;
    /* Reads the file again, in the watcher's thread. A failure is logged and changes nothing; it
     * is retried for a minute. */
    struct status (*reload)(void *context);
    void *context;
    uint64_t seen; /* a fingerprint of its inode, size and times */
    int retries;   /* retries left after a failed reload */
};

struct file_watcher;

/* Call it before the file is first read, so that later changes are noticed. */
void watched_file_note(struct watched_file *file);

/* Watches the files until file_watcher_destroy. Owner: `files` stays the caller's. */
struct status file_watcher_create(struct watched_file *files, size_t count, struct clock *clock,
                                  struct file_watcher **out);
void file_watcher_destroy(struct file_watcher *watcher); /* accepts NULL */

#endif
