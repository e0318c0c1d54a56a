#include "runtime/kernels/nn/conv2d_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "runtime/kernels/nn/conv2d_filter_copy.h"

/* The caller's filter: HWIO, or HWGIO seen as [g, o, i, h, w]. oneDNN orders dimensions by
 * meaning; the strides describe memory. */
bool filter_describe(const struct conv2d_onednn_spec *spec, dnnl_format_tag_t tag,
                     dnnl_memory_desc_t *out)
{
    dnnl_dim_t in = spec->channels / spec->groups, each = spec->filters / spec->groups;
    dnnl_dim_t row = spec->width * in * spec->filters, column = in * spec->filters;
    dnnl_dims_t dims = { spec->groups, each, in, spec->height, spec->width };
    dnnl_dims_t strides = { each, 1, spec->filters, row, column };
    int skip = spec->groups == 1 ? 1 : 0; /* without groups, that dimension is missing */
    dnnl_status_t status =
        tag == dnnl_format_tag_any
            ? dnnl_memory_desc_init_by_tag(out, 5 - skip, dims + skip, dnnl_f32, tag)
            : dnnl_memory_desc_init_by_strides(out, 5 - skip, dims + skip, dnnl_f32,
                                               strides + skip);
    return status == dnnl_success;
}

/* Copies from one layout to another. */
static bool reorder(dnnl_engine_t engine, dnnl_stream_t stream, const dnnl_memory_desc_t *from_desc,
                    dnnl_memory_t from, const dnnl_memory_desc_t *to_desc, dnnl_memory_t to)
{
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
    bool done = dnnl_reorder_primitive_desc_create(&desc, from_desc, engine, to_desc, engine,
                                                   NULL) == dnnl_success &&
                dnnl_primitive_create(&primitive, desc) == dnnl_success &&
                dnnl_primitive_execute(primitive, stream, 2, args) == dnnl_success &&
                dnnl_stream_wait(stream) == dnnl_success;
    if (primitive != NULL)
        dnnl_primitive_destroy(primitive);
    if (desc != NULL)
        dnnl_primitive_desc_destroy(desc);
    return done;
}

static bool pack_plain(const struct conv2d_onednn_spec *spec, dnnl_engine_t engine,
                       dnnl_stream_t stream, const float *filter,
                       const struct packed_filter *packed)
{
    dnnl_memory_desc_t plain;
    dnnl_memory_t from = NULL;
    if (!filter_describe(spec, dnnl_format_tag_undef, &plain) ||
        dnnl_memory_create(&from, &plain, engine, (void *)filter) != dnnl_success)
        return false;
    bool done = reorder(engine, stream, &plain, from, &packed->layout, packed->memory);
    dnnl_memory_destroy(from);
    return done;
}

static bool pack_values(const struct conv2d_onednn_spec *spec, dnnl_engine_t engine,
                        dnnl_stream_t stream, const struct filter_source *source,
                        const struct packed_filter *known, const struct packed_filter *packed)
{
    if (source->values != NULL)
        return filter_copy(source->values, &packed->layout, packed->values) ||
               pack_plain(spec, engine, stream, source->values, packed);
    return known != NULL &&
           reorder(engine, stream, &known->layout, known->memory, &packed->layout, packed->memory);
}

/* Moves the packed values to the source's place. Its pages are there already; other pages would
 * have to be zeroed first, and the two filters would be in memory at the same time. */
static bool move_to_place(struct packed_filter *packed, struct filter_source *source)
{
    if (dnnl_memory_set_data_handle(packed->memory, source->place) != dnnl_success)
        return false;
    memcpy(source->place, packed->values, dnnl_memory_desc_get_size(&packed->layout));
    packed->values = source->place;
    packed->is_callers = true;
    *source = (struct filter_source){ 0 };
    return true;
}

void *filter_scratch(struct buffer *scratch, size_t bytes)
{
    if (bytes > scratch->capacity) {
        buffer_finish(scratch);
        scratch->data = memory_alloc_table(bytes);
        scratch->capacity = scratch->data != NULL ? bytes : 0;
    }
    return scratch->data;
}

const struct packed_filter *filter_pack(const struct conv2d_onednn_spec *spec, dnnl_engine_t engine,
                                        dnnl_stream_t stream, const dnnl_memory_desc_t *layout,
                                        struct filter_source *source, struct packed_filter **list)
{
    for (struct packed_filter *known = *list; known != NULL; known = known->next) {
        if (dnnl_memory_desc_equal(&known->layout, layout))
            return known;
    }
    struct packed_filter *packed = zalloc(sizeof *packed);
    size_t bytes = dnnl_memory_desc_get_size(layout);
    bool stays = source->place == NULL || bytes > source->place_bytes;
    void *values = stays ? memory_map(bytes) : filter_scratch(source->scratch, bytes);
    packed->layout = *layout;
    packed->values = values;
    bool done = values != NULL &&
                dnnl_memory_create(&packed->memory, layout, engine, values) == dnnl_success &&
                pack_values(spec, engine, stream, source, *list, packed);
    if (!stays) {
        packed->is_callers = true;
        done = done && move_to_place(packed, source);
    }
    if (!done) {
        packed_filters_destroy(packed);
        return NULL;
    }
    packed->next = *list;
    *list = packed;
    return packed;
}

