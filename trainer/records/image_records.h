/*
 * image_records: a JPEG or PNG file as one record with the columns
 *
 *     image  float: [height, width, channels] of record_options, 0 to 255
 *     label  text: the name of the folder that contains the file
 *
 * like keras.utils.image_dataset_from_directory.
 */
#ifndef TRAINER_RECORDS_IMAGE_RECORDS_H
#define TRAINER_RECORDS_IMAGE_RECORDS_H

#include "trainer/records/folder_label.h"

extern const struct record_format image_format;

/* The columns of these files. In `arena`. */
void image_schema(const char *const *paths, int count, const struct record_options *options,
                  struct arena *arena, struct schema *out);

#endif
