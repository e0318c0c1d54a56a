#include "tensor/dtype.h"

#include <string.h>

#include "base/bytes.h"
#include "base/float_bits.h"
#include "tensor/tensor.h"

enum dtype_kind { OTHER, INTEGER, FLOATING };

/* By number. file_size 0: the elements have no fixed size in files. */
static const struct dtype_row {
    const char *name, *enum_name;
    size_t size, file_size;
    enum dtype_kind kind;
} rows[DTYPE_COUNT] = {
    [DT_INVALID] = { "INVALID", "DT_INVALID", 0, 0, OTHER },
    [DT_FLOAT] = { "float", "DT_FLOAT", 4, 4, FLOATING },
    [DT_DOUBLE] = { "double", "DT_DOUBLE", 8, 8, FLOATING },
    [DT_INT32] = { "int32", "DT_INT32", 4, 4, INTEGER },
    [DT_UINT8] = { "uint8", "DT_UINT8", 1, 1, INTEGER },
    [DT_INT16] = { "int16", "DT_INT16", 2, 2, INTEGER },
    [DT_INT8] = { "int8", "DT_INT8", 1, 1, INTEGER },
    [DT_STRING] = { "string", "DT_STRING", sizeof(struct bytes), 0, OTHER },
    [DT_COMPLEX64] = { "complex64", "DT_COMPLEX64", 8, 8, OTHER },
    [DT_INT64] = { "int64", "DT_INT64", 8, 8, INTEGER },
    [DT_BOOL] = { "bool", "DT_BOOL", 1, 1, OTHER },
    [DT_QINT8] = { "qint8", "DT_QINT8", 1, 1, OTHER },
    [DT_QUINT8] = { "quint8", "DT_QUINT8", 1, 1, OTHER },
    [DT_QINT32] = { "qint32", "DT_QINT32", 4, 4, OTHER },
    [DT_BFLOAT16] = { "bfloat16", "DT_BFLOAT16", 2, 2, FLOATING },
    [DT_QINT16] = { "qint16", "DT_QINT16", 2, 2, OTHER },
    [DT_QUINT16] = { "quint16", "DT_QUINT16", 2, 2, OTHER },
    [DT_UINT16] = { "uint16", "DT_UINT16", 2, 2, INTEGER },
    [DT_COMPLEX128] = { "complex128", "DT_COMPLEX128", 16, 16, OTHER },
    [DT_HALF] = { "half", "DT_HALF", 2, 2, FLOATING },
    [DT_RESOURCE] = { "resource", "DT_RESOURCE", sizeof(struct object *), 0, OTHER },
    [DT_VARIANT] = { "variant", "DT_VARIANT", sizeof(struct object *), 0, OTHER },
    [DT_UINT32] = { "uint32", "DT_UINT32", 4, 4, INTEGER },
    [DT_UINT64] = { "uint64", "DT_UINT64", 8, 8, INTEGER },
    [DT_FLOAT8_E5M2] = { "float8_e5m2", "DT_FLOAT8_E5M2", 1, 1, FLOATING },
    [DT_FLOAT8_E4M3FN] = { "float8_e4m3fn", "DT_FLOAT8_E4M3FN", 1, 1, FLOATING },
    [DT_FLOAT8_E4M3FNUZ] = { "float8_e4m3fnuz", "DT_FLOAT8_E4M3FNUZ", 1, 1, FLOATING },
    [DT_FLOAT8_E4M3B11FNUZ] = { "float8_e4m3b11fnuz", "DT_FLOAT8_E4M3B11FNUZ", 1, 1, FLOATING },
    [DT_FLOAT8_E5M2FNUZ] = { "float8_e5m2fnuz", "DT_FLOAT8_E5M2FNUZ", 1, 1, FLOATING },
    [DT_INT4] = { "int4", "DT_INT4", 1, 1, INTEGER },
    [DT_UINT4] = { "uint4", "DT_UINT4", 1, 1, INTEGER },
    [DT_INT2] = { "int2", "DT_INT2", 1, 1, INTEGER },
    [DT_UINT2] = { "uint2", "DT_UINT2", 1, 1, INTEGER },
    [DT_FLOAT4_E2M1FN] = { "float4_e2m1fn", "DT_FLOAT4_E2M1FN", 1, 0, FLOATING },
};

static const struct dtype_row *row_of(enum dtype dtype)
{
    return &rows[(unsigned)dtype < DTYPE_COUNT ? dtype : DT_INVALID];
}

enum dtype dtype_base(int number)
{
    if (number > DT_REF)
        number -= DT_REF;
    return number > 0 && number < DTYPE_COUNT ? (enum dtype)number : DT_INVALID;
}

size_t dtype_size(enum dtype dtype)
{
    return row_of(dtype)->size;
}

size_t dtype_file_size(enum dtype dtype)
{
    return row_of(dtype)->file_size;
}

const char *dtype_name(enum dtype dtype)
{
    return row_of(dtype)->name;
}

const char *dtype_enum_name(enum dtype dtype)
{
    return row_of(dtype)->enum_name;
}

bool dtype_parse_enum(const char *name, enum dtype *out)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(rows[i].enum_name, name) == 0) {
            *out = (enum dtype)i;
            return true;
        }
    }
    return false;
}

bool dtype_is_floating(enum dtype dtype)
{
    return row_of(dtype)->kind == FLOATING;
}

bool dtype_is_complex(enum dtype dtype)
{
    return dtype == DT_COMPLEX64 || dtype == DT_COMPLEX128;
}

bool dtype_is_integer(enum dtype dtype)
{
    return row_of(dtype)->kind == INTEGER;
}

float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = half & 0x7fff;
    if (rest >= 0x7c00) /* infinity and NaN have the largest exponent in both */
        return float_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x0400) /* normal: the exponent's bias grows from 15 to 127 */
        return float_of_bits(sign | ((rest << 13) + ((127u - 15) << 23)));
    float value = (float)rest * 0x1p-24f; /* subnormal: exact in float */
    return sign ? -value : value;
}

uint16_t float_to_half(float value)
{
    uint32_t bits = bits_of_float(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t rest = bits & 0x7fffffff;
    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x1ff));
    if (rest >= 0x477ff000) /* rounds to 65536 or is larger: infinity */
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) { /* below 2^-14: adding 0.5 aligns the last bit of a subnormal half with
                                the float's */
        float shifted = float_of_bits(rest) + 0.5f;
        return (uint16_t)(sign | (bits_of_float(shifted) - bits_of_float(0.5f)));
    }
    rest -= (127u - 15) << 23;
    /* to nearest, ties to even; a carry into the exponent is correct */
    rest += 0x0fff + (rest >> 13 & 1);
    return (uint16_t)(sign | rest >> 13);
}

float bfloat16_to_float(uint16_t value)
{
    return float_of_bits((uint32_t)value << 16);
}

uint16_t float_to_bfloat16(float value)
{
    uint32_t bits = bits_of_float(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return bits >> 31 ? 0xffc0 : 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