bool filter_unpack(const struct conv2d_onednn_spec *spec, dnnl_engine_t engine,
                   dnnl_stream_t stream, const struct packed_filter *packed, float *out)
{
    dnnl_memory_desc_t plain;
    dnnl_memory_t to = NULL;
    if (!filter_describe(spec, dnnl_format_tag_undef, &plain) ||
        dnnl_memory_create(&to, &plain, engine, out) != dnnl_success)
        return false;
    bool done = reorder(engine, stream, &packed->layout, packed->memory, &plain, to);
    dnnl_memory_destroy(to);
    return done;
}

/* ---- parts ---- */

#define DIMS 4 /* of a filter without groups: output and input channels, height, width */

int64_t filter_block(const dnnl_memory_desc_t *layout)
{
    const dnnl_blocking_desc_t *blocking = &layout->format_desc.blocking;
    if (layout->ndims != DIMS || layout->format_kind != dnnl_blocked ||
        blocking->inner_nblks != 1 || blocking->inner_idxs[0] != 0 || layout->offset0 != 0)
        return 0;
    for (int i = 1; i < DIMS; i++)
        if (layout->padded_dims[i] != layout->dims[i] ||
            blocking->strides[i] * layout->dims[i] > blocking->strides[0])
            return 0;
    return blocking->inner_blks[0];
}

bool filter_has_part(const dnnl_memory_desc_t *whole, const dnnl_memory_desc_t *part)
{
    int64_t block = filter_block(whole);
    return block > 0 && filter_block(part) == block && part->dims[0] % block == 0 &&
           memcmp(part->format_desc.blocking.strides, whole->format_desc.blocking.strides,
                  DIMS * sizeof whole->format_desc.blocking.strides[0]) == 0 &&
           memcmp(part->dims + 1, whole->dims + 1, (DIMS - 1) * sizeof whole->dims[0]) == 0;
}

/* The channels of the bias, with zeros for those that do not exist. */
static bool make_part_bias(const struct conv2d_onednn_spec *spec, dnnl_engine_t engine,
                           int64_t first, int64_t count, struct filter_part *part)
{
    dnnl_memory_desc_t desc;
    dnnl_dims_t dims = { count };
    if (spec->bias == NULL)
        return true;
    part->bias_values = zalloc((size_t)count * sizeof(float));
    int64_t known = spec->filters - first < count ? spec->filters - first : count;
    memcpy(part->bias_values, spec->bias + first, (size_t)known * sizeof(float));
    return dnnl_memory_desc_init_by_tag(&desc, 1, dims, dnnl_f32, dnnl_a) == dnnl_success &&
           dnnl_memory_create(&part->bias, &desc, engine, part->bias_values) == dnnl_success;
}

struct filter_part *filter_part(const struct conv2d_onednn_spec *spec, dnnl_engine_t engine,
                                const struct packed_filter *packed,
                                const dnnl_memory_desc_t *layout, int64_t first)
{
    int64_t block = filter_block(&packed->layout);
    if (!filter_has_part(&packed->layout, layout) || first % block != 0 ||
        first + layout->dims[0] > packed->layout.padded_dims[0])
        return NULL;
    struct filter_part *part = zalloc(sizeof *part);
    float *values =
        (float *)packed->values + first / block * packed->layout.format_desc.blocking.strides[0];
    if (dnnl_memory_create(&part->memory, layout, engine, values) != dnnl_success ||
        !make_part_bias(spec, engine, first, layout->dims[0], part)) {
        filter_part_destroy(part);
        return NULL;
    }
    return part;
}

void filter_part_destroy(struct filter_part *part)
{
    if (part == NULL)
        return;
    if (part->memory != NULL)
        dnnl_memory_destroy(part->memory);
    if (part->bias != NULL)
        dnnl_memory_destroy(part->bias);
    free(part->bias_values);
    free(part);
}

void packed_filters_destroy(struct packed_filter *list)
{
    for (struct packed_filter *packed = list, *next; packed != NULL; packed = next) {
        next = packed->next;
        if (packed->memory != NULL)
            dnnl_memory_destroy(packed->memory);
        if (!packed->is_callers)
            memory_unmap(packed->values, dnnl_memory_desc_get_size(&packed->layout));
        free(packed);
    }
}
