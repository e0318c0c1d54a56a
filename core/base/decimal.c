#include "base/decimal.h"

#include <string.h>

const char decimal_pairs[201] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

char *decimal_put_uint64(char *out, uint64_t value)
{
    char digits[DECIMAL_MAX], *at = digits + sizeof digits;
    while (value >= 100) {
        at -= 2;
        memcpy(at, &decimal_pairs[value % 100 * 2], 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, &decimal_pairs[value * 2], 2);
    } else {
        *--at = (char)('0' + value);
    }
    size_t size = (size_t)(digits + sizeof digits - at);
    memcpy(out, at, size);
    return out + size;
}

char *decimal_put_int64(char *out, int64_t value)
{
    if (value >= 0)
        return decimal_put_uint64(out, (uint64_t)value);
    *out = '-';
    return decimal_put_uint64(out + 1, 0 - (uint64_t)value);
}
