/* The list of kernel tables, and the search for the row of a node. */
#include "runtime/kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"

/* One line per kernel file. onednn_ops has rows of ops that conv2d, matmul and fused have as well:
 * the first row that fits is taken, and these must come first. */
#define KERNEL_TABLES(X)            \
    X(nn, onednn_ops)               \
    X(array, bincount)              \
    X(array, bucketize)             \
    X(array, concat)                \
    X(array, counts)                \
    X(array, depth_to_space)        \
    X(array, dynamic_slice)         \
    X(array, fill)                  \
    X(array, gather)                \
    X(array, histogram)             \
    X(array, inplace)               \
    X(array, layout)                \
    X(array, pad)                   \
    X(array, partition)             \
    X(array, quantized_moves)       \
    X(array, reverse_sequence)      \
    X(array, roll)                  \
    X(array, scatter_nd)            \
    X(array, search)                \
    X(array, segment)               \
    X(array, segment_sum)           \
    X(array, select)                \
    X(array, shape_ops)             \
    X(array, slice)                 \
    X(array, slice_assign)          \
    X(array, space_to_batch)        \
    X(array, tensor_scatter)        \
    X(array, tile)                  \
    X(array, transpose)             \
    X(array, unique)                \
    X(array, vectors)               \
    X(control, assert)              \
    X(control, control)             \
    X(control, for_loop)            \
    X(control, identity)            \
    X(control, print)               \
    X(control, to_bool)             \
    X(data, dataset_batches)        \
    X(data, dataset_cache)          \
    X(data, dataset_ends)           \
    X(data, dataset_examples)       \
    X(data, dataset_csv)            \
    X(data, dataset_files)          \
    X(data, dataset_functions)      \
    X(data, dataset_groups)         \
    X(data, dataset_interleave)     \
    X(data, dataset_picks)          \
    X(data, dataset_random)         \
    X(data, dataset_shuffle)        \
    X(data, dataset_sources)        \
    X(data, dataset_sparse_batches) \
    X(data, dataset_unique)         \
    X(data, dataset_windows)        \
    X(data, iterator_seeds)         \
    X(data, iterators)              \
    X(data, map_defun)              \
    X(data, table_from_dataset)     \
    X(forests, forest_ops)          \
    X(image, colours)               \
    X(image, crop_and_resize)       \
    X(image, crop_and_resize_grad)  \
    X(image, draw_boxes)            \
    X(image, glimpse)               \
    X(image, image_bytes)           \
    X(image, image_patches)         \
    X(image, projective)            \
    X(image, quantized_resize)      \
    X(image, resize)                \
    X(image, resize_grad)           \
    X(image, resize_smooth)         \
    X(image, scale_translate)       \
    X(image, suppression)           \
    X(image, suppression_combined)  \
    X(lists, composite)             \
    X(lists, optional)              \
    X(lists, tensor_array)          \
    X(lists, tensor_array_grad)     \
    X(lists, tensor_array_parts)    \
    X(lists, tensor_list_batch)     \
    X(lists, tensor_list_ops)       \
    X(lists, tensor_list_parts)     \
    X(lists, tensor_map)            \
    X(lists, tensor_stack)          \
    X(lists, variant_sums)          \
    X(math, binary)                 \
    X(math, bits)                   \
    X(math, cast)                   \
    X(math, clip)                   \
    X(math, compare)                \
    X(math, complex)                \
    X(math, complex_elementwise)    \
    X(math, cumsum)                 \
    X(math, einsum)                 \
    X(math, isotonic)               \
    X(math, matmul)                 \
    X(math, pointwise)              \
    X(math, reduce)                 \
    X(math, special)                \
    X(math, unary)                  \
    X(matrix, banded)               \
    X(matrix, banded_solve)         \
    X(matrix, least_squares)        \
    X(matrix, linear_algebra)       \
    X(matrix, matrix_band_part)     \
    X(matrix, matrix_diag)          \
    X(matrix, matrix_functions)     \
    X(matrix, nearest_neighbors)    \
    X(matrix, qr)                   \
    X(nn, activation)               \
    X(nn, batch_norm)               \
    X(nn, bias)                     \
    X(nn, conv2d)                   \
    X(nn, ctc)                      \
    X(nn, ctc_beam)                 \
    X(nn, ctc_loss)                 \
    X(nn, dilation)                 \
    X(nn, fake_quant)               \
    X(nn, fake_quant_grad)          \
    X(nn, fractional_pool)          \
    X(nn, fused)                    \
    X(nn, fused_pad_conv)           \
    X(nn, global_norm)              \
    X(nn, gru)                      \
    X(nn, lrn)                      \
    X(nn, lstm)                     \
    X(nn, lstm_grad)                \
    X(nn, pool)                     \
    X(nn, quantize)                 \
    X(nn, quantized)                \
    X(nn, quantized_channels)       \
    X(nn, quantized_fused)          \
    X(nn, quantized_norm)           \
    X(nn, quantized_pool)           \
    X(nn, quantized_product)        \
    X(nn, quantized_sum)            \
    X(nn, recurrence)               \
    X(nn, softmax)                  \
    X(nn, top_k)                    \
    X(nn, uniform)                  \
    X(nn, conv_any_rank)            \
    X(nn, uniform_conv)             \
    X(nn, uniform_dot)              \
    X(nn, volume_patches)           \
    X(queues, map_stage_ops)        \
    X(queues, mutex)                \
    X(queues, queue_handles)        \
    X(queues, queue_ops)            \
    X(queues, stage_ops)            \
    X(ragged, ragged)               \
    X(ragged, ragged_cross)         \
    X(ragged, ragged_dense)         \
    X(ragged, ragged_gather)        \
    X(ragged, ragged_range)         \
    X(ragged, ragged_variant)       \
    X(random, candidates)           \
    X(random, random)               \
    X(random, random_binomial)      \
    X(random, random_bits)          \
    X(random, random_box)           \
    X(random, random_choice)        \
    X(random, random_gamma)         \
    X(random, random_generator)     \
    X(random, random_index)         \
    X(random, random_ops)           \
    X(random, random_poisson)       \
    X(random, random_truncated)     \
    X(random, sobol)                \
    X(records, decode_compressed)   \
    X(records, decode_csv)          \
    X(records, decode_json_example) \
    X(records, decode_proto)        \
    X(records, decode_raw)          \
    X(records, encode_proto)        \
    X(records, parse_example)       \
    X(records, parse_sequence)      \
    X(records, matching_files)      \
    X(records, restore)             \
    X(records, serialize_tensor)    \
    X(signal, audio_features)       \
    X(signal, fft)                  \
    X(signal, micro_frontend)       \
    X(signal, spectrum)             \
    X(signal, wav)                  \
    X(sparse, csr)                  \
    X(sparse, csr_product)          \
    X(sparse, deserialize_sparse)   \
    X(sparse, fill_empty_rows)      \
    X(sparse, serialize_sparse)     \
    X(sparse, sets)                 \
    X(sparse, sparse)               \
    X(sparse, sparse_cross)         \
    X(sparse, sparse_map)           \
    X(sparse, sparse_math)          \
    X(sparse, sparse_matmul)        \
    X(sparse, sparse_parts)         \
    X(sparse, sparse_product)       \
    X(sparse, sparse_reduce)        \
    X(state, apply)                 \
    X(state, hash_table_ops)        \
    X(state, table_handles)         \
    X(state, variable)              \
    X(state, variable_life)         \
    X(state, variable_scatter)      \
    X(text, base64)                 \
    X(text, boise_tags)             \
    X(text, byte_ranges)            \
    X(text, character_tokens)       \
    X(text, constrained_sequence)   \
    X(text, edit_distance)          \
    X(text, fast_normalize)         \
    X(text, fast_sentencepiece)     \
    X(text, fast_word_pieces)       \
    X(text, fingerprint_rows)       \
    X(text, merge_tokens)           \
    X(text, ngrams_join)            \
    X(text, normalize)              \
    X(text, phrase_tokens)          \
    X(text, reduce_join)            \
    X(text, regex)                  \
    X(text, regex_split)            \
    X(text, rouge)                  \
    X(text, round_robin)            \
    X(text, sentence_fragments)     \
    X(text, document_fragments)     \
    X(text, sentencepiece)          \
    X(text, spanning_tree)          \
    X(text, string_format)          \
    X(text, string_hash)            \
    X(text, string_split)           \
    X(text, strings)                \
    X(text, substr)                 \
    X(text, text_bits)              \
    X(text, unicode)                \
    X(text, unicode_script)         \
    X(text, white_space)            \
    X(text, word_pieces)            \
    X(xla, xla_broadcast_helper)    \
    X(xla, xla_conv)                \
    X(xla, xla_dequantize)          \
    X(xla, xla_dot)                 \
    X(xla, xla_gather)              \
    X(xla, xla_key_sort)            \
    X(xla, xla_pad)                 \
    X(xla, xla_reduce)              \
    X(xla, xla_reduce_precision)    \
    X(xla, xla_scatter)             \
    X(xla, xla_select_and_scatter)  \
    X(xla, xla_sort)

#define DECLARE(room, name) extern const struct kernel_table kernels_##name;
KERNEL_TABLES(DECLARE)
#undef DECLARE

static const struct kernel_table *const tables[] = {
#define LIST(room, name) &kernels_##name,
    KERNEL_TABLES(LIST)
#undef LIST
};

const char *kernel_table_file(size_t index)
{
    static const char *const files[] = {
#define NAME(room, name) #room "/" #name ".c",
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

const char *kernel_type_attr(const struct op *op, const struct kernel *row)
{
    if (row->type_attr != NULL)
        return row->type_attr;
    const char *first = NULL;
    for (int i = 0; i < op->attrs_count; i++) {
        if (strcmp(op->attrs[i].type, "type") != 0)
            continue;
        if (strcmp(op->attrs[i].name, "T") == 0)
            return op->attrs[i].name;
        if (first == NULL)
            first = op->attrs[i].name;
    }
    return first;
}

static bool dtype_of(const struct node *node, const struct kernel *row, enum dtype *out)
{
    const char *name = kernel_type_attr(node->op, row);
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
