#include "runtime/kernels/nn/conv2d_onednn.h"

#include <stdlib.h>

#ifdef SLIPWAY_ONEDNN

#include <dnnl.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/arena.h"
#include "base/float_flags.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "runtime/kernels/nn/conv2d_cut.h"
#include "runtime/kernels/nn/conv2d_filter.h"

/* Bindings that are kept for a primitive: pieces of one image may run it at the same time. */
#define SPARES 8

/* Memory handles and scratch space of one execution. */
struct binding {
    dnnl_memory_t in, out, scratch;
};

struct primitive {
    struct conv2d_onednn_size size;
    int64_t first, filters; /* channels of the result, as in struct conv2d_piece */
    dnnl_primitive_t conv;  /* NULL: oneDNN refused this size */
    dnnl_memory_desc_t in, out, scratch;
    const struct packed_filter *filter;
    struct filter_part *part; /* of the filter and of the bias; NULL: all channels */
    _Atomic bool compared;    /* of a block of a product: its bits with those of another height */
    _Atomic(struct binding *) spares[SPARES]; /* of earlier executions, reused by the next */
};

struct conv2d_onednn {
    struct conv2d_onednn_spec spec;
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attr;
    dnnl_memory_t bias;
    pthread_mutex_t comparing; /* held while heights of a product are compared */
    pthread_mutex_t lock;      /* guards writes to the fields below; `count` is published last */
    struct packed_filter *packed;
    const struct packed_filter *blocks; /* whose blocks of channels are given to pieces */
    _Atomic int64_t block;              /* its channels; 0: not known yet; NO_BLOCKS */
    struct primitive *primitives[CONV2D_ONEDNN_SIZES];
    _Atomic int count;
    _Atomic bool uneven; /* pieces of different sizes may give different bits */
};
#define NO_BLOCKS (-1)

/* One engine for the process, because primitives and streams must share an engine, and one
 * stream per thread, destroyed with the thread. */
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;
static dnnl_engine_t cpu;
static pthread_key_t stream_key, result_key;

static void destroy_stream(void *stream)
{
    dnnl_stream_destroy(stream);
}

static void make_engine(void)
{
    if (pthread_key_create(&stream_key, destroy_stream) != 0 ||
        pthread_key_create(&result_key, free) != 0 ||
        dnnl_engine_create(&cpu, dnnl_cpu, 0) != dnnl_success)
        cpu = NULL;
}

/*
 * The calling thread's stream: creating one costs an allocation. Called before anything is
 * compiled, because a primitive remembers the number of threads it was made for.
 */
