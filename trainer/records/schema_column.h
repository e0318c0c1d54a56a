/*
 * schema_column: one column of a schema as JSON.
 */
#ifndef TRAINER_RECORDS_SCHEMA_COLUMN_H
#define TRAINER_RECORDS_SCHEMA_COLUMN_H

#include "base/json_value.h"
#include "base/json_writer.h"
#include "trainer/records/schema.h"

/**
 * Reads a column, and checks that its keys are consistent.
 *
 * Owner   out lives in `arena`
 * Errors  INVALID_ARGUMENT an unknown key or a wrong value, by name
 */
struct status schema_column_read(const struct json_value *json, struct arena *arena,
                                 struct schema_column *out);

void schema_column_print(const struct schema_column *column, struct json_writer *writer);

/* Is it a text of one character that cannot be part of a number? */
bool schema_is_separator(const struct json_value *value);

#endif
