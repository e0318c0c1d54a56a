#include "server/metrics/metrics.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "server/metrics/reading.h"

#define CLIENT_NAMES_MAX      100
#define CLIENT_NAME_BYTES_MAX 128
#define SERIES_MAX            200000
#define OWNED_FOR_EVER        (-1)

static struct {
    pthread_mutex_t lock;            /* guards everything below, and the taking of slots */
    struct map series[METRIC_COUNT]; /* of struct metric_series, by their labels with sizes */
    size_t count;
    struct metrics_reading *newest; /* of the pages being printed */
    struct map client_names;
    bool has_bounds; /* set with the first series; constant afterwards: */
    /* A value belongs to the first bucket with a greater bound. The last bucket has none. */
    uint64_t bounds[METRIC_COUNT][METRIC_BUCKETS_MAX + 1];
    /* The bucket of the smallest value with this many bits. */
    uint8_t first_buckets[METRIC_COUNT][65];
} metrics = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void metrics_lock(void)
{
    pthread_mutex_lock(&metrics.lock);
}

static void metrics_unlock(void)
{
    pthread_mutex_unlock(&metrics.lock);
}

int metric_labels_count(enum metric_id metric)
{
    int count = 0;
    while (metric_rows[metric].labels[count] != NULL)
        count++;
    return count;
}

double metric_limit(enum metric_id metric, uint32_t bucket)
{
    double limit = metric_rows[metric].buckets.first;
    for (uint32_t i = 0; i < bucket; i++) /* as TensorFlow computes it, with the same roundings */
        limit *= metric_rows[metric].buckets.factor;
    return limit;
}

static uint8_t find_bucket(const uint64_t *bounds, uint64_t value)
{
    uint8_t bucket = 0;
    while (value >= bounds[bucket] && bounds[bucket] != UINT64_MAX)
        bucket++;
    return bucket;
}

/* In TensorFlow's histograms, a value that equals a limit belongs to the next bucket; in
 * Prometheus', to the bucket of the limit. */
static void make_bounds(void)
{
    for (int metric = 0; metric < METRIC_COUNT; metric++) {
        const struct metric_row *row = &metric_rows[metric];
        bool below = row->name[0] == '/';
        assert(row->buckets.count <= METRIC_BUCKETS_MAX);
        for (uint32_t i = 0; i < row->buckets.count; i++) {
            double limit = metric_limit((enum metric_id)metric, i) * row->unit;
            metrics.bounds[metric][i] = (uint64_t)(below ? ceil(limit) : floor(limit + 1e-3) + 1);
        }
        metrics.bounds[metric][row->buckets.count] = UINT64_MAX;
        for (int bits = 0; bits <= 64; bits++)
            metrics.first_buckets[metric][bits] =
                find_bucket(metrics.bounds[metric], bits > 0 ? UINT64_C(1) << (bits - 1) : 0);
    }
}

static uint32_t slots_of(enum metric_id metric)
{
    switch (metric_rows[metric].kind) {
    case METRIC_COUNTER:
    case METRIC_LEVEL:
        return 1;
    case METRIC_HISTOGRAM:
        return metric_rows[metric].buckets.count + 2;
    default:
        return 0;
    }
}

/* ---- series ---- */

static int compare_series(const void *a, const void *b)
{
    const struct metric_series *x = *(struct metric_series *const *)a;
    const struct metric_series *y = *(struct metric_series *const *)b;
    return metric_compare_labels(x->labels, y->labels, metric_labels_count(x->metric));
}

static void make_key(const struct bytes *labels, int count, struct buffer *out)
{
    for (int i = 0; i < count; i++) {
        uint64_t size = labels[i].size;
        buffer_append(out, &size, sizeof size);
        buffer_append(out, labels[i].data, labels[i].size);
    }
}

/* Allocates one block: the series, its labels, and the key, into which the labels point. */
static struct metric_series *make_series(enum metric_id metric, const struct bytes *labels,
                                         int count, struct bytes key)
{
    struct metric_series *series =
        zalloc(sizeof *series + (size_t)count * sizeof(struct bytes) + key.size);
    char *copy = (char *)(series + 1) + (size_t)count * sizeof(struct bytes);
    if (key.size > 0)
        memcpy(copy, key.data, key.size);
    series->metric = metric;
    series->labels = (struct bytes *)(series + 1);
    series->key = (struct bytes){ copy, key.size };
    for (int i = 0; i < count; i++) {
        copy += sizeof(uint64_t);
        series->labels[i] = (struct bytes){ copy, labels[i].size };
        copy += labels[i].size;
    }
    return series;
}

