/*
 * candidates: ops that draw classes for a sampled softmax, with TensorFlow's choices for a seed,
 * and ComputeAccidentalHits, which finds drawn classes that are true ones.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/fingerprint.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/philox_fill.h"
#include "runtime/kernels/random/random_seeded.h"
#include "runtime/kernels/random/unigrams.h"

#define CHECK_EVERY      65536 /* draws, or classes, between two checks of the deadline */
#define WORDS_PER_SAMPLE 2048  /* that TensorFlow reserves */

struct class_sampler {
    const struct sampler_kind *kind;
    struct random_seeded seeded;
    int64_t num_true, num_sampled, range;
    bool is_unique;
    pthread_mutex_t lock; /* guards the rest of an op that keeps classes */
    bool is_started;
    struct seen_counts seen;
    struct given_weights given;
};

struct sampler_kind {
    const char *op;
    /* Called once, before the first draw; may be NULL. */
    struct status (*start)(struct kernel_context *k, struct class_sampler *sampler);
    int64_t (*draw)(const struct class_sampler *sampler, struct philox_reader *reader);
    float (*share)(const struct class_sampler *sampler, int64_t value); /* of all draws */
    bool learns; /* counts the true classes of each run */
};

/* ---- the distributions ---- */

static int64_t uniform_draw(const struct class_sampler *sampler, struct philox_reader *reader)
{
    return (int64_t)philox_below_64(reader, (uint64_t)sampler->range);
}

static float uniform_share(const struct class_sampler *sampler, int64_t value)
{
    (void)value;
    return (float)(1.0 / (double)sampler->range);
}

static int64_t log_uniform_draw(const struct class_sampler *sampler, struct philox_reader *reader)
{
    uint32_t high = philox_next(reader), low = philox_next(reader);
    double value = exp(philox_double(high, low) * log1p((double)sampler->range));
    return (value < 0x1p63 ? (int64_t)value - 1 : 0) % sampler->range;
}

static float log_uniform_share(const struct class_sampler *sampler, int64_t value)
{
    double x = (double)value;
    return (float)(log((x + 2) / (x + 1)) / log1p((double)sampler->range));
}

static struct status seen_start(struct kernel_context *k, struct class_sampler *sampler)
{
    return seen_counts_start(k, sampler->range, &sampler->seen);
}

static int64_t seen_draw(const struct class_sampler *sampler, struct philox_reader *reader)
{
    return seen_counts_draw(&sampler->seen, reader);
}

static float seen_share(const struct class_sampler *sampler, int64_t value)
{
    return seen_counts_share(&sampler->seen, value);
}

static struct status given_start(struct kernel_context *k, struct class_sampler *sampler)
{
    return given_weights_start(k, sampler->range, &sampler->given);
}

static int64_t given_draw(const struct class_sampler *sampler, struct philox_reader *reader)
{
    return given_weights_draw(&sampler->given, reader);
}

static float given_share(const struct class_sampler *sampler, int64_t value)
{
    return given_weights_share(&sampler->given, value);
}

/* All classes without a draw, see draw_all. */
static float whole_share(const struct class_sampler *sampler, int64_t value)
{
    (void)sampler;
    (void)value;
    return 1;
}

static const struct sampler_kind kinds[] = {
    { "UniformCandidateSampler", NULL, uniform_draw, uniform_share, false },
    { "LogUniformCandidateSampler", NULL, log_uniform_draw, log_uniform_share, false },
    { "LearnedUnigramCandidateSampler", seen_start, seen_draw, seen_share, true },
    { "ThreadUnsafeUnigramCandidateSampler", seen_start, seen_draw, seen_share, true },
    { "FixedUnigramCandidateSampler", given_start, given_draw, given_share, false },
    { "AllCandidateSampler", NULL, NULL, whole_share, false },
};

/* ---- preparing ---- */

static void sampler_destroy(void *state)
{
    struct class_sampler *sampler = state;
    seen_counts_finish(&sampler->seen);
    given_weights_finish(&sampler->given);
    pthread_mutex_destroy(&sampler->lock);
}

static struct status sampler_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct class_sampler *sampler = prepare_state(p, sizeof *sampler, sampler_destroy);
    pthread_mutex_init(&sampler->lock, NULL);
    sampler->kind = OP_ROW(kinds, node->op_name);
    TRY(random_seeded_init(node, &sampler->seeded));
    TRY(node_attr_int32(node, "num_true", &sampler->num_true));
    TRY(node_attr_int32(node, "num_sampled", &sampler->num_sampled));
    TRY(node_attr_bool(node, "unique", &sampler->is_unique));
    sampler->range = sampler->num_sampled;
    return sampler->kind->draw == NULL ? status_ok()
                                       : node_attr_int(node, "range_max", &sampler->range);
}

/* ---- drawing ---- */

