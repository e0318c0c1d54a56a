#include "server/metrics/page.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/decimal.h"
#include "base/text_print.h"
#include "server/metrics/reading.h"

struct sample {
    enum metric_id metric;
    const struct bytes *labels;
    double value;
    struct sample *next;
};

struct metrics_page {
    struct arena *arena;
    struct sample *samples; /* sorted by metric, then by labels */
};

static struct {
    pthread_mutex_t lock;
    struct metrics_collector *first;
} collectors = { .lock = PTHREAD_MUTEX_INITIALIZER };

void metrics_add_collector(struct metrics_collector *collector)
{
    pthread_mutex_lock(&collectors.lock);
    collector->next = collectors.first;
    collectors.first = collector;
    pthread_mutex_unlock(&collectors.lock);
}

/* ---- samples of collectors ---- */

static struct bytes copy_bytes(struct arena *arena, struct bytes bytes)
{
    char *copy = arena_alloc(arena, bytes.size + 1);
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    return (struct bytes){ copy, bytes.size };
}

void metrics_sample(struct metrics_page *page, enum metric_id metric, const struct bytes *labels,
                    double value)
{
    int count = metric_labels_count(metric);
    struct bytes *copies = ARENA_ARRAY(page->arena, struct bytes, count + 1);
    for (int i = 0; i < count; i++)
        copies[i] = copy_bytes(page->arena, labels[i]);
    struct sample *sample = arena_alloc(page->arena, sizeof *sample);
    *sample = (struct sample){ metric, copies, value, page->samples };
    page->samples = sample;
}

static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = *(struct sample *const *)a, *y = *(struct sample *const *)b;
    return metric_compare_labels(x->labels, y->labels, metric_labels_count(x->metric));
}

/* The samples of one metric, sorted. */
static struct sample **list_samples(const struct metrics_page *page, enum metric_id metric,
                                    size_t *count)
{
    size_t all = 0;
    for (const struct sample *sample = page->samples; sample != NULL; sample = sample->next)
        all += sample->metric == metric;
    struct sample **list = ARENA_ARRAY(page->arena, struct sample *, all + 1);
    *count = 0;
    for (struct sample *sample = page->samples; sample != NULL; sample = sample->next)
        if (sample->metric == metric)
            list[(*count)++] = sample;
    qsort(list, *count, sizeof *list, compare_samples);
    return list;
}

/* ---- lines ---- */

/* Prints the name: TensorFlow Serving replaces everything but letters, digits and '_'. */
static void print_name(enum metric_id metric, struct buffer *out)
{
    for (const char *at = metric_rows[metric].name; *at != '\0'; at++)
        buffer_append_char(out, *at == '/' ? ':' : *at);
}

/* TensorFlow Serving does not escape line feeds, which break the page; we do. Names from a model
 * or a configuration may contain any bytes, and Prometheus refuses a page that is not UTF-8. */
static void print_escaped(struct bytes text, struct buffer *out)
{
    size_t plain = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c != '\\' && c != '"' && c != '\n')
            continue;
        text_print_utf8(out, (struct bytes){ text.data + plain, i - plain });
        buffer_append_char(out, '\\');
        buffer_append_char(out, c == '\n' ? 'n' : c);
        plain = i + 1;
    }
    text_print_utf8(out, (struct bytes){ text.data + plain, text.size - plain });
}

static void print_labels(enum metric_id metric, const struct bytes *labels, struct buffer *out)
{
    for (int i = 0; metric_rows[metric].labels[i] != NULL; i++) {
        buffer_printf(out, "%s%s=\"", i > 0 ? "," : "", metric_rows[metric].labels[i]);
        print_escaped(labels[i], out);
        buffer_append_char(out, '"');
    }
}

/* Prints name_suffix{labels} and a space. Only TensorFlow Serving prints empty braces. */
static void print_head(enum metric_id metric, const char *suffix, const struct bytes *labels,
                       struct buffer *out)
{
    bool braces = metric_rows[metric].name[0] == '/' || metric_rows[metric].labels[0] != NULL;
    print_name(metric, out);
    buffer_append_text(out, suffix);
    if (braces)
        buffer_append_char(out, '{');
    print_labels(metric, labels, out);
    buffer_append_text(out, braces ? "} " : " ");
}

static void print_count(uint64_t count, struct buffer *out)
{
    char text[DECIMAL_MAX + 1];
    char *end = decimal_put_uint64(text, count);
    *end++ = '\n';
    buffer_append(out, text, (size_t)(end - text));
}

/* The limits of a metric's buckets, as text. */
struct limits {
    char texts[METRIC_BUCKETS_MAX + 1][32];
};

static void print_limits(enum metric_id metric, struct limits *out)
{
    uint32_t count = metric_rows[metric].buckets.count;
    for (uint32_t i = 0; i < count; i++)
        snprintf(out->texts[i], sizeof out->texts[i], "%g", metric_limit(metric, i));
    snprintf(out->texts[count], sizeof out->texts[count], "+Inf");
}

