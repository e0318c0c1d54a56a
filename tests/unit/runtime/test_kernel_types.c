/*
 * Compares the types of our kernels with those that TensorFlow registers for the CPU. An op that
 * TensorFlow runs for a type must run here as well, or stand in `exceptions` with the reason.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernel.h"

#define GOLDEN "tests/golden/ops/kernel_types.txt"

#define LACKING_IN_XLA \
    ~(DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL)), "XLA, which runs it, lacks them"

static const struct exception {
    const char *op;
    dtype_set types;
    const char *reason;
} exceptions[] = {
    { "XlaConv", LACKING_IN_XLA },
    { "XlaConvV2", LACKING_IN_XLA },
    { "XlaDot", LACKING_IN_XLA },
    { "XlaDotV2", LACKING_IN_XLA },
    { "XlaDynamicSlice", LACKING_IN_XLA },
    { "XlaDynamicUpdateSlice", LACKING_IN_XLA },
    { "XlaGather", LACKING_IN_XLA },
    { "XlaReduce", LACKING_IN_XLA },
    { "XlaReduceWindow", LACKING_IN_XLA },
    { "XlaScatter", LACKING_IN_XLA },
    { "XlaSelectAndScatter", LACKING_IN_XLA },
    { "XlaVariadicReduce", LACKING_IN_XLA },
    { "XlaSvd", ~(DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE)), "XLA refuses them, or gives NaN" },
    { "XlaSelfAdjointEig", ~(DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE)),
      "XLA refuses them; docs/differences.md says more of halves and complex numbers" },
    { "XlaRngBitGenerator", DTYPES(DT_INT8) | DTYPES(DT_INT32) | DTYPES(DT_INT64),
      "XLA, which runs it, lacks them" },
    { "InplaceAdd", ~(DTYPES_REAL | DTYPES_COMPLEX), "the kernel refuses them when it runs" },
    { "InplaceSub", ~(DTYPES_REAL | DTYPES_COMPLEX), "the kernel refuses them when it runs" },
};

/* Types whose elements are counted references. A kernel that moves elements by their bytes does not
 * count; models do not slice or tile lists and handles. */
#define DTYPES_OBJECTS (DTYPES(DT_RESOURCE) | DTYPES(DT_VARIANT))

static dtype_set excepted_types(const char *op)
{
    dtype_set types = DTYPES_OBJECTS;
    for (size_t i = 0; i < COUNT(exceptions); i++)
        if (strcmp(exceptions[i].op, op) == 0)
            types |= exceptions[i].types;
    return types;
}

/* Types of the rows of `op` that look at `attr`. False: no row does. */
static bool types_of(const struct op *op, const char *attr, dtype_set *types)
{
    size_t count;
    const struct kernel_table *const *tables = kernel_tables(&count);
    bool found = false;
    *types = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < tables[i]->count; k++) {
            const struct kernel *row = &tables[i]->rows[k];
            const char *name = kernel_type_attr(op, row);
            if (strcmp(row->op, op->name) != 0 || name == NULL || strcmp(name, attr) != 0)
                continue;
            *types |= row->dtypes;
            found = true;
        }
    return found;
}

static enum dtype dtype_of_name(const char *name)
{
    for (int i = 1; i < DTYPE_COUNT; i++)
        if (strcmp(dtype_name((enum dtype)i), name) == 0)
            return (enum dtype)i;
    fail_msg("no type is called %s", name);
    return DT_INVALID;
}

/* One line of the golden file: `op attribute type…`. Returns the number of types that are lacking.
 */
static int check_line(char *line)
{
    char *rest, *name = strtok_r(line, " \n", &rest), *attr = strtok_r(NULL, " \n", &rest);
    const struct op *op = name != NULL ? op_find(name) : NULL;
    dtype_set ours;
    int lacking = 0;
    if (op == NULL || attr == NULL || name[0] == '_' || !types_of(op, attr, &ours))
        return 0;
    ours |= excepted_types(name);
    for (char *type = strtok_r(NULL, " \n", &rest); type != NULL;
         type = strtok_r(NULL, " \n", &rest))
        if ((ours & DTYPES(dtype_of_name(type))) == 0) {
            print_error("%s has no kernel for %s %s; TensorFlow has one\n", name, attr, type);
            lacking++;
        }
    return lacking;
}

static void no_type_of_tensorflow_is_lacking(void **state)
{
    (void)state;
    FILE *golden = fopen(GOLDEN, "r");
    assert_non_null(golden);
    char *line = NULL;
    size_t capacity = 0;
    int lines = 0, lacking = 0;
    while (getline(&line, &capacity, golden) > 0) {
        lacking += check_line(line);
        lines++;
    }
    free(line);
    fclose(golden);
    assert_true(lines > 1000);
    assert_int_equal(lacking, 0);
}

static void each_exception_has_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(exceptions); i++) {
        assert_non_null(op_find(exceptions[i].op));
        assert_true(strlen(exceptions[i].reason) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_type_of_tensorflow_is_lacking),
        cmocka_unit_test(each_exception_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
