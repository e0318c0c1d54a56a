/*
 * folder_label: files whose class is the name of the folder that holds them, as
 * keras.utils.image_dataset_from_directory and text_dataset_from_directory have it.
 */
#ifndef TRAINER_RECORDS_FOLDER_LABEL_H
#define TRAINER_RECORDS_FOLDER_LABEL_H

#include "trainer/records/schema.h"

#define FOLDER_LABEL "label" /* the column of the classes */

/* The name of the folder that holds a file: "cats" of "photos/cats/1.jpg"; ".": none is named. */
struct bytes folder_label(const char *path);

/* The columns of these files: `values`, and the label, whose classes are the names of the folders,
 * sorted. In `arena`. */
void folder_schema(const char *const *paths, int count, const struct schema_column *values,
                   struct arena *arena, struct schema *out);

#endif