static dnnl_stream_t thread_stream(dnnl_engine_t engine)
{
    dnnl_stream_t stream = pthread_getspecific(stream_key);
    if (stream != NULL)
        return stream;
    /* a setting of the calling thread: images are cut into pieces, one for each thread */
    omp_set_num_threads(1);
    if (dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
        return NULL;
    pthread_setspecific(stream_key, stream);
    return stream;
}

/* The calling thread's room for a piece of channels, whose pixels oneDNN writes without gaps. NULL:
 * no memory. */
static float *thread_result(void)
{
    float *result = pthread_getspecific(result_key);
    if (result == NULL &&
        posix_memalign((void **)&result, 64, CONV2D_PART_FLOATS * sizeof *result) == 0 &&
        pthread_setspecific(result_key, result) != 0) {
        free(result);
        return NULL;
    }
    return result;
}

/* ---- making ---- */

static bool add_activation(dnnl_post_ops_t ops, const struct conv2d_onednn_spec *spec)
{
    static const struct {
        dnnl_alg_kind_t kind;
        float alpha, beta;
    } rows[] = {
        [CONV_RELU] = { dnnl_eltwise_relu, 0, 0 },
        [CONV_RELU6] = { dnnl_eltwise_clip, 0, 6 },
        [CONV_LEAKY_RELU] = { dnnl_eltwise_relu, 0, 0 },
        [CONV_ELU] = { dnnl_eltwise_elu, 1, 0 },
        [CONV_TANH] = { dnnl_eltwise_tanh, 0, 0 },
        [CONV_SIGMOID] = { dnnl_eltwise_logistic, 0, 0 },
        [CONV_SWISH] = { dnnl_eltwise_swish, 1, 0 },
        [CONV_GELU] = { dnnl_eltwise_gelu_erf, 0, 0 },
    };
    if (spec->activation == CONV_LINEAR)
        return true;
    float alpha = spec->activation == CONV_LEAKY_RELU ? spec->alpha : rows[spec->activation].alpha;
    return dnnl_post_ops_append_eltwise(ops, 1, rows[spec->activation].kind, alpha,
                                        rows[spec->activation].beta) == dnnl_success;
}

static bool make_attr(struct conv2d_onednn *conv)
{
    dnnl_post_ops_t ops = NULL;
    bool made = dnnl_primitive_attr_create(&conv->attr) == dnnl_success &&
                dnnl_primitive_attr_set_scratchpad_mode(conv->attr, dnnl_scratchpad_mode_user) ==
                    dnnl_success &&
                dnnl_post_ops_create(&ops) == dnnl_success && add_activation(ops, &conv->spec) &&
                dnnl_primitive_attr_set_post_ops(conv->attr, ops) == dnnl_success;
    if (ops != NULL)
        dnnl_post_ops_destroy(ops);
    return made;
}

static bool make_bias(struct conv2d_onednn *conv)
{
    dnnl_memory_desc_t desc;
    dnnl_dims_t dims = { conv->spec.filters };
    if (conv->spec.bias == NULL)
        return true;
    return dnnl_memory_desc_init_by_tag(&desc, 1, dims, dnnl_f32, dnnl_a) == dnnl_success &&
           dnnl_memory_create(&conv->bias, &desc, conv->engine, (void *)conv->spec.bias) ==
               dnnl_success;
}

#define LANES 8 /* floats in a vector of AVX2 */

/* Without the masks of AVX-512, oneDNN applies the activation to the unused lanes of the last
 * vector as well. They hold whatever the thread computed before; a NaN among them raises the flag
 * that run_primitive reads, and results would be discarded at random. */
static bool leaves_lanes(const struct conv2d_onednn_spec *spec)
{
    bool masks =
        (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
    return !masks && spec->filters % LANES != 0;
}

struct conv2d_onednn *conv2d_onednn_create(const struct conv2d_onednn_spec *spec)
{
    pthread_once(&engine_once, make_engine);
    if (cpu == NULL || (spec->activation != CONV_LINEAR && leaves_lanes(spec)))
        return NULL;
    struct conv2d_onednn *conv = zalloc(sizeof *conv);
    conv->spec = *spec;
    conv->engine = cpu;
    pthread_mutex_init(&conv->lock, NULL);
    pthread_mutex_init(&conv->comparing, NULL);
    if (!make_attr(conv) || !make_bias(conv)) {
        conv2d_onednn_destroy(conv);
        return NULL;
    }
    return conv;
}

static void binding_destroy(struct binding *binding)
{
    if (binding == NULL)
        return;
    if (binding->in != NULL)
        dnnl_memory_destroy(binding->in);
    if (binding->out != NULL)
        dnnl_memory_destroy(binding->out);
    if (binding->scratch != NULL)
        dnnl_memory_destroy(binding->scratch);
    free(binding);
}

void conv2d_onednn_destroy(void *opaque)
{
    struct conv2d_onednn *conv = opaque;
    if (conv == NULL)
        return;
    for (int i = 0; i < atomic_load(&conv->count); i++) {
        if (conv->primitives[i]->conv != NULL)
            dnnl_primitive_destroy(conv->primitives[i]->conv);
        filter_part_destroy(conv->primitives[i]->part);
        for (int j = 0; j < SPARES; j++)
            binding_destroy(atomic_load(&conv->primitives[i]->spares[j]));
        free(conv->primitives[i]);
    }
    packed_filters_destroy(conv->packed);
    if (conv->bias != NULL)
        dnnl_memory_destroy(conv->bias);
    if (conv->attr != NULL)
        dnnl_primitive_attr_destroy(conv->attr);
    pthread_mutex_destroy(&conv->lock);
    pthread_mutex_destroy(&conv->comparing);
    free(conv);
}

/* ---- one size ---- */

/* Describes the primitive of a piece; sets its `in` and `out`. */
static bool make_desc(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
                      struct primitive *primitive, dnnl_primitive_desc_t *out)
{
    const struct conv2d_onednn_size *size = &piece->size;
    struct conv2d_onednn_spec part = conv->spec;
    const struct conv2d_onednn_spec *spec = &part;
    part.filters = piece->filters;
    dnnl_dims_t in = { size->batch, spec->channels, size->height, size->width };
    dnnl_dims_t result = { size->batch, spec->filters, size->out_height, size->out_width };
    dnnl_dims_t strides = { spec->strides[0], spec->strides[1] };
    dnnl_dims_t dilates = { spec->dilations[0] - 1, spec->dilations[1] - 1 };
    dnnl_dims_t before = { size->before[0], size->before[1] },
                after = { size->after[0], size->after[1] };
    dnnl_dims_t bias_dims = { spec->filters };
    dnnl_memory_desc_t filter, bias;
    dnnl_convolution_desc_t desc;
    return dnnl_memory_desc_init_by_tag(&primitive->in, 4, in, dnnl_f32, dnnl_nhwc) ==
               dnnl_success &&
           dnnl_memory_desc_init_by_tag(&primitive->out, 4, result, dnnl_f32, dnnl_nhwc) ==
               dnnl_success &&
           dnnl_memory_desc_init_by_tag(&bias, 1, bias_dims, dnnl_f32, dnnl_a) == dnnl_success &&
           filter_describe(spec, dnnl_format_tag_any, &filter) &&
           dnnl_dilated_convolution_forward_desc_init(
               &desc, dnnl_forward_inference, dnnl_convolution_direct, &primitive->in, &filter,
               spec->bias ? &bias : NULL, &primitive->out, strides, dilates, before,
               after) == dnnl_success &&
           dnnl_primitive_desc_create(out, &desc, conv->attr, conv->engine, NULL) == dnnl_success;
}

/* oneDNN has loops for everything. Those that are not its fast ones, for some groups of channels,
 * are slower than ours. */
static bool is_fast(const_dnnl_primitive_desc_t desc)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strncmp(name, "ref", 3) != 0;
}

/* oneDNN's kernels for AVX-512 add up the channels in order, for any number of pixels. The others
 * choose an order by the size. */
static bool is_even(const_dnnl_primitive_desc_t desc)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strncmp(name, "brg", 3) == 0;
}

