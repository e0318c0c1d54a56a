/*
 * constrained_sequence: TensorFlow Text's ConstrainedSequence, which finds a sequence of states
 * with a high score, step by step (greedy) or the best one (Viterbi). Transitions between states
 * may be weighted, and some forbidden. Scores are added, or multiplied.
 */
#include <float.h>

#include "runtime/kernels/kernel_tools.h"

#define NO_STATE        (-1) /* no transition leads on */
#define PAIRS_PER_CHECK ((int64_t)1 << 20)

enum { SCORES, LENGTHS, ALLOWED, WEIGHTS };

struct sequence_search {
    struct kernel_context *k;
    bool viterbi, adds, has_ends; /* has_ends: the state after the last is for both ends */
    int64_t batch, steps, states;
    int64_t width;       /* of the tables of transitions */
    const bool *allowed; /* [width, width], or NULL: all are */
    const float *weights;
    const float *scores;                 /* [steps, states] of one sequence */
    int64_t pairs;                       /* since the last check of the deadline */
    struct tensor best, before, sources; /* of Viterbi's: scratch */
};

static bool is_allowed(const struct sequence_search *s, int64_t from, int64_t to)
{
    return s->allowed == NULL || s->allowed[from * s->width + to];
}

/* The score with that of a transition. */
static float weigh(const struct sequence_search *s, float score, int64_t from, int64_t to)
{
    if (s->weights == NULL)
        return score;
    float weight = s->weights[from * s->width + to];
    return s->adds ? score + weight : score * weight;
}

static struct status count_pairs(struct sequence_search *s)
{
    s->pairs += s->states;
    if (s->pairs < PAIRS_PER_CHECK)
        return status_ok();
    s->pairs = 0;
    return kernel_check(s->k);
}

/* ---- greedy ---- */

static int32_t best_next(const struct sequence_search *s, int64_t step, int64_t length,
                         int64_t from)
{
    bool moves = s->has_ends || step > 0, ends = s->has_ends && step == length - 1;
    float best = -FLT_MAX;
    int32_t found = NO_STATE;
    for (int64_t to = 0; to < s->states; to++) {
        float score = s->scores[step * s->states + to];
        if ((moves && !is_allowed(s, from, to)) || (ends && !is_allowed(s, to, s->states)))
            continue;
        if (moves)
            score = weigh(s, score, from, to);
        if (ends)
            score = weigh(s, score, to, s->states);
        if (score >= best) {
            best = score;
            found = (int32_t)to;
        }
    }
    return found;
}

static struct status search_greedily(struct sequence_search *s, int64_t length, int32_t *out)
{
    for (int64_t step = 0, from = s->states; step < length; step++) {
        out[step] = from == NO_STATE ? NO_STATE : best_next(s, step, length, from);
        from = out[step];
        TRY(count_pairs(s));
    }
    return status_ok();
}

/* ---- Viterbi ---- */

/* Products would get too small, so that the greatest becomes 1. */
static void scale(const struct sequence_search *s, double *scores)
{
    if (s->adds || s->states == 0)
        return;
    double most = scores[0]; /* a NaN here stays the greatest, as in TensorFlow Text */
    for (int64_t i = 1; i < s->states; i++)
        most = most < scores[i] ? scores[i] : most;
    for (int64_t i = 0; i < s->states && most > 0; i++)
        scores[i] /= most;
}

static void begin_sequence(struct sequence_search *s, double *best, int32_t *source)
{
    for (int64_t to = 0; to < s->states; to++) {
        best[to] = (double)-FLT_MAX;
        source[to] = NO_STATE;
        if (s->has_ends && !is_allowed(s, s->states, to))
            continue;
        source[to] = 0; /* never followed: any state but NO_STATE */
        best[to] = (double)(s->has_ends ? weigh(s, s->scores[to], s->states, to) : s->scores[to]);
    }
    scale(s, best);
}

/* The best state before `to`, in a step. */
static int32_t best_source(const struct sequence_search *s, int64_t step, int64_t to,
                           const double *before, const int32_t *sources_before, double *score)
{
    float best = -FLT_MAX;
    int32_t found = NO_STATE;
    for (int64_t from = 0; from < s->states; from++) {
        if (sources_before[from] == NO_STATE || !is_allowed(s, from, to))
            continue;
        double raw = (double)s->scores[step * s->states + to];
        float sum = (float)(s->adds ? raw + before[from] : raw * before[from]);
        sum = weigh(s, sum, from, to);
        if (sum >= best) {
            best = sum;
            found = (int32_t)from;
        }
    }
    *score = (double)best;
    return found;
}

static int32_t best_last(const struct sequence_search *s, const double *best,
                         const int32_t *sources)
{
    float most = -FLT_MAX;
    int32_t found = NO_STATE;
    for (int64_t from = 0; from < s->states; from++) {
        if (sources[from] == NO_STATE || (s->has_ends && !is_allowed(s, from, s->states)))
            continue;
        float score = (float)best[from];
        if (s->has_ends)
            score = weigh(s, score, from, s->states);
        if (score >= most) {
            most = score;
            found = (int32_t)from;
        }
    }
    return found;
}

