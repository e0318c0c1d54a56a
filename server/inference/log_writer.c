#include "server/inference/log_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "server/metrics/metrics.h"

#define HEAD_BYTES  12
#define TAIL_BYTES  4
#define SINKS_MAX   1024
#define END_NS      (5 * NS_PER_S)
#define LOOK_NS     NS_PER_S          /* between checks of all logs: old files, dropped records */
#define BATCH_BYTES ((size_t)1 << 20) /* written in one call */
/* After a record, the thread waits for more: woken for each one, it used 19 µs of CPU time per
 * record, and 3 µs if it finds 200. */
#define GATHER_NS   (20 * NS_PER_MS)

/* The log of one prefix. Without users or records, its slot may be reused. */
struct log_sink {
    struct log_writer *writer;
    uint64_t id;
    int users, records;   /* records: pending or reserved. Under the writer's lock */
    struct log_file file; /* the writer thread's */
    char *troubled;       /* the failure that was logged; NULL: it works. Used by the writer
                           * thread */
    uint64_t lost;        /* records, since then */
    bool crowded;         /* the dropping of records was logged. Used by the writer thread */
    /* Value of `crowded_out` at that time, and at the last check. */
    uint64_t crowded_from, crowded_seen;
    _Atomic uint64_t written, dropped;
    _Atomic uint64_t crowded_out; /* those of `dropped` for which there was no memory */
};

/* One record that waits. */
struct log_entry {
    struct log_sink *sink;
    struct log_entry *next;
    size_t size; /* of the framed record */
    size_t paid; /* bytes of memory */
    char framed[];
};

struct log_writer {
    struct log_writer_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed, ended_changed;
    struct log_entry *first, **last; /* what waits, in order */
    size_t waiting_bytes;
    struct log_sink *sinks[SINKS_MAX]; /* sinks_count are there */
    int sinks_count, next_victim;
    uint64_t generation; /* of ids */
    bool stopping, ended;
};

/* ---- records, in any thread ---- */

static void count_records(const struct log_sink *sink, enum status_code code, uint64_t count)
{
    const struct bytes *labels =
        METRIC_LABELS(bytes_of(sink->file.prefix), bytes_of(status_code_name(code)));
    metric_add(metric_series(METRIC_REQUEST_LOG_RECORDS, labels), count);
}

static void note_no_room(struct log_sink *sink)
{
    count_records(sink, STATUS_RESOURCE_EXHAUSTED, 1);
    atomic_fetch_add_explicit(&sink->dropped, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&sink->crowded_out, 1, memory_order_relaxed);
}

/* NULL: the log of this id no longer exists. Called with the lock held. */
static struct log_sink *sink_of(const struct log_writer *writer, uint64_t id)
{
    struct log_sink *sink = writer->sinks[id % SINKS_MAX];
    return sink != NULL && sink->id == id ? sink : NULL;
}

/* Reserves room for a record of `bytes`. NULL: the log no longer exists, or too many are
 * pending. */
static struct log_sink *take_room(struct log_writer *writer, uint64_t id, size_t bytes)
{
    pthread_mutex_lock(&writer->lock);
    struct log_sink *sink = sink_of(writer, id);
    bool fits = bytes <= writer->options.waiting_bytes_max - writer->waiting_bytes;
    if (sink != NULL && fits) {
        writer->waiting_bytes += bytes;
        sink->records++;
    } else if (sink != NULL) {
        note_no_room(sink);
        sink = NULL;
    }
    pthread_mutex_unlock(&writer->lock);
    return sink;
}

static void give_room(struct log_sink *sink, size_t bytes)
{
    struct log_writer *writer = sink->writer;
    pthread_mutex_lock(&writer->lock);
    writer->waiting_bytes -= bytes;
    sink->records--;
    pthread_mutex_unlock(&writer->lock);
}

/* Does not ask others to free memory: a request does not wait for its log. */
static struct log_entry *pay(struct log_writer *writer, size_t bytes)
{
    struct budget *budget = writer->options.budget;
    if (budget != NULL && !budget_try(budget, (int64_t)bytes))
        return NULL;
    struct log_entry *entry = malloc(bytes);
    if (entry == NULL && budget != NULL)
        budget_give(budget, (int64_t)bytes);
    return entry;
}

