/*
 * lower_bound: binary search in rows that are sorted by a key, the int64_t at their beginning.
 *
 *     struct row { int64_t key; … } rows[count];
 *     int64_t place = lower_bound(rows, sizeof *rows, count, key);
 *     bool found = place < count && rows[place].key == key;      if not, insert the key there
 */
#ifndef BASE_LOWER_BOUND_H
#define BASE_LOWER_BOUND_H

#include <stddef.h>
#include <stdint.h>

/* The index of the first row whose key is not below `key`; `count` if there is none. */
static inline int64_t lower_bound(const void *rows, size_t row_bytes, int64_t count, int64_t key)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (*(const int64_t *)((const char *)rows + (size_t)middle * row_bytes) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
