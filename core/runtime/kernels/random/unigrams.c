#include "runtime/kernels/random/unigrams.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/kernels/read_file.h"
#include "runtime/kernels/string_to_number.h"

/* Numbers below 2^bits mod range would make some results more likely: they are drawn again. */
static uint32_t philox_below_32(struct philox_reader *reader, uint32_t range)
{
    if ((range & (range - 1)) == 0)
        return philox_next(reader) & (range - (range != 0));
    uint32_t least = UINT32_MAX % range + 1, value;
    do
        value = philox_next(reader);
    while (value < least);
    return value % range;
}

static uint64_t next_64(struct philox_reader *reader)
{
    uint32_t low = philox_next(reader);
    return low | (uint64_t)philox_next(reader) << 32;
}

uint64_t philox_below_64(struct philox_reader *reader, uint64_t range)
{
    if ((range & (range - 1)) == 0)
        return next_64(reader) & (range - (range != 0));
    uint64_t least = UINT64_MAX % range + 1, value;
    do
        value = next_64(reader);
    while (value < least);
    return value % range;
}

/* Zeroed memory that outlives the run and is counted as a table's. */
static struct status keep_memory(struct kernel_context *k, int64_t count, size_t size, void **out)
{
    TRY(kernel_table_may_grow(k, 0, (size_t)count * size));
    *out = calloc((size_t)count, size);
    if (*out == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "No memory for %lld classes",
                            (long long)count);
    kernel_table_grew(k, (size_t)count * size);
    return status_ok();
}

/* ---- counts of what is seen ---- */

struct status seen_counts_start(struct kernel_context *k, int64_t range, struct seen_counts *out)
{
    void *sums;
    if (range >= INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "range_max must be less than %d, but is %lld",
                            INT32_MAX, (long long)range);
    *out = (struct seen_counts){ .leaves = 1, .range = range };
    while (out->leaves < range)
        out->leaves *= 2;
    TRY(keep_memory(k, 2 * out->leaves, sizeof *out->sums, &sums));
    out->sums = sums;
    for (int64_t i = 0; i < range; i++)
        out->sums[out->leaves + i] = 1;
    for (int64_t i = out->leaves - 1; i > 0; i--)
        out->sums[i] = out->sums[2 * i] + out->sums[2 * i + 1];
    return status_ok();
}

void seen_counts_finish(struct seen_counts *counts)
{
    free(counts->sums);
    counts->sums = NULL;
}

int64_t seen_counts_draw(const struct seen_counts *counts, struct philox_reader *reader)
{
    int32_t left = (int32_t)philox_below_32(reader, (uint32_t)counts->sums[1]);
    int64_t at = 1;
    while (at < counts->leaves) {
        at *= 2;
        if (left >= counts->sums[at])
            left -= counts->sums[at++];
    }
    return at - counts->leaves;
}

float seen_counts_share(const struct seen_counts *counts, int64_t value)
{
    return (float)counts->sums[counts->leaves + value] / (float)counts->sums[1];
}

void seen_counts_add(struct seen_counts *counts, int64_t value)
{
    if (counts->sums[1] == INT32_MAX)
        return;
    for (int64_t at = counts->leaves + value; at > 0; at /= 2)
        counts->sums[at]++;
}

/* ---- weights that are given ---- */

/* A cell holds a class and, for the rest of its size, another one: a uniform choice of the cell and
 * one comparison draw a class by its weight (Walker's alias method). */
struct weight_cell {
    float part;      /* of the class itself */
    int32_t instead; /* the class of the rest */
};

/* The weights of one shard, in the order of the words. */
struct weight_reader {
    struct kernel_context *k;
    struct given_weights *weights;
    int64_t range, word, shards, shard;
    float distortion;
};

static void put_weight(struct weight_reader *reader, float weight)
{
    struct given_weights *weights = reader->weights;
    if (reader->word++ % reader->shards != reader->shard)
        return;
    if (weights->count < reader->range)
        weights->weights[weights->count] = weight;
    weights->total += weight;
    weights->count++;
}

static void put_word(struct weight_reader *reader, float weight)
{
    put_weight(reader, powf(weight, reader->distortion));
}

static struct status put_line(struct weight_reader *reader, struct bytes line)
{
    struct shape scalar = shape_scalar();
    float weight = 0;
    bool is_number;
    struct bytes last = line;
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] == ',')
            last = (struct bytes){ line.data + i + 1, line.size - i - 1 };
    struct tensor out = tensor_borrow(DT_FLOAT, &scalar, &weight);
    TRY(string_to_number(reader->k, last, &out, 0, &is_number));
    if (!is_number && reader->word % reader->shards == reader->shard)
        return status_error(STATUS_INVALID_ARGUMENT, "Wrong vocabulary format at line: %.*s",
                            (int)line.size, line.data);
    put_word(reader, weight);
    return status_ok();
}

