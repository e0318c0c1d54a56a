/*
 * idx: reads MNIST's file format, plain or gzip.
 *
 *     00 00 | type u8 | rank u8 | rank × dimension u32 big-endian | elements, big-endian, row-major
 *
 * Only type 08, unsigned bytes, is read: images and labels consist of them. The format is described
 * on MNIST's home page.
 */
#ifndef TRAINER_RECORDS_IDX_H
#define TRAINER_RECORDS_IDX_H

#include "base/bytes.h"

#define IDX_RANK_MAX         4
#define IDX_HEADER_BYTES_MAX (4 + 4 * IDX_RANK_MAX)

struct idx {
    int rank;
    uint32_t dims[IDX_RANK_MAX];
    const uint8_t *data; /* as many bytes as the product of dims */
};

/**
 * Reads the first bytes of a file, IDX_HEADER_BYTES_MAX or all that it has. out->data is not set.
 *
 * Units   *header_bytes, *data_bytes: sizes of the header, and of the elements after it
 * Errors  DATA_LOSS not an IDX file, or cut short; UNIMPLEMENTED another element type
 */
struct status idx_read_header(struct bytes start, struct idx *out, size_t *header_bytes,
                              uint64_t *data_bytes);

/**
 * Finds the parts of the contents of a file. out->data points into `contents`.
 *
 * Errors  DATA_LOSS not an IDX file, cut short, or longer than its dimensions imply; UNIMPLEMENTED
 * another element type
 */
struct status idx_parse(struct bytes contents, struct idx *out);

/**
 * Unpacks `file` if it is gzip, also of several members. Otherwise returns it without a copy.
 *
 * Owner   *unpacked: buffer_finish
 * Errors  DATA_LOSS a damaged or cut stream; RESOURCE_EXHAUSTED more than limit_bytes
 */
struct status idx_unpack(struct bytes file, size_t limit_bytes, struct buffer *unpacked,
                         struct bytes *out);

/* Reads and parses a file of `rank` dimensions. Every error names the file. contents:
 * buffer_finish, also after errors. */
struct status idx_read(const char *path, int rank, struct buffer *contents, struct idx *out);

#endif
