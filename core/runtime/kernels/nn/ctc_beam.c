/*
 * ctc_beam: CTCBeamSearchDecoder, the most likely sequences of labels, by a beam search (Graves,
 * Supervised Sequence Labelling with Recurrent Neural Networks, 7.5). Inputs are [steps, batch,
 * classes], not normalized; the last class is the blank.
 *
 * The sums are computed in the inputs' type, in TensorFlow's order, because near ties decide which
 * sequences stay in the beam.
 */
#include <inttypes.h>
#include <math.h>

#include "base/arena.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/beam_top.h"

#define LOG_ZERO (-INFINITY)

enum { BLOCK_ENTRIES = 256 };

struct beam_block {
    struct beam_block *next;
    struct beam_entry entries[BLOCK_ENTRIES];
};

struct ctc_beam_state {
    int64_t width, paths;
    bool merge_repeated;
};

struct beam_search {
    struct kernel_context *k;
    const struct tensor *x;
    int64_t batch, classes;
    struct beam_top leaves;
    struct buffer branches;            /* of struct beam_entry *, the best first */
    struct beam_block *blocks, *block; /* all, and the one in use; kept from row to row */
    int block_used;
    struct beam_entry **child_of; /* [classes] the children of one entry, by label */
    double *logits;               /* [classes] log-probabilities of the step */
};

/* ---- numbers of the inputs' type ---- */

static double rounded(const struct beam_search *search, double value)
{
    return search->x->dtype == DT_FLOAT ? (double)(float)value : value;
}

static double log_sum_exp(const struct beam_search *search, double a, double b)
{
    double more = a > b ? a : b, less = a > b ? b : a;
    if (a == LOG_ZERO || b == LOG_ZERO)
        return a == LOG_ZERO ? b : a;
    /* TensorFlow takes these two in float, also between doubles. */
    return rounded(search, more + (double)log1pf(expf((float)rounded(search, less - more))));
}

/* Subtracts the logarithm of the sum of all exponentials. */
static void read_logits(struct beam_search *search, int64_t step, int64_t row)
{
    int64_t at = (step * search->batch + row) * search->classes;
    double most = floating_element(search->x, at), sum = 0;
    for (int64_t c = 0; c < search->classes; c++) {
        search->logits[c] = floating_element(search->x, at + c);
        if (search->logits[c] > most)
            most = search->logits[c];
    }
    for (int64_t c = 0; c < search->classes; c++)
        sum = rounded(search, sum + (search->x->dtype == DT_FLOAT
                                         ? (double)expf((float)search->logits[c] - (float)most)
                                         : exp(search->logits[c] - most)));
    double offset = rounded(
        search,
        most + rounded(search, search->x->dtype == DT_FLOAT ? (double)logf((float)sum) : log(sum)));
    for (int64_t c = 0; c < search->classes; c++)
        search->logits[c] = rounded(search, search->logits[c] - offset);
}

/* ---- the tree ---- */

static void reset_chance(struct beam_chance *chance)
{
    *chance = (struct beam_chance){ LOG_ZERO, LOG_ZERO, LOG_ZERO };
}

static bool is_active(const struct beam_entry *entry)
{
    return entry->now.total != LOG_ZERO;
}

static struct status next_block(struct beam_search *search)
{
    void *memory;
    if (search->block != NULL && search->block->next != NULL) {
        search->block = search->block->next;
    } else {
        TRY(arena_reserve(kernel_arena(search->k), sizeof(struct beam_block), &memory));
        struct beam_block *made = memory;
        made->next = NULL;
        if (search->block != NULL)
            search->block->next = made;
        else
            search->blocks = made;
        search->block = made;
    }
    search->block_used = 0;
    return status_ok();
}

