/*
 * ordered_code: encodings whose byte order is the order of the values. The keys of slices are made
 * of them.
 *
 *     key of a slice := NUM(0)  STR(tensor name)  NUM(rank)
 *                       SNUM(start)  SNUM(length, -1 = whole)     for each dimension
 *
 *     NUM(v)   the number of significant bytes (1 byte), then v big-endian in that many bytes
 *     STR(s)   s with 00 -> 00 FF and FF -> FF 00, then 00 01
 *     SNUM(v)  n bytes of big-endian two's complement, the first two XORed with a header of n
 *              leading ones
 */
#ifndef STORAGE_ORDERED_CODE_H
#define STORAGE_ORDERED_CODE_H

#include "base/bytes.h"

void ordered_put_num(struct buffer *buffer, uint64_t value);
void ordered_put_string(struct buffer *buffer, struct bytes text);
void ordered_put_snum(struct buffer *buffer, int64_t value);

#endif
