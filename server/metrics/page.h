/*
 * metrics_page: the metrics as text, for Prometheus to scrape.
 */
#ifndef SERVER_METRICS_PAGE_H
#define SERVER_METRICS_PAGE_H

#include "server/metrics/metrics.h"

struct metrics_page;

/* Adds samples of gauges that are computed on demand. Called in the printing thread, with no
 * lock held. */
struct metrics_collector {
    void (*collect)(void *context, struct metrics_page *page);
    void *context;
    struct metrics_collector *next;
};
/* Call it before the first page. The collector lives as long as pages are printed. */
void metrics_add_collector(struct metrics_collector *collector);

/* For collectors: one sample of a gauge. The labels are copied. */
void metrics_sample(struct metrics_page *page, enum metric_id metric, const struct bytes *labels,
                    double value);

/* Appends TensorFlow Serving's metrics, byte for byte as it prints them: every row, with braces
 * even if there are no labels, and no HELP. */
void metrics_print_tensorflow(struct buffer *out);

/* Appends our metrics, with HELP. A row without a sample is left out. */
void metrics_print(struct buffer *out);

#endif
