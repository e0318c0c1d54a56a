#include "runtime/kernels/read_file.h"

#include "base/arena.h"
#include "base/file.h"
#include "runtime/resources.h"

/* Reads at most the size that the file system reports: a client may name a device, which never
 * ends. */
static struct status read_whole(struct kernel_context *k, const char *path, struct bytes *out)
{
    struct file_reader reader;
    void *data;
    TRY(file_reader_open(path, &reader));
    struct status status = arena_reserve(kernel_arena(k), reader.size, &data);
    if (status_is_ok(status))
        status = file_reader_get(&reader, 0, data, reader.size);
    if (status_is_ok(status))
        *out = (struct bytes){ data, reader.size };
    file_reader_close(&reader);
    return status;
}

struct status read_model_file(struct kernel_context *k, struct bytes name, struct bytes *out)
{
    const char *path;
    TRY(resources_real_path(kernel_resources(k), name, kernel_arena(k), &path));
    return read_whole(k, path, out);
}
