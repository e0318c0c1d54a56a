/*
 * conv2d_packing: packs the filter of a convolution for the pieces that an image is cut into, in
 * the place of the caller's filter if it fits there. Internal to conv2d_onednn.c and its parts,
 * and only compiled with oneDNN.
 */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "runtime/kernels/nn/conv2d_layouts.h"
#include "runtime/kernels/nn/conv2d_primitive.h"
#include "runtime/kernels/nn/conv2d_tiles.h"

const struct packed_filter *conv2d_pack_filter(struct conv2d_onednn *conv,
                                               struct filter_source *source,
                                               const dnnl_memory_desc_t *layout)
{
    dnnl_stream_t stream = conv2d_thread_stream(conv->engine);
    if (stream == NULL)
        return NULL;
    return filter_pack(&conv->spec, conv->engine, stream, layout, source, &conv->packed);
}

size_t conv2d_tiles_bytes(const struct conv2d_onednn *conv)
{
    const struct conv2d_onednn_spec *spec = &conv->spec;
    return (size_t)(spec->height * spec->width * spec->channels * spec->filters) * sizeof(float);
}

static void ask_for_layout(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
                           struct conv2d_layout *out)
{
    struct conv2d_primitive described;
    dnnl_primitive_desc_t desc = NULL;
    *out = (struct conv2d_layout){ .is_made = conv2d_describe(conv, piece, &described, &desc) };
    if (!out->is_made)
        return;
    out->filter = *dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    out->is_fast = conv2d_is_fast(desc);
    out->is_even = conv2d_is_even(desc);
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
            conv->blocks = conv2d_pack_filter(conv, source, &layout);
        if (conv->blocks != NULL)
            block = filter_block(&layout);
        atomic_store_explicit(&conv->block, block, memory_order_release);
    }
    pthread_mutex_unlock(&conv->lock);
    return block;
}

int conv2d_cut_blocks(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                      struct filter_source *source, struct conv2d_piece *out)
{
    if (parallel_width() < 2 || !conv2d_favours_channels(&conv->spec, size))
        return 0;
    int64_t block = conv2d_find_block(conv, size, source);
    /* A sum that fails cannot be computed again in pieces of rows. */
    bool may_fail = conv->spec.adds && block > 0 && conv->spec.filters % block != 0;
    return block > 0 && !may_fail
               ? conv2d_cut_channels(&conv->spec, size, block, limited_width(), out)
               : 0;
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
        if (conv2d_pack_filter(conv, source, &layouts[i]) == NULL)
            return i > 0;
    return true;
}

/* Packs the filter for tiles. False: it is left to oneDNN. Called with the lock held, or before any
 * run. */
static bool pack_tiles(struct conv2d_onednn *conv, const struct filter_source *source)
{
    size_t bytes = conv2d_tiles_bytes(conv);
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
