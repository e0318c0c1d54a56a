/*
 * The directory is built beside its final name and renamed last: a server that polls the base path
 * sees a complete version or none.
 *
 *     model/1.tmp-<pid>-<n>/variables/variables.data-00000-of-00001
 *     model/1.tmp-<pid>-<n>/variables/variables.index
 *     model/1.tmp-<pid>-<n>/assets/…
 *     model/1.tmp-<pid>-<n>/saved_model.pb                           written last
 */
#include "savedmodel/save.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "savedmodel/save_graph.h"
#include "savedmodel/save_proto.h"
#include "storage/bundle_writer.h"

static const char *without_slashes(struct arena *arena, const char *directory)
{
    size_t size = strlen(directory);
    while (size > 1 && directory[size - 1] == '/')
        size--;
    return arena_memdup(arena, directory, size);
}

static const char *parent_of(struct arena *arena, const char *directory)
{
    const char *slash = strrchr(directory, '/');
    if (slash == NULL)
        return ".";
    return slash == directory ? "/" : arena_memdup(arena, directory, (size_t)(slash - directory));
}

/* ---- the bundle ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct saved_variable *const *)a)->name,
                  (*(const struct saved_variable *const *)b)->name);
}

static struct status write_variable(struct bundle_writer *writer,
                                    const struct saved_variable *variable,
                                    struct value_source *source)
{
    struct bytes chunk;
    TRY(bundle_writer_begin(writer, variable->name, variable->dtype, &variable->shape));
    TRY(source->begin(source, variable->name));
    for (;;) {
        TRY(source->next(source, &chunk));
        if (chunk.size == 0)
            return bundle_writer_end(writer); /* checks the size */
        TRY(bundle_writer_append(writer, chunk.data, chunk.size));
    }
}

static struct status write_variables(const char *directory, const struct saved_model *model,
                                     struct value_source *source, struct arena *arena)
{
    size_t count = (size_t)model->variables_count;
    struct status status;
    struct bundle_writer *writer = NULL;
    const struct saved_variable **order = ARENA_ARRAY(arena, const struct saved_variable *, count);
    for (size_t i = 0; i < count; i++)
        order[i] = &model->variables[i];
    /* as TensorFlow's savers do */
    qsort(order, count, sizeof(struct saved_variable *), compare_names);

    TRY(file_make_directories(arena_printf(arena, "%s/variables", directory)));
    TRY(bundle_writer_open(arena_printf(arena, "%s/variables/variables", directory), &writer));
    for (size_t i = 0; i < count; i++)
        TRY_OR(fail, status_in(write_variable(writer, order[i], source), "variable '%s'",
                               order[i]->name));
    return bundle_writer_commit(writer);

fail:
    bundle_writer_abandon(writer);
    return status;
}

/* ---- the directory ---- */

static struct status write_assets(const char *directory, const struct saved_model *model,
                                  struct arena *arena)
{
    for (int i = 0; i < model->assets_count; i++) {
        const char *path =
            arena_printf(arena, "%s/assets/%s", directory, model->assets[i].filename);
        TRY(file_make_directories(parent_of(arena, path)));
        TRY(file_write(path, model->assets[i].content));
    }
    return status_ok();
}

static struct status write_all(const char *directory, const struct saved_model *model,
                               struct value_source *source, struct arena *arena)
{
    struct save_names names;
    bool has_variables = model->variables_count > 0;
    TRY(file_make_directories(directory));
    if (has_variables) {
        TRY(save_graph_add(model->graph, model->variables, model->variables_count, &names));
        TRY(write_variables(directory, model, source, arena));
    }
    TRY(write_assets(directory, model, arena));
    struct bytes message = save_model_bytes(model, has_variables ? &names : NULL, arena);
    TRY(file_write(arena_printf(arena, "%s/saved_model.pb", directory), message));
    return file_sync_directory(directory);
}

/* Empty directories, which a failed export of TensorFlow leaves, do not count. */
static struct status check_empty(const char *directory)
{
    if (file_exists(directory) && !file_is_directory(directory))
        return status_error(STATUS_ALREADY_EXISTS, "'%s' is a file: a new directory is wanted",
                            directory);
    if (file_exists(directory) && !file_is_bare(directory))
        return status_error(STATUS_ALREADY_EXISTS,
                            "'%s' exists and is not empty: export to a new version or remove it",
                            directory);
    return status_ok();
}

/* Moves the directory to its final name. `again`: an identical one may exist already. */
static struct status publish(const char *beside, const char *target, const char *parent, bool again)
{
    struct status empty = check_empty(target); /* another process may have been faster */

    if (empty.code == STATUS_ALREADY_EXISTS && again && file_is_same(beside, target))
        return file_remove_tree(beside);
    TRY(empty);
    if (file_exists(target)) /* not every file system lets rename replace an empty directory */
        file_remove_bare(target);
    TRY(file_rename(beside, target));
    return file_sync_directory(parent);
}

static struct status write_beside(const char *directory, const struct saved_model *model,
                                  struct value_source *source, bool again)
{
    struct status status;
    struct arena *arena = arena_create(0);
    const char *target = without_slashes(arena, directory);
    char *beside = file_beside(arena, target);
    const char *parent = parent_of(arena, target);

    if (!again)
        TRY_OR(done, check_empty(target));
    TRY_OR(done, file_make_directories(parent));
    TRY_OR(done, file_remove_leftovers(target)); /* from a killed export */
    TRY_OR(fail, write_all(beside, model, source, arena));
    TRY_OR(fail, publish(beside, target, parent, again));
    goto done;

fail:
    status = status_keep(arena, status);
    status_ignore(file_remove_tree(beside)); /* the first failure is returned */
done:
    if (!status_is_ok(status))
        status = status_error(status.code, "%s", status.message); /* its text lives in the arena */
    arena_destroy(arena);
    return status;
}

struct status savedmodel_write(const char *directory, const struct saved_model *model,
                               struct value_source *source)
{
    return write_beside(directory, model, source, false);
}

struct status savedmodel_write_again(const char *directory, const struct saved_model *model,
                                     struct value_source *source)
{
    return write_beside(directory, model, source, true);
}

/* Makes a directory and removes it, with the parents that it made: a job that fails before its
 * export leaves nothing. */
static struct status try_directory(const char *directory, struct arena *arena)
{
    int missing = 0;

    for (const char *at = directory; !file_exists(at); at = parent_of(arena, at))
        missing++;
    struct status status = file_make_directories(directory);
    for (const char *at = directory; missing-- > 0; at = parent_of(arena, at))
        rmdir(at);
    return status;
}

struct status savedmodel_check_target(const char *directory)
{
    struct status status;
    struct arena *arena = arena_create(0);
    const char *target = without_slashes(arena, directory);
    char *beside = file_beside(arena, target);

    TRY_OR(done, check_empty(target));
    TRY_OR(done, try_directory(beside, arena));
    TRY_OR(done, file_remove_tree(beside)); /* from a killed process with our pid, as in pods */
done:
    if (!status_is_ok(status))
        status = status_error(status.code, "%s", status.message);
    arena_destroy(arena);
    return status;
}
