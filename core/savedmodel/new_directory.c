#include "savedmodel/new_directory.h"

#include <unistd.h>

#include "base/file.h"

/* Empty directories, which a failed export of TensorFlow leaves, do not count. */
static struct status check_empty(const char *directory)
{
    if (file_exists(directory) && !file_is_directory(directory))
        return status_error(STATUS_ALREADY_EXISTS, "'%s' is a file: a new directory is wanted",
                            directory);
    if (file_exists(directory) && !file_tree_is_empty(directory))
        return status_error(STATUS_ALREADY_EXISTS,
                            "'%s' exists and is not empty: export to a new version or remove it",
                            directory);
    return status_ok();
}

/* Moves the directory to its final name. `again`: an identical one may exist already. */
static struct status publish(const char *beside, const char *target, const char *parent, bool again)
{
    struct status empty = check_empty(target); /* another process may have been faster */

    if (empty.code == STATUS_ALREADY_EXISTS && again && file_contents_equal(beside, target))
        return file_remove_tree(beside);
    TRY(empty);
    if (file_exists(target)) /* not every file system lets rename replace an empty directory */
        file_remove_empty_tree(target);
    TRY(file_rename(beside, target));
    return file_sync_directory(parent);
}

struct status new_directory_write(const char *directory, bool again, new_directory_fill *fill,
                                  void *context)
{
    struct status status;
    struct arena *arena = arena_create(0);
    const char *target = file_trim_slashes(arena, directory);
    char *beside = file_beside(arena, target);
    const char *parent = file_parent(arena, target);

    if (!again)
        TRY_OR(done, check_empty(target));
    TRY_OR(done, file_make_directories(parent));
    TRY_OR(done, file_remove_leftovers(target)); /* from a killed export */
    TRY_OR(fail, fill(beside, context, arena));
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

/* Creates and removes a directory, with any missing parents: a job that fails before its export
 * leaves nothing. */
static struct status try_directory(const char *directory, struct arena *arena)
{
    int missing = 0;

    for (const char *at = directory; !file_exists(at); at = file_parent(arena, at))
        missing++;
    struct status status = file_make_directories(directory);
    for (const char *at = directory; missing-- > 0; at = file_parent(arena, at))
        rmdir(at);
    return status;
}

struct status new_directory_check(const char *directory)
{
    struct status status;
    struct arena *arena = arena_create(0);
    const char *target = file_trim_slashes(arena, directory);
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
