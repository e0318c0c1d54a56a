#include "trainer/checkpoint/checkpoint_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plural.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/text.h"
#include "trainer/checkpoint/checkpoint_scan.h"

#define STATE           "checkpoint"
#define BASENAME        "model.ckpt-"
#define UNFINISHED      ".unfinished"
#define INDEX           ".index"
#define DATA            ".data-00000-of-00001"
#define STATE_BYTES_MAX ((size_t)16 << 20)

struct checkpoint_dir {
    char *path;
    int lock_fd; /* -1: the file system has no locks */
    int max_to_keep;
    char **names; /* in the state file's order, the latest last */
    int count;
    char *note; /* NULL: none */
};

/* ---- names ---- */

static char *path_of(const struct checkpoint_dir *dir, struct arena *arena, const char *name)
{
    return file_join(arena, dir->path, name);
}

static char *with(struct arena *arena, const char *prefix, const char *suffix)
{
    return arena_printf(arena, "%s%s", prefix, suffix);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* The path of a name in the state file. An absolute path that is gone may have moved with its
 * directory. */
static char *prefix_of(const struct checkpoint_dir *dir, struct arena *arena, const char *name)
{
    if (name[0] == '/' && !file_exists(with(arena, name, INDEX)))
        return path_of(dir, arena, last_part(name));
    return path_of(dir, arena, name);
}

/* ---- the state file ---- */

static void set_names(struct checkpoint_dir *dir, char **names, int count)
{
    for (int i = 0; i < dir->count; i++)
        free(dir->names[i]);
    free(dir->names);
    dir->names = names;
    dir->count = count;
}

static struct status read_state(const char *path, struct arena *arena,
                                Tensorflow__CheckpointState **out)
{
    struct buffer text = { 0 };

    TRY(file_read(path, STATE_BYTES_MAX, &text));
    struct status status = proto_text_read(&tensorflow__checkpoint_state__descriptor,
                                           (struct bytes){ text.data, text.size },
                                           PROTO_TEXT_SKIP_UNKNOWN, arena, out);
    buffer_finish(&text);
    return status_in(status, "%s", path);
}

/* Takes the list of the state file and moves the latest last. In TensorFlow's it may be
 * anywhere, or missing. */
static void take_state(struct checkpoint_dir *dir, const Tensorflow__CheckpointState *state)
{
    char **names = zalloc((state->n_all_model_checkpoint_paths + 1) * sizeof *names);
    int count = 0;

    for (size_t i = 0; i < state->n_all_model_checkpoint_paths; i++)
        if (strcmp(state->all_model_checkpoint_paths[i], state->model_checkpoint_path) != 0)
            names[count++] = xstrdup(state->all_model_checkpoint_paths[i]);
    names[count++] = xstrdup(state->model_checkpoint_path);
    set_names(dir, names, count);
}

static void print_state(char *const *names, int count, struct buffer *out)
{
    Tensorflow__CheckpointState state = TENSORFLOW__CHECKPOINT_STATE__INIT;

    state.model_checkpoint_path = names[count - 1];
    state.all_model_checkpoint_paths = (char **)(uintptr_t)names;
    state.n_all_model_checkpoint_paths = (size_t)count;
    proto_text_print(&state, out);
}

/* Writes a state file under a temporary name, complete and synced. */
static struct status prepare_state(const char *path, char *const *names, int count)
{
    struct buffer text = { 0 };
    struct file_writer writer = { 0 };
    struct status status;

    print_state(names, count, &text);
    unlink(path);
    TRY_OR(done, file_writer_open(path, &writer));
    TRY_OR(done, file_writer_append(&writer, text.data, text.size));
    status = file_writer_finish(&writer);
done:
    file_writer_abandon(&writer);
    buffer_finish(&text);
    return status;
}

static struct status write_state(const struct checkpoint_dir *dir)
{
    struct arena *arena = arena_create(0);
    struct buffer text = { 0 };

    print_state(dir->names, dir->count, &text);
    struct status status =
        file_write(path_of(dir, arena, STATE), (struct bytes){ text.data, text.size });
    buffer_finish(&text);
    arena_destroy(arena);
    return status;
}

/* Writes a state file that lists the checkpoints found. Those over the limit stay unlisted, so
 * that this process does not remove them. `why`: the error of the old state file. */
static struct status repair_state(struct checkpoint_dir *dir, struct arena *arena,
                                  struct status why)
{
    const char *damage = arena_strdup(arena, status_is_ok(why) ? "it is empty" : why.message);
    struct checkpoint_scan found;

    TRY(checkpoint_scan(dir->path, arena, &found));
    if (found.count == 0)
        return why;
    int over =
        dir->max_to_keep > 0 && found.count > dir->max_to_keep ? found.count - dir->max_to_keep : 0;
    int kept = found.count - over;
    char **names = zalloc((size_t)found.count * sizeof *names);
    for (int i = over; i < found.count; i++)
        names[i - over] = xstrdup(found.names[i]);
    set_names(dir, names, kept);
    dir->note = xstrdup(arena_printf(
        arena,
        "the state file '%s/" STATE "' is damaged: %s; it was rewritten, with %s as the latest of "
        "%d checkpoint%s",
        dir->path, damage, found.names[found.count - 1], kept, plural(kept)));
    return write_state(dir);
}

static struct status note_missing_state(struct checkpoint_dir *dir, struct arena *arena)
{
    struct checkpoint_scan found;

    TRY(checkpoint_scan(dir->path, arena, &found));
    if (found.count > 0)
        dir->note = xstrdup(arena_printf(
            arena,
            "'%s' holds %s, but no state file '" STATE
            "' that lists it: training starts from scratch. To "
            "continue from it, put the line model_checkpoint_path: \"%s\" into '%s/" STATE "'",
            dir->path, found.names[found.count - 1], found.names[found.count - 1], dir->path));
    return status_ok();
}

static struct status load_state(struct checkpoint_dir *dir)
{
    struct arena *arena = arena_create(0);
    const char *path = path_of(dir, arena, STATE);
    Tensorflow__CheckpointState *state = NULL;
    struct status status;

    if (!file_exists(path)) {
        status = note_missing_state(dir, arena);
    } else {
        status = read_state(path, arena, &state);
        if (status_is_ok(status) && *state->model_checkpoint_path != '\0')
            take_state(dir, state);
        else if (status_is_ok(status) || status.code == STATUS_INVALID_ARGUMENT)
            status = repair_state(dir, arena, status);
    }
    arena_destroy(arena);
    return status;
}

/* ---- files that a killed process left ---- */

static bool is_ours(const char *name)
{
    return strncmp(name, BASENAME, strlen(BASENAME)) == 0;
}

/* Completes an addition if the files that its state file names are in place. Otherwise removes
 * the data file, which may have its final name although the index has not. */
static struct status settle_state(struct checkpoint_dir *dir, struct arena *arena)
{
    const char *prepared = path_of(dir, arena, STATE UNFINISHED);
    Tensorflow__CheckpointState *state;

    if (!file_exists(prepared))
        return status_ok();
    if (status_is_ok(read_state(prepared, arena, &state)) &&
        is_ours(state->model_checkpoint_path)) {
        const char *prefix = path_of(dir, arena, state->model_checkpoint_path);
        if (file_exists(with(arena, prefix, INDEX)) && file_exists(with(arena, prefix, DATA)))
            return file_rename(prepared, path_of(dir, arena, STATE));
        if (!file_exists(with(arena, prefix, INDEX)))
            unlink(with(arena, prefix, DATA));
    }
    if (unlink(prepared) < 0)
        return status_errno(errno, "remove '%s'", prepared);
    return status_ok();
}

static struct status remove_unfinished(struct checkpoint_dir *dir, struct arena *arena)
{
    struct file_list list;

    TRY(file_list(dir->path, arena, &list));
    for (size_t i = 0; i < list.count; i++) {
        const char *name = list.names[i];
        bool state = strncmp(name, STATE ".temp", strlen(STATE ".temp")) == 0;
        if (state || (is_ours(name) && strstr(name, UNFINISHED) != NULL))
            TRY(file_remove_tree(path_of(dir, arena, name)));
    }
    return status_ok();
}

/* ---- removing the oldest ---- */

static bool is_whole(const struct checkpoint_dir *dir, const char *name)
{
    struct arena *arena = arena_create(0);
    const char *prefix = prefix_of(dir, arena, name);
    /* a checkpoint of version 1 */
    bool whole = file_exists(with(arena, prefix, INDEX)) || file_exists(prefix);

    arena_destroy(arena);
    return whole;
}

/* Removes the index first: without it, the rest is not a checkpoint. */
static struct status remove_files(const struct checkpoint_dir *dir, const char *name)
{
    struct arena *arena = arena_create(0);
    const char *prefix = path_of(dir, arena, last_part(name));
    const char *data = with(arena, last_part(name), ".data-");
    struct file_list list;
    struct status status;

    unlink(with(arena, prefix, INDEX));
    unlink(with(arena, prefix, ".meta"));
    TRY_OR(done, file_list(dir->path, arena, &list));
    for (size_t i = 0; i < list.count; i++)
        if (strncmp(list.names[i], data, strlen(data)) == 0)
            unlink(path_of(dir, arena, list.names[i]));
    status = file_sync_directory(dir->path);
done:
    arena_destroy(arena);
    return status;
}

static bool lies_here(const struct checkpoint_dir *dir, const char *name)
{
    size_t size = strlen(dir->path);

    return strchr(name, '/') == NULL || (strncmp(name, dir->path, size) == 0 && name[size] == '/' &&
                                         strchr(name + size + 1, '/') == NULL);
}

/* Removes the files of checkpoints over the limit, then drops these, and any that are gone, from
 * the list. */
static struct status drop_oldest(struct checkpoint_dir *dir)
{
    int over = dir->max_to_keep > 0 ? dir->count - dir->max_to_keep : 0, kept = 0;

    for (int i = 0; i < dir->count; i++) {
        bool last = i == dir->count - 1;
        if (!last && (i < over || !is_whole(dir, dir->names[i]))) {
            if (lies_here(dir, dir->names[i]))
                TRY(remove_files(dir, dir->names[i]));
            free(dir->names[i]);
        } else {
            dir->names[kept++] = dir->names[i];
        }
    }
    if (kept == dir->count)
        return status_ok();
    dir->count = kept;
    return write_state(dir);
}

/* ---- opening ---- */

static struct status lock(struct checkpoint_dir *dir)
{
    int fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return status_errno(errno, "open '%s'", dir->path);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        dir->lock_fd = fd;
        return status_ok();
    }
    int error = errno;
    close(fd);
    if (error == EWOULDBLOCK)
        return status_error(STATUS_UNAVAILABLE, "another process writes checkpoints to '%s'",
                            dir->path);
    return status_ok();
}

