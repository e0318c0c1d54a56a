#include "trainer/adapt/summary.h"

#include "base/arena.h"

static const struct summary_kind *kind_of(enum adapt_kind kind)
{
    static const struct summary_kind *const kinds[] = {
        [ADAPT_MOMENTS] = &summary_moments,
        [ADAPT_QUANTILES] = &summary_quantiles,
        [ADAPT_TOKENS] = &summary_tokens,
    };

    return kinds[kind];
}

struct summary *summary_create(const struct layers_adapting *how)
{
    struct summary *summary = kind_of(how->kind)->create(how);

    summary->kind = kind_of(how->kind);
    summary->how = *how;
    return summary;
}

void summary_destroy(struct summary *summary)
{
    if (summary != NULL)
        summary->kind->destroy(summary);
}

static struct status of_layer(const struct layers_adapting *how, struct status status)
{
    return status_in(status, "adapting layer '%s'", how->layer);
}

struct status summary_add(struct summary *summary, const struct tensor *values)
{
    return of_layer(&summary->how, summary->kind->add(summary, values));
}

/* ---- tf.Examples ---- */

static void write_field(const char *layer, const char *name, const struct tensor *value,
                        struct example_builder *builder)
{
    struct buffer key = { 0 };
    size_t count = (size_t)value->size;

    buffer_printf(&key, "%s/%s", layer, name);
    struct bytes text = { key.data, key.size };
    if (value->dtype == DT_FLOAT)
        example_builder_add_floats(builder, text, tensor_floats(value), count);
    else if (value->dtype == DT_INT64)
        example_builder_add_int64s(builder, text, tensor_int64s(value), count);
    else
        example_builder_add_strings(builder, text, tensor_strings(value), count);
    buffer_finish(&key);
}

/* Reads features as vectors, in `arena`; one that is missing is empty. */
static struct status read_fields(const char *layer, const struct summary_field *fields, int count,
                                 struct bytes example, struct arena *arena, struct tensor *out)
{
    struct example_feature features[FIELDS_MAX];
    struct tensor parsed[3 * FIELDS_MAX];
    struct example_spec *spec;
    const struct shape scalar = shape_scalar();
    const struct tensor serialized = tensor_borrow(DT_STRING, &scalar, &example);

    for (int i = 0; i < count; i++)
        features[i] = (struct example_feature){
            .form = EXAMPLE_SPARSE,
            .key = bytes_of(arena_printf(arena, "%s/%s", layer, fields[i].name)),
            .dtype = fields[i].dtype,
        };
    TRY(example_spec_create(features, count, &spec));
    struct status status = example_parse(spec, &serialized, NULL, NULL, NULL, parsed);
    example_spec_destroy(spec);
    TRY(status);
    for (int i = 0; i < count; i++) {
        const struct tensor *values = &parsed[count + i];
        const struct shape shape = shape_of(values->size);
        size_t bytes = tensor_bytes(values);
        void *copy = arena_array(arena, 1, bytes + 1);
        if (bytes > 0)
            memcpy(copy, values->data, bytes);
        out[i] = tensor_borrow(values->dtype, &shape, copy);
    }
    tensors_release(3 * count, parsed);
    return status_ok();
}

static enum dtype token_dtype(const struct layers_adapting *how)
{
    return how->is_text ? DT_STRING : DT_INT64;
}

void summary_write(struct summary *summary, struct example_builder *builder)
{
    struct tensor fields[FIELDS_MAX];

    summary->kind->get(summary, fields);
    for (int i = 0; i < summary->kind->fields_count; i++)
        write_field(summary->how.layer, summary->kind->fields[i].name, &fields[i], builder);
}

struct status summary_merge(struct summary *summary, struct bytes example)
{
    const struct summary_kind *kind = summary->kind;
    struct arena *arena = arena_create(0);
    struct summary_field wanted[FIELDS_MAX];
    struct tensor fields[FIELDS_MAX];

    for (int i = 0; i < kind->fields_count; i++) {
        wanted[i] = kind->fields[i];
        if (wanted[i].dtype == DT_INVALID)
            wanted[i].dtype = token_dtype(&summary->how);
    }
    struct status status =
        read_fields(summary->how.layer, wanted, kind->fields_count, example, arena, fields);
    if (status_is_ok(status))
        status = kind->merge(summary, fields);
    struct status held = status_hold(of_layer(&summary->how, status));
    arena_destroy(arena);
    return status_resume(held);
}

struct status summary_finish(struct summary *summary, struct arena *arena, struct layers_state *out)
{
    *out = (struct layers_state){ 0 };
    return of_layer(&summary->how, summary->kind->finish(summary, arena, out));
}

/* ---- states ---- */

/* TOKENS without weights have no second tensor. */
static int list_state(const struct layers_adapting *how, struct summary_field out[2])
{
    const struct summary_kind *kind = kind_of(how->kind);
    int count = kind->state[1] == NULL || (how->kind == ADAPT_TOKENS && !how->idf) ? 1 : 2;

    for (int i = 0; i < count; i++)
        out[i] = (struct summary_field){ kind->state[i], how->kind == ADAPT_TOKENS && i == 0
                                                             ? token_dtype(how)
                                                             : DT_FLOAT };
    return count;
}

void state_write(const struct layers_adapting *how, const struct layers_state *state,
                 struct example_builder *builder)
{
    struct summary_field fields[2];
    int count = list_state(how, fields);

    for (int i = 0; i < count; i++)
        write_field(how->layer, fields[i].name, &state->tensors[i], builder);
}

/* The means of several axes are written as one list. */
static struct shape moments_shape(const struct layers_adapting *how)
{
    const struct shape *values = endpoint_shape(how->values);
    struct shape shape = shape_scalar();

    for (int i = 0; i < values->rank; i++)
        if (how->kept[i])
            shape_append(&shape, values->dims[i]);
    return shape;
}

struct status state_read(const struct layers_adapting *how, struct bytes example,
                         struct arena *arena, struct layers_state *out)
{
    struct summary_field fields[2];
    int count = list_state(how, fields);

    *out = (struct layers_state){ 0 };
    TRY(read_fields(how->layer, fields, count, example, arena, out->tensors));
    for (int i = 0; i < count; i++) {
        struct tensor *tensor = &out->tensors[i];
        struct shape shape = how->kind == ADAPT_MOMENTS ? moments_shape(how) : tensor->shape;
        if (tensor->size == 0 || tensor->size != shape_size(&shape))
            return status_error(
                STATUS_DATA_LOSS, "the state of layer '%s' has %lld values '%s'; expected %lld",
                how->layer, (long long)tensor->size, fields[i].name, (long long)shape_size(&shape));
        *tensor = tensor_borrow(tensor->dtype, &shape, tensor->data);
    }
    return status_ok();
}