/* The filter in a layout. Called with the lock held. */
static const struct packed_filter *pack(struct conv2d_onednn *conv, struct filter_source *source,
                                        const dnnl_memory_desc_t *layout)
{
    dnnl_stream_t stream = thread_stream(conv->engine);
    if (stream == NULL)
        return NULL;
    return filter_pack(&conv->spec, conv->engine, stream, layout, source, &conv->packed);
}

static bool is_whole(const struct conv2d_onednn *conv, const struct conv2d_piece *piece)
{
    return piece->first == 0 && piece->filters == conv->spec.filters;
}

/* The filter of a piece, in the layout that its primitive wants. Called with the lock held. */
static bool find_filter(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
                        const float *filter, const dnnl_memory_desc_t *layout,
                        struct primitive *primitive)
{
    if (is_whole(conv, piece)) {
        struct filter_source source = { .values = filter };
        primitive->filter = pack(conv, &source, layout);
        return primitive->filter != NULL;
    }
    if (conv->blocks != NULL)
        primitive->part =
            filter_part(&conv->spec, conv->engine, conv->blocks, layout, piece->first);
    return primitive->part != NULL;
}

/* Remembers a size that oneDNN refuses as well, with `conv` NULL. Called with the lock held. */
static struct primitive *make_primitive(struct conv2d_onednn *conv,
                                        const struct conv2d_piece *piece, const float *filter)
{
    dnnl_primitive_desc_t desc = NULL;
    struct primitive *primitive = zalloc(sizeof *primitive);
    primitive->size = piece->size;
    primitive->first = piece->first;
    primitive->filters = piece->filters;
    if (make_desc(conv, piece, primitive, &desc)) {
        primitive->scratch = *dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
        if (!is_even(desc))
            atomic_store(&conv->uneven, true);
        if (!find_filter(conv, piece, filter,
                         dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0), primitive) ||
            !is_fast(desc) || dnnl_primitive_create(&primitive->conv, desc) != dnnl_success)
            primitive->conv = NULL;
        dnnl_primitive_desc_destroy(desc);
    }
    return primitive;
}

static struct primitive *find(struct conv2d_onednn *conv, const struct conv2d_piece *piece)
{
    int count = atomic_load_explicit(&conv->count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        struct primitive *primitive = conv->primitives[i];
        if (primitive->first == piece->first && primitive->filters == piece->filters &&
            memcmp(&primitive->size, &piece->size, sizeof piece->size) == 0)
            return primitive;
    }
    return NULL;
}

