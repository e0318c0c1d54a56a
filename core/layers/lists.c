#include "layers/lists.h"

#include "layers/layers.h"

/* x[i], or x[:, i] for a matrix. */
static struct endpoint element(struct builder *b, struct endpoint x, int rank, int32_t i)
{
    const int32_t begin[] = { 0, i }, end[] = { 0, i + 1 }, step[] = { 1, 1 };
    int skip = 2 - rank;
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, rank, begin + skip),
                                       build_const_ints(b, NULL, rank, end + skip),
                                       build_const_ints(b, NULL, rank, step) };
    int all = rank == 2 ? 1 : 0; /* of the rows */

    return build(b, "StridedSlice", NULL, 4, inputs,
                 (const struct attr[]){ attr_int("begin_mask", all), attr_int("end_mask", all),
                                        attr_int("shrink_axis_mask", rank == 2 ? 2 : 1),
                                        ATTR_END });
}

struct layer_lists lists_of_splits(struct builder *b, struct endpoint values, struct endpoint ids,
                                   struct endpoint row_splits, int64_t batch, int64_t columns)
{
    struct layer_lists lists = { .layout = ids.node != NULL ? TENSOR_SPARSE : TENSOR_RAGGED,
                                 .ids = ids,
                                 .columns = columns };
    const struct endpoint inputs[] = { row_splits, values };
    struct node *pairs = build_node(b, "RaggedTensorToSparse", NULL, 2, inputs, 0, NULL, NULL);

    if (pairs == NULL)
        return lists;
    lists.rows = element(b, (struct endpoint){ pairs, 0 }, 2, 0);
    lists.batch =
        batch > 0 ? build_const_int64(b, batch) : element(b, (struct endpoint){ pairs, 2 }, 1, 0);
    return lists;
}

struct layer_lists lists_of_pairs(struct builder *b, struct endpoint pairs, struct endpoint shape,
                                  int64_t columns)
{
    return (struct layer_lists){ .layout = TENSOR_SPARSE,
                                 .ids = element(b, pairs, 2, 1),
                                 .rows = element(b, pairs, 2, 0),
                                 .batch = element(b, shape, 1, 0),
                                 .columns = columns };
}

struct endpoint lists_splits(struct builder *b, const struct layer_lists *lists)
{
    const struct shape none = shape_of(0), one = shape_of(1);
    const int64_t zero = 0;
    struct tensor no_weights = tensor_borrow(DT_INT64, &none, NULL);
    struct tensor first = tensor_borrow(DT_INT64, &one, &zero);
    const struct endpoint counted[] = { lists->rows, lists->batch,
                                        build_const(b, NULL, &no_weights) };
    struct endpoint counts = build(b, "DenseBincount", NULL, 3, counted, NULL);
    const struct endpoint parts[] = {
        build_const(b, NULL, &first),
        build_binary(b, "Cumsum", NULL, counts, build_const_int(b, 0)), build_const_int(b, 0)
    };

    return build(b, "ConcatV2", NULL, 3, parts, NULL);
}

struct endpoint lists_pairs(struct builder *b, const struct layer_lists *lists,
                            struct endpoint places)
{
    const struct endpoint columns[] = { lists->rows, places };

    return build(b, "Pack", NULL, 2, columns,
                 (const struct attr[]){ attr_int("axis", 1), ATTR_END });
}

struct endpoint lists_product(struct builder *b, const struct layer_lists *lists,
                              struct endpoint places, struct endpoint weights,
                              struct endpoint table)
{
    struct endpoint sizes =
        build(b, "Shape", NULL, 1, &table,
              (const struct attr[]){ attr_type("out_type", DT_INT64), ATTR_END });
    const struct endpoint dims[] = { lists->batch, element(b, sizes, 1, 0) };
    const struct endpoint inputs[] = { lists_pairs(b, lists, places), weights,
                                       build(b, "Pack", NULL, 2, dims, NULL), table };

    return build(b, "SparseTensorDenseMatMul", NULL, 4, inputs, NULL);
}

struct endpoint lists_sum(struct builder *b, const struct layer_lists *lists,
                          struct endpoint values)
{
    const struct endpoint inputs[] = { values, lists->rows, lists->batch };
    struct endpoint sums = build(b, "UnsortedSegmentSum", NULL, 3, inputs, NULL);

    return build_expand_dims(b, sums, 1);
}

struct endpoint lists_padded(struct builder *b, struct endpoint values, struct endpoint splits,
                             int64_t length)
{
    const struct shape scalar = shape_scalar(), vector = shape_of(2);
    const int64_t dims[] = { -1, length };
    static const struct bytes zeros; /* also of numbers */
    enum dtype dtype = status_is_ok(b->status) ? endpoint_dtype(values) : DT_INT64;
    struct tensor padding = tensor_borrow(dtype, &scalar, &zeros);
    struct tensor shape = tensor_borrow(DT_INT64, &vector, dims);
    const struct endpoint inputs[] = { build_const(b, NULL, &shape), values,
                                       build_const(b, NULL, &padding), splits };
    const char *const kinds[] = { "ROW_SPLITS" };
    const struct attr attrs[] = { attr_texts(b, "row_partition_types", 1, kinds), ATTR_END };

    return build(b, "RaggedTensorToTensor", NULL, 4, inputs, attrs);
}
