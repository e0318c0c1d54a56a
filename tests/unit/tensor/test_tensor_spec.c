#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tensor/tensor_spec.h"
#include "support/test_group.h"

static const struct spec_row {
    const char *text;
    enum tensor_layout layout;
    enum dtype dtype;
    struct shape shape;
    int64_t row_size;
} rows[] = {
    { "float [?,28,28]", TENSOR_DENSE, DT_FLOAT, { 3, { -1, 28, 28 } }, 784 },
    { "int32 [?]", TENSOR_DENSE, DT_INT32, { 1, { -1 } }, 1 },
    { "string [?,?]", TENSOR_DENSE, DT_STRING, { 2, { -1, -1 } }, 0 },
    { "ragged int64 [?,?]", TENSOR_RAGGED, DT_INT64, { 2, { -1, -1 } }, 1 },
    { "ragged float [?,?,4]", TENSOR_RAGGED, DT_FLOAT, { 3, { -1, -1, 4 } }, 4 },
};

static void has_a_text_and_a_row_size(void **state)
{
    const struct spec_row *row = *state;
    const struct tensor_spec spec = {
        .name = "x", .layout = row->layout, .dtype = row->dtype, .shape = row->shape
    };

    assert_string_equal(tensor_spec_text(&spec), row->text);
    assert_int_equal(tensor_spec_row_size(&spec), row->row_size);
}

int main(void)
{
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, text, has_a_text_and_a_row_size);
    return test_group_run(&group, "tensor spec", NULL, NULL);
}
