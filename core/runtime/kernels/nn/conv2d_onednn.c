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

/* What is done with the results while they are in registers. */
static bool add_post_ops(dnnl_post_ops_t ops, const struct conv2d_onednn_spec *spec)
{
    return (!spec->adds || dnnl_post_ops_append_sum(ops, 1) == dnnl_success) &&
           add_activation(ops, spec);
}

static bool make_attr(struct conv2d_onednn *conv)
{
    dnnl_post_ops_t ops = NULL;
    bool made = dnnl_primitive_attr_create(&conv->attr) == dnnl_success &&
                dnnl_primitive_attr_set_scratchpad_mode(conv->attr, dnnl_scratchpad_mode_user) ==
                    dnnl_success &&
                dnnl_post_ops_create(&ops) == dnnl_success && add_post_ops(ops, &conv->spec) &&
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

void conv2d_onednn_destroy(void *opaque)
{
    struct conv2d_onednn *conv = opaque;
    if (conv == NULL)
        return;
    if (!conv->has_callers_memory)
        memory_unmap(atomic_load(&conv->tiles), conv2d_tiles_bytes(conv));
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

bool conv2d_describe(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
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

bool conv2d_is_fast(const_dnnl_primitive_desc_t desc)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strncmp(name, "ref", 3) != 0;
}

bool conv2d_is_even(const_dnnl_primitive_desc_t desc)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strncmp(name, "brg", 3) == 0;
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
        primitive->filter = conv2d_pack_filter(conv, &source, layout);
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
    if (conv2d_describe(conv, piece, primitive, &desc)) {
        primitive->scratch = *dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
        if (!conv2d_is_even(desc))
            atomic_store(&conv->uneven, true);
        if (!find_filter(conv, piece, filter,
                         dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0), primitive) ||
            !conv2d_is_fast(desc) || dnnl_primitive_create(&primitive->conv, desc) != dnnl_success)
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

/* A piece of channels has a result of its own, [pixels, channels of the piece]. */
static int64_t pixels_of(const struct conv2d_primitive *primitive)
{
    return primitive->size.out_height * primitive->size.out_width;
}

/* The last block may have channels that do not exist. */
static int64_t channels_of(const struct conv2d_onednn *conv,
                           const struct conv2d_primitive *primitive)
{
    int64_t count = conv->spec.filters - primitive->first;
    return count < primitive->filters ? count : primitive->filters;
}

/* Copies a piece of channels to its place. */
static void place_channels(const struct conv2d_onednn *conv,
                           const struct conv2d_primitive *primitive, const float *result,
                           float *out)
{
    int64_t count = channels_of(conv, primitive);
    for (int64_t i = 0; i < pixels_of(primitive); i++)
        memcpy(out + i * conv->spec.filters + primitive->first, result + i * primitive->filters,
               (size_t)count * sizeof *out);
}

/* Copies what the piece is added to. */
static void take_channels(const struct conv2d_onednn *conv,
                          const struct conv2d_primitive *primitive, const float *out, float *result)
{
    int64_t count = channels_of(conv, primitive);
    for (int64_t i = 0; i < pixels_of(primitive); i++) {
        float *to = result + i * primitive->filters;
        memcpy(to, out + i * conv->spec.filters + primitive->first, (size_t)count * sizeof *to);
        memset(to + count, 0, (size_t)(primitive->filters - count) * sizeof *to);
    }
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
    if (part != NULL && conv->spec.adds)
        take_channels(conv, primitive, out, result);
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