static void free_entry(struct log_entry *entry)
{
    struct budget *budget = entry->sink->writer->options.budget;
    if (budget != NULL)
        budget_give(budget, (int64_t)entry->paid);
    give_room(entry->sink, entry->paid);
    free(entry);
}

struct log_entry *log_writer_reserve(struct log_writer *writer, uint64_t id, size_t size_max)
{
    const size_t frame = sizeof(struct log_entry) + HEAD_BYTES + TAIL_BYTES;
    size_t bytes = size_max <= SIZE_MAX - frame ? frame + size_max : SIZE_MAX;
    struct log_sink *sink = take_room(writer, id, bytes);
    if (sink == NULL)
        return NULL;
    struct log_entry *entry = pay(writer, bytes);
    if (entry == NULL) {
        note_no_room(sink);
        give_room(sink, bytes);
        return NULL;
    }
    *entry = (struct log_entry){ .sink = sink, .paid = bytes };
    log_entry_set_size(entry, size_max);
    return entry;
}

void log_entry_set_size(struct log_entry *entry, size_t size)
{
    entry->size = HEAD_BYTES + size + TAIL_BYTES;
}

char *log_entry_data(struct log_entry *entry)
{
    return entry->framed + HEAD_BYTES;
}

void log_entry_drop(struct log_entry *entry)
{
    if (entry != NULL)
        free_entry(entry);
}

/* Enough records wait to write them at once. */
static bool has_gathered(const struct log_writer *writer)
{
    return writer->waiting_bytes >= BATCH_BYTES ||
           writer->waiting_bytes >= writer->options.waiting_bytes_max / 2;
}

void log_entry_submit(struct log_entry *entry)
{
    struct log_writer *writer = entry->sink->writer;
    pthread_mutex_lock(&writer->lock);
    bool was_empty = writer->first == NULL;
    *writer->last = entry;
    writer->last = &entry->next;
    if (was_empty || has_gathered(writer))
        pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
}

struct log_counts log_writer_counts(struct log_writer *writer, uint64_t id)
{
    struct log_counts counts = { 0 };
    pthread_mutex_lock(&writer->lock);
    const struct log_sink *sink = sink_of(writer, id);
    if (sink != NULL) {
        counts.written = atomic_load_explicit(&sink->written, memory_order_relaxed);
        counts.dropped = atomic_load_explicit(&sink->dropped, memory_order_relaxed);
    }
    pthread_mutex_unlock(&writer->lock);
    return counts;
}

/* ---- the thread ---- */

/* Computes the checksums here, outside of the request's thread. */
static void frame(struct log_entry *entry)
{
    size_t size = entry->size - HEAD_BYTES - TAIL_BYTES;
    char *data = log_entry_data(entry);
    put_u64le(entry->framed, size);
    put_u32le(entry->framed + 8, crc32c_mask(crc32c(0, entry->framed, 8)));
    put_u32le(data + size, crc32c_mask(crc32c(0, data, size)));
}

/* Logs one line when a problem begins or changes, and one when it is over. */
static void note_trouble(struct log_sink *sink, struct status status, uint64_t records)
{
    if (status_is_ok(status)) {
        if (sink->troubled != NULL)
            log_info("request log '%s': writes again; %llu requests were not logged",
                     sink->file.prefix, (unsigned long long)sink->lost);
        free(sink->troubled);
        sink->troubled = NULL;
        sink->lost = 0;
        return;
    }
    sink->lost += records;
    if (sink->troubled == NULL) {
        log_error("request log: %s: requests are not logged until this is over", status.message);
        sink->troubled = xstrdup(status.message);
    }
}

static void write_records(struct log_sink *sink, struct bytes records, uint64_t count)
{
    const struct log_file_limits *limits = &sink->writer->options.files;
    struct status status =
        log_file_write(&sink->file, limits, records, clock_now_ns(clock_monotonic()));
    note_trouble(sink, status, count);
    count_records(sink, status.code, count);
    atomic_fetch_add_explicit(status_is_ok(status) ? &sink->written : &sink->dropped, count,
                              memory_order_relaxed);
}

/* May the entry be written together with the previous `batch_bytes`? A file ends with a whole
 * record, at its size limit. */
static bool fits(const struct log_entry *entry, const struct log_sink *sink, size_t batch_bytes)
{
    const struct log_file_limits *limits = &sink->writer->options.files;
    int64_t size = sink->file.path != NULL ? sink->file.size : 0;
    size_t more = batch_bytes + entry->size;
    return entry->sink == sink && more <= BATCH_BYTES &&
           size + (int64_t)more <= limits->file_bytes_max;
}

