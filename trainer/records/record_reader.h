/*
 * record_reader: reads the records of one file as rows of columns. The formats are rows of a table
 * in record_format.c.
 *
 *     columns_init(&columns, specs, count);
 *     TRY(record_reader_open(path, format, &options, &columns, &reader));
 *     TRY(record_reader_read(reader, 1000, &columns, &bad));
 *     record_reader_close(reader);
 *
 * The file is read in pieces, so it may be larger than memory.
 */
#ifndef TRAINER_RECORDS_RECORD_READER_H
#define TRAINER_RECORDS_RECORD_READER_H

#include "tensor/shape.h"
#include "trainer/records/columns.h"

struct arena;

/* The fields of a column hold several values, separated by this character. */
struct column_separator {
    const char *column;
    char separator;
};

/* A column of this name, COLUMN_BYTES, has the raw records of a TFRecord file. Other formats
 * have no such column. */
#define RECORD_COLUMN "<record>"

/* What errors advise: if columns are not found, and if the first row is no row. */
#define HEADER_ADVICE                                                               \
    "--column_names names the columns of files without a header, and --skip_lines " \
    "passes lines before one"
#define SKIP_HEADER_ADVICE "--skip_lines=1 passes a header"

struct record_options {
    const char *const *column_names; /* for a file without a header; NULL: the first line has
                                      * them */
    int column_names_count;
    int skip_lines;                            /* at the start of each csv or tsv file */
    const struct column_separator *separators; /* of text files with fields */
    int separators_count;
    /* Between the fields of csv and tsv files; 0: the format's, or detected from the first line */
    char delimiter;
    const char *weight_column; /* of the rows' weights: see record_field.is_weight; NULL: none */
    struct bytes na_value; /* of these files: a field with this text has no value; empty: none */
    size_t window_bytes;   /* initial size for a text file; 0: TEXT_WINDOW_BYTES */
    int64_t image_height, image_width; /* size to which images are resized; 0: unknown */
    int image_channels;
    /* Directories with a folder for each class, see folder_label.h */
    const char *const *class_directories;
    int class_directories_count;
};

/* A field of a file. */
struct record_field {
    const char *name;
    enum column_kind kind;
    bool is_text;       /* the kind is unknown: the values decide */
    bool is_count;      /* numbers of events: a row without one has none */
    bool is_weight;     /* few files have it: listed only if it is record_options.weight_column */
    struct shape shape; /* of a row's values; rank 0: unknown */
};

/* The field of this name in a list of `count`; NULL: there is none. */
const struct record_field *record_field_find(const struct record_field *fields, int count,
                                             const char *name);

struct record_fields {
    const struct record_field *list;
    int count;
    char delimiter;       /* between fields, if it differs from the format's; otherwise 0 */
    bool may_have_header; /* in the first line, although the options name the columns */
    const char *notes;    /* what users may not expect, such as contents that are not columns and
                        * why, one per line; NULL: none */
};

/* A place in a file. */
struct record_mark {
    uint64_t record; /* the number of the record that begins there */
    uint64_t offset; /* in bytes */
    uint64_t place;  /* its number in the count of record_reader.place */
};

/* Embedded in the state of a format. */
struct record_reader {
    const struct record_format *format;
    const char *path; /* the caller's */
    uint64_t place;   /* the line, record or row of the last record */
    /* Uncompressed size of the last skipped record; 0: its values may take any memory, whatever
     * its size. */
    size_t skipped_bytes;
};

/* All calls take `columns` with the same specs. Errors need not name the file, and `bad` need
 * not have the position. */
struct record_format {
    const char *name;     /* of --data_format */
    const char *suffixes; /* of file names: ".csv .txt" */
    const char *place;    /* the unit of record_reader.place: "line" (from 1), "record" (from 0) */
    bool has_fields;      /* texts, which record_options.separators may split */
    bool in_folders;      /* its files may lie in a folder for each class */
    /* Do the first bytes of a file look like this format? They are terminated by a NUL. */
    bool (*recognises)(struct bytes start);
    /* INVALID_ARGUMENT: the file has no such column, or one of another kind. */
    struct status (*open)(const char *path, const struct record_options *options,
                          const struct columns *columns, struct record_reader **out);
    struct status (*read)(struct record_reader *reader, size_t rows_max, struct columns *columns,
                          struct status *bad);
    /* Skips one record, good or bad, without reading its fields. *found is false at the end of
     * the file. NULL: a record's end can only be found by reading its fields. */
    struct status (*skip)(struct record_reader *reader, bool *found);
    /* The position of the next record, except for its number; false: no jump to it is possible,
     * because the file is compressed. Both NULL: no jumps at all. */
    bool (*tell)(const struct record_reader *reader, struct record_mark *out);
    /* Continues there. DATA_LOSS: no record ends before it, so the file has changed. */
    struct status (*go_to)(struct record_reader *reader, const struct record_mark *mark);
    void (*close)(struct record_reader *reader);
    /* The other file that holds a part of the rows, in `arena`; it returns NULL if there is none.
     * NULL: the format has no such files. */
    const char *(*beside)(const char *path, struct arena *arena);
    /* Lists the columns of a file, in `arena`. */
    struct status (*list)(const char *path, const struct record_options *options,
                          struct arena *arena, struct record_fields *out);
};

/* By name; NULL: unknown. */
const struct record_format *record_format_find(const char *name);
const char *record_format_names(void); /* "csv, tsv, …", for error texts */
/**
 * Detects the format from the file's suffix or, failing that, from its first bytes. In a folder of
 * classes, a text is a text, although it may begin like a table. Elsewhere, the lines after those
 * of --skip_lines tell the format, too.
 *
 * options  those of the files; NULL: none
 * Errors   INVALID_ARGUMENT unknown
 */
struct status record_format_detect(const char *path, const struct record_options *options,
                                   const struct record_format **out);
/* Has the file no byte, after it was decompressed? Of the files of a table, such a one has no
 * rows. */
bool record_format_is_empty(const char *path);
/* Would that be the format of the file in a folder of classes? */
bool record_format_in_folder(const char *path, const struct record_format *format);

/* Errors name the file. Owner: *out is the caller's; `path` outlives it. */
struct status record_reader_open(const char *path, const struct record_format *format,
                                 const struct record_options *options,
                                 const struct columns *columns, struct record_reader **out);
void record_reader_close(struct record_reader *reader); /* accepts NULL */

/**
 * Appends up to rows_max rows to `columns`. Fewer: end of file, or a bad record.
 *
 * *bad is OK, or gives the position of the bad record and the reason. The reader has skipped the
 * record, and the next call continues after it.
 *
 * Errors  of the file as a whole: it cannot be read any further
 */
struct status record_reader_read(struct record_reader *reader, size_t rows_max,
                                 struct columns *columns, struct status *bad);

/* Can the format skip records without reading their fields? */
bool record_reader_can_skip(const struct record_reader *reader);
/* Skips one record, which may be bad. Errors: as record_reader_read. */
struct status record_reader_skip(struct record_reader *reader, bool *found);

/* The position of the next record, except for its number. Returns false if the reader cannot
 * jump. */
bool record_reader_tell(const struct record_reader *reader, struct record_mark *out);
/* Jumps to a position of the same file. DATA_LOSS: the file has changed. */
struct status record_reader_go_to(struct record_reader *reader, const struct record_mark *mark);

/* `status`, prefixed by the file and the position of the last record. */
struct status record_reader_at(const struct record_reader *reader, struct status status);

struct status record_format_list(const char *path, const struct record_format *format,
                                 const struct record_options *options, struct arena *arena,
                                 struct record_fields *out);

#endif