static struct primitive *find_or_make(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
                                      const float *filter)
{
    struct primitive *primitive = find(conv, piece);
    if (primitive != NULL)
        return primitive;
    pthread_mutex_lock(&conv->lock);
    primitive = find(conv, piece);
    int count = atomic_load_explicit(&conv->count, memory_order_relaxed);
    if (primitive == NULL && count < CONV2D_ONEDNN_SIZES) {
        primitive = make_primitive(conv, piece, filter);
        conv->primitives[count] = primitive;
        atomic_store_explicit(&conv->count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&conv->lock);
    return primitive;
}

/* ---- giving up the caller's filter ---- */

/* The layout that a piece wants its filter in. False: oneDNN does not compute the piece. */
static bool find_layout(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
                        dnnl_memory_desc_t *out)
{
    struct primitive described;
    dnnl_primitive_desc_t desc = NULL;
    if (!make_desc(conv, piece, &described, &desc))
        return false;
    if (!is_even(desc))
        atomic_store(&conv->uneven, true);
    bool fast = is_fast(desc);
    *out = *dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    dnnl_primitive_desc_destroy(desc);
    return fast;
}

static int limited_width(void)
{
    return parallel_width() < CONV2D_PIECES_MAX ? parallel_width() : CONV2D_PIECES_MAX;
}

/* Do the pieces of channels use blocks of the filter that is packed for the whole image? */
static bool share_blocks(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                         const dnnl_memory_desc_t *layout)
{
    struct conv2d_piece pieces[CONV2D_PIECES_MAX];
    int count =
        conv2d_cut_channels(&conv->spec, size, filter_block(layout), limited_width(), pieces);
    dnnl_memory_desc_t part;
    for (int i = 0; i < count; i++)
        if (!find_layout(conv, &pieces[i], &part) || !filter_has_part(layout, &part))
            return false;
    return count > 0;
}

/* The channels of a block of the filter that is packed for the whole image. Its blocks are parts of
 * it, so that pieces of channels take no memory for filters. NO_BLOCKS: it has none. */
static int64_t find_block(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                          struct filter_source *source)
{
    const struct conv2d_piece whole = { .size = *size, .filters = conv->spec.filters };
    dnnl_memory_desc_t layout;
    int64_t block = atomic_load_explicit(&conv->block, memory_order_acquire);
    if (block != 0)
        return block;
    pthread_mutex_lock(&conv->lock);
    block = atomic_load_explicit(&conv->block, memory_order_relaxed);
    if (block == 0) {
        block = NO_BLOCKS;
        if (find_layout(conv, &whole, &layout) && filter_block(&layout) > 0 &&
            share_blocks(conv, size, &layout))
            conv->blocks = pack(conv, source, &layout);
        if (conv->blocks != NULL)
            block = filter_block(&layout);
        atomic_store_explicit(&conv->block, block, memory_order_release);
    }
    pthread_mutex_unlock(&conv->lock);
    return block;
}

/* Cuts the channels into pieces for the threads. 0: they are not to be cut. */
static int cut_channels(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                        struct filter_source *source, struct conv2d_piece *out)
{
    if (parallel_width() < 2 || !conv2d_favours_channels(&conv->spec, size))
        return 0;
    int64_t block = find_block(conv, size, source);
    return block > 0 ? conv2d_cut_channels(&conv->spec, size, block, limited_width(), out) : 0;
}

/* Packs the filter for the pieces of an image. Once it is packed for the first one, the others can
 * get it from there later. Called with the lock held. */
static bool pack_for(struct conv2d_onednn *conv, const struct conv2d_piece *pieces, int count,
                     struct filter_source *source)
{
    dnnl_memory_desc_t layouts[CONV2D_PIECES_MAX];
    for (int i = 0; i < count; i++)
        if (!find_layout(conv, &pieces[i], &layouts[i]))
            return false;
    for (int i = 0; i < count; i++)
        if (pack(conv, source, &layouts[i]) == NULL)
            return i > 0;
    return true;
}

bool conv2d_onednn_pack(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                        float *filter, size_t filter_bytes, bool *in_place)
{
    struct conv2d_piece pieces[CONV2D_PIECES_MAX];
    struct filter_source source = { filter, filter, filter_bytes };
    if (thread_stream(conv->engine) == NULL)
        return false;
    bool packed = cut_channels(conv, size, &source, pieces) > 0;
    if (!packed) {
        int count = conv2d_cut(&conv->spec, size, parallel_width(), pieces);
        pthread_mutex_lock(&conv->lock);
        packed = pack_for(conv, pieces, count, &source);
        pthread_mutex_unlock(&conv->lock);
    }
    *in_place = source.place == NULL;
    return packed || *in_place;
}

bool conv2d_onednn_unpack(struct conv2d_onednn *conv, float *filter)
{
    dnnl_stream_t stream = thread_stream(conv->engine);
    pthread_mutex_lock(&conv->lock); /* the list of packed filters may grow */
    bool done = stream != NULL && conv->packed != NULL &&
                filter_unpack(&conv->spec, conv->engine, stream, conv->packed, filter);
    pthread_mutex_unlock(&conv->lock);
    return done;
}

/* ---- running ---- */

static struct binding *binding_create(struct conv2d_onednn *conv, struct primitive *primitive)
{
    struct binding *binding = zalloc(sizeof *binding);
    if (dnnl_memory_create(&binding->in, &primitive->in, conv->engine, NULL) != dnnl_success ||
        dnnl_memory_create(&binding->out, &primitive->out, conv->engine, NULL) != dnnl_success ||
        dnnl_memory_create(&binding->scratch, &primitive->scratch, conv->engine,
                           DNNL_MEMORY_ALLOCATE) != dnnl_success) {
        binding_destroy(binding);
        return NULL;
    }
    return binding;
}

static struct binding *binding_take(struct conv2d_onednn *conv, struct primitive *primitive)
{
    for (int i = 0; i < SPARES; i++) {
        struct binding *binding = atomic_exchange(&primitive->spares[i], NULL);
        if (binding != NULL)
            return binding;
    }
    return binding_create(conv, primitive);
}

static void binding_keep(struct primitive *primitive, struct binding *binding)
{
    for (int i = 0; i < SPARES; i++) {
        struct binding *none = NULL;
        if (atomic_compare_exchange_strong(&primitive->spares[i], &none, binding))
            return;
    }
    binding_destroy(binding);
}

/* Copies a piece of channels to its place. */
static void place_channels(const struct conv2d_onednn *conv, const struct primitive *primitive,
                           const float *result, float *out)
{
    int64_t filters = conv->spec.filters, count = filters - primitive->first;
    int64_t pixels = primitive->size.out_height * primitive->size.out_width;
    count = count < primitive->filters ? count : primitive->filters;
    for (int64_t i = 0; i < pixels; i++)
        memcpy(out + i * filters + primitive->first, result + i * primitive->filters,
               (size_t)count * sizeof *out);
}

/*
 * oneDNN's activations may turn NaN into a number, by the processor's maximum or minimum, and some
 * turn -Inf · 0 into NaN. Both raise the CPU flag for invalid operations, and with that flag raised
 * the result is discarded. Reading the flag costs nothing; a second pass for the activation would
 * read and write the whole image again.
 */
static bool run_primitive(struct conv2d_onednn *conv, struct primitive *primitive, const float *in,
                          float *out)
{
    dnnl_stream_t stream = thread_stream(conv->engine);
    const struct filter_part *part = primitive->part;
    float *result = part != NULL ? thread_result() : out;
    struct binding *binding =
        stream != NULL && result != NULL ? binding_take(conv, primitive) : NULL;
    if (binding == NULL)
        return false;
    dnnl_memory_set_data_handle(binding->in, (void *)in);
    dnnl_memory_set_data_handle(binding->out, result);
    dnnl_exec_arg_t args[5] = { { DNNL_ARG_SRC, binding->in },
                                { DNNL_ARG_WEIGHTS,
                                  part != NULL ? part->memory : primitive->filter->memory },
                                { DNNL_ARG_DST, binding->out },
                                { DNNL_ARG_SCRATCHPAD, binding->scratch },
                                { DNNL_ARG_BIAS, part != NULL ? part->bias : conv->bias } };
    float_flags_clear();
    bool done = dnnl_primitive_execute(primitive->conv, stream, conv->bias != NULL ? 5 : 4, args) ==
                    dnnl_success &&
                dnnl_stream_wait(stream) == dnnl_success;
    binding_keep(primitive, binding);
    if (part != NULL)
        place_channels(conv, primitive, result, out);
    return done && !(conv->spec.activation != CONV_LINEAR && float_flags_invalid());
}

/* The memory for comparing the bits of two ways to compute the same, at most. */
#define COMPARE_FLOATS ((int64_t)8 << 20)

/* Draws numbers between -bound and bound. */
static void fill_drawn(float *values, int64_t count, uint32_t seed, float bound)
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
    struct primitive *primitives[CONV2D_PIECES_MAX];
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
        if (!run_primitive(pieces->conv, pieces->primitives[i], pieces->in + piece->in,
                           pieces->out + piece->out))
            atomic_store(&pieces->failed, true);
    }
}

