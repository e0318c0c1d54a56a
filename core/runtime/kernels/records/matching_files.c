/*
 * matching_files: MatchingFiles, the files whose paths match a pattern: `*`, `?` and `[…]` match
 * characters of one name, as in TensorFlow. Only directories that ops may read are searched.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/resources.h"

/* Links that lead back would make the directories of a long pattern endless. */
#define DIRECTORIES_MAX 10000

struct found_path {
    struct bytes path;
    struct found_path *next;
};

struct search {
    struct kernel_context *k;
    struct found_path *paths; /* the last one first */
    int64_t count;
    int directories; /* that were looked into */
};

static struct status add_path(struct search *search, const char *path)
{
    struct found_path *found;
    size_t size = strlen(path);
    void *memory;
    TRY(arena_reserve(kernel_arena(search->k), sizeof *found + size, &memory));
    found = memory;
    *found = (struct found_path){ { (char *)(found + 1), size }, search->paths };
    memcpy(found + 1, path, size);
    search->paths = found;
    search->count++;
    return status_ok();
}

/* The path to read; *is_there is false for what does not exist. */
static struct status find_real(struct search *search, const char *path, const char **real,
                               bool *is_there)
{
    struct status status = resources_real_path(kernel_resources(search->k), bytes_of(path),
                                               kernel_arena(search->k), real);
    *is_there = status_is_ok(status);
    return status.code == STATUS_NOT_FOUND || status.code == STATUS_FAILED_PRECONDITION
               ? status_ok()
               : status;
}

/* The files in `directory` that `pattern` matches, whose first name ends at a slash or at its end.
 * `shown` is the path of the directory in the results, with the slash. */
static struct status look_into(struct search *search, const char *directory, const char *shown,
                               const char *pattern)
{
    struct arena *arena = kernel_arena(search->k);
    struct file_list files;
    size_t size = strcspn(pattern, "/");
    const char *name = arena_memdup(arena, pattern, size);
    TRY(kernel_check(search->k));
    if (search->directories++ == DIRECTORIES_MAX)
        return kernel_error(search->k, STATUS_RESOURCE_EXHAUSTED,
                            "the patterns lead through more than %d directories", DIRECTORIES_MAX);
    if (!file_is_directory(directory))
        return status_ok();
    TRY(file_list(directory, arena, &files));
    for (size_t i = 0; i < files.count; i++) {
        const char *real, *path = arena_printf(arena, "%s%s", shown, files.names[i]);
        bool is_there;
        if (fnmatch(name, files.names[i], 0) != 0)
            continue;
        if (pattern[size] == '\0') {
            TRY(add_path(search, path));
            continue;
        }
        /* a link in the model's directory may lead out of it */
        status_ignore(
            find_real(search, file_join(arena, directory, files.names[i]), &real, &is_there));
        if (is_there)
            TRY(look_into(search, real, arena_printf(arena, "%s/", path), pattern + size + 1));
    }
    return status_ok();
}

static struct status search_for(struct search *search, struct bytes given)
{
    struct arena *arena = kernel_arena(search->k);
    const char *real, *pattern = arena_memdup(arena, given.data, given.size);
    size_t plain = strcspn(pattern, "*?[\\");
    bool is_there;
    if (pattern[plain] == '\0') {
        TRY(find_real(search, pattern, &real, &is_there));
        return is_there && plain > 0 ? add_path(search, pattern) : status_ok();
    }
    while (plain > 0 && pattern[plain - 1] != '/')
        plain--;
    const char *shown = plain == 0 ? "./" : arena_memdup(arena, pattern, plain);
    if (plain > 1 && pattern[plain - 2] == '/')
        return status_ok(); /* TensorFlow finds nothing after two slashes */
    TRY(find_real(search, shown, &real, &is_there));
    return is_there ? look_into(search, real, shown, pattern + plain) : status_ok();
}

static struct status matching_compute(struct kernel_context *k)
{
    const struct tensor *patterns = kernel_input(k, 0);
    struct search search = { .k = k };
    struct tensor *out;
    if (patterns->shape.rank > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "patterns tensor must be scalar or vector, but had shape: %s",
                            shape_text(&patterns->shape));
    for (int64_t i = 0; i < patterns->size; i++)
        TRY(search_for(&search, tensor_strings(patterns)[i]));
    struct shape vector = shape_of(search.count);
    TRY(kernel_output(k, 0, &vector, &out));
    int64_t at = 0;
    for (const struct found_path *found = search.paths; found != NULL; found = found->next)
        tensor_strings_mut(out)[at++] = found->path;
    bytes_sort(tensor_strings_mut(out), (size_t)at);
    return status_ok();
}

static const struct kernel rows[] = {
    { "MatchingFiles", DTYPES_ALL, .compute = matching_compute },
};
const struct kernel_table kernels_matching_files = { rows, COUNT(rows) };
