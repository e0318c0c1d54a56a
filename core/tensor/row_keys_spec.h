/*
 * row_keys_spec: the rules of a layer's hash table: the initial values of rows, and which keys get
 * and keep a row. trainer/protocol/row_keys.h describes the rules.
 */
#ifndef TENSOR_ROW_KEYS_SPEC_H
#define TENSOR_ROW_KEYS_SPEC_H

#include <stdint.h>

/* The initial distribution of each element of a row. */
enum key_initializer {
    KEY_CONSTANT,         /* a */
    KEY_UNIFORM,          /* from a to b */
    KEY_NORMAL,           /* mean a, standard deviation b */
    KEY_TRUNCATED_NORMAL, /* the same, redrawn beyond 2 b */
    KEY_INITIALIZERS,     /* how many there are */
};

struct row_keys_spec {
    uint64_t seed;
    enum key_initializer initializer;
    double a, b;
    uint32_t min_count; /* 0 and 1: a key's first update gives it a row */
    double probability; /* the part of all keys that may have a row: above 0, at most 1 */
    uint64_t ttl_steps; /* 0: keys do not expire */
    uint64_t bytes_max; /* of all ps tasks, entries, rows and slots; 0: no limit */
};

#endif
