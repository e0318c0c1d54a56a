#include "savedmodel/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define MODEL_BYTES_MAX ((size_t)INT32_MAX) /* protobuf's own limit */
#define LFS_POINTER     "version https://git-lfs"

static const char *const names[] = {
    [FORMAT_SAVED_MODEL] = "saved_model",
    [FORMAT_SESSION_BUNDLE] = "session_bundle",
};

const char *savedmodel_format_name(enum savedmodel_format format)
{
    return names[format];
}

bool savedmodel_format_find(const char *name, enum savedmodel_format *out)
{
    int found = BYTES_FIND(bytes_of(name), names);
    if (found >= 0)
        *out = (enum savedmodel_format)found;
    return found >= 0;
}

const char *savedmodel_format_file(enum savedmodel_format format)
{
    return format == FORMAT_SESSION_BUNDLE ? "export.meta" : "saved_model.pb";
}

const struct model_file *savedmodel_find_file(const char *directory)
{
    static const struct model_file files[] = {
        { "saved_model.pb", FORMAT_SAVED_MODEL, false },
        { "saved_model.pbtxt", FORMAT_SAVED_MODEL, true },
        { "export.meta", FORMAT_SESSION_BUNDLE, false },
    };
    struct arena *scratch = arena_create(0);
    const struct model_file *found = NULL;
    for (size_t i = 0; i < COUNT(files) && found == NULL; i++) {
        if (file_exists(file_join(scratch, directory, files[i].name)))
            found = &files[i];
    }
    arena_destroy(scratch);
    return found;
}

bool savedmodel_parse_version(const char *name, int64_t *out)
{
    char *end;
    errno = 0;
    long long number = strtoll(name, &end, 10);
    if (errno != 0 || end == name || end[strspn(end, " \t\n\v\f\r")] != '\0')
        return false;
    *out = number;
    return true;
}

/* The newest version in a directory; NULL: none. */
static const char *find_newest(const char *directory, struct arena *arena)
{
    struct file_list entries = { 0 };
    const char *newest = NULL;
    int64_t last = INT64_MIN;

    status_ignore(file_list(directory, arena, &entries)); /* then there are none */
    for (size_t i = 0; i < entries.count; i++) {
        const char *version = file_join(arena, directory, entries.names[i]);
        int64_t number;
        if (!savedmodel_parse_version(entries.names[i], &number) || number < last ||
            savedmodel_find_file(version) == NULL)
            continue;
        newest = version;
        last = number;
    }
    return newest;
}

struct status savedmodel_hint_version(struct status status, const char *directory)
{
    if (status.code != STATUS_NOT_FOUND || savedmodel_find_file(directory) != NULL)
        return status;
    struct arena *scratch = arena_create(0);
    const char *version = find_newest(directory, scratch);
    if (version != NULL)
        status = status_error(status.code, "%s; did you mean '%s'?", status.message, version);
    arena_destroy(scratch);
    return status;
}

static struct status no_file(const char *directory, struct arena *scratch)
{
    struct stat info;
    const char *path = file_join(scratch, directory, "saved_model.pb");
    const char *why = "";
    if (stat(path, &info) < 0 && errno != ENOENT && errno != ENOTDIR)
        why = arena_printf(scratch, " (open '%s': %s)", path, strerror(errno));
    if (file_exists(file_join(scratch, directory, "saved_model.cpb")))
        return status_error(
            STATUS_UNIMPLEMENTED,
            "'%s' has only a saved_model.cpb (the chunked form of models over 2 GiB), which "
            "is not read; export with saved_model.pb",
            directory);
    return status_error(
        STATUS_NOT_FOUND,
        "Specified file path does not appear to contain a SavedModel bundle (should "
        "have a file called `saved_model.pb`)\nSpecified file path: %s%s",
        directory, why);
}

static struct status check_pointer(struct bytes file, const char *path)
{
    size_t size = strlen(LFS_POINTER);
    if (file.size < size || memcmp(file.data, LFS_POINTER, size) != 0)
        return status_ok();
    return status_error(STATUS_DATA_LOSS,
                        "'%s': it is a Git LFS pointer, not the model: run `git lfs pull` where it "
                        "came from",
                        path);
}

struct status savedmodel_read_file(const char *directory, const struct model_file **kind,
                                   struct buffer *out)
{
    struct arena *scratch = arena_create(0);
    struct status status;
    *kind = savedmodel_find_file(directory);
    if (*kind == NULL) {
        status = no_file(directory, scratch);
        goto done;
    }
    const char *path = file_join(scratch, directory, (*kind)->name);
    size_t before = out->size;
    TRY_OR(done, file_read(path, MODEL_BYTES_MAX, out));
    status = check_pointer((struct bytes){ out->data + before, out->size - before }, path);
done:
    arena_destroy(scratch);
    return status;
}

const char *savedmodel_variables_prefix(const char *directory, enum savedmodel_format format,
                                        struct arena *arena)
{
    if (format == FORMAT_SAVED_MODEL)
        return arena_printf(arena, "%s/variables/variables", directory);
    const char *prefix = file_join(arena, directory, "export");
    if (file_exists(prefix) || file_exists(arena_printf(arena, "%s.index", prefix)))
        return prefix;
    return arena_printf(arena,
                        "%s/export-?????" /* ends before what would be a trigraph */
                        "-of-?????",
                        directory);
}
