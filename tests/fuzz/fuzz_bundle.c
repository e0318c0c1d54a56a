/*
 * Checkpoints. The first two bytes are a size: that many bytes become the contents of the index's
 * block, with correct checksums. The rest become the data file. The target reads every tensor of a
 * checkpoint that opens.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/bundle.h"
#include "support/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char prefix[64], index_path[128], data_path[128], v1_path[128];

static void remove_files(void)
{
    unlink(index_path);
    unlink(data_path);
    unlink(v1_path);
}

static void make_paths(void)
{
    snprintf(prefix, sizeof prefix, "/tmp/slipway_fuzz_bundle_%ld", (long)getpid());
    snprintf(index_path, sizeof index_path, "%s.index", prefix);
    snprintf(data_path, sizeof data_path, "%s.data-00000-of-00001", prefix);
    snprintf(v1_path, sizeof v1_path, "%s.v1", prefix);
    atexit(remove_files);
}

/* In place of file_write, whose fsync is a waste on files that live for a millisecond. */
static void put_file(const char *path, struct bytes bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes.data, 1, bytes.size, file) != bytes.size)
        abort();
    fclose(file);
}

static void read_all(const char *path)
{
    struct bundle *bundle;
    if (!status_is_ok(bundle_open(path, &bundle)))
        return;
    for (size_t i = 0; i < bundle_count(bundle); i++) {
        struct tensor tensor;
        if (status_is_ok(bundle_read(bundle, bundle_at(bundle, i)->name, &tensor)))
            tensor_release(&tensor);
    }
    bundle_close(bundle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (prefix[0] == '\0')
        make_paths();
    const char *at = (const char *)data + 2;
    size_t left = size - 2, block_size = (size_t)data[0] | (size_t)data[1] << 8;
    if (block_size > left)
        block_size = left;
    struct buffer table = table_of((struct bytes){ at, block_size }, 0);
    put_file(index_path, (struct bytes){ table.data, table.size });
    put_file(v1_path, (struct bytes){ table.data, table.size });
    put_file(data_path, (struct bytes){ at + block_size, left - block_size });
    read_all(prefix);
    read_all(v1_path);
    buffer_finish(&table);
    return 0;
}
