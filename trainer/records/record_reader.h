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

/* The fields of a column hold several values, with this character between them. */
struct column_separator {
    const char *column;
    char separator;
};

/* A column of this name, COLUMN_BYTES, has the records of a TFRecord file as they stand there.
 * Other formats have no such column. */
#define RECORD_COLUMN "<record>"

struct record_options {
    const char *const *column_names; /* of a file without a header; NULL: the first line has them */
    int column_names_count;
    const struct column_separator *separators; /* of text files with fields */
    int separators_count;
    /* Between the fields of csv and tsv files; 0: the format's, or what the first line has */
    char delimiter;
    size_t window_bytes;               /* of a text file, at first; 0: TEXT_WINDOW_BYTES */
    int64_t image_height, image_width; /* to which images are resized; 0: not known */
    int image_channels;
};

/* What a file offers. */
struct record_field {
    const char *name;
    enum column_kind kind;
    bool is_text;       /* the kind is not known: the values decide */
    struct shape shape; /* of a row's values; of rank 0: not known */
};

struct record_fields {
    const struct record_field *list;
    int count;
    char delimiter;       /* between fields, if it is another one than the format's; otherwise 0 */
    const char *left_out; /* what else the file holds, and why it is no column, a line each; NULL:
                             nothing */
};

/* A place in a file. */
struct record_mark {
    uint64_t record; /* the number of the record that begins there */
    uint64_t offset; /* in bytes */
    uint64_t place;  /* its number as record_reader.place counts */
};

/* Embedded in the state of a format. */
struct record_reader {
    const struct record_format *format;
    const char *path; /* the caller's */
    uint64_t place;   /* the line, record or row of the last record that was read */
    /* Of the last record that was skipped, without compression; 0: its values may take any memory,
     * whatever its size. */
    size_t skipped_bytes;
};

/* The functions take `columns` of the same specs throughout. Errors need not name the file, and
 * `bad` not the place. */
struct record_format {
    const char *name;     /* of --data_format */
    const char *suffixes; /* of file names: ".csv .txt" */
    const char *place;    /* what record_reader.place counts: "line" (from 1), "record" (from 0) */
    bool has_fields;      /* texts, which record_options.separators may divide */
    /* Do the first bytes of a file look like this format? A NUL stands behind them. */
    bool (*recognises)(struct bytes start);
    /* INVALID_ARGUMENT: the file has no such column, or not of this kind. */
    struct status (*open)(const char *path, const struct record_options *options,
                          const struct columns *columns, struct record_reader **out);
    struct status (*read)(struct record_reader *reader, size_t rows_max, struct columns *columns,
                          struct status *bad);
    /* Passes one record, good or bad, without reading its fields. *found is false at the end of the
     * file. NULL: a record ends where its fields do, so they must be read. */
    struct status (*skip)(struct record_reader *reader, bool *found);
    /* Where the next record begins, but for its number; false: nobody can go there, because the
     * file is compressed. Both NULL: nobody can go anywhere. */
    bool (*tell)(const struct record_reader *reader, struct record_mark *out);
    /* Goes on there. DATA_LOSS: nothing ends before it, so the file is not the same. */
    struct status (*go_to)(struct record_reader *reader, const struct record_mark *mark);
    void (*close)(struct record_reader *reader);
    /* Lists the columns of a file, in `arena`. */
    struct status (*list)(const char *path, const struct record_options *options,
                          struct arena *arena, struct record_fields *out);
};

/* By name; NULL: unknown. */
const struct record_format *record_format_find(const char *name);
const char *record_format_names(void); /* "csv, tsv, …", for error texts */
/**
 * Chooses by the end of the file's name or, if that does not tell, by its first bytes.
 *
 * Errors  INVALID_ARGUMENT neither tells
 */
struct status record_format_detect(const char *path, const struct record_format **out);

/* Errors name the file. Owner: *out is the caller's; `path` outlives it. */
struct status record_reader_open(const char *path, const struct record_format *format,
                                 const struct record_options *options,
                                 const struct columns *columns, struct record_reader **out);
void record_reader_close(struct record_reader *reader); /* accepts NULL */

/**
 * Appends up to rows_max rows to `columns`. Fewer: the file has ended, or a record is bad.
 *
 * *bad is OK, or says where the bad record stands and why. The reader has passed it; the next call
 * goes on behind it.
 *
 * Errors  of the file as a whole: it cannot be read any further
 */
struct status record_reader_read(struct record_reader *reader, size_t rows_max,
                                 struct columns *columns, struct status *bad);

/* Does the format pass records without reading their fields? */
bool record_reader_can_skip(const struct record_reader *reader);
/* Passes one record, which may be bad. Errors: as record_reader_read. */
struct status record_reader_skip(struct record_reader *reader, bool *found);

/* Where the next record begins, but for its number. False: the reader cannot go to places. */
bool record_reader_tell(const struct record_reader *reader, struct record_mark *out);
/* Goes to a place of the same file. DATA_LOSS: it has changed. */
struct status record_reader_go_to(struct record_reader *reader, const struct record_mark *mark);

/* `status` with the file and the place of the last record in front. */
struct status record_reader_at(const struct record_reader *reader, struct status status);

struct status record_format_list(const char *path, const struct record_format *format,
                                 const struct record_options *options, struct arena *arena,
                                 struct record_fields *out);

#endif