/* Writes the first entries that can be written together, and returns the rest. */
static struct log_entry *write_some(struct log_entry *first, struct buffer *batch)
{
    struct log_sink *sink = first->sink;
    struct log_entry *end = first->next;
    struct bytes records = { first->framed, first->size };
    uint64_t count = 1;
    frame(first);
    if (end != NULL && fits(end, sink, first->size)) { /* a large one is written without a copy */
        batch->size = 0;
        buffer_append(batch, first->framed, first->size);
        for (; end != NULL && fits(end, sink, batch->size); end = end->next, count++) {
            frame(end);
            buffer_append(batch, end->framed, end->size);
        }
        records = (struct bytes){ batch->data, batch->size };
    }
    write_records(sink, records, count);
    while (first != end) {
        struct log_entry *next = first->next;
        free_entry(first);
        first = next;
    }
    return end;
}

/* Logs one line when records begin to be dropped, and one when none was dropped since the last
 * check. */
static void note_crowded(struct log_sink *sink)
{
    uint64_t count = atomic_load_explicit(&sink->crowded_out, memory_order_relaxed);
    bool more = count != sink->crowded_seen;
    if (more && !sink->crowded) {
        log_error("request log '%s': more waits for the disk than --request_log_waiting_bytes or "
                  "the memory budget allows: requests are not logged until this is over",
                  sink->file.prefix);
        sink->crowded_from = sink->crowded_seen;
    } else if (!more && sink->crowded) {
        log_info("request log '%s': has room again; %llu requests were not logged",
                 sink->file.prefix, (unsigned long long)(count - sink->crowded_from));
    }
    sink->crowded = more;
    sink->crowded_seen = count;
}

/* Checks one log. A log without users keeps no file open. */
static void look_at(struct log_sink *sink, bool is_used, int64_t now_ns)
{
    if (is_used)
        log_file_age(&sink->file, &sink->writer->options.files, now_ns);
    else
        log_file_close(&sink->file);
    note_crowded(sink);
}

/* Checks all logs. The lock is not held while a file is closed; `records` keeps the log alive. */
static void look(struct log_writer *writer, int64_t now_ns)
{
    pthread_mutex_lock(&writer->lock);
    for (int i = 0; i < writer->sinks_count; i++) {
        struct log_sink *sink = writer->sinks[i];
        bool is_used = sink->users > 0 || sink->records > 0;
        sink->records++;
        pthread_mutex_unlock(&writer->lock);
        look_at(sink, is_used, now_ns);
        pthread_mutex_lock(&writer->lock);
        sink->records--;
    }
    pthread_mutex_unlock(&writer->lock);
}

/* Returns with the records that wait, or with none after LOOK_NS. Called with the lock held. */
static struct log_entry *take_records(struct log_writer *writer)
{
    struct clock *clock = clock_monotonic();
    if (writer->first == NULL)
        clock_wait(clock, &writer->changed, &writer->lock, clock_now_ns(clock) + LOOK_NS);
    int64_t end_ns = clock_now_ns(clock) + GATHER_NS;
    while (writer->first != NULL && !writer->stopping && !has_gathered(writer) &&
           clock_wait(clock, &writer->changed, &writer->lock, end_ns))
        ;
    struct log_entry *first = writer->first;
    writer->first = NULL;
    writer->last = &writer->first;
    return first;
}

static void *write_in_thread(void *context)
{
    struct log_writer *writer = context;
    struct buffer batch = { 0 };
    int64_t look_ns = 0;
    pthread_mutex_lock(&writer->lock);
    while (!writer->stopping || writer->first != NULL) {
        struct log_entry *first = take_records(writer);
        pthread_mutex_unlock(&writer->lock);
        while (first != NULL)
            first = write_some(first, &batch);
        int64_t now_ns = clock_now_ns(clock_monotonic());
        if (now_ns >= look_ns) {
            look(writer, now_ns);
            look_ns = now_ns + LOOK_NS;
        }
        pthread_mutex_lock(&writer->lock);
    }
    writer->ended = true;
    pthread_cond_signal(&writer->ended_changed);
    pthread_mutex_unlock(&writer->lock);
    buffer_finish(&batch);
    return NULL;
}

