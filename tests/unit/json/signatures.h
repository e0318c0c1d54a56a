/* Signatures for tests of JSON bodies, and a finder that returns them. */
#ifndef TESTS_JSON_SIGNATURES_H
#define TESTS_JSON_SIGNATURES_H

#include "server/json/predict.h"

#define ONE(name, type)            \
    {                              \
        .key = name, .dtype = type \
    }

/* A signature is named after its dtype, or is "pair" (a is float, b is string) or "none". */
struct test_finder {
    struct signature_finder base;
    struct signature signature;
    struct signature_tensor inputs[2];
    int calls;
};

static struct status find_test_signature(struct signature_finder *finder, struct bytes name,
                                         const struct signature **out)
{
    struct test_finder *test = (struct test_finder *)finder;
    test->calls++;
    test->signature = (struct signature){ .name = "test", .inputs = test->inputs };
    if (bytes_equal(name, bytes_of("missing")))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Serving signature name: \"missing\" not found in signature def");
    *out = &test->signature;
    if (bytes_equal(name, bytes_of("none")))
        return status_ok();
    if (bytes_equal(name, bytes_of("pair"))) {
        test->inputs[0] = (struct signature_tensor)ONE("a", DT_FLOAT);
        test->inputs[1] = (struct signature_tensor)ONE("b", DT_STRING);
        test->signature.inputs_count = 2;
        return status_ok();
    }
    test->inputs[0] = (struct signature_tensor)ONE("x", DT_FLOAT);
    test->signature.inputs_count = 1;
    for (int type = 1; type < DTYPE_COUNT; type++)
        if (bytes_equal(name, bytes_of(dtype_name((enum dtype)type))))
            test->inputs[0].dtype = (enum dtype)type;
    return status_ok();
}

#endif
