/*
 * kernel_rows: lines of tests/golden/kernels/X.rows (the format stands in rows.py there), and
 * running them through a plan.
 */
#ifndef TEST_KERNEL_ROWS_H
#define TEST_KERNEL_ROWS_H

#include "base/arena.h"
#include "graph/build.h"

#define ROW_TENSORS_MAX     16
#define KERNEL_ROW_FAMILIES 15

/* X of tests/golden/kernels/X.rows. */
extern const char *const kernel_row_families[KERNEL_ROW_FAMILIES];

struct kernel_row {
    const char *file;
    int line;
    const char *op;
    struct attr attrs[24]; /* ended by ATTR_END */
    struct tensor inputs[ROW_TENSORS_MAX], outputs[ROW_TENSORS_MAX];
    int inputs_count, outputs_count;
    double tolerance;
    int error_code;         /* 0: outputs are compared */
    const char *error_text; /* what TensorFlow says */
};

/* All rows of a file; memory in `arena`. Fails the test where a line does not parse. */
struct kernel_row *kernel_rows_read(struct arena *arena, const char *path, int *count);

/* Compares what an op gave with the row; fails the test with the place of the first difference. */
void kernel_row_compare(const struct kernel_row *row, const char *how, const struct tensor *got);

#endif
