/*
 * metrics_reading: the series as a page reads them, without a lock while it prints.
 *
 *     struct metrics_reading reading = { 0 };
 *     metrics_begin_page(&reading);
 *     struct metric_series **series = metrics_list(metric, &count);
 *     ...
 *     metrics_end_page(&reading);
 */
#ifndef SERVER_METRICS_READING_H
#define SERVER_METRICS_READING_H

#include "server/metrics/metrics.h"

/* A page that is being printed. Zero-initialise it. */
struct metrics_reading {
    struct metrics_reading *older; /* begun before this one */
    struct metric_series *removed; /* after this one began, and before the next one did */
};

/* Between these two, the series that the page may have listed stay in memory with their values,
 * also if they are removed. A page holds no lock, because requests for new models wait for it. */
void metrics_begin_page(struct metrics_reading *page);
void metrics_end_page(struct metrics_reading *page);

/* The series of a metric, in the order of their labels, in an array that the caller frees. */
struct metric_series **metrics_list(enum metric_id metric, size_t *count);

int metric_labels_count(enum metric_id metric);
int metric_compare_labels(const struct bytes *a, const struct bytes *b, int count);

/* The limit of a bucket in the printed unit. */
double metric_limit(enum metric_id metric, uint32_t bucket);

#endif
