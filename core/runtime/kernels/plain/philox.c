#include "runtime/kernels/plain/philox.h"

#include <string.h>

#include "base/clones.h"

#define LANES PHILOX_BLOCKS

/* Ten rounds over LANES blocks, word by word, a form that the compiler vectorises. */
static inline void rounds(uint32_t words[4][LANES], uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LANES; i++) {
            uint64_t a = (uint64_t)0xd2511f53 * words[0][i];
            uint64_t b = (uint64_t)0xcd9e8d57 * words[2][i];
            uint32_t w0 = (uint32_t)(b >> 32) ^ words[1][i] ^ key0;
            uint32_t w2 = (uint32_t)(a >> 32) ^ words[3][i] ^ key1;
            words[0][i] = w0;
            words[1][i] = (uint32_t)b;
            words[2][i] = w2;
            words[3][i] = (uint32_t)a;
        }
        key0 += 0x9e3779b9;
        key1 += 0xbb67ae85;
    }
}

/* The counter is one number of 128 bits, lowest word first; `first` is added to it. */
static inline void load(const struct philox *philox, uint64_t first, uint32_t words[4][LANES])
{
    uint64_t low = (uint64_t)philox->counter[1] << 32 | philox->counter[0];
    uint64_t high = (uint64_t)philox->counter[3] << 32 | philox->counter[2];

    for (int i = 0; i < LANES; i++) {
        uint64_t sum = low + first + (uint64_t)i;
        uint64_t carried = high + (sum < low);
        words[0][i] = (uint32_t)sum;
        words[1][i] = (uint32_t)(sum >> 32);
        words[2][i] = (uint32_t)carried;
        words[3][i] = (uint32_t)(carried >> 32);
    }
}

struct philox philox_of_seeds(uint64_t seed0, uint64_t seed1)
{
    /* TensorFlow scrambles the seeds by one block of a fixed key. */
    struct philox philox = { .counter = { (uint32_t)seed0, (uint32_t)(seed0 >> 32), (uint32_t)seed1,
                                          (uint32_t)(seed1 >> 32) } };
    uint32_t words[4][LANES];

    load(&philox, 0, words);
    rounds(words, 0x3ec8f720, 0x02461e29);
    return (struct philox){ .counter = { 0, 0, words[2][0], words[3][0] },
                            .key = { words[0][0], words[1][0] } };
}

struct philox philox_of_key(uint64_t key, uint64_t counter_low, uint64_t counter_high)
{
    return (struct philox){ .counter = { (uint32_t)counter_low, (uint32_t)(counter_low >> 32),
                                         (uint32_t)counter_high, (uint32_t)(counter_high >> 32) },
                            .key = { (uint32_t)key, (uint32_t)(key >> 32) } };
}

struct philox philox_skip(struct philox philox, uint64_t blocks)
{
    uint64_t key = (uint64_t)philox.key[1] << 32 | philox.key[0];
    uint64_t low = (uint64_t)philox.counter[1] << 32 | philox.counter[0];
    uint64_t high = (uint64_t)philox.counter[3] << 32 | philox.counter[2];
    uint64_t sum = low + blocks;

    return philox_of_key(key, sum, high + (sum < low));
}

CLONES void philox_blocks(const struct philox *philox, uint32_t out[PHILOX_BLOCKS][4])
{
    uint32_t words[4][LANES];

    load(philox, 0, words);
    rounds(words, philox->key[0], philox->key[1]);
    for (int i = 0; i < LANES; i++)
        for (int w = 0; w < 4; w++)
            out[i][w] = words[w][i];
}

uint32_t philox_next(struct philox_reader *reader)
{
    if (reader->left == 0) {
        philox_blocks(&reader->philox, reader->words);
        reader->philox = philox_skip(reader->philox, PHILOX_BLOCKS);
        reader->left = 4 * PHILOX_BLOCKS;
    }
    int at = 4 * PHILOX_BLOCKS - reader->left--;
    return reader->words[at / 4][at % 4];
}

CLONES void philox_uniform_f32(struct philox philox, float *out, int64_t count)
{
    uint32_t words[4][LANES];

    for (int64_t at = 0; at < count; at += 4 * LANES) {
        load(&philox, (uint64_t)at / 4, words);
        rounds(words, philox.key[0], philox.key[1]);
        int64_t left = count - at < 4 * LANES ? count - at : 4 * LANES;
        for (int64_t i = 0; i < left; i++)
            out[at + i] = philox_float(words[i % 4][i / 4]);
    }
}
