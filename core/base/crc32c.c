#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#define POLYNOMIAL 0x82f63b78u /* bit-reversed */

/*
 * The instruction has a latency of 3 cycles and a throughput of one per cycle, so three lanes of
 * LANE bytes are summed in parallel. To join them, four look-ups move a lane's sum past the bytes
 * that follow it. Measured on 64 KiB in cache: 21 GB/s instead of 9.7.
 */
#define LANE 2048

static uint32_t bytewise[8][256];  /* [k][b]: the sum of byte b followed by k zero bytes */
static uint32_t over_lane[4][256]; /* [k][b]: byte k of a sum, moved over LANE zero bytes */
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static uint32_t over_zeros(uint32_t crc, size_t count)
{
    for (size_t i = 0; i < count; i++)
        crc = crc >> 8 ^ bytewise[0][crc & 0xff];
    return crc;
}

static void make_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        bytewise[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            bytewise[k][b] = over_zeros(bytewise[k - 1][b], 1);

    uint32_t of_bit[32]; /* moving is linear: a byte's row is the sum of its bits' */
    for (int bit = 0; bit < 32; bit++)
        of_bit[bit] = over_zeros((uint32_t)1 << bit, LANE);
    for (int k = 0; k < 4; k++)
        for (uint32_t b = 0; b < 256; b++)
            for (int bit = 0; bit < 8; bit++)
                over_lane[k][b] ^= b >> bit & 1 ? of_bit[8 * k + bit] : 0;
}

uint32_t crc32c_plain(uint32_t crc, const void *data, size_t size)
{
    pthread_once(&tables_once, make_tables);
    const unsigned char *at = data;
    crc = ~crc;
    for (; size >= 8; at += 8, size -= 8) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + 4, 4);
        low ^= crc;
        crc = bytewise[7][low & 0xff] ^ bytewise[6][low >> 8 & 0xff] ^
              bytewise[5][low >> 16 & 0xff] ^ bytewise[4][low >> 24] ^ bytewise[3][high & 0xff] ^
              bytewise[2][high >> 8 & 0xff] ^ bytewise[1][high >> 16 & 0xff] ^
              bytewise[0][high >> 24];
    }
    for (; size > 0; at++, size--)
        crc = crc >> 8 ^ bytewise[0][(crc ^ *at) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)
static uint32_t move_over_lane(uint32_t crc)
{
    return over_lane[0][crc & 0xff] ^ over_lane[1][crc >> 8 & 0xff] ^
           over_lane[2][crc >> 16 & 0xff] ^ over_lane[3][crc >> 24];
}

static uint64_t word(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse(uint32_t crc, const void *data,
                                                             size_t size)
{
    const unsigned char *at = data;
    uint64_t a = (uint32_t)~crc;
    for (; size >= 3 * LANE; at += 3 * LANE, size -= 3 * LANE) {
        uint64_t b = 0, c = 0;
        for (size_t i = 0; i < LANE; i += 8) {
            a = _mm_crc32_u64(a, word(at + i));
            b = _mm_crc32_u64(b, word(at + LANE + i));
            c = _mm_crc32_u64(c, word(at + 2 * LANE + i));
        }
        a = move_over_lane((uint32_t)a) ^ b;
        a = move_over_lane((uint32_t)a) ^ c;
    }
    for (; size >= 8; at += 8, size -= 8)
        a = _mm_crc32_u64(a, word(at));
    uint32_t rest = (uint32_t)a;
    for (; size > 0; at++, size--)
        rest = _mm_crc32_u8(rest, *at);
    return ~rest;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    if (!__builtin_cpu_supports("sse4.2"))
        return crc32c_plain(crc, data, size);
    if (size >= 3 * LANE)
        pthread_once(&tables_once, make_tables);
    return crc32c_sse(crc, data, size);
}
#else
uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    return crc32c_plain(crc, data, size);
}
#endif