/* Finds the primitives of the pieces. False: oneDNN refused one. */
static bool find_pieces(struct pieces *pieces)
{
    for (int i = 0; i < pieces->count; i++) {
        pieces->primitives[i] = find_or_make(pieces->conv, &pieces->list[i], pieces->filter);
        if (pieces->primitives[i] == NULL || pieces->primitives[i]->conv == NULL)
            return false;
    }
    return true;
}

/* The same for pieces that are compiled already. */
static bool has_pieces(struct pieces *pieces)
{
    for (int i = 0; i < pieces->count; i++) {
        pieces->primitives[i] = find(pieces->conv, &pieces->list[i]);
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
    fill_drawn(in, image, 1, 1);
    first.in = second.in = in;
    first.out = in + image;
    second.out = first.out + result;
    run_pieces(&first, 0, first.count);
    run_pieces(&second, 0, second.count);
    bool agree = !atomic_load(&first.failed) && !atomic_load(&second.failed) &&
                 memcmp(first.out, second.out, (size_t)result * sizeof *in) == 0;
    memory_unmap(in, bytes);
    return agree;
}

/* Compares the pieces with the usual ones, for a drawn filter: zeros would agree in any order of
 * addition, and one NaN would disagree. The sums of its products are about 1, where no activation
 * is flat. Both are compiled for this comparison alone: the usual pieces may want the filter in
 * another layout, which would stay in memory. */
static bool agree_with_usual(const struct pieces *few, const struct conv2d_onednn_size *size)
{
    struct conv2d_onednn_spec spec = few->conv->spec;
    int64_t products = spec.height * spec.width * (spec.channels / spec.groups);
    size_t bytes = (size_t)(products * spec.filters) * sizeof(float);
    float *filter = memory_map(bytes);
    if (filter == NULL)
        return false;
    fill_drawn(filter, products * spec.filters, 2, 2 / sqrtf((float)products));
    spec.bias = spec.bias != NULL ? filter : NULL;
    struct conv2d_onednn *conv = conv2d_onednn_create(&spec);
    struct pieces usual = { .conv = conv, .filter = filter };
    struct pieces other = { .conv = conv, .filter = filter, .count = few->count };
    usual.count = conv2d_cut(&spec, size, CONV2D_PIECES_MAX, usual.list);
    memcpy(other.list, few->list, sizeof other.list);
    struct filter_source source = { .values = filter };
    if (conv != NULL && !is_whole(conv, &few->list[0]))
        find_block(conv, size, &source);
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
    int64_t activation, has_bias;
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

/* Each run of a convolution asks, so the answers are in lists by the hash of their key. */
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

/* Whether these pieces can be used in place of the usual ones. Images of varying sizes need
 * compiled sizes for each; half of these are left to the usual pieces. */
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
            COMPARE_FLOATS)
        return false;
    struct filter_source source = { .values = few->filter };
    few->count = cut_channels(conv, size, &source, few->list);
    if (few->count > 0 && can_replace_usual(few, size))
        return true;
    few->count = conv2d_cut(&conv->spec, size, parallel_width(), few->list);
    return parallel_width() < usual_count && can_replace_usual(few, size);
}

