/*
 * conv2d_primitive: the primitives that oneDNN compiled for a convolution. conv2d_onednn.c makes
 * and runs them, and conv2d_packing.c packs their filters; conv2d_pieces.c runs those of an image's
 * pieces, and conv2d_product.c those of a product's rows. Internal to these four, and only compiled
 * with oneDNN.
 */
#ifndef KERNELS_CONV2D_PRIMITIVE_H
#define KERNELS_CONV2D_PRIMITIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/kernels/nn/conv2d_cut.h"
#include "runtime/kernels/nn/conv2d_filter.h"

/* Bindings that are kept for a primitive: pieces of one image may run it at the same time. */
#define CONV2D_SPARES 8

struct binding; /* memory handles and scratch space of one execution */

/* A primitive that oneDNN compiled for the images of one size and some channels of the result. */
struct conv2d_primitive {
    struct conv2d_onednn_size size;
    int64_t first, filters; /* channels of the result, as in struct conv2d_piece */
    dnnl_primitive_t conv;  /* NULL: oneDNN refused this size */
    dnnl_memory_desc_t in, out, scratch;
    const struct packed_filter *filter;
    struct filter_part *part; /* of the filter and of the bias; NULL: all channels */
    _Atomic bool compared;    /* of a block of a product: its bits with those of another height */
    _Atomic(struct binding *) spares[CONV2D_SPARES]; /* of earlier executions, reused by the next */
};

#define CONV2D_NO_BLOCKS (-1)

struct conv2d_onednn {
    struct conv2d_onednn_spec spec;
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attr;
    dnnl_memory_t bias;
    pthread_mutex_t comparing; /* held while heights of a product are compared */
    pthread_mutex_t lock;      /* guards writes to the fields below; `count` is published last */
    struct packed_filter *packed;
    const struct packed_filter *blocks; /* whose blocks of channels are given to pieces */
    _Atomic int64_t block;              /* its channels; 0: not known yet; CONV2D_NO_BLOCKS */
    struct conv2d_primitive *primitives[CONV2D_ONEDNN_SIZES];
    _Atomic int count;
    _Atomic bool is_tiled;   /* computed by conv2d_tiles.h, and not by oneDNN */
    _Atomic(float *) tiles;  /* the filter packed for it; NULL: not yet */
    bool has_callers_memory; /* `tiles` is the caller's filter */
    _Atomic bool uneven;     /* pieces of different sizes may give different bits */
};

/* The calling thread's stream. Called before anything is compiled, because a primitive remembers
 * the number of threads it was made for. NULL: no memory. */
dnnl_stream_t conv2d_thread_stream(dnnl_engine_t engine);

/* Describes the primitive of a piece; sets its `in` and `out`. False: oneDNN refuses the piece. */
bool conv2d_describe(struct conv2d_onednn *conv, const struct conv2d_piece *piece,
                     struct conv2d_primitive *primitive, dnnl_primitive_desc_t *out);
/* oneDNN has loops for everything. Is this one of its fast ones? The others, for some groups of
 * channels, are slower than ours. */
bool conv2d_is_fast(const_dnnl_primitive_desc_t desc);
/* Does it add up the channels in order, for any number of pixels? oneDNN's kernels for AVX-512 do;
 * the others choose an order by the size. */
bool conv2d_is_even(const_dnnl_primitive_desc_t desc);

/* The primitive of a piece if it was made before. NULL: it was not. Threads: any. */
struct conv2d_primitive *conv2d_primitive_find(struct conv2d_onednn *conv,
                                               const struct conv2d_piece *piece);
/* The same, made now if need be. NULL: there are CONV2D_ONEDNN_SIZES already. Threads: any. */
struct conv2d_primitive *conv2d_primitive_make(struct conv2d_onednn *conv,
                                               const struct conv2d_piece *piece,
                                               const float *filter);
/* `in` and `out` are the piece's own. False: oneDNN failed, or a NaN may be lost. Threads: any. */
bool conv2d_primitive_run(struct conv2d_onednn *conv, struct conv2d_primitive *primitive,
                          const float *in, float *out);

/* ---- conv2d_packing.c ---- */

/* The filter in a layout, packed now if need be. Called with the lock held. NULL: oneDNN failed. */
const struct packed_filter *conv2d_pack_filter(struct conv2d_onednn *conv,
                                               struct filter_source *source,
                                               const dnnl_memory_desc_t *layout);
size_t conv2d_tiles_bytes(const struct conv2d_onednn *conv); /* of the filter packed for tiles */
/* The filter packed for tiles, now if need be. NULL: oneDNN computes the convolution. */
const float *conv2d_packed_tiles(struct conv2d_onednn *conv, const float *filter);

/* Does the piece have all channels of the result? */
bool conv2d_is_whole(const struct conv2d_onednn *conv, const struct conv2d_piece *piece);
/* The channels of a block of the filter that is packed for the whole image, or CONV2D_NO_BLOCKS.
 * Its blocks are parts of it, so that pieces of channels take no memory for filters. */
int64_t conv2d_find_block(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                          struct filter_source *source);
/* Cuts the channels into pieces for the threads. 0: they are not to be cut. */
int conv2d_cut_blocks(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                      struct filter_source *source, struct conv2d_piece *out);

/* ---- conv2d_pieces.c ---- */

/* The memory for comparing the bits of two ways to compute the same, at most. */
#define CONV2D_COMPARE_FLOATS ((int64_t)8 << 20)
/* Draws numbers between -bound and bound, for the comparison. */
void conv2d_draw(float *values, int64_t count, uint32_t seed, float bound);

#endif
