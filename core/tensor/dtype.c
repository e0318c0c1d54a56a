#include "tensor/dtype.h"

#include <string.h>

#include "base/bytes.h"
#include "tensor/tensor.h"

enum dtype_kind { OTHER, INTEGER, FLOATING };

/* Indexed by the type's number. file_size 0: the elements have no fixed size in files. */
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