/* Each line ends with its weight, after the last comma if there is one. */
static struct status put_file(struct weight_reader *reader, struct bytes name)
{
    struct bytes text;
    TRY(read_model_file(reader->k, name, &text));
    while (text.size > 0) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end == NULL ? text.size : (size_t)(end - text.data);
        struct bytes line = bytes_first(text, size);
        line.size -= size > 0 && line.data[size - 1] == '\r';
        if (line.size > 0)
            TRY(put_line(reader, line));
        size += end != NULL;
        text = (struct bytes){ text.data + size, text.size - size };
    }
    return status_ok();
}

static struct status put_weights(struct weight_reader *reader, const struct node *node)
{
    const struct attr_value *unigrams;
    struct bytes file;
    int64_t reserved;
    TRY(node_attr_string(node, "vocab_file", &file));
    TRY(node_attr_list_of(node, "unigrams", ATTR_FLOAT, &unigrams));
    TRY(node_attr_int32(node, "num_reserved_ids", &reserved));
    if (file.size == 0 && unigrams->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Must provide either vocab_file or unigrams.");
    if (file.size > 0 && unigrams->count > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Must only provide one of vocab_file and unigrams.");
    for (int64_t i = 0; i < reserved; i++)
        put_weight(reader, 0);
    reader->word = reader->weights->count; /* as TensorFlow, which forgets those of other shards */
    for (int i = 0; i < unigrams->count; i++)
        put_word(reader, unigrams->elements[i].f);
    return file.size > 0 ? put_file(reader, file) : status_ok();
}

/* Pairs classes that have less than an equal share with classes that have more. `stack` holds the
 * former from its start, and the latter from its end. */
static void pair_cells(const struct given_weights *weights, double *shares, int32_t *stack)
{
    int64_t count = weights->count, low = 0, high = count;
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)weights->weights[i];
    for (int32_t i = 0; i < count; i++) {
        shares[i] = (double)(weights->weights[i] * (float)count) / sum;
        if (shares[i] < 1)
            stack[low++] = i;
        else
            stack[--high] = i;
    }
    while (low > 0 && high < count) {
        int32_t less = stack[--low], more = stack[high++];
        weights->cells[less].instead = more;
        shares[more] -= 1 - shares[less];
        if (shares[more] < 1)
            stack[low++] = more;
        else
            stack[--high] = more;
    }
    for (int64_t i = 0; i < count; i++)
        weights->cells[i].part = (float)shares[i];
    /* what rounding leaves over is whole */
    for (int64_t i = 0; i < count; i++)
        if (i < low || i >= high)
            weights->cells[stack[i]] = (struct weight_cell){ 1, stack[i] };
}

static struct status make_cells(struct kernel_context *k, struct given_weights *weights)
{
    void *cells;
    struct shape shape = shape_of(weights->count);
    struct tensor shares = { 0 }, stack = { 0 };
    struct status status;
    TRY_OR(done, keep_memory(k, weights->count, sizeof *weights->cells, &cells));
    weights->cells = cells;
    TRY_OR(done, kernel_scratch(k, DT_DOUBLE, &shape, &shares));
    TRY_OR(done, kernel_scratch(k, DT_INT32, &shape, &stack));
    pair_cells(weights, tensor_doubles_mut(&shares), tensor_int32s_mut(&stack));
done:
    tensor_release(&shares);
    tensor_release(&stack);
    return status;
}

struct status given_weights_start(struct kernel_context *k, int64_t range,
                                  struct given_weights *out)
{
    const struct node *node = kernel_node(k);
    struct weight_reader reader = { .k = k, .weights = out, .range = range };
    struct status status;
    void *weights;
    *out = (struct given_weights){ 0 };
    if (range > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "range_max must be at most %d, but is %lld",
                            INT32_MAX, (long long)range);
    TRY(node_attr_float(node, "distortion", &reader.distortion));
    TRY(node_attr_int32(node, "num_shards", &reader.shards));
    TRY(node_attr_int32(node, "shard", &reader.shard));
    TRY(keep_memory(k, range, sizeof *out->weights, &weights));
    out->weights = weights;
    TRY_OR(fail, put_weights(&reader, node));
    status =
        status_error(STATUS_INVALID_ARGUMENT, "range is %lld must be equal to weights size  %lld",
                     (long long)range, (long long)out->count);
    if (out->count != range)
        goto fail;
    TRY_OR(fail, make_cells(k, out));
    return status_ok();

fail:
    given_weights_finish(out);
    return status;
}

void given_weights_finish(struct given_weights *weights)
{
    free(weights->weights);
    free(weights->cells);
    *weights = (struct given_weights){ 0 };
}

int64_t given_weights_draw(const struct given_weights *weights, struct philox_reader *reader)
{
    float part = philox_float(philox_next(reader));
    uint32_t at = philox_below_32(reader, (uint32_t)weights->count);
    return part < weights->cells[at].part ? (int32_t)at : weights->cells[at].instead;
}

float given_weights_share(const struct given_weights *weights, int64_t value)
{
    return value < 0 || value >= weights->count ? 0 : weights->weights[value] / weights->total;
}
