/*
 * text_lines: each line of a text file as one record with the columns
 *
 *     text   the line without its end (LF or CR LF), which may be empty
 *     label  the name of the folder that contains the file
 *
 * The lines are the same as in tf.data.TextLineDataset.
 */
#ifndef TRAINER_RECORDS_TEXT_LINES_H
#define TRAINER_RECORDS_TEXT_LINES_H

#include "trainer/records/folder_label.h"

extern const struct record_format text_format;

/* The columns of these files. In `arena`. */
void text_schema(const char *const *paths, int count, const struct record_options *options,
                 struct arena *arena, struct schema *out);

#endif
