/*
 * row_lists: reads the lists of rows and of keys in a request. Row numbers run through all slices
 * with rows of this ps.
 */
#ifndef TRAINER_PS_ROW_LISTS_H
#define TRAINER_PS_ROW_LISTS_H

#include "trainer/protocol/row_ids.h"
#include "trainer/ps/variables.h"

/* A list of rows in the payload of a request. */
struct row_list {
    const struct message *message;
    size_t offset;
    uint64_t count;
    size_t list_bytes, rows_bytes; /* set by row_list_check: the bytes of the numbers, and of
                                    * their rows */
};

/* INVALID_ARGUMENT: it cannot be decoded, or a row is in none of the pieces of the range, or
 * (with `trained`) in a piece that is not trained. */
struct status row_list_check(const struct variables *variables, struct piece_range range,
                             bool trained, struct row_list *list);
void row_list_read(const struct row_list *list, struct row_ids_reader *out);

/* Row numbers within one slice. Zero-initialise it; free `rows`. */
struct slice_rows {
    uint32_t *rows; /* [count], ascending */
    size_t count, capacity;
};

/* Reads the numbers up to the end of the slice, replacing the previous ones. */
void slice_rows_take(struct slice_rows *rows, const struct slice *slice,
                     struct row_ids_reader *reader);
/* The same, appending to the previous ones. Returns the number read. */
size_t slice_rows_append(struct slice_rows *rows, const struct slice *slice,
                         struct row_ids_reader *reader);

/* ---- keys ---- */

/* The lists of keys in the payload of a request: one for each slice with keys in its range, in
 * order, or none at all. Free with key_lists_finish. */
struct key_list_set {
    struct row_list *lists; /* [count] */
    size_t count;
    size_t list_bytes, rows_bytes; /* of all numbers, and of all their rows */
};

/* Finds the lists, which begin at this offset in the payload. INVALID_ARGUMENT: one cannot be
 * decoded or has a key of another ps, or there are too few or too many. The lists must be freed
 * in any case. */
struct status key_lists_check(const struct ps *ps, struct piece_range range,
                              const struct message *message, size_t offset,
                              const struct key_counts *counts, struct key_list_set *out);
void key_lists_finish(struct key_list_set *keys);
/* The message has moved. */
void key_lists_move(struct key_list_set *keys, const struct message *message);

/* The keys of one list. Zero-initialise it; free `keys`. */
struct slice_keys {
    int64_t *keys; /* [count], ascending */
    size_t count, capacity;
};

void slice_keys_take(struct slice_keys *keys, const struct row_list *list);

#endif