static bool run_all(struct pieces *pieces)
{
    parallel_for_parts(pieces->count, pieces->count, run_pieces, pieces);
    return !atomic_load(&pieces->failed);
}

bool conv2d_onednn_run(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                       const float *filter, const float *in, float *out)
{
    struct pieces many = { .conv = conv, .filter = filter, .in = in, .out = out };
    struct pieces few = { .conv = conv, .filter = filter, .in = in, .out = out };
    if (thread_stream(conv->engine) == NULL)
        return false;
    many.count = conv2d_cut(&conv->spec, size, CONV2D_PIECES_MAX, many.list);
    if (find_few(&few, size, many.count)) {
        /* Channels that do not exist have weights of zero, which times infinity are NaN. Only that
         * may make a piece of channels fail where pieces of rows do not. */
        if (run_all(&few) || is_whole(conv, &few.list[0]))
            return !atomic_load(&few.failed);
    }
    return find_pieces(&many) && run_all(&many);
}

/* ---- products ---- */

/* Rows are computed in blocks of these heights. Each block reads all weights, so few high blocks
 * are faster than many low ones: [49,3072] by [3072,768] takes 4.5 ms in blocks of 8 rows, and
 * 1.6 ms in one of 49. Images of 7x7, 14x14, … pixels and powers of two have their own height. */
