/*
 * log_writer: accepts records from any thread and writes them to files, in a thread of its own.
 *
 * Adding a record copies it and never waits for the disk. If the disk is full, missing or slower
 * than the requests, records are dropped and counted, with one log line at the beginning and one at
 * the end. The memory of pending records is limited and charged to the budget.
 *
 *     TRY(log_writer_create(&options, &writer));
 *     TRY(log_writer_open(writer, "/logs/m", &id));       a log for each prefix
 *     entry = log_writer_reserve(writer, id, size);       fill log_entry_data(entry)
 *     log_entry_submit(entry);
 *     log_writer_close(writer, id);
 *
 * A log is identified by a number rather than its address: a request may hold the number of a log
 * that a configuration reload has closed.
 */
#ifndef SERVER_INFERENCE_LOG_WRITER_H
#define SERVER_INFERENCE_LOG_WRITER_H

#include "base/budget.h"
#include "server/inference/log_file.h"

struct log_writer;

struct log_writer_options {
    struct log_file_limits files;
    size_t waiting_bytes_max; /* limit of the records that wait for the disk */
    struct budget *budget;    /* NULL: nothing pays */
};

struct status log_writer_create(const struct log_writer_options *options, struct log_writer **out);
/* Writes pending records. If the disk does not respond for five seconds, gives up; the memory
 * then stays until the process ends. Accepts NULL. */
void log_writer_destroy(struct log_writer *writer);

/* The number of the log with this prefix, which several models may share; never 0. Each call
 * needs a log_writer_close. RESOURCE_EXHAUSTED: over 1024 logs are open. Threads: safe. */
struct status log_writer_open(struct log_writer *writer, const char *prefix, uint64_t *out);
/* Like log_writer_open, for a prefix that was opened before. 0: it was not, or it was closed and
 * its slot was reused. Threads: safe. */
uint64_t log_writer_find(struct log_writer *writer, const char *prefix);
/* The caller writes no more; pending records are still written. Threads: safe. */
void log_writer_close(struct log_writer *writer, uint64_t id);

/* Reserves a record of at most `size_max` bytes, which the caller fills. NULL: dropped and
 * counted, because too many are pending; or the log no longer exists. Threads: safe. */
struct log_entry;
struct log_entry *log_writer_reserve(struct log_writer *writer, uint64_t id, size_t size_max);
char *log_entry_data(struct log_entry *entry);
void log_entry_set_size(struct log_entry *entry, size_t size);
/* Hands the entry over. */
void log_entry_submit(struct log_entry *entry);
/* Releases it unused; it is not counted. Accepts NULL. */
void log_entry_drop(struct log_entry *entry);

/* For tests: what became of the records of log `id`. */
struct log_counts {
    uint64_t written, dropped;
};
struct log_counts log_writer_counts(struct log_writer *writer, uint64_t id);

#endif
