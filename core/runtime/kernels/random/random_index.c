/*
 * random_index: RandomIndexShuffle, the place of an index after a shuffle, without the shuffle.
 *
 * A permutation of 2^b numbers, where 2^b holds all indices, is applied until the result is an
 * index. It is the cipher Simon (Beaulieu and others, 2013) with words of any number of bits, few
 * rounds and a key of three words.
 */
#include <math.h>

#include "runtime/kernels/kernel_tools.h"

#define BLOCK_BITS_MIN 16
#define ROUNDS_MAX     256
#define CHECK_EVERY    (1 << 16) /* permutations */

struct shuffle_state {
    int64_t rounds;
};

static struct status shuffle_prepare(struct prepare_context *p)
{
    struct shuffle_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_int(prepare_node(p), "rounds", &state->rounds));
    if (state->rounds < 4 || state->rounds % 2 != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Rounds must be even and at least 4, but got %lld",
                            (long long)state->rounds);
    if (state->rounds > ROUNDS_MAX)
        return status_error(STATUS_UNIMPLEMENTED, "RandomIndexShuffle of %lld rounds",
                            (long long)state->rounds);
    return status_ok();
}

/* ---- the permutation ---- */

struct simon_cipher {
    int word_bits, rounds;
    uint64_t mask; /* of a word */
    uint64_t keys[ROUNDS_MAX];
};

static uint64_t rotate_left(const struct simon_cipher *simon, uint64_t x, int by)
{
    return (x << by | x >> (simon->word_bits - by)) & simon->mask;
}

static uint64_t rotate_right(const struct simon_cipher *simon, uint64_t x, int by)
{
    return (x >> by | x << (simon->word_bits - by)) & simon->mask;
}

static void simon_init(struct simon_cipher *simon, int block_bits, int rounds,
                       const uint32_t key[3])
{
    uint64_t bits = 0x7369f885192c0ef5;
    simon->word_bits = block_bits / 2;
    simon->rounds = rounds;
    simon->mask = ((uint64_t)1 << simon->word_bits) - 1;
    for (int i = 0; i < rounds; i++) {
        uint64_t *keys = simon->keys;
        if (i < 3) {
            keys[i] = key[i] & simon->mask;
            continue;
        }
        keys[i] = (0xfffffffc & simon->mask) ^ (bits & 1) ^ keys[i - 3] ^
                  rotate_right(simon, keys[i - 1], 3) ^ rotate_right(simon, keys[i - 1], 4);
        bits = (bits & simon->mask) >> 1;
    }
}

static uint64_t mixed(const struct simon_cipher *simon, uint64_t x)
{
    return (rotate_left(simon, x, 1) & rotate_left(simon, x, 8)) ^ rotate_left(simon, x, 2);
}

static uint64_t permuted(const struct simon_cipher *simon, uint64_t x)
{
    uint64_t left = x >> simon->word_bits & simon->mask, right = x & simon->mask;
    for (int i = 0; i < simon->rounds; i += 2) {
        left ^= mixed(simon, right) ^ simon->keys[i];
        right ^= mixed(simon, left) ^ simon->keys[i + 1];
    }
    return left << simon->word_bits | right;
}

static int block_bits_for(uint64_t most)
{
    int bits = (int)ceil(log2((double)most));
    bits += bits % 2;
    return bits < BLOCK_BITS_MIN ? BLOCK_BITS_MIN : bits;
}

static struct status place_of(const struct kernel_context *k, uint64_t index, const uint32_t key[3],
                              uint64_t most, uint64_t *out)
{
    const struct shuffle_state *state = kernel_state(k);
    struct simon_cipher simon;
    *out = 0;
    if (index > most)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "max_index must be >= index, but %llu < %llu", (unsigned long long)most,
                            (unsigned long long)index);
    if (most == 0)
        return status_ok();
    simon_init(&simon, block_bits_for(most), (int)state->rounds, key);
    /* the cycle leads back to `index`, which is no more than `most` */
    uint64_t x = permuted(&simon, index);
    for (int64_t i = 1; x > most; i++) {
        x = permuted(&simon, x);
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
    }
    *out = x;
    return status_ok();
}

/* ---- the op ---- */

static struct status check_shapes(const struct kernel_context *k, int64_t count)
{
    const struct tensor *index = kernel_input(k, 0), *seed = kernel_input(k, 1);
    const struct tensor *most = kernel_input(k, 2);
    if (index->shape.rank > 1 || (index->shape.rank == 1 && index->size != count))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Index bust be a scalar or vector.");
    bool is_vector = seed->shape.rank == 1 && seed->size == 3;
    bool is_matrix =
        seed->shape.rank == 2 && seed->shape.dims[0] == count && seed->shape.dims[1] == 3;
    if (!is_vector && !is_matrix)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Seed must be a vector of size [3] or a matrix of size [%lld, 3] but "
                            "got %s.",
                            (long long)count, shape_text(&seed->shape));
    if (most->shape.rank > 1 || (most->shape.rank == 1 && most->size != count))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Maxval must be a scalar or a vector of the same size as index but "
                            "got %s",
                            shape_text(&most->shape));
    return status_ok();
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct status shuffle_compute(struct kernel_context *k)
{
    const struct tensor *index = kernel_input(k, 0), *seed = kernel_input(k, 1);
    const struct tensor *most = kernel_input(k, 2);
    int64_t count = larger(larger(index->size, most->size), seed->size / 3);
    bool scalars = index->shape.rank == 0 && seed->shape.rank == 1 && most->shape.rank == 0;
    struct shape shape = scalars ? shape_scalar() : shape_of(count);
    struct tensor *out;
    TRY(check_shapes(k, count));
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < count; i++) {
        uint32_t key[3];
        uint64_t place;
        for (int j = 0; j < 3; j++)
            key[j] = (uint32_t)tensor_index(seed, (seed->shape.rank == 2 ? 3 * i : 0) + j);
        TRY(place_of(k, (uint64_t)tensor_index(index, index->shape.rank > 0 ? i : 0), key,
                     (uint64_t)tensor_index(most, most->shape.rank > 0 ? i : 0), &place));
        tensor_set_index(out, i, (int64_t)place);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "RandomIndexShuffle",
      DTYPES(DT_INT32) | DTYPES(DT_UINT32) | DTYPES(DT_INT64) | DTYPES(DT_UINT64), "dtype",
      .prepare = shuffle_prepare, .compute = shuffle_compute },
};
const struct kernel_table kernels_random_index = { rows, COUNT(rows) };