static struct status add_entry(struct beam_search *search, struct beam_entry *parent, int64_t label,
                               struct beam_entry **out)
{
    if (search->block == NULL || search->block_used == BLOCK_ENTRIES)
        TRY(next_block(search));
    struct beam_entry *entry = &search->block->entries[search->block_used++];
    *entry = (struct beam_entry){ .parent = parent, .label = label };
    reset_chance(&entry->before);
    reset_chance(&entry->now);
    if (parent != NULL) {
        entry->sibling = parent->children;
        parent->children = entry;
    }
    *out = entry;
    return status_ok();
}

static struct status begin_row(struct beam_search *search)
{
    struct beam_entry *root;
    search->block = search->blocks;
    search->block_used = 0;
    search->leaves.held.size = 0;
    search->leaves.state = TOP_UNORDERED;
    TRY(add_entry(search, NULL, -1, &root));
    root->now.total = root->now.blank = 0;
    beam_top_push(&search->leaves, root);
    return status_ok();
}

/* ---- one step ---- */

static struct beam_entry **branches_of(const struct beam_search *search, int64_t *count)
{
    *count = (int64_t)(search->branches.size / sizeof(struct beam_entry *));
    return (struct beam_entry **)(void *)search->branches.data;
}

/* The same sequence: this step repeats its last label, or is blank. */
static void stay(struct beam_search *search, struct beam_entry *entry)
{
    const struct beam_entry *parent = entry->parent;
    if (parent != NULL) {
        if (is_active(parent))
            entry->now.label = log_sum_exp(search, entry->now.label,
                                           entry->label == parent->label ? parent->before.blank
                                                                         : parent->before.total);
        entry->now.label = rounded(search, entry->now.label + search->logits[entry->label]);
    }
    entry->now.blank = rounded(search, entry->before.total + search->logits[search->classes - 1]);
    entry->now.total = log_sum_exp(search, entry->now.blank, entry->now.label);
    beam_top_push(&search->leaves, entry);
}

static bool is_candidate(struct beam_search *search, double total)
{
    return total > LOG_ZERO && (beam_top_count(&search->leaves) < search->leaves.limit ||
                                total > beam_top_bottom(&search->leaves)->now.total);
}

static struct status grow_child(struct beam_search *search, struct beam_entry *entry, int64_t label)
{
    struct beam_entry *child = search->child_of[label];
    double before = label == entry->label ? entry->before.blank : entry->before.total;
    double total = rounded(search, search->logits[label] + before);
    if (child != NULL && is_active(child))
        return status_ok();
    if (!is_candidate(search, total)) {
        if (child != NULL) {
            reset_chance(&child->before);
            reset_chance(&child->now);
        }
        return status_ok();
    }
    if (child == NULL)
        TRY(add_entry(search, entry, label, &child));
    child->now = (struct beam_chance){ .total = total, .blank = LOG_ZERO, .label = total };
    if (beam_top_count(&search->leaves) == search->leaves.limit)
        reset_chance(&beam_top_bottom(&search->leaves)->now); /* it leaves the beam */
    beam_top_push(&search->leaves, child);
    return status_ok();
}

static struct status grow(struct beam_search *search, struct beam_entry *entry)
{
    struct status status = status_ok();
    if (!is_candidate(search, entry->before.total))
        return status;
    TRY(kernel_check(search->k));
    struct beam_entry *known = entry->children;
    for (struct beam_entry *child = known; child != NULL; child = child->sibling)
        search->child_of[child->label] = child;
    for (int64_t label = 0; label < search->classes - 1 && status_is_ok(status); label++)
        status = grow_child(search, entry, label);
    for (struct beam_entry *child = known; child != NULL; child = child->sibling)
        search->child_of[child->label] = NULL;
    return status;
}

static struct status step(struct beam_search *search, int64_t at, int64_t row)
{
    int64_t count;
    read_logits(search, at, row);
    beam_top_extract(&search->leaves, &search->branches);
    struct beam_entry **branches = branches_of(search, &count);
    for (int64_t i = 0; i < count; i++)
        branches[i]->before = branches[i]->now;
    for (int64_t i = 0; i < count; i++)
        stay(search, branches[i]);
    for (int64_t i = 0; i < count; i++)
        TRY(grow(search, branches[i]));
    return status_ok();
}

