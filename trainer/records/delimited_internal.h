/*
 * delimited_internal: what the files of the delimited reader share.
 *
 *     delimited_record.c   a field and a record of the window, into the columns
 *     delimited_header.c   the delimiter and the names of the columns
 *     delimited.c          the records of a file, and the formats
 */
#ifndef TRAINER_RECORDS_DELIMITED_INTERNAL_H
#define TRAINER_RECORDS_DELIMITED_INTERNAL_H

#include "trainer/records/delimited.h"
#include "trainer/records/text_input.h"

#define NO_COLUMN (-1)

struct dialect {
    char delimiter;
    bool quotes;
    const char *const *names; /* NULL: from the header or the options */
    int names_count;
    int first_count, first_hex; /* from this field on: numbers of events, hexadecimal numbers */
};

struct delimited_reader {
    struct record_reader reader;
    const struct dialect *dialect;
    struct dialect own; /* the storage of `dialect` if the file has another delimiter */
    struct text_input input;
    char **names;
    int *targets;     /* [fields_count]: the column of each field, or NO_COLUMN */
    char *separators; /* [fields_count]: between the values of a field; 0: a single value */
    int fields_count;
    bool may_have_header;   /* although the options name the columns */
    char *blank_name;       /* the first name of the header with blanks around it; NULL: none */
    struct bytes na_value;  /* as in the options */
    struct buffer unquoted; /* the current field without its quotes */
};

/* The result of reading a record. */
enum record_end { RECORD_WHOLE, RECORD_CUT, RECORD_BAD };

/* Reads the field at *position and sets *position to its end. *out, in the window or in
 * `unquoted`, is set only if the result is RECORD_WHOLE, and *bad only if it is RECORD_BAD. */
enum record_end delimited_field(struct delimited_reader *reader, const char **position,
                                const char *end, struct bytes *out, struct status *bad);
/* Reads the record at `at`; *next is after its line end. */
enum record_end delimited_record(struct delimited_reader *reader, const char *at, const char *end,
                                 struct columns *columns, const char **next, struct status *bad);

/* Guesses the delimiter of the file, unless the options or the format have it. */
struct status delimited_choose_delimiter(struct delimited_reader *reader,
                                         const struct record_options *options);
/* Sets the names of the fields, of the format, the options or the header, which it passes. */
struct status delimited_find_names(struct delimited_reader *reader,
                                   const struct record_options *options);
/* Finds the field of each column. INVALID_ARGUMENT: there is none, or there are two. */
struct status delimited_find_targets(struct delimited_reader *reader,
                                     const struct record_options *options,
                                     const struct columns *columns);

/* Moves the window past a record, and counts its lines. */
void delimited_advance(struct text_input *input, const char *next);

#endif
