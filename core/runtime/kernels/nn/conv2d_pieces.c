#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "runtime/kernels/nn/conv2d_primitive.h"
#include "runtime/kernels/nn/conv2d_tiles.h"

/* Draws numbers between -bound and bound. */
void conv2d_draw(float *values, int64_t count, uint32_t seed, float bound)
{
    uint32_t state = seed;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = ((float)(state >> 8) / (1 << 23) - 1) * bound;
    }
}

struct pieces {
    struct conv2d_onednn *conv;
    struct conv2d_piece list[CONV2D_PIECES_MAX];
    struct conv2d_primitive *primitives[CONV2D_PIECES_MAX];
    int count;
    const float *filter, *in;
    float *out;
    _Atomic bool failed;
};

static void run_pieces(void *context, int64_t first, int64_t end)
{
    struct pieces *pieces = context;
    for (int64_t i = first; i < end; i++) {
        const struct conv2d_piece *piece = &pieces->list[i];
        if (!conv2d_primitive_run(pieces->conv, pieces->primitives[i], pieces->in + piece->in,
                                  pieces->out + piece->out))
            atomic_store(&pieces->failed, true);
    }
}

/* Finds the primitives of the pieces. False: oneDNN refused one. */
static bool find_pieces(struct pieces *pieces)
{
    for (int i = 0; i < pieces->count; i++) {
        pieces->primitives[i] =
            conv2d_primitive_make(pieces->conv, &pieces->list[i], pieces->filter);
        if (pieces->primitives[i] == NULL || pieces->primitives[i]->conv == NULL)
            return false;
    }
    return true;
}

/* The same for pieces that are compiled already. */
static bool has_pieces(struct pieces *pieces)
{
    for (int i = 0; i < pieces->count; i++) {
        pieces->primitives[i] = conv2d_primitive_find(pieces->conv, &pieces->list[i]);
        if (pieces->primitives[i] == NULL || pieces->primitives[i]->conv == NULL)
            return false;
    }
    return true;
}

static int64_t image_floats(const struct conv2d_onednn_size *size, int64_t channels)
{
    return size->batch * size->height * size->width * channels;
}

static int64_t result_floats(const struct conv2d_onednn_size *size, int64_t filters)
{
    return size->batch * size->out_height * size->out_width * filters;
}

/* Do both ways to cut give the same bits? Drawn numbers show it. */
static bool pieces_agree(const struct pieces *a, const struct pieces *b,
                         const struct conv2d_onednn_size *size)
{
    struct pieces first = { .conv = a->conv, .count = a->count };
    struct pieces second = { .conv = b->conv, .count = b->count };
    memcpy(first.list, a->list, sizeof first.list);
    memcpy(first.primitives, a->primitives, sizeof first.primitives);
    memcpy(second.list, b->list, sizeof second.list);
    memcpy(second.primitives, b->primitives, sizeof second.primitives);
    int64_t image = image_floats(size, a->conv->spec.channels);
    int64_t result = result_floats(size, a->conv->spec.filters);
    size_t bytes = (size_t)(image + 2 * result) * sizeof(float);
    float *in = memory_map(bytes);
    if (in == NULL)
        return false;
    conv2d_draw(in, image, 1, 1);
    first.in = second.in = in;
    first.out = in + image;
    second.out = first.out + result;
    if (a->conv->spec.adds) {
        conv2d_draw(first.out, result, 3, 1);
        memcpy(second.out, first.out, (size_t)result * sizeof *in);
    }
    run_pieces(&first, 0, first.count);
    run_pieces(&second, 0, second.count);
    bool agree = !atomic_load(&first.failed) && !atomic_load(&second.failed) &&
                 memcmp(first.out, second.out, (size_t)result * sizeof *in) == 0;
    memory_unmap(in, bytes);
    return agree;
}

