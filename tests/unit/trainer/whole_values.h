/* whole_values: gives an evaluation the values of variables that are in memory as a whole. */
#ifndef TESTS_WHOLE_VALUES_H
#define TESTS_WHOLE_VALUES_H

#include <stdlib.h>

#include "trainer/model/model.h"

/* Values that are in memory as a whole, [variables_count]. */
struct whole_values {
    struct evaluation_values base; /* first */
    const struct model *model;
    const void *const *values;
    struct buffer *rows; /* [variables_count]: of variables by rows */
    const void **chosen; /* [variables_count] */
};

static inline void choose_rows(const struct whole_values *whole, int v, const struct row_ids *rows)
{
    const struct training_variable *variable = &whole->model->graph->variables[v];
    size_t row_bytes = dtype_size(variable->dtype);

    for (int i = 1; i < variable->shape.rank; i++)
        row_bytes *= (size_t)variable->shape.dims[i];
    whole->rows[v].size = 0;
    for (size_t i = 0; i < rows->count; i++)
        buffer_append(&whole->rows[v],
                      (const char *)whole->values[v] + (size_t)rows->ids[i] * row_bytes, row_bytes);
    whole->chosen[v] = whole->rows[v].data;
}

static inline struct status get_whole(struct evaluation_values *base, const struct row_ids *rows,
                                      const void *const **out)
{
    struct whole_values *whole = (struct whole_values *)base;

    for (int v = 0; v < whole->model->variables_count; v++) {
        whole->chosen[v] = whole->values[v];
        if (whole->model->variables[v].by_rows)
            choose_rows(whole, v, &rows[v]);
    }
    *out = whole->chosen;
    return status_ok();
}

static inline void whole_values_init(struct whole_values *whole, const struct model *model,
                                     const void *const *values)
{
    size_t count = (size_t)model->variables_count + 1;

    *whole = (struct whole_values){ { get_whole }, model, values, NULL, NULL };
    whole->rows = zalloc(count * sizeof *whole->rows);
    whole->chosen = zalloc(count * sizeof *whole->chosen);
}

static inline void whole_values_finish(struct whole_values *whole)
{
    for (int v = 0; v < whole->model->variables_count; v++)
        buffer_finish(&whole->rows[v]);
    free(whole->rows);
    free(whole->chosen);
}

#endif