/* Is the locked directory still the one at its path? */
static bool is_in_place(const struct checkpoint_dir *dir)
{
    struct stat locked, now;

    return dir->lock_fd >= 0 && fstat(dir->lock_fd, &locked) == 0 && stat(dir->path, &now) == 0 &&
           locked.st_dev == now.st_dev && locked.st_ino == now.st_ino;
}

/* If somebody has removed the directory, makes it again. */
static struct status find_again(struct checkpoint_dir *dir)
{
    int before = dir->lock_fd;

    if (is_in_place(dir))
        return status_ok();
    TRY(file_make_directories(dir->path));
    TRY(lock(dir));
    if (before >= 0 && before != dir->lock_fd)
        close(before);
    return status_ok();
}

static struct status check_writable(const struct checkpoint_dir *dir, struct arena *arena)
{
    struct file_writer writer = { 0 };
    const char *path = path_of(dir, arena, BASENAME "0" UNFINISHED ".test");

    TRY(file_writer_open(path, &writer));
    file_writer_abandon(&writer);
    return status_ok();
}

struct status checkpoint_dir_open(const char *path, int max_to_keep, struct checkpoint_dir **out)
{
    struct arena *arena = arena_create(0);
    struct checkpoint_dir *dir = zalloc(sizeof *dir);
    struct status status;

