/*
 * text_input: a text file as a moving window, for readers of records.
 *
 * The window holds whole records: a reader that finds no end of a record in it asks for more. A
 * partial record is moved to the front of the buffer, which grows only for a record that does not
 * fit. The window is followed by a '\n' and zero bytes, so that loops stop without comparing
 * positions and text may be read in blocks. The last line of a file has a '\n' even if the file has
 * none there.
 *
 * A gzip file is decompressed; line numbers refer to the contents.
 *
 * Files are read and not mapped, because a mapped file that another process truncates would end
 * this one with SIGBUS. A buffer of 256 KiB stays in the L2 cache.
 */
#ifndef TRAINER_RECORDS_TEXT_INPUT_H
#define TRAINER_RECORDS_TEXT_INPUT_H

#include "base/file.h"

#define TEXT_WINDOW_BYTES     ((size_t)256 << 10)
#define TEXT_PADDING          80                 /* bytes after the window that may be read */
#define TEXT_RECORD_BYTES_MAX ((size_t)16 << 20) /* of one record */

struct text_input {
    struct file_reader file;
    uint64_t file_at;       /* number of bytes read from the file */
    struct gzip_file *gzip; /* NULL: the file is not compressed */
    bool ended;             /* all of it was read */
    bool closed;            /* the file has no '\n' at its end */
    char *data;
    size_t at, size; /* the window is [at, size) */
    size_t capacity;
    uint64_t line; /* of data + at, from 1 */
};

/* Opens the file and fills the first window. Skips a byte order mark.
 * window_bytes: initial size of the window, 16 or more; 0: TEXT_WINDOW_BYTES.
 * INVALID_ARGUMENT: the first bytes are those of a file that is no text (other_content.h). */
struct status text_input_open(const char *path, size_t window_bytes, struct text_input *out);
void text_input_close(struct text_input *input); /* accepts a zeroed one */

/**
 * Extends the window, which may move: pointers into it become invalid.
 *
 * *grown is false at the end of the file.
 *
 * Errors  RESOURCE_EXHAUSTED a record of more than TEXT_RECORD_BYTES_MAX
 */
struct status text_input_more(struct text_input *input, bool *grown);

/* The offset of data + at in the file. Returns false if the file is compressed. */
bool text_input_tell(const struct text_input *input, uint64_t *offset);
/**
 * Moves to an offset after the first line, at which line number `line` begins.
 *
 * Errors  DATA_LOSS no line ends before it: the file has changed
 */
struct status text_input_go_to(struct text_input *input, uint64_t offset, uint64_t line);

/* Finds the '\n' that ends the line at input->at, and reads more if needed. NULL: end of file.
 * Errors: as text_input_more. */
struct status text_input_line(struct text_input *input, const char **end);

#endif
