/*
 * random_bits: XlaRngBitGenerator, random bits from a state: a key and a counter.
 *
 * Philox numbers follow each other as in TensorFlow's own random ops. ThreeFry (Salmon and others,
 * 2011: Threefry-2x32, 20 rounds) makes two words from each counter. Numbers of 64 bits take both;
 * otherwise they go to two elements that are neighbours in one dimension, the first even one or
 * else the longest.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/random/random_fill.h"

static void threefry(uint64_t key, uint64_t counter, uint32_t out[2])
{
    static const int rotations[] = { 13, 15, 26, 6, 17, 29, 16, 24 };
    const uint32_t keys[] = { (uint32_t)key, (uint32_t)(key >> 32),
                              (uint32_t)key ^ (uint32_t)(key >> 32) ^ 0x1bd11bda };
    uint32_t x = (uint32_t)counter + keys[0], y = (uint32_t)(counter >> 32) + keys[1];
    for (uint32_t round = 1; round <= 20; round++) {
        int rotation = rotations[(round - 1) % 8];
        x += y;
        y = (y << rotation | y >> (32 - rotation)) ^ x;
        if (round % 4 == 0) {
            x += keys[round / 4 % 3];
            y += keys[(round / 4 + 1) % 3] + round / 4;
        }
    }
    out[0] = x;
    out[1] = y;
}

/* The dimension in which a counter's words are neighbours; -1 for a scalar. */
static int paired_dimension(const struct shape *shape)
{
    int longest = -1;
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dims[d] % 2 == 0)
            return d;
        if (longest < 0 || shape->dims[d] > shape->dims[longest])
            longest = d;
    }
    return longest;
}

#define CHECK_EVERY 65536 /* counters */

/* The words of the next counter; now and then looks whether the run must end. */
static struct status next_pair(struct kernel_context *k, uint64_t *state, uint32_t out[2])
{
    threefry(state[0], state[1]++, out);
    return state[1] % CHECK_EVERY == 0 ? kernel_check(k) : status_ok();
}

/* Elements of `out` are uint32: [outer, length, inner]. */
static struct status fill_words(struct kernel_context *k, uint64_t *state, struct tensor *out)
{
    int paired = paired_dimension(&out->shape);
    int64_t length = paired < 0 ? 1 : out->shape.dims[paired];
    int64_t inner = paired < 0 ? 1 : shape_inner(&out->shape, paired);
    int64_t outer = paired < 0 ? 1 : shape_outer(&out->shape, paired);
    uint32_t *words = out->data, pair[2];
    for (int64_t o = 0; o < outer; o++, words += length * inner)
        for (int64_t at = 0; at < length; at += 2)
            for (int64_t i = 0; i < inner; i++) {
                TRY(next_pair(k, state, pair));
                words[at * inner + i] = pair[0];
                if (at + 1 < length)
                    words[(at + 1) * inner + i] = pair[1];
            }
    return status_ok();
}

/* Fills `out`, of uint32 or uint64, and moves `state` on. */
static struct status fill_threefry(struct kernel_context *k, uint64_t *state, struct tensor *out)
{
    uint64_t *words = out->data;
    if (out->dtype == DT_UINT32)
        return fill_words(k, state, out);
    for (int64_t i = 0; i < out->size; i++) {
        uint32_t pair[2];
        TRY(next_pair(k, state, pair));
        words[i] = (uint64_t)pair[1] << 32 | pair[0];
    }
    return status_ok();
}

static struct status fill_philox(struct kernel_context *k, struct tensor *state, struct tensor *out)
{
    uint64_t *words = state->data;
    const struct draw draw = { .distribution = FULL_INT, .dtype = out->dtype };
    uint64_t high = words[state->size > 2 ? 2 : 0]; /* XLA's choice for a short state: the key */
    struct philox philox = philox_of_key(words[0], words[1], high);
    TRY(random_fill(k, philox, &draw, out));
    int64_t per_block = 16 / (int64_t)dtype_size(out->dtype);
    philox = philox_skip(philox, (uint64_t)((out->size + per_block - 1) / per_block));
    memcpy(&words[1], philox.counter, (size_t)(state->size > 2 ? 2 : 1) * sizeof *words);
    return status_ok();
}

static struct status check_inputs(struct kernel_context *k, int64_t *algorithm)
{
    const struct tensor *number, *state = kernel_input(k, 1);
    TRY(kernel_scalar(k, 0, "algorithm", &number));
    *algorithm = tensor_index(number, 0);
    if (*algorithm < ALGORITHM_PHILOX || *algorithm > ALGORITHM_AUTO)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Unsupported algorithm id: %lld",
                            (long long)*algorithm);
    bool is_threefry = *algorithm == ALGORITHM_THREEFRY;
    if (state->shape.rank == 1 && (state->size == 2 || (state->size == 3 && !is_threefry)))
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT, "initial_state has shape %s, should be [2]%s",
                        shape_text(&state->shape), is_threefry ? "" : " or [3]");
}

static struct status fill(struct kernel_context *k, int64_t algorithm, struct tensor *state,
                          struct tensor *out)
{
    return algorithm == ALGORITHM_THREEFRY ? fill_threefry(k, state->data, out)
                                           : fill_philox(k, state, out);
}

/* Bytes are the lowest ones of numbers of 32 bits. */
static struct status fill_bytes(struct kernel_context *k, int64_t algorithm, struct tensor *state,
                                struct tensor *out)
{
    struct tensor words;
    TRY(kernel_scratch(k, DT_UINT32, &out->shape, &words));
    struct status status = fill(k, algorithm, state, &words);
    for (int64_t i = 0; status_is_ok(status) && i < out->size; i++)
        ((uint8_t *)out->data)[i] = (uint8_t)((const uint32_t *)words.data)[i];
    tensor_release(&words);
    return status;
}

static struct status random_bits_compute(struct kernel_context *k)
{
    int64_t algorithm;
    struct shape shape;
    struct tensor *state, *out;
    TRY(check_inputs(k, &algorithm));
    TRY(random_shape(k, 2, &shape));
    TRY(kernel_output_copy(k, 0, 1, &state));
    TRY(kernel_output(k, 1, &shape, &out));
    if (out->size == 0)
        return status_ok();
    return (out->dtype == DT_UINT8 ? fill_bytes : fill)(k, algorithm, state, out);
}

/* TensorFlow's definition also has signed integers, which its kernel refuses. */
static const struct kernel rows[] = {
    { "XlaRngBitGenerator", DTYPES(DT_UINT8) | DTYPES(DT_UINT32) | DTYPES(DT_UINT64), "dtype",
      .compute = random_bits_compute, .costly = true },
};
const struct kernel_table kernels_random_bits = { rows, COUNT(rows) };
