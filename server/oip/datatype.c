#include "server/oip/datatype.h"

#include "base/text_print.h"

static const struct datatype {
    const char *name;
    enum dtype dtype;
} datatypes[] = {
    { "BOOL", DT_BOOL },    { "UINT8", DT_UINT8 },   { "UINT16", DT_UINT16 },
    { "INT8", DT_INT8 },    { "UINT32", DT_UINT32 }, { "UINT64", DT_UINT64 },
    { "INT16", DT_INT16 },  { "INT32", DT_INT32 },   { "INT64", DT_INT64 },
    { "FP16", DT_HALF },    { "FP32", DT_FLOAT },    { "FP64", DT_DOUBLE },
    { "BYTES", DT_STRING }, { "BF16", DT_BFLOAT16 },
};

const char *datatype_name(enum dtype dtype)
{
    for (size_t i = 0; i < COUNT(datatypes); i++)
        if (datatypes[i].dtype == dtype)
            return datatypes[i].name;
    return NULL;
}

const char *datatype_show(enum dtype dtype)
{
    const char *name = datatype_name(dtype);
    return name != NULL ? name : dtype_enum_name(dtype);
}

struct status datatype_parse(struct bytes name, enum dtype *out)
{
    for (size_t i = 0; i < COUNT(datatypes); i++) {
        if (bytes_equal(name, bytes_of(datatypes[i].name))) {
            *out = datatypes[i].dtype;
            return status_ok();
        }
    }
    return status_error(STATUS_INVALID_ARGUMENT,
                        "datatype '%s' is none of BOOL, UINT8, UINT16, UINT32, UINT64, INT8, "
                        "INT16, INT32, INT64, FP16, FP32, FP64, BF16, BYTES",
                        text_print_name(bytes_first(name, 64)));
}
