#include "runtime/kernels/nn/conv2d_onednn.h"

#include <dnnl.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/float_flags.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "runtime/kernels/nn/conv2d_layouts.h"
#include "runtime/kernels/nn/conv2d_primitive.h"
#include "runtime/kernels/nn/conv2d_tiles.h"

struct binding {
    dnnl_memory_t in, out, scratch;
};

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

/* Kept, because creating a stream costs an allocation. */
dnnl_stream_t conv2d_thread_stream(dnnl_engine_t engine)
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
 * vector as well. They hold whatever the thread computed before. A NaN among them raises the flag
 * that float_flags_invalid reads, and the result would be discarded at random. */
static bool leaves_lanes(const struct conv2d_onednn_spec *spec)
{
    bool masks =
        (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
    return !masks && spec->filters % LANES != 0;
}

/* oneDNN has such loops of its own for AVX-512. */
static bool suits_tiles(const struct conv2d_onednn_spec *spec)
{
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    return (isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2 &&
           (isa & dnnl_cpu_isa_avx512_core) != dnnl_cpu_isa_avx512_core && conv2d_tiles_suit(spec);
}

struct conv2d_onednn *conv2d_onednn_create(const struct conv2d_onednn_spec *spec)
{
    pthread_once(&engine_once, make_engine);
    if (cpu == NULL || (spec->activation != CONV_LINEAR && leaves_lanes(spec)))
        return NULL;
    struct conv2d_onednn *conv = zalloc(sizeof *conv);
    conv->spec = *spec;
    conv->engine = cpu;
    conv->is_tiled = suits_tiles(spec);
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

static size_t tiles_bytes(const struct conv2d_onednn *conv)
{
    const struct conv2d_onednn_spec *spec = &conv->spec;
    return (size_t)(spec->height * spec->width * spec->channels * spec->filters) * sizeof(float);
}

void conv2d_onednn_destroy(void *opaque)
{
    struct conv2d_onednn *conv = opaque;
    if (conv == NULL)
        return;
    if (!conv->has_callers_memory)
        memory_unmap(atomic_load(&conv->tiles), tiles_bytes(conv));
    for (int i = 0; i < atomic_load(&conv->count); i++) {
        if (conv->primitives[i]->conv != NULL)
            dnnl_primitive_destroy(conv->primitives[i]->conv);
        filter_part_destroy(conv->primitives[i]->part);
        for (int j = 0; j < CONV2D_SPARES; j++)
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
                      struct conv2d_primitive *primitive, dnnl_primitive_desc_t *out)
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
    dnnl_stream_t stream = conv2d_thread_stream(conv->engine);
    if (stream == NULL)
        return NULL;
    return filter_pack(&conv->spec, conv->engine, stream, layout, source, &conv->packed);
}

bool conv2d_is_whole(const struct conv2d_onednn *conv, const struct conv2d_piece *piece)
{
    return piece->first == 0 && piece->filters == conv->spec.filters;
}

/* The filter of a piece, in the layout of its primitive. Called with the lock held. */
static bool find_filter(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
                        const float *filter, const dnnl_memory_desc_t *layout,
                        struct conv2d_primitive *primitive)
{
    if (conv2d_is_whole(conv, piece)) {
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
static struct conv2d_primitive *
make_primitive(struct conv2d_onednn *conv, const struct conv2d_piece *piece, const float *filter)
{
    dnnl_primitive_desc_t desc = NULL;
    struct conv2d_primitive *primitive = zalloc(sizeof *primitive);
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

struct conv2d_primitive *conv2d_primitive_find(struct conv2d_onednn *conv,
                                               const struct conv2d_piece *piece)
{
    int count = atomic_load_explicit(&conv->count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        struct conv2d_primitive *primitive = conv->primitives[i];
        if (primitive->first == piece->first && primitive->filters == piece->filters &&
            memcmp(&primitive->size, &piece->size, sizeof piece->size) == 0)
            return primitive;
    }
    return NULL;
}

struct conv2d_primitive *conv2d_primitive_make(struct conv2d_onednn *conv,
                                               const struct conv2d_piece *piece,
                                               const float *filter)
{
    struct conv2d_primitive *primitive = conv2d_primitive_find(conv, piece);
    if (primitive != NULL)
        return primitive;
    pthread_mutex_lock(&conv->lock);
    primitive = conv2d_primitive_find(conv, piece);
    int count = atomic_load_explicit(&conv->count, memory_order_relaxed);
    if (primitive == NULL && count < CONV2D_ONEDNN_SIZES) {
        primitive = make_primitive(conv, piece, filter);
        conv->primitives[count] = primitive;
        atomic_store_explicit(&conv->count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&conv->lock);
    return primitive;
}

/* ---- replacing the caller's filter ---- */

static void ask_for_layout(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
                           struct conv2d_layout *out)
{
    struct conv2d_primitive described;
    dnnl_primitive_desc_t desc = NULL;
    *out = (struct conv2d_layout){ .is_made = make_desc(conv, piece, &described, &desc) };
    if (!out->is_made)
        return;
    out->filter = *dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    out->is_fast = is_fast(desc);
    out->is_even = is_even(desc);
    dnnl_primitive_desc_destroy(desc);
}

/* The layout in which a piece needs its filter. False: oneDNN does not compute the piece. */
static bool find_layout(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
                        dnnl_memory_desc_t *out)
{
    struct conv2d_layout layout;
    if (!conv2d_layout_find(&conv->spec, piece, &layout)) {
        ask_for_layout(conv, piece, &layout);
        conv2d_layout_keep(&conv->spec, piece, &layout);
    }
    if (layout.is_made && !layout.is_even)
        atomic_store(&conv->uneven, true);
    *out = layout.filter;
    return layout.is_made && layout.is_fast;
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
 * it, so that pieces of channels take no memory for filters. CONV2D_NO_BLOCKS: it has none. */
int64_t conv2d_find_block(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
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
        block = CONV2D_NO_BLOCKS;
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
int conv2d_cut_blocks(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                      struct filter_source *source, struct conv2d_piece *out)
{
    if (parallel_width() < 2 || !conv2d_favours_channels(&conv->spec, size))
        return 0;
    int64_t block = conv2d_find_block(conv, size, source);
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

/* Packs the filter for tiles. False: it is left to oneDNN. Called with the lock held, or before any
 * run. */
static bool pack_tiles(struct conv2d_onednn *conv, const struct filter_source *source)
{
    size_t bytes = tiles_bytes(conv);
    bool stays = source->place == NULL || bytes > source->place_bytes;
    float *packed = stays ? memory_map(bytes) : filter_scratch(source->scratch, bytes);
    bool done = packed != NULL && conv2d_tiles_pack(&conv->spec, source->values, packed);
    conv->has_callers_memory = done && !stays;
    if (done && !stays) {
        memcpy(source->place, packed, bytes);
        packed = source->place;
    } else if (!done && stays) {
        memory_unmap(packed, bytes);
    }
    atomic_store(&conv->is_tiled, done);
    atomic_store_explicit(&conv->tiles, done ? packed : NULL, memory_order_release);
    return done;
}

const float *conv2d_packed_tiles(struct conv2d_onednn *conv, const float *filter)
{
    const float *packed = atomic_load_explicit(&conv->tiles, memory_order_acquire);
    if (packed != NULL || !atomic_load(&conv->is_tiled))
        return packed;
    pthread_mutex_lock(&conv->lock);
    if (atomic_load(&conv->is_tiled) && atomic_load(&conv->tiles) == NULL)
        pack_tiles(conv, &(struct filter_source){ .values = filter });
    packed = atomic_load(&conv->tiles);
    pthread_mutex_unlock(&conv->lock);
    return packed;
}

bool conv2d_onednn_pack(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                        float *filter, size_t filter_bytes, struct buffer *scratch, bool *in_place)
{
    struct conv2d_piece pieces[CONV2D_PIECES_MAX];
    struct filter_source source = { filter, filter, filter_bytes, scratch };
    if (conv2d_thread_stream(conv->engine) == NULL)
        return false;
    if (conv->is_tiled && pack_tiles(conv, &source)) {
        *in_place = conv->has_callers_memory;
        return true;
    }
    bool packed = conv2d_cut_blocks(conv, size, &source, pieces) > 0;
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
    const float *tiles = atomic_load_explicit(&conv->tiles, memory_order_acquire);
    if (tiles != NULL) {
        conv2d_tiles_unpack(&conv->spec, tiles, filter);
        return true;
    }
    dnnl_stream_t stream = conv2d_thread_stream(conv->engine);
    pthread_mutex_lock(&conv->lock); /* the list of packed filters may grow */
    bool done = stream != NULL && conv->packed != NULL &&
                filter_unpack(&conv->spec, conv->engine, stream, conv->packed, filter);
    pthread_mutex_unlock(&conv->lock);
    return done;
}

/* ---- running ---- */

static struct binding *binding_create(struct conv2d_onednn *conv,
                                      struct conv2d_primitive *primitive)
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

static struct binding *binding_take(struct conv2d_onednn *conv, struct conv2d_primitive *primitive)
{
    for (int i = 0; i < CONV2D_SPARES; i++) {
        struct binding *binding = atomic_exchange(&primitive->spares[i], NULL);
        if (binding != NULL)
            return binding;
    }
    return binding_create(conv, primitive);
}

static void binding_keep(struct conv2d_primitive *primitive, struct binding *binding)
{
    for (int i = 0; i < CONV2D_SPARES; i++) {
        struct binding *none = NULL;
        if (atomic_compare_exchange_strong(&primitive->spares[i], &none, binding))
            return;
    }
    binding_destroy(binding);
}

/* Copies a piece of channels to its place. */
static void place_channels(const struct conv2d_onednn *conv,
                           const struct conv2d_primitive *primitive, const float *result,
                           float *out)
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
bool conv2d_primitive_run(struct conv2d_onednn *conv, struct conv2d_primitive *primitive,
                          const float *in, float *out)
{
    dnnl_stream_t stream = conv2d_thread_stream(conv->engine);
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
