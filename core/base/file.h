/*
 * file: files and directories, with errors that name the path. A file that must not be seen half
 * written is written under a temporary name, synchronised, and renamed.
 *
 * Files are not mapped: if another process truncated a mapped file, SIGBUS would end ours.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"

/* Only regular files are read; others are FAILED_PRECONDITION: a FIFO may block, and a device may
 * never end. */

/* Appends the whole file to `out`. RESOURCE_EXHAUSTED: larger than limit_bytes (0: no limit). If it
 * fails and `out` had no memory before, it has none afterwards. */
struct status file_read(const char *path, size_t limit_bytes, struct buffer *out);

/* Creates or replaces a file atomically: a file beside it, fsync, rename, directory fsync. */
struct status file_write(const char *path, struct bytes content);

/* A file for reading at any offset. `path` is NULL if it is not open. */
struct file_reader {
    int fd;
    char *path;
    uint64_t size;
};

struct status file_reader_open(const char *path, struct file_reader *out);
/* Reads all of `size` bytes. OUT_OF_RANGE: the file ends earlier; the text is TensorFlow's, `Read
 * less bytes than requested`. Threads: safe. */
struct status file_reader_get(const struct file_reader *reader, uint64_t offset, void *data,
                              size_t size);
void file_reader_close(struct file_reader *reader); /* accepts a zeroed one */

/* Writes a new file through a buffer; large pieces bypass it. The kernel starts writing to the disk
 * early, so that the fsync at the end has little left to do. */
struct file_writer {
    int fd;
    char *path;
    char *buffer;
    size_t used, capacity; /* of buffer */
    uint64_t offset;       /* bytes appended so far */
    uint64_t written;      /* bytes given to write() */
    uint64_t flushing;     /* bytes that the kernel was asked to write to the disk */
    bool direct;           /* see file_writer_bypass_cache */
};

/* ALREADY_EXISTS: the file exists. */
struct status file_writer_open(const char *path, struct file_writer *out);
/* Right after file_writer_open: writes past the system's page cache if the file system can
 * (O_DIRECT). For a large file that nobody reads soon: appending waits for the disk, and takes a
 * tenth of the processor time, because the kernel copies nothing. A piece of 1 MiB or more that
 * begins at a page of memory and at a block of 4 KiB in the file is not copied, but for its end. */
void file_writer_bypass_cache(struct file_writer *writer);
struct status file_writer_append(struct file_writer *writer, const void *data, size_t size);
/* Flushes, fsyncs and closes the file; a failure removes it. */
struct status file_writer_finish(struct file_writer *writer);
/* Closes and removes the file. Accepts a zeroed or finished writer. */
void file_writer_abandon(struct file_writer *writer);

/* Renames, and fsyncs the directory of `to`. Both must be in the same file system. */
struct status file_rename(const char *from, const char *to);

struct status file_sync_directory(const char *path);
struct status file_make_directories(const char *path); /* as mkdir -p */
/* Follows no symbolic links. OK if there is nothing. */
struct status file_remove_tree(const char *path);

struct file_list {
    const char **names; /* sorted by strcmp, without "." and ".." */
    size_t count;
};
struct status file_list(const char *path, struct arena *arena, struct file_list *out);

/**
 * Checks that the file system of `path`, or of its first existing parent, has room for a file of
 * `size_bytes`, and that the process may write one.
 *
 * Errors  RESOURCE_EXHAUSTED no room, or a limit on file sizes. OK if the file system does not
 *         report its size
 */
struct status file_check_space(const char *path, uint64_t size_bytes);

bool file_exists(const char *path);
bool file_is_directory(const char *path);
bool file_is_link(const char *path); /* a symbolic one */

/* UNIMPLEMENTED, with TensorFlow's text, for gs://… and the like, which are not local paths. */
struct status file_check_local(const char *path);
/* "/m" for "file:///m" and "file://host/m", as in TensorFlow; other paths as they are. */
const char *file_path_of_uri(const char *path);

/* Are two files equal, or two directories with all their files? False if one cannot be read. */
bool file_contents_equal(const char *a, const char *b);

/* Is it a directory that contains no files at any depth, as a failed run may leave it? */
bool file_tree_is_empty(const char *path);
void file_remove_empty_tree(const char *path); /* removes only empty directories */

/* The absolute path without symbolic links, in `arena`. For a file in another mount namespace
 * (/proc/PID/root/…) it is a path in that namespace: check with file_paths_equal. */
struct status file_real_path(const char *path, struct arena *arena, const char **out);

/* Do both paths lead to the same file? */
bool file_paths_equal(const char *a, const char *b);

/* "a/b" for "a" or "a/" and "b"; `name` alone if it is absolute or `directory` is empty. */
char *file_join(struct arena *arena, const char *directory, const char *name);
/* The directory of a path: "a" of "a/b", "." of "b", "/" of "/b". */
const char *file_parent(struct arena *arena, const char *path);
/* The path without slashes at its end: "a" of "a//", "/" of "/". */
char *file_trim_slashes(struct arena *arena, const char *path);

/* A temporary path beside `path`, unique on this machine, for a file that will be renamed to it. */
char *file_beside(struct arena *arena, const char *path);
/* Prepares the process; main calls it first. Opens /dev/null for each of stdin, stdout and stderr
 * that is closed: otherwise the next file or socket would get its number, and output would go
 * there. Ignores SIGXFSZ: a write beyond the limit of `ulimit -f` then fails with EFBIG, as one to
 * a full disk fails, instead of ending the process. */
void file_prepare_process(void);

/* Flushes stdout, so that a full disk is reported. */
struct status file_flush_stdout(void);

/* Removes the file_beside files of `path` whose processes have ended. */
struct status file_remove_leftovers(const char *path);

#endif
