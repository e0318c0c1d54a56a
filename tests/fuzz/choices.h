/*
 * choices: the decisions of a generator. They come from the fuzzer's bytes, two bytes each, so that
 * libFuzzer can change one decision at a time. After the last byte they come from random numbers
 * that a hash of all bytes seeds, so that eight bytes can serve as a seed.
 */
#ifndef FUZZ_CHOICES_H
#define FUZZ_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct choices {
    const uint8_t *data;
    size_t size, at;
    uint64_t state;
};

static inline struct choices choices_of(const uint8_t *data, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    return (struct choices){ data, size, 0, hash };
}

static inline uint64_t choose_bits(struct choices *c)
{
    uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A number in [0, count). */
static inline int choose(struct choices *c, int count)
{
    if (c->size - c->at < 2)
        return (int)(choose_bits(c) % (uint64_t)count);
    c->at += 2;
    return (c->data[c->at - 2] | c->data[c->at - 1] << 8) % count;
}

/* True with probability 1 / times. */
static inline bool one_in(struct choices *c, int times)
{
    return choose(c, times) == 0;
}

#endif
