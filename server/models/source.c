#include "server/models/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "savedmodel/format.h"

#define FINGERPRINT_DEPTH 3 /* assets may be in subdirectories */

static int compare(const void *a, const void *b)
{
    const struct source_version *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->directory, y->directory);
}

/* Keeps the last of equal numbers ("7", "07"). */
static void drop_duplicates(struct source_versions *versions, struct arena *arena)
{
    const char *doubled = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < versions->count; i++) {
        struct source_version version = versions->items[i];
        if (i + 1 < versions->count && version.number == versions->items[i + 1].number) {
            doubled = arena_printf(arena, "version %lld: '%s' stands for it, '%s' is ignored",
                                   (long long)version.number, versions->items[i + 1].directory,
                                   version.directory);
            free(version.directory);
        } else
            versions->items[kept++] = version;
    }
    versions->count = kept;
    versions->doubled = doubled != NULL ? xstrdup(doubled) : NULL;
}

static struct source_versions versions_of(const char *base_path, const struct file_list *entries,
                                          struct arena *arena)
{
    struct source_versions found = { .items = zalloc(entries->count * sizeof *found.items) };
    for (size_t i = 0; i < entries->count; i++) {
        int64_t number;
        if (savedmodel_parse_version(entries->names[i], &number))
            found.items[found.count++] =
                (struct source_version){ number,
                                         xstrdup(file_join(arena, base_path, entries->names[i])) };
    }
    return found;
}

static struct status scan(const char *base_path, struct source_versions *out)
{
    struct arena *arena = arena_create(0);
    struct file_list entries;
    /* After a partial read of the directory, the other versions would seem to be gone. */
    struct status status = file_list(base_path, arena, &entries);
    if (status_is_ok(status)) {
        *out = versions_of(base_path, &entries, arena);
        qsort(out->items, out->count, sizeof *out->items, compare);
        drop_duplicates(out, arena);
        out->is_version = out->count == 0 && savedmodel_find_file(base_path) != NULL;
    }
    arena_destroy(arena);
    return status;
}

void source_versions_finish(struct source_versions *versions)
{
    for (size_t i = 0; i < versions->count; i++)
        free(versions->items[i].directory);
    free(versions->items);
    free(versions->doubled);
    *versions = (struct source_versions){ 0 };
}

static uint64_t sum_files(const char *directory, int depth, struct arena *arena)
{
    uint64_t sum = 0;
    struct file_list entries;
    if (!status_is_ok(file_list(directory, arena, &entries)))
        return 0; /* it may still be under construction */
    for (size_t i = 0; i < entries.count; i++) {
        struct stat info;
        const char *path = file_join(arena, directory, entries.names[i]);
        if (stat(path, &info) < 0)
            continue;
        /* The status time also changes with permissions and owners. */
        const int64_t facts[] = { (int64_t)bytes_hash(bytes_of(path)),
                                  (int64_t)info.st_ino,
                                  info.st_size,
                                  info.st_mtim.tv_sec,
                                  info.st_mtim.tv_nsec,
                                  info.st_ctim.tv_sec,
                                  info.st_ctim.tv_nsec };
        sum += bytes_hash((struct bytes){ (const char *)facts, sizeof facts });
        if (S_ISDIR(info.st_mode) && depth > 1)
            sum += sum_files(path, depth - 1, arena);
    }
    return sum;
}

static uint64_t fingerprint(const char *directory)
{
    struct arena *arena = arena_create(0);
    uint64_t sum = sum_files(directory, FINGERPRINT_DEPTH, arena);
    arena_destroy(arena);
    return sum;
}

/* The total size of the regular files directly in the directory, which may be missing. */
static uint64_t sum_sizes(const char *directory, struct arena *arena)
{
    uint64_t sum = 0;
    struct file_list entries;
    if (!status_is_ok(file_list(directory, arena, &entries)))
        return 0; /* the load tells why */
    for (size_t i = 0; i < entries.count; i++) {
        struct stat info;
        if (stat(file_join(arena, directory, entries.names[i]), &info) == 0 &&
            S_ISREG(info.st_mode))
            sum += (uint64_t)info.st_size;
    }
    return sum;
}

static uint64_t bytes(const char *directory)
{
    struct arena *arena = arena_create(0);
    uint64_t sum =
        sum_sizes(directory, arena) + sum_sizes(file_join(arena, directory, "variables"), arena);
    arena_destroy(arena);
    return sum;
}

const struct version_source source_disk = { scan, fingerprint, bytes };
