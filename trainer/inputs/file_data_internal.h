/*
 * file_data_internal: declarations shared by the parts of file_data. file_data_paths.c finds the
 * files, file_data_images.c decides the size of their images, file_data_schema.c their format and
 * schema, file_data_feeds.c maps columns to feeds, file_data_deal.c deals those of a table to
 * several inputs, and file_data.c makes splits of them.
 */
#ifndef TRAINER_INPUTS_FILE_DATA_INTERNAL_H
#define TRAINER_INPUTS_FILE_DATA_INTERNAL_H

#include "trainer/data/row_layout.h"
#include "trainer/inputs/file_data.h"
#include "trainer/records/record_reader.h"

struct text_list {
    const char **texts;
    int count;
};

/* The state of file_data_open. */
struct file_data_maker {
    const struct file_data_request *request;
    struct arena *arena;
    const struct record_format *format; /* NULL: each file's own */
    const char *first_file;             /* of those with a byte; a guess: of those with rows */
    struct record_options records;
    struct schema schema;
    struct row_layout layout;
};

static inline struct status wrong_flag(const char *flag, struct status status)
{
    return status_in(status, "--%s", flag);
}

static inline bool has_id(const struct file_data_request *request)
{
    return request->id_column != NULL && *request->id_column != '\0';
}

/* A format whose files are in one folder per class, and the schema of its files. */
struct class_files {
    const struct record_format *format;
    void (*make_schema)(const char *const *paths, int count, const struct record_options *options,
                        struct arena *arena, struct schema *out);
};

#define CLASS_FILES_COUNT 2
extern const struct class_files file_data_class_files[CLASS_FILES_COUNT];

/* Splits "a,b". */
struct text_list file_data_split_commas(const char *text, struct arena *arena);
/* Splits "a, b": the blanks after a comma are not part of a name. */
struct text_list file_data_split_names(const char *text, struct arena *arena);
/* All files of "GLOB,GLOB", sorted, so that every task has the same order. Adds the directories of
 * classes among them to maker->records. */
struct status file_data_find_files(struct file_data_maker *maker, const char *flag,
                                   const char *globs, struct text_list *out);
bool file_data_is_of_format(const struct file_data_maker *maker, const char *path,
                            const struct record_format *wanted);

/* Reads --data_format, --column_names, --skip_lines and --na_value. */
struct status file_data_choose_format(const struct flag_values *flags, struct arena *arena,
                                      const struct record_format **format,
                                      struct record_options *records);
struct status file_data_guess_schema(const char *path, const struct record_format *format,
                                     const struct record_options *records,
                                     const struct schema_hints *hints, struct arena *arena,
                                     struct buffer *notes, struct schema *out);
/* Sets the size of images: that of the model's only input, if that has the shape of an image. */
struct status file_data_choose_image_size(struct file_data_maker *maker);
/* Sets the schema, from --schema or the first file, and adds the columns of ids and of whole
 * records. */
struct status file_data_choose_schema(struct file_data_maker *maker, const struct text_list *files);

/* Finds the columns of each feed. */
struct status file_data_make_layout(struct file_data_maker *maker);

/* The columns of the labels; with several outputs, one per name. They are not features, even
 * without a feed for them. */
struct text_list file_data_label_columns(const struct file_data_maker *maker);
/* May it be part of an input? A column without a name, such as the index that pandas writes, is no
 * feature. `labels`: file_data_label_columns */
bool file_data_is_feature(const struct file_data_maker *maker, const struct text_list *labels,
                          const struct schema_column *column);
/* The columns of which the feed is made. */
struct text_list file_data_columns_of(const struct file_data_maker *maker,
                                      const struct training_feed *feed);
/* Does the feed come from the files? Weights do not without --weight_column, but with
 * --class_weight. */
bool file_data_has_feed(const struct file_data_maker *maker, int feed);
/* Does the model itself take raw columns and know how they form its inputs? */
bool file_data_takes_raw_columns(const struct file_data_request *request);

/* Deals the columns of a table to the inputs that none is named after, and that the schema's
 * "inputs" do not list: categories to the input of integers, numbers to that of floats.
 * INVALID_ARGUMENT: they do not fit; the text says what to write. */
struct status file_data_deal_columns(struct file_data_maker *maker);
/* Hashes texts that become row numbers of the model's tables to as many buckets as these have
 * rows. */
void file_data_give_buckets(struct file_data_maker *maker);

#endif