static const int heights[] = { 512, 448, 392, 384, 320, 256, 224, 196, 192, 160, 128, 112,
                               98,  96,  80,  64,  56,  49,  48,  40,  32,  28,  24,  20,
                               16,  14,  12,  10,  8,   7,   6,   5,   4,   3,   2,   1 };

#define HEIGHTS          ((int)COUNT(heights))
#define REFERENCE_HEIGHT 8  /* gives the bits that all heights must give */
#define CUT_HEIGHT       8  /* of blocks for many threads, at least */
#define BLOCKS_MIN       4  /* of a product that is worth several threads, if heights differ */
#define MULTIPLICATIONS  32 /* per nanosecond of one thread, about */

struct row_blocks {
    struct conv2d_onednn *conv;
    int64_t counts[HEIGHTS];
    struct primitive *primitives[HEIGHTS];
    const float *in;
    float *out;
    _Atomic bool failed;
};

static struct primitive *block_primitive(struct conv2d_onednn *conv, int height)
{
    struct conv2d_piece piece = {
        .size = { .batch = 1, .height = height, .width = 1, .out_height = height, .out_width = 1 },
        .filters = conv->spec.filters,
    };
    struct primitive *primitive = find_or_make(conv, &piece, conv->spec.filter);
    return primitive != NULL && primitive->conv != NULL ? primitive : NULL;
}

/* Runs the primitive over `rows` rows. The last block overlaps the one before it if its height does
 * not divide the rows. */
static bool run_blocks(struct conv2d_onednn *conv, struct primitive *primitive, int64_t rows,
                       const float *in, float *out)
{
    int64_t height = primitive->size.height;
    for (int64_t row = 0; row < rows; row += height) {
        int64_t first = row + height <= rows ? row : rows - height;
        if (!run_primitive(conv, primitive, in + first * conv->spec.channels,
                           out + first * conv->spec.filters))
            return false;
    }
    return true;
}

/* Do both primitives give the same bits for each row? They do if both add up the channels in the
 * same order; drawn numbers show it. */
static bool heights_agree(struct conv2d_onednn *conv, struct primitive *primitive,
                          struct primitive *reference)
{
    int64_t height = primitive->size.height, rows = height;
    if (rows < reference->size.height)
        rows = reference->size.height;
    int64_t channels = conv->spec.channels, filters = conv->spec.filters;
    float *in = malloc((size_t)(rows * (channels + 2 * filters)) * sizeof *in);
    if (in == NULL)
        return false;
    float *out = in + rows * channels, *wanted = out + rows * filters;
    fill_drawn(in, rows * channels, 1, 1);
    bool agree = run_blocks(conv, primitive, rows, in, out) &&
                 run_blocks(conv, reference, rows, in, wanted) &&
                 memcmp(out, wanted, (size_t)(rows * filters) * sizeof *out) == 0;
    free(in);
    return agree;
}

static bool has_room(const struct conv2d_onednn_spec *spec, int height)
{
    int64_t rows = height > REFERENCE_HEIGHT ? height : REFERENCE_HEIGHT;
    return rows <= COMPARE_FLOATS / (spec->channels + 2 * spec->filters);
}

/* Compares a new height with the reference, once. Once one differs, where rows are cut must follow
 * from the sizes alone (conv->uneven). A thread that finds the comparison under way waits for it:
 * until then it cannot know which heights it may use. */