/* `last`: may use the slots that are reserved for METRIC_OTHER. NULL: too many series. */
static struct metric_series *find_or_add(enum metric_id metric, const struct bytes *labels,
                                         bool last)
{
    struct buffer key = { 0 };
    int count = metric_labels_count(metric);
    uint32_t slot = 0, slots = slots_of(metric);
    make_key(labels, count, &key);
    struct bytes bytes = { key.data, key.size };
    if (!metrics.has_bounds)
        make_bounds();
    metrics.has_bounds = true;
    struct metric_series *series = map_get(&metrics.series[metric], bytes);
    bool fits = last || metrics.count < SERIES_MAX;
    if (series == NULL && fits && (slots == 0 || slots_take(slots, last, &slot))) {
        series = make_series(metric, labels, count, bytes);
        series->slot = slot;
        map_put(&metrics.series[metric], series->key, series);
        metrics.count++;
    }
    buffer_finish(&key);
    return series;
}

static struct metric_series *find(enum metric_id metric, const struct bytes *labels)
{
    struct metric_series *series = find_or_add(metric, labels, false);
    if (series != NULL)
        return series;
    struct bytes other[METRIC_LABELS_MAX];
    for (int i = 0; i < METRIC_LABELS_MAX; i++)
        other[i] = bytes_of(METRIC_OTHER);
    metric_add(find_or_add(METRIC_SERIES_DROPPED, METRIC_NO_LABELS, true), 1);
    return find_or_add(metric, other, true);
}

struct metric_series *metric_series(enum metric_id metric, const struct bytes *labels)
{
    metrics_lock();
    struct metric_series *series = find(metric, labels);
    series->owners = OWNED_FOR_EVER;
    metrics_unlock();
    return series;
}

static bool owns(const struct metric_owner *owner, const struct metric_series *series)
{
    for (size_t i = 0; i < owner->count; i++)
        if (owner->series[i] == series)
            return true;
    return false;
}

static void add_to_owner(struct metric_owner *owner, struct metric_series *series)
{
    if (owner->count == owner->capacity) {
        size_t capacity = owner->capacity > 0 ? 2 * owner->capacity : 8;
        struct metric_series **larger = zalloc(capacity * sizeof(struct metric_series *));
        if (owner->count > 0)
            memcpy(larger, owner->series, owner->count * sizeof *larger);
        free(owner->series);
        owner->series = larger;
        owner->capacity = capacity;
    }
    owner->series[owner->count++] = series;
}

struct metric_series *metric_series_owned(enum metric_id metric, const struct bytes *labels,
                                          struct metric_owner *owner)
{
    metrics_lock();
    struct metric_series *series = find(metric, labels);
    if (metric_labels_count(metric) == 0 || bytes_equal(series->labels[0], bytes_of(METRIC_OTHER)))
        series->owners = OWNED_FOR_EVER;
    if (series->owners != OWNED_FOR_EVER && !owns(owner, series)) {
        series->owners++;
        add_to_owner(owner, series);
    }
    metrics_unlock();
    return series;
}

static void free_series(struct metric_series *series)
{
    uint32_t slots = slots_of(series->metric);
    if (slots > 0)
        slots_give(series->slot, slots);
    free(series);
}

/* Frees a removed series once this page and the older ones have been printed. */
static void free_after(struct metrics_reading *page, struct metric_series *series)
{
    if (page == NULL) {
        free_series(series);
    } else {
        series->next_removed = page->removed;
        page->removed = series;
    }
}

static void release(struct metric_series *series)
{
    if (series->owners == OWNED_FOR_EVER || --series->owners > 0)
        return;
    map_remove(&metrics.series[series->metric], series->key);
    metrics.count--;
    free_after(metrics.newest, series);
}

void metric_owner_release(struct metric_owner *owner)
{
    metrics_lock();
    for (size_t i = 0; i < owner->count; i++)
        release(owner->series[i]);
    metrics_unlock();
    free(owner->series);
    *owner = (struct metric_owner){ 0 };
}

/* ---- pages ---- */