static struct status search_best(struct sequence_search *s, int64_t length, int32_t *out)
{
    int64_t cells;
    if (length == 0)
        return status_ok();
    if (__builtin_mul_overflow(length, s->states, &cells))
        return kernel_error(s->k, STATUS_RESOURCE_EXHAUSTED, "%lld steps of %lld states",
                            (long long)length, (long long)s->states);
    TRY(kernel_scratch_reserve(s->k, &s->sources, 0, cells, sizeof(int32_t)));
    TRY(kernel_scratch_reserve(s->k, &s->best, 0, s->states, sizeof(double)));
    TRY(kernel_scratch_reserve(s->k, &s->before, 0, s->states, sizeof(double)));
    int32_t *sources = s->sources.data;
    double *best = s->best.data, *before = s->before.data;
    begin_sequence(s, best, sources);
    for (int64_t step = 1; step < length; step++) {
        double *swapped = before;
        before = best;
        best = swapped;
        sources += s->states;
        for (int64_t to = 0; to < s->states; to++) {
            sources[to] = best_source(s, step, to, before, sources - s->states, &best[to]);
            TRY(count_pairs(s));
        }
        scale(s, best);
    }
    int32_t state = best_last(s, best, sources);
    for (int64_t step = length - 1; step >= 0; step--, sources -= s->states) {
        out[step] = state;
        state = state == NO_STATE ? NO_STATE : sources[state];
    }
    return status_ok();
}

/* ---- inputs ---- */

static struct status check_table(const struct sequence_search *s, const struct tensor *table,
                                 const char *name)
{
    static const char *const dimensions[] = { "zeroth", "first" };
    if (table->shape.rank != 2)
        return kernel_error(s->k, STATUS_INVALID_ARGUMENT, "%s must be of rank 2", name);
    for (int i = 0; i < 2; i++)
        if (table->shape.dims[i] != s->width)
            return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                                "%s must have a %s dimension of size %lld when num_states is %lld "
                                "and use_start_and_end_states is %d",
                                name, dimensions[i], (long long)s->width, (long long)s->states,
                                s->has_ends);
    return status_ok();
}

static struct status read_tables(struct sequence_search *s)
{
    const struct tensor *allowed = kernel_input(s->k, ALLOWED),
                        *weights = kernel_input(s->k, WEIGHTS);
    if (allowed->size > 0) {
        TRY(check_table(s, allowed, "allowed_transitions"));
        s->allowed = tensor_bools(allowed);
    }
    if (weights->size > 0) {
        TRY(check_table(s, weights, "transition_weights"));
        s->weights = tensor_floats(weights);
    }
    for (int64_t i = 0; i < weights->size && !s->adds; i++)
        if (!(s->weights[i] >= 0))
            return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                                "The transition weights tensor must not contain negative values.");
    return status_ok();
}

/* Scores are [batch, steps, states], or [steps, states] of one sequence. */
static struct status read_shapes(struct sequence_search *s, int64_t *total)
{
    const struct tensor *scores = kernel_input(s->k, SCORES),
                        *lengths = kernel_input(s->k, LENGTHS);
    int rank = scores->shape.rank;
    if (rank != 2 && rank != 3)
        return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                            "The score tensor must be of rank 2 or 3.");
    s->batch = rank == 3 ? scores->shape.dims[0] : 1;
    s->steps = scores->shape.dims[rank - 2];
    s->states = scores->shape.dims[rank - 1];
    if (__builtin_add_overflow(s->states, s->has_ends, &s->width))
        return kernel_error(s->k, STATUS_RESOURCE_EXHAUSTED, "there are too many states");
    if (lengths->size != s->batch)
        return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                            "There should be exactly one length for every batch element. Found "
                            "%lld length elements for a batch size of %lld",
                            (long long)lengths->size, (long long)s->batch);
    *total = 0;
    for (int64_t i = 0; i < s->batch; i++) {
        int64_t length = tensor_index(lengths, i);
        if (length < 0)
            return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                                "the length of sequence %lld is %lld", (long long)i,
                                (long long)length);
        if (length > s->steps)
            return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                                "The scores tensor is too short for the longest sequence length.");
        if (__builtin_add_overflow(*total, length, total))
            return kernel_error(s->k, STATUS_RESOURCE_EXHAUSTED, "the sequences are too long");
    }
    return status_ok();
}

static struct status search_all(struct sequence_search *s)
{
    const struct tensor *lengths = kernel_input(s->k, LENGTHS);
    struct tensor *states, *splits;
    int64_t total = 0;
    TRY(read_shapes(s, &total));
    TRY(read_tables(s));
    struct shape shape = shape_of(total), splits_shape = shape_of(s->batch + 1);
    TRY(kernel_output(s->k, 0, &shape, &states));
    TRY(kernel_output(s->k, 1, &splits_shape, &splits));
    if (splits->dtype == DT_INT32 && total > INT32_MAX)
        return kernel_error(s->k, STATUS_RESOURCE_EXHAUSTED, "too many states for Tsplits int32");
    tensor_set_index(splits, 0, 0);
    for (int64_t i = 0, at = 0; i < s->batch; i++) {
        int64_t length = tensor_index(lengths, i);
        int32_t *out = tensor_int32s_mut(states) + at;
        s->scores = tensor_floats(kernel_input(s->k, SCORES)) + i * s->steps * s->states;
        TRY(s->viterbi ? search_best(s, length, out) : search_greedily(s, length, out));
        at += length;
        tensor_set_index(splits, i + 1, at);
    }
    return status_ok();
}

static struct status sequence_compute(struct kernel_context *k)
{
    struct sequence_search s = { .k = k };
    const struct node *node = kernel_node(k);
    TRY(node_attr_bool(node, "use_viterbi", &s.viterbi));
    TRY(node_attr_bool(node, "use_log_space", &s.adds));
    TRY(node_attr_bool(node, "use_start_and_end_states", &s.has_ends));
    struct status status = search_all(&s);
    tensor_release(&s.best);
    tensor_release(&s.before);
    tensor_release(&s.sources);
    return status;
}

static const struct kernel rows[] = {
    { "ConstrainedSequence", DTYPES_ALL, .compute = sequence_compute },
};
const struct kernel_table kernels_constrained_sequence = { rows, COUNT(rows) };