/* ---- the best sequences ---- */

/* Writes the labels from the last to the first; with `out` NULL only counts. */
static int64_t labels_of(const struct beam_entry *entry, bool merge_repeated, int64_t *out)
{
    int64_t count = 0, before = -1;
    for (; entry->parent != NULL; entry = entry->parent) {
        if (!merge_repeated || entry->label != before) {
            if (out != NULL)
                out[count] = entry->label;
            count++;
        }
        before = entry->label;
    }
    return count;
}

/* The labels of a path, the last one first. */
struct decoded_path {
    int64_t count;
    int64_t *labels;
};

/* [batch, paths] each */
struct decoded {
    struct decoded_path *paths;
    double *scores;
};

static struct status keep_paths(struct beam_search *search, const struct ctc_beam_state *state,
                                struct decoded *out, int64_t row)
{
    struct beam_top best = { .limit = state->paths };
    int64_t count;
    if (state->paths > state->width)
        return status_error(STATUS_INVALID_ARGUMENT, "requested more paths than the beam width.");
    if (state->paths > beam_top_count(&search->leaves))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Less leaves in the beam search than requested.");
    for (int64_t i = 0; i < beam_top_count(&search->leaves); i++)
        beam_top_push(&best, beam_top_entries(&search->leaves)[i]);
    beam_top_extract(&best, &search->branches);
    buffer_finish(&best.held);
    struct beam_entry **paths = branches_of(search, &count);
    for (int64_t p = 0; p < count; p++) {
        int64_t labels = labels_of(paths[p], state->merge_repeated, NULL);
        void *memory;
        TRY(arena_reserve(kernel_arena(search->k), (size_t)labels * sizeof(int64_t) + 1, &memory));
        out->paths[row * state->paths + p] = (struct decoded_path){ labels, memory };
        labels_of(paths[p], state->merge_repeated, memory);
        out->scores[row * state->paths + p] = paths[p]->now.total;
    }
    return status_ok();
}

static struct status search_rows(struct beam_search *search, const struct ctc_beam_state *state,
                                 struct decoded *out)
{
    const int32_t *lengths = tensor_int32s(kernel_input(search->k, 1));
    for (int64_t row = 0; row < search->batch; row++) {
        TRY(begin_row(search));
        for (int64_t t = 0; t < lengths[row]; t++)
            TRY(step(search, t, row));
        TRY(keep_paths(search, state, out, row));
    }
    return status_ok();
}

/* ---- inputs and outputs ---- */

static struct status check_inputs(const struct tensor *x, const struct tensor *lengths)
{
    if (x->shape.rank != 3)
        return status_error(STATUS_INVALID_ARGUMENT, "inputs is not a 3-Tensor");
    if (x->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "inputs must not be empty");
    if (lengths->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "sequence_length is not a vector");
    if (lengths->size != x->shape.dims[1])
        return status_error(STATUS_FAILED_PRECONDITION,
                            "len(sequence_length) != batch_size.  len(sequence_length):  %" PRId64
                            " batch_size: %" PRId64,
                            lengths->size, x->shape.dims[1]);
    for (int64_t b = 0; b < lengths->size; b++)
        if (tensor_int32s(lengths)[b] > x->shape.dims[0])
            return status_error(STATUS_FAILED_PRECONDITION,
                                "sequence_length(%" PRId64 ") <= %" PRId64, b, x->shape.dims[0]);
    return status_ok();
}