static void compare_height(struct conv2d_onednn *conv, struct primitive *primitive)
{
    if (atomic_load_explicit(&primitive->compared, memory_order_acquire))
        return;
    pthread_mutex_lock(&conv->comparing);
    if (!atomic_load_explicit(&primitive->compared, memory_order_relaxed)) {
        struct primitive *reference = block_primitive(conv, REFERENCE_HEIGHT);
        if (reference == NULL || !heights_agree(conv, primitive, reference))
            atomic_store(&conv->uneven, true);
        atomic_store_explicit(&primitive->compared, true, memory_order_release);
    }
    pthread_mutex_unlock(&conv->comparing);
}

/* Counts the blocks of each height up to `highest`, and finds their primitives. 0: oneDNN refused
 * one. */
static int64_t divide_rows(struct row_blocks *blocks, int64_t rows, int64_t highest)
{
    int64_t left = rows, total = 0;
    for (int i = 0; i < HEIGHTS; i++) {
        blocks->counts[i] = 0;
        if (left < heights[i] || heights[i] > highest)
            continue;
        blocks->counts[i] = left / heights[i];
        left %= heights[i];
        total += blocks->counts[i];
        blocks->primitives[i] = block_primitive(blocks->conv, heights[i]);
        if (blocks->primitives[i] == NULL)
            return 0;
        compare_height(blocks->conv, blocks->primitives[i]);
    }
    return total;
}

/* The highest block. Its height may depend on the number of threads while all heights give the same
 * bits. */
static int64_t highest_block(const struct conv2d_onednn *conv, int64_t rows, double cost_ns)
{
    int64_t highest = heights[0];
    while (highest > REFERENCE_HEIGHT && !has_room(&conv->spec, (int)highest))
        highest /= 2;
    int64_t parts = atomic_load(&conv->uneven) ? BLOCKS_MIN : parallel_width();
    if (parts < 2 || parallel_parts(2, cost_ns) < 2)
        return highest;
    int64_t each = (rows + parts - 1) / parts;
    each = each > CUT_HEIGHT ? each : CUT_HEIGHT;
    return each < highest ? each : highest;
}

static void multiply_blocks(void *context, int64_t first, int64_t end)
{
    struct row_blocks *blocks = context;
    const struct conv2d_onednn_spec *spec = &blocks->conv->spec;
    int64_t block = 0, row = 0;
    for (int i = 0; i < HEIGHTS; i++)
        for (int64_t j = 0; j < blocks->counts[i]; j++, block++, row += heights[i])
            if (block >= first && block < end &&
                !run_primitive(blocks->conv, blocks->primitives[i],
                               blocks->in + row * spec->channels,
                               blocks->out + row * spec->filters))
                atomic_store(&blocks->failed, true);
}

bool conv2d_onednn_multiply(struct conv2d_onednn *conv, int64_t rows, const float *in, float *out)
{
    struct row_blocks blocks = { .conv = conv, .in = in, .out = out };
    double cost_ns =
        (double)rows * (double)conv->spec.channels * (double)conv->spec.filters / MULTIPLICATIONS;
    if (thread_stream(conv->engine) == NULL || !has_room(&conv->spec, REFERENCE_HEIGHT))
        return false;
    int64_t count = divide_rows(&blocks, rows, highest_block(conv, rows, cost_ns));
    if (atomic_load(&conv->uneven)) /* perhaps only just found */
        count = divide_rows(&blocks, rows, highest_block(conv, rows, cost_ns));
    parallel_for(count, cost_ns, multiply_blocks, &blocks);
    return count > 0 && !atomic_load(&blocks.failed);
}

#else

bool conv2d_onednn_pack(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                        float *filter, size_t filter_bytes, bool *in_place)
{
    (void)conv, (void)size, (void)filter, (void)filter_bytes, (void)in_place;
    return false;
}

bool conv2d_onednn_unpack(struct conv2d_onednn *conv, float *filter)
{
    (void)conv, (void)filter;
    return false;
}

struct conv2d_onednn *conv2d_onednn_create(const struct conv2d_onednn_spec *spec)
{
    (void)spec;
    return NULL;
}

void conv2d_onednn_destroy(void *conv)
{
    (void)conv;
}

bool conv2d_onednn_run(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                       const float *filter, const float *in, float *out)
{
    (void)conv, (void)size, (void)filter, (void)in, (void)out;
    return false;
}

bool conv2d_onednn_multiply(struct conv2d_onednn *conv, int64_t rows, const float *in, float *out)
{
    (void)conv, (void)rows, (void)in, (void)out;
    return false;
}

#endif
