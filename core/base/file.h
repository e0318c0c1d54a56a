/*
 * file: files and directories, with errors that name the path. What must not be seen half written
 * is written beside its name, synchronised, and renamed.
 *
 * Nothing is mapped: a file that another process cuts short would end ours with SIGBUS.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"

/* What is read is a regular file, else FAILED_PRECONDITION: a FIFO may block, a device never end.
 */

/* Appends the whole file to `out`. RESOURCE_EXHAUSTED: larger than limit_bytes (0: no limit). */
struct status file_read(const char *path, size_t limit_bytes, struct buffer *out);

/* Replaces or makes a file at once: beside it, fsync, rename, fsync of the directory. */
struct status file_write(const char *path, struct bytes content);

/* A file for reading at any place. Zero-initialised or closed: fd -1 or never opened is told by
 * path NULL. */
struct file_reader {
    int fd;
    char *path;
    uint64_t size;
};

struct status file_reader_open(const char *path, struct file_reader *out);
/* All of `size` bytes, else OUT_OF_RANGE `Read less bytes than requested` (TensorFlow's words).
 * Threads: safe. */
struct status file_reader_get(const struct file_reader *reader, uint64_t offset, void *data,
                              size_t size);
void file_reader_close(struct file_reader *reader); /* accepts a zeroed one */

/*
 * A stream into a new file, through a buffer of its own; large pieces go by it. What is written is
 * handed to the disk while more is made, so that the fsync at the end has little left to do.
 */
struct file_writer {
    int fd;
    char *path;
    char *buffer;
    size_t used;       /* in buffer */
    uint64_t offset;   /* bytes appended so far */
    uint64_t written;  /* bytes given to the system */
    uint64_t flushing; /* bytes that the system was asked to put on the disk */
};

/* Fails where the file exists already (ALREADY_EXISTS). */
struct status file_writer_open(const char *path, struct file_writer *out);
struct status file_writer_append(struct file_writer *writer, const void *data, size_t size);
struct status file_writer_finish(
    struct file_writer *writer); /* flush, fsync, close; a failure removes the file */
void file_writer_abandon(
    struct file_writer *writer); /* closes and removes the file; accepts a zeroed one */

/* Renames and synchronises the directory that holds `to` (both must be in the same file system). */
struct status file_rename(const char *from, const char *to);

struct status file_sync_directory(const char *path);
struct status file_make_directories(const char *path); /* as mkdir -p */
struct status
file_remove_tree(const char *path); /* OK where nothing is; follows no symbolic link */

struct file_list {
    const char **names; /* without "." and "..", by strcmp */
    size_t count;
};
struct status file_list(const char *path, struct arena *arena, struct file_list *out);

/**
 * Is there room for so many bytes on the disk of `path`, or of its first parent that exists?
 *
 * Errors  RESOURCE_EXHAUSTED there is not; OK where the file system does not tell
 */
struct status file_check_space(const char *path, uint64_t size_bytes);

bool file_exists(const char *path);
bool file_is_directory(const char *path);

/* UNIMPLEMENTED for gs://… and the like, which would else be taken for a path here; in TensorFlow's
 * words. */
struct status file_check_local(const char *path);

/* Do two files have the same bytes, or two directories the same names, each with the same bytes?
 * What cannot be read is not the same. */
bool file_is_same(const char *a, const char *b);

/* A directory in which there is nothing but such directories, as a failed run may leave it. */
bool file_is_bare(const char *path);
void file_remove_bare(const char *path); /* removes directories only, and only empty ones */

/* The absolute path without symbolic links, in `arena`. That of a file in another mount namespace
 * (/proc/PID/root/…) is a path there: file_is_one tells. */
struct status file_real_path(const char *path, struct arena *arena, const char **out);

/* Do both paths lead to one and the same file? */
bool file_is_one(const char *a, const char *b);

/* "a/b" of "a" or "a/" and "b"; `name` alone where it is absolute or `directory` is empty. */
char *file_join(struct arena *arena, const char *directory, const char *name);

/* A path beside `path` for what will be renamed to it: unique within the machine. */
char *file_beside(struct arena *arena, const char *path);
/* Gives each of stdin, stdout and stderr that is closed to /dev/null: else the next file or socket
 * gets its number, and what is printed goes there. The first thing that main does. */
void file_claim_standard(void);

/* Writes out what was printed to stdout: a full disk is an error there, too. */
struct status file_flush_stdout(void);

/* Removes what processes that are no more left beside `path` under such names. */
struct status file_remove_leftovers(const char *path);

#endif