    dir->path = xstrdup(path);
    dir->max_to_keep = max_to_keep;
    dir->lock_fd = -1;
    TRY_OR(fail, file_make_directories(path));
    TRY_OR(fail, lock(dir));
    TRY_OR(fail, settle_state(dir, arena));
    TRY_OR(fail, remove_unfinished(dir, arena));
    TRY_OR(fail, check_writable(dir, arena));
    TRY_OR(fail, load_state(dir));
    TRY_OR(fail, drop_oldest(dir));
    arena_destroy(arena);
    *out = dir;
    return status_ok();

fail:
    arena_destroy(arena);
    checkpoint_dir_close(dir);
    return status;
}

void checkpoint_dir_close(struct checkpoint_dir *dir)
{
    if (dir == NULL)
        return;
    if (dir->lock_fd >= 0)
        close(dir->lock_fd);
    set_names(dir, NULL, 0);
    free(dir->note);
    free(dir->path);
    free(dir);
}

const char *checkpoint_dir_note(const struct checkpoint_dir *dir)
{
    return dir->note != NULL ? dir->note : "";
}

int checkpoint_dir_count(const struct checkpoint_dir *dir)
{
    return dir->count;
}

char *checkpoint_dir_at(const struct checkpoint_dir *dir, int index, struct arena *arena)
{
    return prefix_of(dir, arena, dir->names[dir->count - 1 - index]);
}

