#include "trainer/data/prefetch.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"

#define HELD PREFETCH_HELD
#define RING 16 /* more than are ever prefetched */

/* A product of the thread: a batch or, as the last one, an error. */
struct prefetched {
    struct batch batch;
    struct status status; /* an error is held (status_hold) */
};

struct prefetch_source {
    struct batch_source source; /* first */
    struct batch_source *inner;
    int columns_count;
    struct prefetch_options options;
    pthread_t thread;
    bool runs; /* the thread was started and not joined */

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t was_made, was_taken;
    struct prefetched ring[RING];
    uint64_t made, taken; /* batches */
    int ahead_max;        /* batches_max, or less if batches are large; 1 until the first one */
    bool is_limited;      /* by the size of a batch */
    bool stop;            /* asks the thread to end */
    bool ended;           /* the thread makes no more batches */
};

/* ---- the thread ---- */

/* Includes the characters of texts, which are in the batch's memory too. */
static size_t held_bytes(const struct tensor *tensor)
{
    size_t bytes = tensor_bytes(tensor);

    for (int64_t i = 0; tensor->dtype == DT_STRING && i < tensor->size; i++)
        bytes += tensor_strings(tensor)[i].size;
    return bytes;
}

static size_t batch_bytes(const struct prefetch_source *source, const struct batch *batch)
{
    size_t bytes = source->inner->more_bytes;

    for (int c = 0; c < source->columns_count; c++) {
        const struct batch_column *column = &batch->columns[c];
        const struct tensor *tensors[] = { &column->values, &column->ids, &column->row_splits };
        for (size_t t = 0; t < COUNT(tensors); t++)
            if (tensors[t]->data != NULL)
                bytes += held_bytes(tensors[t]);
    }
    return bytes;
}

/* Called after the first batch of all, when the size is known. */
static int limit_ahead(struct prefetch_source *source, const struct batch *batch)
{
    size_t bytes = batch_bytes(source, batch), most = source->options.bytes_max / (bytes + 1);
    int ahead = source->inner->keep - HELD;

    if (most < (size_t)source->inner->keep)
        ahead = most > HELD + 1 ? (int)most - HELD : 1;
    source->inner->keep = ahead + HELD;
    return ahead;
}

/* Waits until there is room for another batch. Returns false if the thread is to end. Once it
 * had to wait, it waits until half of the batches are used, so that it wakes up for several at a
 * time. */
static bool await_room(struct prefetch_source *source)
{
    uint64_t room = (uint64_t)source->ahead_max;

    while (!source->stop && source->made - source->taken >= room) {
        pthread_cond_wait(&source->was_taken, &source->lock);
        room = (uint64_t)(source->ahead_max + 1) / 2;
    }
    return !source->stop;
}

static void *run(void *context)
{
    struct prefetch_source *source = context;
    bool more = true;

    pthread_mutex_lock(&source->lock);
    while (more && await_room(source)) {
        struct prefetched *made = &source->ring[source->made % RING];
        bool first = !source->is_limited;
        pthread_mutex_unlock(&source->lock);
        made->status =
            status_hold(source->inner->next(source->inner, source->options.rows, &made->batch));
        more = status_is_ok(made->status) && made->batch.rows > 0;
        int ahead = first && more ? limit_ahead(source, &made->batch) : 0;
        pthread_mutex_lock(&source->lock);
        source->is_limited = source->is_limited || ahead > 0;
        source->ahead_max = ahead > 0 ? ahead : source->ahead_max;
        source->made++;
        pthread_cond_signal(&source->was_made);
    }
    source->ended = true;
    pthread_mutex_unlock(&source->lock);
    return NULL;
}

static bool start(struct prefetch_source *source)
{
    source->made = source->taken = 0;
    source->stop = source->ended = false;
    source->runs = pthread_create(&source->thread, NULL, run, source) == 0;
    return source->runs;
}

/* Ends the thread, and drops its products. */
static void stop(struct prefetch_source *source)
{
    if (!source->runs)
        return;
    pthread_mutex_lock(&source->lock);
    source->stop = true;
    pthread_cond_signal(&source->was_taken);
    pthread_mutex_unlock(&source->lock);
    pthread_join(source->thread, NULL);
    source->runs = false;
    if (source->made > 0) /* only the last one may be an error */
        status_ignore(status_resume(source->ring[(source->made - 1) % RING].status));
}

/* ---- the batch_source ---- */

/* Has the caller received a batch without rows as the last one? */
static bool has_given_the_end(struct prefetch_source *source)
{
    pthread_mutex_lock(&source->lock);
    const struct prefetched *last = &source->ring[(source->made - 1) % RING];
    bool given = source->ended && source->made > 0 && source->taken == source->made &&
                 status_is_ok(last->status);
    pthread_mutex_unlock(&source->lock);
    return given;
}

static struct status next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct prefetch_source *source = (struct prefetch_source *)base;

    assert(rows_max == source->options.rows);
    (void)rows_max;
    if (source->runs && has_given_the_end(source))
        stop(source); /* the inner source may have rows again */
    if (!source->runs && !start(source))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "cannot start a thread that reads batches");
    pthread_mutex_lock(&source->lock);
    while (source->made == source->taken && !source->ended)
        pthread_cond_wait(&source->was_made, &source->lock);
    /* An error comes again. */
    uint64_t at = source->made > source->taken ? source->taken++ : source->taken - 1;
    struct prefetched made = source->ring[at % RING];
    if (source->made - source->taken <= (uint64_t)source->ahead_max / 2)
        pthread_cond_signal(&source->was_taken);
    pthread_mutex_unlock(&source->lock);
    if (!status_is_ok(made.status))
        return status_error(made.status.code, "%s", made.status.message);
    *out = made.batch;
    return status_ok();
}

static struct status seek(struct batch_source *base, uint64_t rows)
{
    struct prefetch_source *source = (struct prefetch_source *)base;

    stop(source);
    return source->inner->seek(source->inner, rows);
}

static void destroy(struct batch_source *base)
{
    struct prefetch_source *source = (struct prefetch_source *)base;

    stop(source);
    source->inner->destroy(source->inner);
    pthread_cond_destroy(&source->was_made);
    pthread_cond_destroy(&source->was_taken);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

struct batch_source *prefetch_source(struct batch_source *inner, int columns_count,
                                     const struct prefetch_options *options)
{
    int most = (inner->keep_max < RING ? inner->keep_max : RING) - HELD;

    if (most < 1 || options->batches_max < 1)
        return inner;
    struct prefetch_source *source = zalloc(sizeof *source);
    source->source = (struct batch_source){
        .next = next, .seek = seek, .destroy = destroy, .keep = HELD, .keep_max = HELD
    };
    source->inner = inner;
    source->columns_count = columns_count;
    source->options = *options;
    source->options.batches_max = options->batches_max < most ? options->batches_max : most;
    source->ahead_max = 1;
    inner->keep = source->options.batches_max + HELD;
    if (options->bytes_max == 0)
        source->options.bytes_max = PREFETCH_BYTES;
    pthread_mutex_init(&source->lock, NULL);
    pthread_cond_init(&source->was_made, NULL);
    pthread_cond_init(&source->was_taken, NULL);
    return &source->source;
}