/* Path p of each row. */
static struct status make_path(struct kernel_context *k, const struct decoded *decoded, int64_t p,
                               int64_t paths, int64_t batch)
{
    struct tensor *indices, *values, *shape;
    int64_t total = 0, most = 0, filled = 0;
    for (int64_t row = 0; row < batch; row++) {
        int64_t count = decoded->paths[row * paths + p].count;
        total += count;
        most = count > most ? count : most;
    }
    struct shape pairs = shape_of(total, 2), vector = shape_of(total), two = shape_of(2);
    TRY(kernel_output(k, (int)p, &pairs, &indices));
    TRY(kernel_output(k, (int)(paths + p), &vector, &values));
    TRY(kernel_output(k, (int)(2 * paths + p), &two, &shape));
    for (int64_t row = 0; row < batch; row++) {
        const struct decoded_path *path = &decoded->paths[row * paths + p];
        for (int64_t t = 0; t < path->count; t++, filled++) {
            tensor_int64s_mut(indices)[2 * filled] = row;
            tensor_int64s_mut(indices)[2 * filled + 1] = t;
            tensor_int64s_mut(values)[filled] = path->labels[path->count - 1 - t];
        }
    }
    tensor_int64s_mut(shape)[0] = batch;
    tensor_int64s_mut(shape)[1] = most;
    return status_ok();
}

static struct status make_outputs(struct kernel_context *k, const struct decoded *decoded,
                                  int64_t paths, int64_t batch)
{
    struct shape shape = shape_of(batch, paths);
    struct tensor *scores;
    for (int64_t p = 0; p < paths; p++)
        TRY(make_path(k, decoded, p, paths, batch));
    TRY(kernel_output(k, (int)(3 * paths), &shape, &scores));
    for (int64_t i = 0; i < scores->size; i++) {
        if (scores->dtype == DT_FLOAT)
            tensor_floats_mut(scores)[i] = (float)decoded->scores[i];
        else
            tensor_doubles_mut(scores)[i] = decoded->scores[i];
    }
    return status_ok();
}

static struct status reserve_scratch(struct beam_search *search, int64_t paths,
                                     struct decoded *decoded)
{
    struct arena *arena = kernel_arena(search->k);
    size_t classes = (size_t)search->classes, count, bytes;
    void *children, *logits, *decoded_paths, *scores;
    if (__builtin_mul_overflow((size_t)search->batch, (size_t)paths, &count) ||
        __builtin_mul_overflow(count, sizeof(struct decoded_path), &bytes))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "too many paths");
    TRY(arena_reserve(arena, classes * sizeof(struct beam_entry *), &children));
    TRY(arena_reserve(arena, classes * sizeof(double), &logits));
    TRY(arena_reserve(arena, bytes, &decoded_paths));
    TRY(arena_reserve(arena, count * sizeof(double), &scores));
    memset(children, 0, classes * sizeof(struct beam_entry *));
    search->child_of = children;
    search->logits = logits;
    decoded->paths = decoded_paths;
    decoded->scores = scores;
    return status_ok();
}

static struct status beam_prepare(struct prepare_context *p)
{
    struct ctc_beam_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    TRY(node_attr_bool(node, "merge_repeated", &state->merge_repeated));
    TRY(node_attr_int(node, "beam_width", &state->width));
    TRY(node_attr_int(node, "top_paths", &state->paths));
    if (state->paths < 1 || state->paths > INT32_MAX / 4)
        return status_error(STATUS_INVALID_ARGUMENT, "top_paths is %" PRId64, state->paths);
    return status_ok();
}

static struct status beam_compute(struct kernel_context *k)
{
    const struct ctc_beam_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    TRY(check_inputs(x, kernel_input(k, 1)));
    struct beam_search search = { .k = k,
                                  .x = x,
                                  .batch = x->shape.dims[1],
                                  .classes = x->shape.dims[2],
                                  .leaves = { .limit = state->width } };
    struct decoded decoded = { 0 };
    TRY(reserve_scratch(&search, state->paths, &decoded));
    struct status status = search_rows(&search, state, &decoded);
    if (status_is_ok(status))
        status = make_outputs(k, &decoded, state->paths, search.batch);
    buffer_finish(&search.leaves.held);
    buffer_finish(&search.branches);
    return status;
}

static const struct kernel rows[] = {
    { "CTCBeamSearchDecoder", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), "T", .prepare = beam_prepare,
      .compute = beam_compute, .costly = true },
};
const struct kernel_table kernels_ctc_beam = { rows, COUNT(rows) };