struct status checkpoint_dir_find_latest(const char *path, struct arena *arena, const char **out)
{
    const struct checkpoint_dir dir = { .path = arena_strdup(arena, path) };
    Tensorflow__CheckpointState *state = NULL;

    TRY(read_state(path_of(&dir, arena, STATE), arena, &state));
    if (*state->model_checkpoint_path == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' names no checkpoint",
                            path_of(&dir, arena, STATE));
    *out = prefix_of(&dir, arena, state->model_checkpoint_path);
    return status_ok();
}

static void name_of(uint64_t step, char *out, size_t size)
{
    snprintf(out, size, BASENAME "%" PRIu64, step);
}

bool checkpoint_dir_last_step(const struct checkpoint_dir *dir, uint64_t *step)
{
    if (dir->count == 0 || !is_ours(last_part(dir->names[dir->count - 1])))
        return false;
    *step = strtoull(last_part(dir->names[dir->count - 1]) + strlen(BASENAME), NULL, 10);
    return true;
}

bool checkpoint_dir_has_step(const struct checkpoint_dir *dir, uint64_t step)
{
    char name[64];

    name_of(step, name, sizeof name);
    return dir->count > 0 && strcmp(last_part(dir->names[dir->count - 1]), name) == 0 &&
           is_whole(dir, name);
}

/* ---- adding ---- */

/* The list with `name` moved or added to its end. */
static char **names_with(const struct checkpoint_dir *dir, const char *name, int *count)
{
    char **names = zalloc((size_t)(dir->count + 1) * sizeof *names);

    *count = 0;
    for (int i = 0; i < dir->count; i++)
        if (strcmp(last_part(dir->names[i]), name) != 0)
            names[(*count)++] = xstrdup(dir->names[i]);
    names[(*count)++] = xstrdup(name);
    return names;
}

/* Renames data, index and state file to their final names. */
static struct status publish(struct checkpoint_dir *dir, struct arena *arena, const char *name)
{
    const char *prefix = path_of(dir, arena, name), *unfinished = with(arena, prefix, UNFINISHED);
    int count;
    char **names = names_with(dir, name, &count);
    const char *prepared = path_of(dir, arena, STATE UNFINISHED);
    struct status status;

    TRY_OR(fail, prepare_state(prepared, names, count));
    unlink(with(arena, prefix, INDEX)); /* an unlisted index must never accompany new data */
    TRY_OR(fail, file_rename(with(arena, unfinished, DATA), with(arena, prefix, DATA)));
    TRY_OR(fail, file_rename(with(arena, unfinished, INDEX), with(arena, prefix, INDEX)));
    TRY_OR(fail, file_rename(prepared, path_of(dir, arena, STATE)));
    set_names(dir, names, count);
    return status_ok();

fail:
    unlink(prepared);
    unlink(with(arena, prefix, INDEX));
    unlink(with(arena, prefix, DATA));
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return status;
}

struct status checkpoint_dir_add(struct checkpoint_dir *dir, uint64_t step,
                                 struct status (*write)(void *context, const char *prefix),
                                 void *context)
{
    struct arena *arena = arena_create(0);
    char name[64];
    struct status status;

    name_of(step, name, sizeof name);
    const char *unfinished = with(arena, path_of(dir, arena, name), UNFINISHED);
    TRY_OR(fail, find_again(dir));
    TRY_OR(fail, write(context, unfinished));
    TRY_OR(fail, publish(dir, arena, name));
    TRY_OR(fail, drop_oldest(dir));
fail:
    if (!status_is_ok(status)) {
        unlink(with(arena, unfinished, INDEX));
        unlink(with(arena, unfinished, DATA));
    }
    arena_destroy(arena);
    return status_in(status, "checkpoint '%s/%s'", dir->path, name);
}
