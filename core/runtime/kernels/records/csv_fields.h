/*
 * csv_fields: what DecodeCSV and the datasets of CSV files have in common: the columns that they
 * take, default values, and the value of a field.
 */
#ifndef KERNELS_RECORDS_CSV_FIELDS_H
#define KERNELS_RECORDS_CSV_FIELDS_H

#include "runtime/kernel.h"

/* INVALID_ARGUMENT: the indices are not ascending, or negative. `name`: of the list, for errors. */
struct status csv_check_columns(const char *name, int64_t count, const int64_t *columns);

/* INVALID_ARGUMENT: the default value of a column has more than one element. */
struct status csv_check_default(const struct tensor *value, int column);

/* Stores a field in out[row]; one that is empty or `missing` has the default value `value`, if that
 * has an element. `record` names the record in errors: "" or " 7". */
struct status csv_store(struct kernel_context *k, struct bytes field, struct bytes missing,
                        const struct tensor *value, int column, const char *record,
                        struct tensor *out, int64_t row);

#endif
