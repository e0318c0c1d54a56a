/*
 * delimited: reads CSV, TSV and Criteo's files: lines of fields between delimiters.
 *
 *     csv     "a,b" in quotes may hold commas, line ends and "" for a quote (RFC 4180)
 *     tsv     the same with tabs
 *     criteo  tabs, no quotes, no header: label, I1 … I13, C1 … C26; the C are hexadecimal
 *
 * The first line has the names of the columns unless record_options gives them. A column may be
 * requested as any kind; other columns are not converted. An empty field is a missing value. A line
 * may end in CR LF. A line without any character is skipped if the file has more than one column.
 *
 * A bad record has too few or too many fields, a field that is not of the column's kind, a quote or
 * a CR within an unquoted field, text after a closing quote, or no closing quote. The reader
 * continues after the record or, without a closing quote, on the next line.
 */
#ifndef TRAINER_RECORDS_DELIMITED_H
#define TRAINER_RECORDS_DELIMITED_H

#include "trainer/records/record_reader.h"

extern const struct record_format csv_format, tsv_format, criteo_format;

#endif
