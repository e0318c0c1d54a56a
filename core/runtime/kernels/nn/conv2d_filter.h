/*
 * conv2d_filter: filters in oneDNN's layouts. Internal to conv2d_onednn.c and its parts, and only
 * compiled with oneDNN.
 */
#ifndef KERNELS_CONV2D_FILTER_H
#define KERNELS_CONV2D_FILTER_H

#include <dnnl.h>

#include "runtime/kernels/nn/conv2d_onednn.h"

/* A filter in one layout; image sizes that need the same layout share it. */
struct packed_filter {
    dnnl_memory_desc_t layout;
    dnnl_memory_t memory;
    void *values; /* memory_map, or the caller's */
    bool is_callers;
    struct packed_filter *next;
};

/* The filter that is to be packed. */
struct filter_source {
    const float *values; /* as the caller has it. NULL: a layout of the list has the values */
    void *place;         /* the same values, if the packed filter may take their place */
    size_t place_bytes;
    struct buffer *scratch; /* with a place: the packed filter is made here */
};

/* Some channels of a packed filter, which stays where it is, and of the bias. */
struct filter_part {
    dnnl_memory_t memory, bias; /* bias: NULL if there is none */
    float *bias_values;
};

/* Memory of so many bytes; NULL: none. Not new for each filter, because each of its pages would
 * cost a page fault. */
void *filter_scratch(struct buffer *scratch, size_t bytes);

/* Describes the caller's filter, or with dnnl_format_tag_any one whose layout oneDNN may choose. */
bool filter_describe(const struct conv2d_onednn_spec *spec, dnnl_format_tag_t tag,
                     dnnl_memory_desc_t *out);

/* The filter in `layout`, packed now and added to *list unless it is there. If it fits into the
 * source's place, it takes that place, and the source changes to one whose values are in the list.
 * NULL: oneDNN refused; the source is as it was. */
const struct packed_filter *filter_pack(const struct conv2d_onednn_spec *spec, dnnl_engine_t engine,
                                        dnnl_stream_t stream, const dnnl_memory_desc_t *layout,
                                        struct filter_source *source, struct packed_filter **list);

/* The values again, as the caller had them, bit for bit. */
bool filter_unpack(const struct conv2d_onednn_spec *spec, dnnl_engine_t engine,
                   dnnl_stream_t stream, const struct packed_filter *packed, float *out);

/* The channels of a block, if a filter in this layout consists of blocks of channels that follow
 * each other; otherwise 0. */
int64_t filter_block(const dnnl_memory_desc_t *layout);
/* Is a filter of fewer channels in layout `part` some of the blocks of one in layout `whole`? */
bool filter_has_part(const dnnl_memory_desc_t *whole, const dnnl_memory_desc_t *part);

/* The channels from `first` on as a filter in `layout`. NULL: the packed filter has blocks of
 * another kind, or oneDNN refused. Owner: filter_part_destroy, before `packed` is. */
struct filter_part *filter_part(const struct conv2d_onednn_spec *spec, dnnl_engine_t engine,
                                const struct packed_filter *packed,
                                const dnnl_memory_desc_t *layout, int64_t first);
void filter_part_destroy(struct filter_part *part); /* accepts NULL */

void packed_filters_destroy(struct packed_filter *list); /* accepts NULL */

#endif
