/* The list of kernel tables, and the search for the row of a node. */
#include "runtime/kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"

/* One line per kernel file. onednn_ops has rows of ops that conv2d, matmul and fused have as well:
 * the first row that fits is taken, and these must come first. */
#define KERNEL_TABLES(X)    \
    X(onednn_ops)           \
    X(activation)           \
    X(apply)                \
    X(assert)               \
    X(audio_features)       \
    X(banded)               \
    X(banded_solve)         \
    X(base64)               \
    X(batch_norm)           \
    X(bias)                 \
    X(binary)               \
    X(bits)                 \
    X(bucketize)            \
    X(cast)                 \
    X(clip)                 \
    X(colours)              \
    X(compare)              \
    X(complex)              \
    X(complex_elementwise)  \
    X(concat)               \
    X(control)              \
    X(conv2d)               \
    X(counts)               \
    X(crop_and_resize)      \
    X(crop_and_resize_grad) \
    X(ctc)                  \
    X(ctc_beam)             \
    X(ctc_loss)             \
    X(cumsum)               \
    X(decode_compressed)    \
    X(decode_csv)           \
    X(decode_json_example)  \
    X(decode_raw)           \
    X(depth_to_space)       \
    X(deserialize_sparse)   \
    X(dilation)             \
    X(draw_boxes)           \
    X(dynamic_slice)        \
    X(edit_distance)        \
    X(einsum)               \
    X(fake_quant)           \
    X(fft)                  \
    X(fill)                 \
    X(fill_empty_rows)      \
    X(fingerprint_rows)     \
    X(fractional_pool)      \
    X(fused)                \
    X(gather)               \
    X(global_norm)          \
    X(gru)                  \
    X(hash_table_ops)       \
    X(histogram)            \
    X(identity)             \
    X(image_bytes)          \
    X(image_patches)        \
    X(inplace)              \
    X(isotonic)             \
    X(layout)               \
    X(least_squares)        \
    X(linear_algebra)       \
    X(lrn)                  \
    X(lstm)                 \
    X(lstm_grad)            \
    X(matmul)               \
    X(matrix_band_part)     \
    X(matrix_diag)          \
    X(matrix_functions)     \
    X(pad)                  \
    X(parse_example)        \
    X(parse_sequence)       \
    X(pointwise)            \
    X(pool)                 \
    X(print)                \
    X(projective)           \
    X(qr)                   \
    X(quantize)             \
    X(quantized)            \
    X(ragged)               \
    X(ragged_cross)         \
    X(ragged_dense)         \
    X(ragged_gather)        \
    X(ragged_range)         \
    X(ragged_variant)       \
    X(random)               \
    X(random_binomial)      \
    X(random_choice)        \
    X(random_gamma)         \
    X(random_generator)     \
    X(random_ops)           \
    X(random_poisson)       \
    X(random_truncated)     \
    X(recurrence)           \
    X(reduce)               \
    X(reduce_join)          \
    X(regex)                \
    X(resize)               \
    X(resize_grad)          \
    X(resize_smooth)        \
    X(restore)              \
    X(reverse_sequence)     \
    X(roll)                 \
    X(scale_translate)      \
    X(scatter)              \
    X(search)               \
    X(segment)              \
    X(segment_sum)          \
    X(select)               \
    X(serialize_sparse)     \
    X(serialize_tensor)     \
    X(sets)                 \
    X(shape_ops)            \
    X(slice)                \
    X(slice_assign)         \
    X(softmax)              \
    X(space_to_batch)       \
    X(sparse)               \
    X(sparse_cross)         \
    X(sparse_math)          \
    X(sparse_matmul)        \
    X(sparse_parts)         \
    X(sparse_product)       \
    X(sparse_reduce)        \
    X(special)              \
    X(spectrum)             \
    X(string_format)        \
    X(string_hash)          \
    X(string_split)         \
    X(strings)              \
    X(substr)               \
    X(suppression)          \
    X(suppression_combined) \
    X(table_handles)        \
    X(tensor_array)         \
    X(tensor_list_ops)      \
    X(tensor_list_parts)    \
    X(tensor_scatter)       \
    X(tensor_stack)         \
    X(tile)                 \
    X(to_bool)              \
    X(top_k)                \
    X(transpose)            \
    X(unary)                \
    X(unicode)              \
    X(unicode_script)       \
    X(unique)               \
    X(variable)             \
    X(variable_life)        \
    X(variable_scatter)     \
    X(vectors)              \
    X(volume_patches)       \
    X(wav)

