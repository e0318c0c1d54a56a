/*
 * folder_label: labels files with the name of the folder that contains them, as
 * keras.utils.image_dataset_from_directory and text_dataset_from_directory do.
 */
#ifndef TRAINER_RECORDS_FOLDER_LABEL_H
#define TRAINER_RECORDS_FOLDER_LABEL_H

#include "trainer/records/record_reader.h"
#include "trainer/records/schema.h"

#define FOLDER_LABEL "label" /* the column of the classes */

/* The name of the folder below a class directory: "cats" for "photos/cats/small/1.jpg", if "photos"
 * is one. Of other files the name of the folder that contains them; ".": none in the path.
 * options: may be NULL. */
struct bytes folder_label(const char *path, const struct record_options *options);

/* Is the file in a folder of a class directory? options: may be NULL. */
bool folder_is_of_classes(const char *path, const struct record_options *options);

/* The columns of these files: `values`, and the label, whose classes are the names of the folders,
 * sorted. In `arena`. */
void folder_schema(const char *const *paths, int count, const struct record_options *options,
                   const struct schema_column *values, struct arena *arena, struct schema *out);

#endif
