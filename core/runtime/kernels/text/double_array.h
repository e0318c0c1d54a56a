/*
 * double_array: a trie in the form of darts-clone: a node is the index of a unit of 32 bits. The
 * index of a child is the XOR of the node, the offset in its unit, and the byte that leads to the
 * child; bits 0 to 7 and 31 of the child's unit repeat that byte. Bit 8 says that a node has a
 * value: the unit of its child for the byte 0 holds it.
 */
#ifndef KERNELS_TEXT_DOUBLE_ARRAY_H
#define KERNELS_TEXT_DOUBLE_ARRAY_H

#include "runtime/kernels/text/flat_table.h"

static inline uint32_t double_array_distance(uint32_t unit)
{
    return unit >> 10 << ((unit & 0x200) >> 6);
}

/* Goes from a node, which may lie outside, along bytes; false: not all lead on, and *node stays. */
static inline bool double_array_walk(const struct flat_vector *units, uint32_t *node,
                                     const char *bytes, size_t size)
{
    uint32_t at = *node;
    for (size_t i = 0; i < size; i++) {
        uint32_t byte = (unsigned char)bytes[i];
        if (at >= units->count)
            return false;
        at ^= double_array_distance(flat_u32(units, at)) ^ byte;
        if (at >= units->count || (flat_u32(units, at) & 0x800000FF) != byte)
            return false;
    }
    *node = at;
    return true;
}

/* The value of a node; false: it has none. */
static inline bool double_array_value(const struct flat_vector *units, uint32_t node,
                                      uint32_t *value)
{
    if (node >= units->count || !(flat_u32(units, node) & 0x100))
        return false;
    uint32_t leaf = node ^ double_array_distance(flat_u32(units, node));
    if (leaf >= units->count)
        return false;
    *value = flat_u32(units, leaf) & 0x7FFFFFFF;
    return true;
}

#endif
