/*
 * ordered_code: encodings whose byte order is the order of what they encode; keys of slices are
 * made of them.
 *
 *     key of a slice := NUM(0)  STR(tensor name)  NUM(rank)  for each dimension: SNUM(start)
 * SNUM(length, -1 = whole)
 *
 *     NUM(v)   count of significant bytes (1 byte), then v big-endian in so many
 *     STR(s)   00 -> 00 FF, FF -> FF 00, then 00 01
 *     SNUM(v)  n bytes of big-endian two's complement, the first two xored with the header of n
 * leading ones
 */
#ifndef STORAGE_ORDERED_CODE_H
#define STORAGE_ORDERED_CODE_H

#include "base/bytes.h"

void ordered_put_num(struct buffer *buffer, uint64_t value);
void ordered_put_string(struct buffer *buffer, struct bytes text);
void ordered_put_snum(struct buffer *buffer, int64_t value);

#endif
