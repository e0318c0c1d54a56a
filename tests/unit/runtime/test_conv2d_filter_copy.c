/* Compares filters that we copy with those that oneDNN reorders, in each layout of convolutions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "runtime/kernels/nn/conv2d_filter_copy.h"
#include "support/test_group.h"

/* groups 0: a layout without groups. */
struct row {
    const char *label;
    dnnl_format_tag_t tag;
    bool is_copied;
    int64_t groups, filters, depth, height, width;
};

static const struct row rows[] = {
    { "blocks of 8", dnnl_Acdb8a, true, 0, 32, 12, 3, 2 },
    { "one block of 8 and a rest", dnnl_Acdb8a, true, 0, 13, 3, 1, 5 },
    { "a rest alone", dnnl_Acdb8a, true, 0, 5, 9, 2, 2 },
    { "depth in blocks of 8", dnnl_ABcd8b8a, true, 0, 24, 40, 3, 3 },
    { "depth in blocks of 8 and a rest", dnnl_ABcd8b8a, true, 0, 19, 11, 1, 7 },
    { "blocks of 16", dnnl_Acdb16a, true, 0, 48, 10, 3, 3 },
    { "blocks of 16 and a rest", dnnl_Acdb16a, true, 0, 39, 1, 2, 1 },
    { "depth in blocks of 16 and a rest", dnnl_ABcd16b16a, true, 0, 33, 17, 1, 1 },
    { "groups", dnnl_aBdec8b, true, 3, 16, 4, 3, 3 },
    { "groups with a rest", dnnl_aBdec8b, true, 4, 9, 5, 1, 3 },
    { "groups, depth in blocks of 8", dnnl_aBCde8c8b, true, 2, 10, 12, 2, 3 },
    { "groups in blocks", dnnl_Abcde8a, false, 16, 1, 1, 3, 3 },
    { "output channels around the depth", dnnl_ABcd8a8b, false, 0, 16, 16, 3, 3 },
    { "depth in blocks of 4 within those of 16", dnnl_ABcd4b16a4b, false, 0, 16, 16, 1, 1 },
    { "no blocks", dnnl_cdba, false, 0, 16, 8, 3, 3 },
};

static void describe(const struct row *row, dnnl_memory_desc_t *plain, dnnl_memory_desc_t *layout)
{
    int64_t groups = row->groups > 0 ? row->groups : 1, skip = row->groups > 0 ? 0 : 1;
    dnnl_dim_t all = groups * row->filters, column = row->depth * all;
    dnnl_dims_t dims = { groups, row->filters, row->depth, row->height, row->width };
    dnnl_dims_t strides = { row->filters, 1, all, row->width * column, column };
    int count = 5 - (int)skip;
    assert_int_equal(
        dnnl_memory_desc_init_by_strides(plain, count, dims + skip, dnnl_f32, strides + skip),
        dnnl_success);
    assert_int_equal(dnnl_memory_desc_init_by_tag(layout, count, dims + skip, dnnl_f32, row->tag),
                     dnnl_success);
}

static void reorder(const dnnl_memory_desc_t *plain, float *from, const dnnl_memory_desc_t *layout,
                    float *to)
{
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_t in, out;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    assert_int_equal(dnnl_engine_create(&engine, dnnl_cpu, 0), dnnl_success);
    assert_int_equal(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), dnnl_success);
    assert_int_equal(dnnl_memory_create(&in, plain, engine, from), dnnl_success);
    assert_int_equal(dnnl_memory_create(&out, layout, engine, to), dnnl_success);
    assert_int_equal(dnnl_reorder_primitive_desc_create(&desc, plain, engine, layout, engine, NULL),
                     dnnl_success);
    assert_int_equal(dnnl_primitive_create(&primitive, desc), dnnl_success);
    dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, in }, { DNNL_ARG_TO, out } };
    assert_int_equal(dnnl_primitive_execute(primitive, stream, 2, args), dnnl_success);
    assert_int_equal(dnnl_stream_wait(stream), dnnl_success);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(desc);
    dnnl_memory_destroy(in);
    dnnl_memory_destroy(out);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
}

static void copies_as_onednn_does(void **state)
{
    const struct row *row = *state;
    dnnl_memory_desc_t plain, layout;
    describe(row, &plain, &layout);
    size_t size = dnnl_memory_desc_get_size(&layout);
    size_t filter_size = dnnl_memory_desc_get_size(&plain);
    float *filter = zalloc(filter_size), *expected = zalloc(size), *copied = zalloc(size);
    for (size_t i = 0; i < filter_size / sizeof *filter; i++)
        filter[i] = (float)(i + 1);
    memset(copied, 0xff, size); /* the padding must be written as well */

    assert_int_equal(filter_copy(filter, &layout, copied), row->is_copied);
    if (row->is_copied) {
        reorder(&plain, filter, &layout, expected);
        assert_memory_equal(copied, expected, size);
    }
    free(filter);
    free(expected);
    free(copied);
}

int main(void)
{
    struct test_group group = { 0 };
    ADD_ROWS(&group, rows, label, copies_as_onednn_does);
    return test_group_run(&group, "conv2d_filter_copy", NULL, NULL);
}