/* Numbers from 0 on that were seen: slots of 0, or of the number and 1. At most half full. */
struct seen_set {
    struct tensor slots;
    uint64_t mask;
};

static struct status seen_set_make(struct kernel_context *k, int64_t count, struct seen_set *out)
{
    int64_t capacity = 2;
    while (capacity < 2 * count)
        capacity *= 2;
    struct shape shape = shape_of(capacity);
    out->mask = (uint64_t)capacity - 1;
    TRY(kernel_scratch(k, DT_INT64, &shape, &out->slots));
    memset(out->slots.data, 0, tensor_bytes(&out->slots));
    return status_ok();
}

static bool seen_set_add(struct seen_set *set, int64_t value)
{
    int64_t *slots = tensor_int64s_mut(&set->slots);
    uint64_t at = bytes_hash((struct bytes){ (const char *)&value, sizeof value }) & set->mask;
    while (slots[at] != 0) {
        if (slots[at] == value + 1)
            return false;
        at = (at + 1) & set->mask;
    }
    slots[at] = value + 1;
    return true;
}

static void draw_all(struct tensor *out)
{
    for (int64_t i = 0; i < out->size; i++)
        tensor_int64s_mut(out)[i] = i;
}

/* *tries counts the draws, also those of a class that was drawn before. */
static struct status draw_batch(struct kernel_context *k, const struct class_sampler *sampler,
                                struct philox philox, struct tensor *out, int64_t *tries)
{
    struct philox_reader reader = { .philox = philox };
    struct seen_set seen = { 0 };
    struct status status = status_ok();
    int64_t count = 0;
    if (sampler->is_unique)
        TRY_OR(done, seen_set_make(k, out->size, &seen));
    for (*tries = 0; count < out->size;) {
        int64_t value = sampler->kind->draw(sampler, &reader);
        if (!sampler->is_unique || seen_set_add(&seen, value))
            tensor_int64s_mut(out)[count++] = value;
        if (++*tries % CHECK_EVERY == 0)
            TRY_OR(done, kernel_check(k));
        status = status_error(STATUS_RESOURCE_EXHAUSTED, "no %lld classes within %d draws",
                              (long long)out->size, INT32_MAX);
        if (*tries == INT32_MAX)
            goto done;
    }
    status = status_ok();
done:
    tensor_release(&seen.slots);
    return status;
}

/* The expected number of occurrences of each class among `drawn` classes that took this number
 * of tries. */
static void put_expected(const struct class_sampler *sampler, const struct tensor *classes,
                         int64_t drawn, int64_t tries, struct tensor *out)
{
    for (int64_t i = 0; i < classes->size; i++) {
        float share = sampler->kind->share(sampler, tensor_int64s(classes)[i]);
        tensor_floats_mut(out)[i] = sampler->kind->draw == NULL ? share
                                    : tries == drawn            ? share * (float)drawn
                                                     : -expm1f((float)tries * log1pf(-share));
    }
}

/* ---- the ops ---- */

static struct status check_classes(const struct kernel_context *k,
                                   const struct class_sampler *sampler)
{
    const struct tensor *classes = kernel_input(k, 0);
    if (classes->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "true_classes must be a matrix");
    if (classes->shape.dims[1] != sampler->num_true)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "true_classes must have num_true columns, expected: %lld was: %lld",
                            (long long)classes->shape.dims[1], (long long)sampler->num_true);
    if (sampler->is_unique && sampler->num_sampled > sampler->range)
        return status_error(STATUS_INVALID_ARGUMENT, "Sampler's range is too small.");
    for (int64_t i = 0; i < classes->size; i++) {
        int64_t value = tensor_int64s(classes)[i];
        if (value < 0 || value >= sampler->range)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "`true_candidate` out of range [0, %lld), received %lld",
                                (long long)sampler->range, (long long)value);
    }
    return status_ok();
}

static struct status draw_and_count(struct kernel_context *k, struct class_sampler *sampler,
                                    struct philox philox, struct tensor *out[3])
{
    const struct tensor *classes = kernel_input(k, 0);
    int64_t tries = 0;
    if (!sampler->is_started && sampler->kind->start != NULL)
        TRY(sampler->kind->start(k, sampler));
    sampler->is_started = true;
    if (sampler->kind->draw == NULL)
        draw_all(out[0]);
    else
        TRY(draw_batch(k, sampler, philox, out[0], &tries));
    put_expected(sampler, classes, out[0]->size, tries, out[1]);
    put_expected(sampler, out[0], out[0]->size, tries, out[2]);
    for (int64_t i = 0; sampler->kind->learns && i < classes->size; i++)
        seen_counts_add(&sampler->seen, tensor_int64s(classes)[i]);
    return status_ok();
}

