#include "base/fingerprint.h"

#include <string.h>
#include <sys/auxv.h>

#define K0 0xc3a5c85c97cb3127u
#define K1 0xb492b66fbe98f273u
#define K2 0x9ae16a3b2f90404fu

struct mixed_pair {
    uint64_t first, second;
};

/* Every machine that Slipway runs on is little-endian, as the hashes' definitions are. */
static uint64_t load64(const char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t load32(const char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t rotate_right(uint64_t value, int by)
{
    return value >> by | value << (64 - by);
}

static uint64_t shift_mix(uint64_t value)
{
    return value ^ value >> 47;
}

static uint64_t mix_pair(uint64_t u, uint64_t v, uint64_t multiplier)
{
    uint64_t a = shift_mix((u ^ v) * multiplier);

    return shift_mix((v ^ a) * multiplier) * multiplier;
}

/* ---- Fingerprint64, by size ---- */

static uint64_t hash_up_to_16(const char *s, size_t size)
{
    uint64_t multiplier = K2 + size * 2;

    if (size >= 8) {
        uint64_t a = load64(s) + K2, b = load64(s + size - 8);
        uint64_t c = rotate_right(b, 37) * multiplier + a;
        return mix_pair(c, (rotate_right(a, 25) + b) * multiplier, multiplier);
    }
    if (size >= 4)
        return mix_pair(size + (load32(s) << 3), load32(s + size - 4), multiplier);
    if (size == 0)
        return K2;
    uint32_t y = (uint32_t)(uint8_t)s[0] + ((uint32_t)(uint8_t)s[size >> 1] << 8);
    uint32_t z = (uint32_t)size + ((uint32_t)(uint8_t)s[size - 1] << 2);
    return shift_mix(y * K2 ^ z * K0) * K2;
}

static uint64_t hash_17_to_32(const char *s, size_t size)
{
    uint64_t multiplier = K2 + size * 2;
    uint64_t a = load64(s) * K1, b = load64(s + 8);
    uint64_t c = load64(s + size - 8) * multiplier, d = load64(s + size - 16) * K2;

    return mix_pair(rotate_right(a + b, 43) + rotate_right(c, 30) + d,
                    a + rotate_right(b + K2, 18) + c, multiplier);
}

static uint64_t hash_33_to_64(const char *s, size_t size)
{
    uint64_t multiplier = K2 + size * 2;
    uint64_t a = load64(s) * K2, b = load64(s + 8);
    uint64_t c = load64(s + size - 8) * multiplier, d = load64(s + size - 16) * K2;
    uint64_t y = rotate_right(a + b, 43) + rotate_right(c, 30) + d;
    uint64_t z = mix_pair(y, a + rotate_right(b + K2, 18) + c, multiplier);
    uint64_t e = load64(s + 16) * multiplier, f = load64(s + 24);
    uint64_t g = (y + load64(s + size - 32)) * multiplier;
    uint64_t h = (z + load64(s + size - 24)) * multiplier;

    return mix_pair(rotate_right(e + f, 43) + rotate_right(g, 30) + h,
                    e + rotate_right(f + a, 18) + g, multiplier);
}

static struct mixed_pair mix_32_bytes(const char *s, uint64_t a, uint64_t b)
{
    uint64_t z = load64(s + 24), before;

    a += load64(s);
    b = rotate_right(b + a + z, 21);
    before = a;
    a += load64(s + 8) + load64(s + 16);
    b += rotate_right(a, 44);
    return (struct mixed_pair){ a + z, b + before };
}

struct mixed_state {
    uint64_t x, y, z;
    struct mixed_pair v, w;
};

/* Mixes 64 bytes in. The last block has another multiplier and weighs the state by 9. */
static void mix_block(struct mixed_state *state, const char *s, uint64_t multiplier,
                      uint64_t weight)
{
    uint64_t x = state->x, y = state->y, z = state->z;
    struct mixed_pair v = state->v, w = state->w;

    x = rotate_right(x + y + v.first + load64(s + 8), 37) * multiplier;
    y = rotate_right(y + v.second + load64(s + 48), 42) * multiplier;
    x ^= w.second * weight;
    y += v.first * weight + load64(s + 40);
    z = rotate_right(z + w.first, 33) * multiplier;
    v = mix_32_bytes(s, v.second * multiplier, x + w.first);
    w = mix_32_bytes(s + 32, z + w.second, y + load64(s + 16));
    *state = (struct mixed_state){ .x = z, .y = y, .z = x, .v = v, .w = w };
}

static uint64_t hash_long(const char *s, size_t size)
{
    const uint64_t seed = 81;
    const char *end = s + (size - 1) / 64 * 64, *last = s + size - 64;
    size_t tail = (size - 1) % 64;
    struct mixed_state state = { .x = seed * K2 + load64(s), .y = seed * K1 + 113 };

    state.z = shift_mix(state.y * K2 + 113) * K2;
    for (; s != end; s += 64)
        mix_block(&state, s, K1, 1);
    uint64_t multiplier = K1 + ((state.z & 0xff) << 1);
    state.w.first += tail;
    state.v.first += state.w.first;
    state.w.first += state.v.first;
    mix_block(&state, last, multiplier, 9);
    return mix_pair(mix_pair(state.v.first, state.w.first, multiplier) + shift_mix(state.y) * K0 +
                        state.z,
                    mix_pair(state.v.second, state.w.second, multiplier) + state.x, multiplier);
}

uint64_t fingerprint64(struct bytes text)
{
    if (text.size <= 16)
        return hash_up_to_16(text.data, text.size);
    if (text.size <= 32)
        return hash_17_to_32(text.data, text.size);
    if (text.size <= 64)
        return hash_33_to_64(text.data, text.size);
    return hash_long(text.data, text.size);
}

uint64_t fingerprint_cat64(uint64_t a, uint64_t b)
{
    const uint64_t multiplier = 0xc6a4a7935bd1e995u;
    uint64_t result = a ^ multiplier;

    result ^= shift_mix(b * multiplier) * multiplier;
    result *= multiplier;
    return shift_mix(shift_mix(result) * multiplier);
}

/* ---- SipHash-2-4 ---- */

static uint64_t rotate_left(uint64_t value, int by)
{
    return value << by | value >> (64 - by);
}

/* Passed by value, so that it stays in registers: a text of 24 bytes takes half the time. */
struct sip_state {
    uint64_t a, b, c, d;
};

static inline struct sip_state sip_round(struct sip_state v)
{
    v.a += v.b;
    v.c += v.d;
    v.b = rotate_left(v.b, 13) ^ v.a;
    v.d = rotate_left(v.d, 16) ^ v.c;
    v.a = rotate_left(v.a, 32);
    v.c += v.b;
    v.a += v.d;
    v.b = rotate_left(v.b, 17) ^ v.c;
    v.d = rotate_left(v.d, 21) ^ v.a;
    v.c = rotate_left(v.c, 32);
    return v;
}

static inline struct sip_state sip_block(struct sip_state v, uint64_t block)
{
    v.d ^= block;
    v = sip_round(sip_round(v));
    v.a ^= block;
    return v;
}

uint64_t siphash64(const uint64_t key[2], struct bytes text)
{
    struct sip_state v = { key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                           key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u };
    size_t whole = text.size / 8 * 8;
    uint64_t last = (uint64_t)text.size << 56;

    for (size_t i = 0; i < whole; i += 8)
        v = sip_block(v, load64(text.data + i));
    for (size_t i = whole; i < text.size; i++)
        last |= (uint64_t)(uint8_t)text.data[i] << 8 * (i - whole);
    v = sip_block(v, last);
    v.c ^= 0xff;
    v = sip_round(sip_round(sip_round(sip_round(v))));
    return v.a ^ v.b ^ v.c ^ v.d;
}

/* ---- MurmurHash64A ---- */

uint64_t murmur64(struct bytes text)
{
    const uint64_t multiplier = 0xc6a4a7935bd1e995u, seed = 0xdecafcaffe;
    uint64_t hash = seed ^ text.size * multiplier;
    size_t left = text.size;
    const char *at = text.data;

    for (; left >= 8; left -= 8, at += 8)
        hash = (hash ^ shift_mix(load64(at) * multiplier) * multiplier) * multiplier;
    if (left > 0) {
        uint64_t tail = 0;
        memcpy(&tail, at, left);
        hash = (hash ^ tail) * multiplier;
    }
    return shift_mix(shift_mix(hash) * multiplier);
}

/* ---- a secret ---- */

/* The kernel gives each process 16 random bytes. */
void fingerprint_secret(uint64_t key[2])
{
    const void *random = (const void *)getauxval(AT_RANDOM); /* may be unaligned */

    memset(key, 0, 2 * sizeof *key);
    if (random != NULL)
        memcpy(key, random, 2 * sizeof *key);
}