/* Prints name_bucket{labels,le=" which all buckets of a series have in common. */
static void print_bucket_head(const struct metric_series *series, struct buffer *out)
{
    print_name(series->metric, out);
    buffer_append_text(out, "_bucket{");
    print_labels(series->metric, series->labels, out);
    buffer_append_text(out, metric_rows[series->metric].labels[0] != NULL ? ",le=\"" : "le=\"");
}

static void repeat(size_t from, size_t size, struct buffer *out)
{
    buffer_reserve(out, size);
    memcpy(out->data + out->size, out->data + from, size);
    out->size += size;
}

static void print_histogram(const struct metric_series *series, const struct limits *limits,
                            struct buffer *out)
{
    const struct metric_row *row = &metric_rows[series->metric];
    uint32_t count = row->buckets.count;
    uint64_t values[METRIC_BUCKETS_MAX + 2], total = 0;
    size_t head = out->size;
    slots_sums(series->slot, count + 2, values);
    print_bucket_head(series, out);
    size_t head_size = out->size - head;
    for (uint32_t i = 0; i <= count; i++) {
        total += values[i];
        if (i > 0)
            repeat(head, head_size, out);
        buffer_append_text(out, limits->texts[i]);
        buffer_append_text(out, "\"} ");
        print_count(total, out);
    }
    print_head(series->metric, "_sum", series->labels, out);
    buffer_printf(out, row->name[0] == '/' ? "%g\n" : "%.9g\n",
                  (double)values[count + 1] / row->unit);
    print_head(series->metric, "_count", series->labels, out);
    print_count(total, out);
}

static void print_value(const struct metric_series *series, struct buffer *out)
{
    int64_t value = metric_rows[series->metric].kind == METRIC_GAUGE
                        ? atomic_load_explicit(&series->value, memory_order_relaxed)
                        : (int64_t)slots_sum(series->slot);
    print_head(series->metric, "", series->labels, out);
    buffer_printf(out, "%lld\n", (long long)value);
}

static void print_all_series(enum metric_id metric, struct metric_series **series, size_t count,
                             struct buffer *out)
{
    struct limits limits;
    bool histogram = metric_rows[metric].kind == METRIC_HISTOGRAM;
    if (histogram)
        print_limits(metric, &limits);
    for (size_t i = 0; i < count; i++) {
        if (histogram)
            print_histogram(series[i], &limits, out);
        else
            print_value(series[i], out);
    }
}

static void print_type(enum metric_id metric, struct buffer *out)
{
    static const char *const kinds[] = { "counter", "gauge", "histogram", "gauge" };
    if (metric_rows[metric].help != NULL) {
        buffer_append_text(out, "# HELP ");
        print_name(metric, out);
        buffer_printf(out, " %s\n", metric_rows[metric].help);
    }
    buffer_append_text(out, "# TYPE ");
    print_name(metric, out);
    buffer_printf(out, " %s\n", kinds[metric_rows[metric].kind]);
}

/* `page` NULL: nothing was collected. `all`: also rows without a sample. */
static void print_row(const struct metrics_page *page, enum metric_id metric, bool all,
                      struct buffer *out)
{
    size_t count, samples_count = 0;
    struct metric_series **series = metrics_list(metric, &count);
    struct sample **samples = page != NULL ? list_samples(page, metric, &samples_count) : NULL;
    if (all || count + samples_count > 0)
        print_type(metric, out);
    print_all_series(metric, series, count, out);
    for (size_t i = 0; i < samples_count; i++) {
        print_head(metric, "", samples[i]->labels, out);
        buffer_printf(out, "%.17g\n", samples[i]->value);
    }
    free(series);
}

void metrics_print_tensorflow(struct buffer *out)
{
    struct metrics_reading reading = { 0 };
    metrics_begin_page(&reading);
    for (int metric = 0; metric < METRIC_COUNT; metric++)
        if (metric_rows[metric].name[0] == '/')
            print_row(NULL, (enum metric_id)metric, true, out);
    metrics_end_page(&reading);
}

void metrics_print(struct buffer *out)
{
    struct metrics_page page = { .arena = arena_create(0) };
    struct metrics_reading reading = { 0 };
    pthread_mutex_lock(&collectors.lock);
    for (const struct metrics_collector *at = collectors.first; at != NULL; at = at->next)
        at->collect(at->context, &page);
    pthread_mutex_unlock(&collectors.lock);
    metrics_begin_page(&reading);
    for (int metric = 0; metric < METRIC_COUNT; metric++)
        if (metric_rows[metric].name[0] != '/')
            print_row(&page, (enum metric_id)metric, false, out);
    metrics_end_page(&reading);
    arena_destroy(page.arena);
}