static struct status sampler_compute(struct kernel_context *k)
{
    /* The state that runs change is atomic or guarded by the lock. */
    struct class_sampler *sampler = (struct class_sampler *)kernel_state(k);
    const struct tensor *classes = kernel_input(k, 0);
    struct shape drawn = shape_of(sampler->num_sampled);
    struct tensor *out[3];
    TRY(check_classes(k, sampler));
    TRY(kernel_output(k, 0, &drawn, &out[0]));
    TRY(kernel_output(k, 1, &classes->shape, &out[1]));
    TRY(kernel_output(k, 2, &drawn, &out[2]));
    struct philox philox = random_seeded_take(
        k, &sampler->seeded, (uint64_t)sampler->num_sampled * WORDS_PER_SAMPLE / 4);
    bool is_locked = sampler->kind->start != NULL;
    if (is_locked)
        pthread_mutex_lock(&sampler->lock);
    struct status status = draw_and_count(k, sampler, philox, out);
    if (is_locked)
        pthread_mutex_unlock(&sampler->lock);
    return status;
}

/* ---- ComputeAccidentalHits ---- */

/* A hash table of the last place of each class among the drawn ones. A slot holds the place plus 1;
 * 0: empty. */
struct place_table {
    const int64_t *drawn;
    struct tensor slots;
    uint64_t mask;
    uint64_t secret[2]; /* of the hash, because strangers choose the classes */
};

static int64_t *find_slot(struct place_table *table, int64_t value)
{
    int64_t *slots = tensor_int64s_mut(&table->slots);
    uint64_t at = siphash64(table->secret, (struct bytes){ (const char *)&value, sizeof value });
    at &= table->mask;
    while (slots[at] != 0 && table->drawn[slots[at] - 1] != value)
        at = (at + 1) & table->mask;
    return &slots[at];
}

static struct status place_table_fill(struct kernel_context *k, const struct tensor *drawn,
                                      struct place_table *table)
{
    for (int64_t i = 0; i < drawn->size; i++) {
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        *find_slot(table, table->drawn[i]) = i + 1;
    }
    return status_ok();
}

static struct status place_table_make(struct kernel_context *k, const struct tensor *drawn,
                                      struct place_table *out)
{
    struct seen_set set = { 0 };
    TRY(seen_set_make(k, drawn->size, &set));
    *out = (struct place_table){ tensor_int64s(drawn), set.slots, set.mask, { 0 } };
    fingerprint_secret(out->secret);
    struct status status = place_table_fill(k, drawn, out);
    if (!status_is_ok(status))
        tensor_release(&out->slots);
    return status;
}

static struct status put_hits(struct kernel_context *k, struct place_table *table)
{
    const struct tensor *classes = kernel_input(k, 0);
    struct shape vector = shape_of(classes->size);
    struct tensor *out[3];
    int64_t count = 0;
    for (int i = 0; i < 3; i++)
        TRY(kernel_output(k, i, &vector, &out[i]));
    for (int64_t i = 0; i < classes->size; i++) {
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        int64_t place = *find_slot(table, tensor_int64s(classes)[i]);
        if (place == 0)
            continue;
        tensor_int32s_mut(out[0])[count] = (int32_t)(i / classes->shape.dims[1]);
        tensor_int64s_mut(out[1])[count] = place - 1;
        tensor_floats_mut(out[2])[count++] = -FLT_MAX;
    }
    for (int i = 0; i < 3; i++)
        out[i]->shape.dims[0] = out[i]->size = count;
    return status_ok();
}

static struct status hits_compute(struct kernel_context *k)
{
    const struct tensor *classes = kernel_input(k, 0), *drawn = kernel_input(k, 1);
    int64_t num_true;
    struct place_table table;
    TRY(node_attr_int32(kernel_node(k), "num_true", &num_true));
    if (classes->shape.rank != 2 || classes->shape.dims[1] != num_true)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "true_candidates must be a batch_size * num_true matrix");
    if (drawn->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "sampled_candidates must be a vector, which is typically an output "
                            "from CandidateSampler");
    TRY(place_table_make(k, drawn, &table));
    struct status status = put_hits(k, &table);
    tensor_release(&table.slots);
    return status;
}

#define SAMPLER(op)                                                             \
    {                                                                           \
        op, DTYPES_ALL, .prepare = sampler_prepare, .compute = sampler_compute, \
    }
static const struct kernel rows[] = {
    SAMPLER("UniformCandidateSampler"),
    SAMPLER("LogUniformCandidateSampler"),
    SAMPLER("LearnedUnigramCandidateSampler"),
    SAMPLER("ThreadUnsafeUnigramCandidateSampler"),
    SAMPLER("FixedUnigramCandidateSampler"),
    SAMPLER("AllCandidateSampler"),
    { "ComputeAccidentalHits", DTYPES_ALL, .compute = hits_compute },
};
const struct kernel_table kernels_candidates = { rows, COUNT(rows) };