#define DECLARE(name) extern const struct kernel_table kernels_##name;
KERNEL_TABLES(DECLARE)
#undef DECLARE

static const struct kernel_table *const tables[] = {
#define LIST(name) &kernels_##name,
    KERNEL_TABLES(LIST)
#undef LIST
};

const char *kernel_table_file(size_t index)
{
    static const char *const files[] = {
#define NAME(name) #name ".c",
        KERNEL_TABLES(NAME)
#undef NAME
    };
    return files[index];
}

const struct kernel_table *const *kernel_tables(size_t *count)
{
    *count = COUNT(tables);
    return tables;
}

/* The rows of one op, in the order of the tables. */
struct op_rows {
    const struct kernel **rows;
    int count;
};

static struct map ops; /* op -> struct op_rows; made once, for the life of the process */
static pthread_once_t ops_once = PTHREAD_ONCE_INIT;

static void add_row(const struct kernel *row)
{
    struct op_rows *rows = map_get_text(&ops, row->op);
    if (rows == NULL) {
        rows = zalloc(sizeof *rows);
        map_put_text(&ops, row->op, rows);
    }
    rows->rows = xrealloc(rows->rows, (size_t)(rows->count + 1) * sizeof *rows->rows);
    rows->rows[rows->count++] = row;
}

static void make_ops(void)
{
    for (size_t i = 0; i < COUNT(tables); i++) {
        for (size_t j = 0; j < tables[i]->count; j++)
            add_row(&tables[i]->rows[j]);
    }
}

static const struct op_rows *rows_of(const char *op)
{
    pthread_once(&ops_once, make_ops);
    return map_get_text(&ops, op);
}

/* The attribute that a row's dtypes refer to; NULL: the op has no type attribute. */
static const char *type_attribute(const struct node *node, const struct kernel *row)
{
    if (row != NULL && row->type_attr != NULL)
        return row->type_attr;
    const char *first = NULL;
    for (int i = 0; node->op != NULL && i < node->op->attrs_count; i++) {
        const struct op_attr *attr = &node->op->attrs[i];
        if (strcmp(attr->type, "type") != 0)
            continue;
        if (strcmp(attr->name, "T") == 0)
            return attr->name;
        if (first == NULL)
            first = attr->name;
    }
    return first;
}

static bool dtype_of(const struct node *node, const struct kernel *row, enum dtype *out)
{
    const char *name = type_attribute(node, row);
    return name != NULL && status_is_ok(node_attr_type(node, name, out));
}

const struct kernel *kernel_find(const struct node *node)
{
    const struct op_rows *rows = node->op != NULL ? rows_of(node->op_name) : NULL;
    for (int i = 0; rows != NULL && i < rows->count; i++) {
        const struct kernel *row = rows->rows[i];
        enum dtype dtype;
        if (row->dtypes == DTYPES_ALL)
            return row;
        if (dtype_of(node, row, &dtype) && (row->dtypes & DTYPES(dtype)) != 0)
            return row;
    }
    return NULL;
}

struct status kernel_missing(const struct node *node)
{
    const struct op_rows *rows = node->op != NULL ? rows_of(node->op_name) : NULL;
    enum dtype dtype;
    if (rows != NULL && dtype_of(node, rows->rows[0], &dtype))
        return status_error(STATUS_UNIMPLEMENTED,
                            "op '%s' of node '%s' is not implemented for dtype %s", node->op_name,
                            node->name, dtype_name(dtype));
    return status_error(STATUS_UNIMPLEMENTED, "op '%s' of node '%s' is not implemented",
                        node->op_name, node->name);
}
