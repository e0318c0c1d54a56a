#include "runtime/kernels/forests/forest_file.h"

#include "runtime/kernels/decompress.h"
#include "runtime/kernels/forests/forest_parse.h"
#include "runtime/kernels/read_file.h"

/*
 * A file of nodes:
 *
 *     'B' 'S'  version (16 bits)  compression (version 1: 0 none, 1 gzip)  three bytes of 0
 *     then, perhaps compressed, for each node: its length (32 bits), and the node
 */
#define HEAD_BYTES 8

enum nodes_compression { NODES_PLAIN = 0, NODES_GZIP = 1 };

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
    const char *name = arena_printf(kernel_arena(place->k), "nodes-%05d-of-%05d", index, count);
    TRY(read_named(place, name, &file));
    if (file.size < HEAD_BYTES || file.data[0] != 'B' || file.data[1] != 'S')
        return kernel_error(place->k, STATUS_DATA_LOSS, "decision forest: %s is damaged", name);
    unsigned version = get_u32le(file.data) >> 16;
    int compression = version == 0 ? NODES_PLAIN : (unsigned char)file.data[4];
    if (version > 1 || compression > NODES_GZIP)
        return kernel_error(place->k, STATUS_UNIMPLEMENTED,
                            "decision forest: %s has version %u and compression %d", name, version,
                            compression);
    struct bytes body = { file.data + HEAD_BYTES, file.size - HEAD_BYTES };
    return decompress(place->k, compression == NODES_GZIP ? COMPRESSION_GZIP : COMPRESSION_NONE,
                      body, out);
}

static struct status read_source(const struct forest_place *place, struct forest_source *source)
{
    static const char *const formats[] = { "BLOB_SEQUENCE", "BLOB_SEQUENCE_GZIP" };
    const char *trees_file;
    struct bytes format;
    void *memory;
    TRY(read_named(place, "header.pb", &source->header));
    TRY(read_named(place, "data_spec.pb", &source->data_spec));
    TRY(forest_trees_file(source->header, &trees_file));
    TRY(read_named(place, trees_file, &source->trees));
    TRY(forest_nodes_format(source->trees, &source->nodes_count, &format));
    if (BYTES_FIND(format, formats) < 0)
        return kernel_error(place->k, STATUS_UNIMPLEMENTED,
                            "decision forest: nodes in the format '%.*s'",
                            (int)bytes_first(format, 100).size, format.data);
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
