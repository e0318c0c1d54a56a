/*
 * kernel_rows: reads the lines of tests/golden/kernels/X.rows and runs tests on them. rows.py in
 * that directory documents the format.
 */
#ifndef TEST_KERNEL_ROWS_H
#define TEST_KERNEL_ROWS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "graph/build.h"

#define ROW_TENSORS_MAX 20

struct kernel_row {
    const char *file;
    int line;
    const char *op;
    struct attr attrs[24]; /* ended by ATTR_END */
    struct tensor inputs[ROW_TENSORS_MAX], outputs[ROW_TENSORS_MAX];
    int inputs_count, outputs_count;
    bool is_variable[ROW_TENSORS_MAX]; /* the input is a variable of that value; the values that
                                          they have after the op are the last outputs */
    int variables_count;
    double tolerance;       /* relative to the output's largest magnitude … */
    bool each;              /* … or to each element; zeros have a sign */
    int error_code;         /* 0: outputs are compared */
    const char *error_text; /* TensorFlow's text */
};

/* Runs a test for each row of tests/golden/kernels/FAMILY.rows, or of all families (NULL), with
 * the row as its initial state. Returns how many failed. Rows live in `arena`; a line that does
 * not parse ends the program. */
int kernel_rows_run(const char *family, CMUnitTestFunction test, struct arena *arena);

/* Visits the rows of all families. The rows live in `arena`. */
void kernel_rows_visit(struct arena *arena, void (*visit)(struct kernel_row *row, void *context),
                       void *context);

/* Compares the outputs of an op with the row; fails the test at the first difference. */
void kernel_row_compare(const struct kernel_row *row, const char *how, const struct tensor *got);

#endif
