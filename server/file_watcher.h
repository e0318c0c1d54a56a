/*
 * file_watcher: reads files again when they change: certificates, tokens. A thread looks at them
 * once a second, so that a slow disk does not hold up requests.
 */
#ifndef SERVER_FILE_WATCHER_H
#define SERVER_FILE_WATCHER_H

#include "base/clock.h"
#include "base/status.h"

/* Zero-initialise it and set the first four. */
struct watched_file {
    const char *flag; /* that named the file, for the log: "--ssl_config_file" */
    const char *path;
    /* Reads it again. A failure is logged, and changes nothing; it is tried again for a minute. In
     * the watcher's thread. */
    struct status (*reload)(void *context);
    void *context;
    uint64_t seen; /* a fingerprint of its inode, size and times */
    int retries;   /* that are left of a reload that failed */
};

struct file_watcher;

/* Before the caller reads the file for the first time: a change from then on is seen. */
void watched_file_note(struct watched_file *file);

/* Watches the files until file_watcher_destroy. Owner: `files` stays the caller's. */
struct status file_watcher_create(struct watched_file *files, size_t count, struct clock *clock,
                                  struct file_watcher **out);
void file_watcher_destroy(struct file_watcher *watcher); /* accepts NULL */

#endif
