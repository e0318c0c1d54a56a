/*
 * folder_label: labels files with the name of the folder that contains them, as
 * keras.utils.image_dataset_from_directory and text_dataset_from_directory do.
 */
#ifndef TRAINER_RECORDS_FOLDER_LABEL_H
#define TRAINER_RECORDS_FOLDER_LABEL_H

#include "trainer/records/schema.h"

#define FOLDER_LABEL "label" /* the column of the classes */

/* The name of the folder that contains a file: "cats" for "photos/cats/1.jpg"; ".": none in the
 * path. */
struct bytes folder_label(const char *path);

/* The columns of these files: `values`, and the label, whose classes are the names of the folders,
 * sorted. In `arena`. */
void folder_schema(const char *const *paths, int count, const struct schema_column *values,
                   struct arena *arena, struct schema *out);

#endif