/* Compares the pieces with the usual ones, for a random filter: zeros would agree in any order
 * of addition, and one NaN would disagree. The sums of its products are about 1, where no
 * activation is flat. Both are compiled for this comparison alone: the usual pieces may need the
 * filter in another layout, which would stay in memory. */
static bool agree_with_usual(const struct pieces *few, const struct conv2d_onednn_size *size)
{
    struct conv2d_onednn_spec spec = few->conv->spec;
    int64_t products = spec.height * spec.width * (spec.channels / spec.groups);
    size_t bytes = (size_t)(products * spec.filters) * sizeof(float);
    float *filter = memory_map(bytes);
    if (filter == NULL)
        return false;
    conv2d_draw(filter, products * spec.filters, 2, 2 / sqrtf((float)products));
    spec.bias = spec.bias != NULL ? filter : NULL;
    struct conv2d_onednn *conv = conv2d_onednn_create(&spec);
    struct pieces usual = { .conv = conv, .filter = filter };
    struct pieces other = { .conv = conv, .filter = filter, .count = few->count };
    usual.count = conv2d_cut(&spec, size, CONV2D_PIECES_MAX, usual.list);
    memcpy(other.list, few->list, sizeof other.list);
    struct filter_source source = { .values = filter };
    if (conv != NULL && !conv2d_is_whole(conv, &few->list[0]))
        conv2d_find_block(conv, size, &source);
    bool agree = conv != NULL && find_pieces(&usual) && find_pieces(&other) &&
                 !atomic_load(&conv->uneven) && pieces_agree(&usual, &other, size);
    conv2d_onednn_destroy(conv);
    memory_unmap(filter, bytes);
    return agree;
}

/*
 * Whether the image of a size, cut into `count` pieces, has the bits of the usual pieces. That
 * follows from the code that oneDNN compiles, and not from the weights, so one answer serves all
 * convolutions of these sizes in the process: InceptionResNetV2 has 244 of some 60 kinds.
 */
struct agreement_key {
    int64_t filter[5]; /* height, width, channels, filters, groups */
    int64_t strides[2], dilations[2];
    int64_t activation, has_bias, adds;
    struct conv2d_onednn_size size;
    int64_t count, part; /* of the pieces; the channels of the first one */
};

struct agreement {
    struct agreement_key key;
    bool agree;
    struct agreement *next;
};

/* More are not kept, because a client may send images of any size: what is not known by then is
 * left to the usual pieces. */
#define AGREEMENTS_MAX 4096

/* Each run of a convolution looks one up: lists by the hash of their key. */
static _Atomic(struct agreement *) agreements[1024];
static _Atomic int agreements_count;

static struct agreement_key key_of(const struct pieces *pieces,
                                   const struct conv2d_onednn_size *size)
{
    const struct conv2d_onednn_spec *spec = &pieces->conv->spec;
    return (struct agreement_key){
        .filter = { spec->height, spec->width, spec->channels, spec->filters, spec->groups },
        .strides = { spec->strides[0], spec->strides[1] },
        .dilations = { spec->dilations[0], spec->dilations[1] },
        .activation = spec->activation,
        .has_bias = spec->bias != NULL,
        .adds = spec->adds,
        .size = *size,
        .count = pieces->count,
        .part = pieces->list[0].filters,
    };
}

