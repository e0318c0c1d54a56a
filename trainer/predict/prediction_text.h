/*
 * prediction_text: a signature's predictions as text, one row per line.
 *
 *     JSON lines   {"id": "a7", "scores": [0.25, 0.75]}
 *     CSV          id,scores_0,scores_1
 *                  a7,0.25,0.75
 *
 * Numbers have enough digits to be distinguished. Other floats are NaN or Infinity, which Python's
 * json reads. CSV quotes texts as RFC 4180 describes.
 */
#ifndef TRAINER_PREDICT_PREDICTION_TEXT_H
#define TRAINER_PREDICT_PREDICTION_TEXT_H

#include "tensor/tensor.h"

enum prediction_format { PREDICTION_JSONL, PREDICTION_CSV };

struct prediction_column {
    const char *name;
    const struct tensor *values; /* [rows, …] */
};

/**
 * Checks that each column has the rows of the batch.
 *
 * Errors  INVALID_ARGUMENT another number of rows; UNIMPLEMENTED a dtype that cannot be text
 */
struct status prediction_check(const struct prediction_column *columns, int count, int64_t rows);

/* Appends the first line of a CSV file; nothing for JSON lines. */
void prediction_print_header(enum prediction_format format, const struct prediction_column *columns,
                             int count, struct buffer *out);

/* Appends the line of a row. */
void prediction_print_row(enum prediction_format format, const struct prediction_column *columns,
                          int count, int64_t row, struct buffer *out);

#endif