/* ---- start and stop ---- */

struct status log_writer_create(const struct log_writer_options *options, struct log_writer **out)
{
    struct log_writer *writer = zalloc(sizeof *writer);
    writer->options = *options;
    writer->last = &writer->first;
    pthread_mutex_init(&writer->lock, NULL);
    clock_cond_init(&writer->changed);
    clock_cond_init(&writer->ended_changed);
    int error = pthread_create(&writer->thread, NULL, write_in_thread, writer);
    if (error != 0) {
        free(writer);
        return status_errno(error, "start the thread of the request log");
    }
    *out = writer;
    return status_ok();
}

static bool wait_for_end(struct log_writer *writer)
{
    int64_t deadline_ns = clock_now_ns(clock_monotonic()) + END_NS;
    pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    pthread_cond_signal(&writer->changed);
    while (!writer->ended &&
           clock_wait(clock_monotonic(), &writer->ended_changed, &writer->lock, deadline_ns))
        ;
    bool ended = writer->ended;
    pthread_mutex_unlock(&writer->lock);
    return ended;
}

static void free_sink(struct log_sink *sink)
{
    log_file_close(&sink->file);
    free((char *)(uintptr_t)sink->file.prefix);
    free(sink->troubled);
    free(sink);
}

void log_writer_destroy(struct log_writer *writer)
{
    if (writer == NULL)
        return;
    if (!wait_for_end(writer)) {
        log_error("request log: the disk does not answer; what waits for it is lost");
        pthread_detach(writer->thread);
        return;
    }
    pthread_join(writer->thread, NULL);
    for (int i = 0; i < writer->sinks_count; i++)
        free_sink(writer->sinks[i]);
    pthread_cond_destroy(&writer->changed);
    pthread_cond_destroy(&writer->ended_changed);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}

static struct log_sink *find_sink(const struct log_writer *writer, const char *prefix)
{
    for (int i = 0; i < writer->sinks_count; i++)
        if (strcmp(writer->sinks[i]->file.prefix, prefix) == 0)
            return writer->sinks[i];
    return NULL;
}

/* Finds an empty slot, or that of a log without users; the search continues where the last one
 * ended, so that recently closed logs stay known longest. -1: none. */
static int find_place(struct log_writer *writer)
{
    if (writer->sinks_count < SINKS_MAX)
        return writer->sinks_count++;
    for (int i = 0; i < SINKS_MAX; i++) {
        int at = (writer->next_victim + i) % SINKS_MAX;
        struct log_sink *sink = writer->sinks[at];
        if (sink->users > 0 || sink->records > 0)
            continue;
        free_sink(sink);
        writer->next_victim = at + 1;
        return at;
    }
    return -1;
}

static struct log_sink *add_sink(struct log_writer *writer, const char *prefix)
{
    int place = find_place(writer);
    if (place < 0)
        return NULL;
    struct log_sink *sink = zalloc(sizeof *sink);
    sink->writer = writer;
    sink->id = ++writer->generation * SINKS_MAX + (uint64_t)place;
    sink->file.prefix = xstrdup(prefix);
    writer->sinks[place] = sink;
    return sink;
}

static uint64_t use(struct log_sink *sink)
{
    if (sink == NULL)
        return 0;
    sink->users++;
    return sink->id;
}

uint64_t log_writer_find(struct log_writer *writer, const char *prefix)
{
    pthread_mutex_lock(&writer->lock);
    uint64_t id = use(find_sink(writer, prefix));
    pthread_mutex_unlock(&writer->lock);
    return id;
}

struct status log_writer_open(struct log_writer *writer, const char *prefix, uint64_t *out)
{
    pthread_mutex_lock(&writer->lock);
    struct log_sink *sink = find_sink(writer, prefix);
    *out = use(sink != NULL ? sink : add_sink(writer, prefix));
    pthread_mutex_unlock(&writer->lock);
    if (*out == 0)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "'%s' would be request log number %d; %d is the most", prefix,
                            SINKS_MAX + 1, SINKS_MAX);
    return status_ok();
}

void log_writer_close(struct log_writer *writer, uint64_t id)
{
    pthread_mutex_lock(&writer->lock);
    struct log_sink *sink = sink_of(writer, id);
    if (sink != NULL)
        sink->users--;
    pthread_mutex_unlock(&writer->lock);
}
