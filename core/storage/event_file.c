#include "storage/event_file.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/append_file.h"
#include "base/file.h"
#include "proto/event.pb-c.h"
#include "proto/message.h"
#include "storage/tfrecord.h"

#define VERSION   "brain.Event:2" /* the only one that TensorBoard reads today */
#define NAMES_MAX 1000
#define HOST_MAX  256

struct event_file {
    struct append_file file;
    struct buffer event, record; /* of one event; reused for the next */
};

static struct status add(struct event_file *file, const Tensorflow__Event *event)
{
    file->event.size = file->record.size = 0;
    proto_pack(event, &file->event);
    tfrecord_frame((struct bytes){ file->event.data, file->event.size }, &file->record);
    return append_file_add(&file->file, (struct bytes){ file->record.data, file->record.size });
}

/* The host's name as a part of a file's name. */
static void name_host(char out[HOST_MAX])
{
    if (gethostname(out, HOST_MAX) != 0 || *out == '\0')
        memcpy(out, "localhost", sizeof "localhost");
    out[HOST_MAX - 1] = '\0';
    for (char *at = out; *at != '\0'; at++)
        *at = *at == '/' ? '_' : *at;
}

/* Processes of other containers may have the same host name and process number. */
static struct status create_file(const char *directory, long long now_s, struct append_file *out)
{
    struct arena *arena = arena_create(0);
    struct status status = status_error(STATUS_ALREADY_EXISTS, "no name was tried");
    char host[HOST_MAX];

    name_host(host);
    for (int i = 0; i < NAMES_MAX && status.code == STATUS_ALREADY_EXISTS; i++) {
        const char *name = arena_printf(arena, "events.out.tfevents.%010lld.%s.%lld.%d", now_s,
                                        host, (long long)getpid(), i);
        status = append_file_create(file_join(arena, directory, name), out);
    }
    arena_destroy(arena);
    return status;
}

struct status event_file_create(const char *directory, struct event_file **out)
{
    struct append_file file;
    time_t now_s = time(NULL);

    TRY(file_make_directories(directory));
    TRY(create_file(directory, (long long)now_s, &file));
    struct event_file *made = zalloc(sizeof *made);
    made->file = file;

    Tensorflow__Event event = TENSORFLOW__EVENT__INIT;
    event.wall_time = (double)now_s;
    event.what_case = TENSORFLOW__EVENT__WHAT_FILE_VERSION;
    event.file_version = (char *)VERSION;
    struct status status = add(made, &event);
    if (status_is_ok(status))
        status = event_file_flush(made);
    if (!status_is_ok(status)) {
        status_ignore(event_file_close(made));
        return status;
    }
    *out = made;
    return status_ok();
}

struct status event_file_add_start(struct event_file *file, double wall_time_s, uint64_t step)
{
    Tensorflow__SessionLog log = TENSORFLOW__SESSION_LOG__INIT;
    Tensorflow__Event event = TENSORFLOW__EVENT__INIT;

    log.status = TENSORFLOW__SESSION_LOG__SESSION_STATUS__START;
    event.wall_time = wall_time_s;
    event.step = (int64_t)step;
    event.what_case = TENSORFLOW__EVENT__WHAT_SESSION_LOG;
    event.session_log = &log;
    return add(file, &event);
}

static struct status add_summary(struct event_file *file, double wall_time_s, uint64_t step,
                                 Tensorflow__Summary__Value **values, int count)
{
    Tensorflow__Summary summary = TENSORFLOW__SUMMARY__INIT;
    Tensorflow__Event event = TENSORFLOW__EVENT__INIT;

    summary.n_value = (size_t)count;
    summary.value = values;
    event.wall_time = wall_time_s;
    event.step = (int64_t)step;
    event.what_case = TENSORFLOW__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    return add(file, &event);
}

struct status event_file_add_scalars(struct event_file *file, double wall_time_s, uint64_t step,
                                     const struct event_scalar *scalars, int count)
{
    Tensorflow__Summary__Value values[EVENT_SCALARS_MAX], *pointers[EVENT_SCALARS_MAX];

    assert(count <= EVENT_SCALARS_MAX);
    for (int i = 0; i < count; i++) {
        values[i] = (Tensorflow__Summary__Value)TENSORFLOW__SUMMARY__VALUE__INIT;
        values[i].tag = (char *)scalars[i].tag;
        values[i].value_case = TENSORFLOW__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
        values[i].simple_value = (float)scalars[i].value;
        pointers[i] = &values[i];
    }
    return add_summary(file, wall_time_s, step, pointers, count);
}

/* Merges runs of empty buckets. Returns the number of buckets. */
static size_t join_buckets(const struct histogram *histogram, double *limits, double *counts)
{
    size_t count = 0;

    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        bool empty = histogram->counts[i] == 0;
        if (!(empty && count > 0 && counts[count - 1] == 0))
            count++;
        limits[count - 1] = histogram_limit(i);
        counts[count - 1] = (double)histogram->counts[i];
    }
    return count;
}

struct status event_file_add_histogram(struct event_file *file, double wall_time_s, uint64_t step,
                                       const char *tag, const struct histogram *histogram)
{
    Tensorflow__HistogramProto buckets = TENSORFLOW__HISTOGRAM_PROTO__INIT;
    Tensorflow__Summary__Value value = TENSORFLOW__SUMMARY__VALUE__INIT, *values = &value;
    double limits[HISTOGRAM_BUCKETS], counts[HISTOGRAM_BUCKETS];

    buckets.min = histogram->min;
    buckets.max = histogram->max;
    buckets.num = (double)histogram->count;
    buckets.sum = histogram->sum;
    buckets.sum_squares = histogram->sum_squares;
    buckets.n_bucket = buckets.n_bucket_limit = join_buckets(histogram, limits, counts);
    buckets.bucket_limit = limits;
    buckets.bucket = counts;
    value.tag = (char *)tag;
    value.value_case = TENSORFLOW__SUMMARY__VALUE__VALUE_HISTO;
    value.histo = &buckets;
    return add_summary(file, wall_time_s, step, &values, 1);
}

struct status event_file_add_graph(struct event_file *file, double wall_time_s, struct bytes graph)
{
    Tensorflow__Event event = TENSORFLOW__EVENT__INIT;

    event.wall_time = wall_time_s;
    event.what_case = TENSORFLOW__EVENT__WHAT_GRAPH_DEF;
    event.graph_def = (ProtobufCBinaryData){ graph.size, (uint8_t *)graph.data };
    return add(file, &event);
}

struct status event_file_flush(struct event_file *file)
{
    return append_file_flush(&file->file);
}

struct status event_file_close(struct event_file *file)
{
    if (file == NULL)
        return status_ok();
    struct status status = append_file_close(&file->file);
    buffer_finish(&file->event);
    buffer_finish(&file->record);
    free(file);
    return status;
}