/* All fields of a key are int64_t: there is no padding between them. */
static _Atomic(struct agreement *) *agreements_like(const struct agreement_key *key)
{
    int64_t fields[sizeof *key / sizeof(int64_t)];
    uint64_t hash = 0;
    memcpy(fields, key, sizeof fields);
    for (size_t i = 0; i < COUNT(fields); i++)
        hash = (hash ^ (uint64_t)fields[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &agreements[(hash >> 32) % COUNT(agreements)];
}

static const struct agreement *find_agreement(const struct agreement_key *key)
{
    const struct agreement *at = atomic_load(agreements_like(key));
    while (at != NULL && memcmp(&at->key, key, sizeof *key) != 0)
        at = at->next;
    return at;
}

/* Finds the answer, and keeps it. Two threads that do so at the same time both keep it. False: the
 * pieces do not agree, or there are too many answers to look for one more. */
static bool make_agreement(const struct agreement_key *key, const struct pieces *few)
{
    if (atomic_fetch_add(&agreements_count, 1) >= AGREEMENTS_MAX) {
        atomic_fetch_sub(&agreements_count, 1);
        return false;
    }
    _Atomic(struct agreement *) *list = agreements_like(key);
    struct agreement *made = zalloc(sizeof *made);
    made->key = *key;
    made->agree = agree_with_usual(few, &key->size);
    made->next = atomic_load(list);
    while (!atomic_compare_exchange_weak(list, &made->next, made))
        continue;
    return made->agree;
}

/* Can these pieces be used instead of the usual ones? Images of varying sizes need compiled sizes
 * for each; half of these are left to the usual pieces. */
static bool can_replace_usual(struct pieces *few, const struct conv2d_onednn_size *size)
{
    struct conv2d_onednn *conv = few->conv;
    if (!has_pieces(few) &&
        (atomic_load(&conv->count) >= CONV2D_ONEDNN_SIZES / 2 || !find_pieces(few)))
        return false;
    if (atomic_load(&conv->uneven)) /* perhaps only just found */
        return false;
    const struct agreement_key key = key_of(few, size);
    const struct agreement *known = find_agreement(&key);
    return known != NULL ? known->agree : make_agreement(&key, few);
}

/*
 * As many pieces as threads are faster than more, each of which reads the whole filter: ResNet-50
 * takes 9 % less in one thread. They are used if they give the same bits as the usual pieces, whose
 * number does not depend on the threads. A batch is cut between images, and gains nothing.
 */
static bool find_few(struct pieces *few, const struct conv2d_onednn_size *size, int usual_count)
{
    struct conv2d_onednn *conv = few->conv;
    if (size->batch > 1 || usual_count < 2 || atomic_load(&conv->uneven) ||
        image_floats(size, conv->spec.channels) + 2 * result_floats(size, conv->spec.filters) >
            CONV2D_COMPARE_FLOATS)
        return false;
    struct filter_source source = { .values = few->filter };
    few->count = conv2d_cut_blocks(conv, size, &source, few->list);
    if (few->count > 0 && can_replace_usual(few, size))
        return true;
    few->count = conv2d_cut(&conv->spec, size, parallel_width(), few->list);
    return parallel_width() < usual_count && can_replace_usual(few, size);
}

static enum conv_outcome run_all(struct pieces *pieces)
{
    parallel_for_parts(pieces->count, pieces->count, run_pieces, pieces);
    return atomic_load(&pieces->failed) ? CONV_SPOILT : CONV_DONE;
}

enum conv_outcome conv2d_onednn_run(struct conv2d_onednn *conv,
                                    const struct conv2d_onednn_size *size, const float *filter,
                                    const float *in, float *out)
{
    struct pieces many = { .conv = conv, .filter = filter, .in = in, .out = out };
    struct pieces few = { .conv = conv, .filter = filter, .in = in, .out = out };
    const float *tiles = conv2d_packed_tiles(conv, filter);
    if (tiles != NULL) {
        conv2d_tiles_run(&conv->spec, size, tiles, in, out);
        return CONV_DONE;
    }
    if (conv2d_thread_stream(conv->engine) == NULL)
        return CONV_REFUSED;
    many.count = conv2d_cut(&conv->spec, size, CONV2D_PIECES_MAX, many.list);
    if (find_few(&few, size, many.count)) {
        /* Channels that do not exist have weights of zero, which times infinity are NaN. Only that
         * may make a piece of channels fail where pieces of rows do not. */
        enum conv_outcome outcome = run_all(&few);
        if (outcome == CONV_DONE || conv->spec.adds || conv2d_is_whole(conv, &few.list[0]))
            return outcome;
    }
    return find_pieces(&many) ? run_all(&many) : CONV_REFUSED;
}
