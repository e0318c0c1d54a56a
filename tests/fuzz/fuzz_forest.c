/* Decision forests. The input is a message of a model's files: 1 the header, 2 the columns, 3 the
 * header of the trees, and 4 each file of nodes. The target runs a forest that is read. */
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "runtime/kernels/forests/forest_parse.h"
#include "support/forest_row.h"

#define FILES_MAX 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_files(const uint8_t *data, size_t size, struct forest_source *source)
{
    struct wire wire = wire_of((struct bytes){ (const char *)data, size });
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, 1, WIRE_BYTES))
            source->header = field.bytes;
        else if (wire_is(&field, 2, WIRE_BYTES))
            source->data_spec = field.bytes;
        else if (wire_is(&field, 3, WIRE_BYTES))
            source->trees = field.bytes;
        else if (wire_is(&field, 4, WIRE_BYTES) && source->nodes_count < FILES_MAX)
            source->nodes[source->nodes_count++] = field.bytes;
    }
}

static struct status parse(struct forest_source *source, struct forest **out)
{
    const char *name;
    int count;
    bool is_gzip;
    TRY(forest_trees_file(source->header, &name));
    TRY(forest_nodes_count(source->trees, &count));
    for (int i = 0; i < source->nodes_count; i++)
        TRY(forest_nodes_body(&source->nodes[i], &is_gzip));
    return forest_parse(source, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes none = { "", 0 }, nodes[FILES_MAX];
    for (int gives_leaves = 0; gives_leaves < 2; gives_leaves++) {
        size_t left = (size_t)1 << 22;
        struct forest_source source = { .header = none,
                                        .data_spec = none,
                                        .trees = none,
                                        .nodes = nodes,
                                        .gives_leaves = gives_leaves,
                                        .may_take = forest_take_memory,
                                        .argument = &left };
        struct forest *forest;
        read_files(data, size, &source);
        if (!status_is_ok(parse(&source, &forest)))
            continue;
        if (!forest_run_rows(forest))
            __builtin_trap();
        forest_destroy(forest);
    }
    return 0;
}
