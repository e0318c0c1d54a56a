/* metrics_internal: shared by metrics.c (series) and page.c (their text). */
#ifndef SERVER_METRICS_INTERNAL_H
#define SERVER_METRICS_INTERNAL_H

#include "server/metrics/metrics.h"

/* Between these two, series that are removed stay in memory with their values. A page prints them
 * without a lock, because requests for models that are new wait for it. */
void metrics_begin_page(void);
void metrics_end_page(void);

/* The series of a metric, in the order of their labels, in an array that the caller frees. */
struct metric_series **metrics_list(enum metric_id metric, size_t *count);

int metric_labels_count(enum metric_id metric);
int metric_compare_labels(const struct bytes *a, const struct bytes *b, int count);

/* The limit of a bucket in the printed unit. */
double metric_limit(enum metric_id metric, uint32_t bucket);

#endif
