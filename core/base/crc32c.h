/*
 * crc32c: the checksum (Castagnoli) of tables and bundles. Files store it masked, so that a
 * checksum over bytes that contain checksums stays effective.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Extends `crc`, the checksum of the bytes before, by these bytes. Start with 0. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The same by lookup tables, for processors without the instruction. A reference for tests. */
uint32_t crc32c_plain(uint32_t crc, const void *data, size_t size);

static inline uint32_t crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static inline uint32_t crc32c_unmask(uint32_t masked)
{
    uint32_t rotated = masked - 0xa282ead8u;
    return rotated >> 17 | rotated << 15;
}

#endif