void metrics_begin_page(struct metrics_reading *page)
{
    metrics_lock();
    page->older = metrics.newest;
    metrics.newest = page;
    metrics_unlock();
}

void metrics_end_page(struct metrics_reading *page)
{
    metrics_lock();
    struct metrics_reading **at = &metrics.newest;
    while (*at != page)
        at = &(*at)->older;
    *at = page->older;
    while (page->removed != NULL) {
        struct metric_series *series = page->removed;
        page->removed = series->next_removed;
        free_after(page->older, series);
    }
    metrics_unlock();
}

struct metric_series **metrics_list(enum metric_id metric, size_t *count)
{
    metrics_lock();
    const struct map *map = &metrics.series[metric];
    struct metric_series **list = zalloc((map->live + 1) * sizeof *list);
    *count = 0;
    for (size_t i = 0; i < map->count; i++)
        if (map->entries[i].value != NULL)
            list[(*count)++] = map->entries[i].value;
    metrics_unlock();
    qsort(list, *count, sizeof *list, compare_series);
    return list;
}

/* ---- names that clients make up ---- */

/* Prometheus refuses a page with a byte that is not UTF-8. */
static bool is_label(struct bytes name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] < ' ' || name.data[i] > '~')
            return false;
    return name.size <= CLIENT_NAME_BYTES_MAX;
}

struct bytes metric_client_name(struct bytes name)
{
    metrics_lock();
    bool known = map_has(&metrics.client_names, name);
    if (!known && is_label(name) && metrics.client_names.live < CLIENT_NAMES_MAX) {
        char *copy = zalloc(name.size + 1);
        if (name.size > 0)
            memcpy(copy, name.data, name.size);
        map_put(&metrics.client_names, (struct bytes){ copy, name.size }, copy);
        known = true;
    }
    metrics_unlock();
    return known ? name : bytes_of(METRIC_OTHER);
}

/* ---- values ---- */

void metric_observe(const struct metric_series *series, uint64_t value)
{
    const uint64_t *bounds = metrics.bounds[series->metric];
    uint32_t count = metric_rows[series->metric].buckets.count;
    int bits = value > 0 ? 64 - __builtin_clzll(value) : 0;
    /* Limits grow by a factor of at least 1.2, so that few lie between two powers of two. */
    uint32_t bucket = metrics.first_buckets[series->metric][bits];
    while (bucket < count && value >= bounds[bucket])
        bucket++;
    slot_add(series->slot + bucket, 1);
    slot_add(series->slot + count + 1, value);
}

void metric_set(struct metric_series *series, int64_t value)
{
    atomic_store_explicit(&series->value, value, memory_order_relaxed);
}

static uint64_t value_of(const struct metric_series *series)
{
    uint64_t sum = 0;
    switch (metric_rows[series->metric].kind) {
    case METRIC_GAUGE:
        return (uint64_t)atomic_load_explicit(&series->value, memory_order_relaxed);
    case METRIC_COUNTER:
    case METRIC_LEVEL:
        return slots_sum(series->slot);
    default:
        for (uint32_t i = 0; i <= metric_rows[series->metric].buckets.count; i++)
            sum += slots_sum(series->slot + i);
        return sum;
    }
}

uint64_t metric_value(const struct metric_series *series)
{
    metrics_lock();
    uint64_t value = value_of(series);
    metrics_unlock();
    return value;
}

int metric_compare_labels(const struct bytes *a, const struct bytes *b, int count)
{
    for (int i = 0; i < count; i++) {
        int order = bytes_compare(a[i], b[i]);
        if (order != 0)
            return order;
    }
    return 0;
}

int64_t metric_first_value(struct bytes name)
{
    const struct metric_series *first = NULL;
    int64_t value = 0;
    metrics_lock();
    for (int metric = 0; metric < METRIC_COUNT; metric++) {
        const struct map *map = &metrics.series[metric];
        if (metric_rows[metric].kind == METRIC_HISTOGRAM ||
            !bytes_equal(bytes_of(metric_rows[metric].name), name))
            continue;
        for (size_t i = 0; i < map->count; i++) {
            const struct metric_series *series = map->entries[i].value;
            if (series != NULL && (first == NULL || compare_series(&series, &first) < 0))
                first = series;
        }
    }
    if (first != NULL)
        value = (int64_t)value_of(first);
    metrics_unlock();
    return value;
}
