#include "runtime/kernels/forests/forest_file.h"

#include "runtime/kernels/decompress.h"
#include "runtime/kernels/forests/forest_parse.h"
#include "runtime/kernels/read_file.h"

struct forest_place {
    struct kernel_context *k;
    struct bytes directory, prefix;
    size_t taken;
};

static struct status read_named(const struct forest_place *place, const char *name,
                                struct bytes *out)
{
    const char *path =
        arena_printf(kernel_arena(place->k), "%.*s/%.*s%s", (int)place->directory.size,
                     place->directory.data, (int)place->prefix.size, place->prefix.data, name);
    return read_model_file(place->k, bytes_of(path), out);
}

static struct status read_nodes_file(const struct forest_place *place, int index, int count,
                                     struct bytes *out)
{
    struct bytes file;
    bool is_gzip;
    const char *name = arena_printf(kernel_arena(place->k), "nodes-%05d-of-%05d", index, count);
    TRY(read_named(place, name, &file));
    TRY(forest_nodes_body(&file, &is_gzip));
    return decompress(place->k, is_gzip ? COMPRESSION_GZIP : COMPRESSION_NONE, file, out);
}

static struct status read_source(const struct forest_place *place, struct forest_source *source)
{
    const char *trees_file;
    void *memory;
    TRY(read_named(place, "header.pb", &source->header));
    TRY(read_named(place, "data_spec.pb", &source->data_spec));
    TRY(forest_trees_file(source->header, &trees_file));
    TRY(read_named(place, trees_file, &source->trees));
    TRY(forest_nodes_count(source->trees, &source->nodes_count));
    TRY(arena_reserve(kernel_arena(place->k), (size_t)source->nodes_count * sizeof *source->nodes,
                      &memory));
    source->nodes = memory;
    for (int i = 0; i < source->nodes_count; i++)
        TRY(read_nodes_file(place, i, source->nodes_count, &source->nodes[i]));
    return status_ok();
}

static struct status take_memory(void *argument, size_t bytes)
{
    struct forest_place *place = argument;
    struct shape shape = shape_of((int64_t)bytes);
    struct tensor kept = tensor_borrow(DT_UINT8, &shape, NULL);
    TRY(kernel_table_may_grow(place->k, place->taken, bytes));
    TRY(kernel_keep(place->k, &kept, NULL));
    place->taken += bytes;
    return status_ok();
}

struct status forest_file_read(struct kernel_context *k, struct bytes directory,
                               struct bytes prefix, bool gives_leaves, struct forest **out)
{
    struct forest_place place = { .k = k, .directory = directory, .prefix = prefix };
    struct forest_source source = { .gives_leaves = gives_leaves,
                                    .may_take = take_memory,
                                    .argument = &place };
    TRY(read_source(&place, &source));
    TRY(forest_parse(&source, out));
    kernel_table_grew(k, place.taken);
    return status_ok();
}
