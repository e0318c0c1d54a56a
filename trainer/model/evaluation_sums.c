#include "trainer/model/evaluation_sums.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

void evaluation_sums_begin(struct evaluation_sums *sums, const struct training_graph *graph)
{
    *sums = (struct evaluation_sums){ 0 };
    for (int m = 0; m < graph->metrics_count; m++)
        sums->totals[m] = zalloc((size_t)graph->metrics[m].totals_count * sizeof(double));
}

void evaluation_sums_finish(struct evaluation_sums *sums, const struct training_graph *graph)
{
    for (int m = 0; m < graph->metrics_count; m++)
        free(sums->totals[m]);
}

void evaluation_sums_add(struct evaluation_sums *sums, const struct training_graph *graph,
                         int64_t rows, struct tensor *fetches)
{
    sums->rows += rows;
    sums->loss += tensor_floats(&fetches[0])[0];
    tensor_release(&fetches[0]);
    for (int m = 0; m < graph->metrics_count; m++) {
        for (int64_t i = 0; i < graph->metrics[m].totals_count; i++)
            sums->totals[m][i] += (double)tensor_floats(&fetches[1 + m])[i];
        tensor_release(&fetches[1 + m]);
    }
}

size_t evaluation_sums_count(const struct training_graph *graph)
{
    size_t count = 2;

    for (int m = 0; m < graph->metrics_count; m++)
        count += (size_t)graph->metrics[m].totals_count;
    return count;
}

void evaluation_sums_read(struct evaluation_sums *sums, const struct training_graph *graph,
                          const double *list)
{
    sums->rows += (int64_t)*list++;
    sums->loss += *list++;
    for (int m = 0; m < graph->metrics_count; m++)
        for (int64_t i = 0; i < graph->metrics[m].totals_count; i++)
            sums->totals[m][i] += *list++;
}

/* On x86, the NaN of 0 / 0 has a sign, which printf shows. */
static double without_sign_of_nan(double result)
{
    return isnan(result) ? (double)NAN : result;
}

struct evaluation evaluation_sums_result(const struct evaluation_sums *sums,
                                         const struct training_graph *graph)
{
    struct evaluation out = { .rows = sums->rows };

    out.loss = sums->rows > 0 ? sums->loss / (double)sums->rows : 0;
    for (int m = 0; m < graph->metrics_count; m++)
        out.metrics[m] =
            without_sign_of_nan(graph->metrics[m].result(&graph->metrics[m], sums->totals[m]));
    return out;
}
