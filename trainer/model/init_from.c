#include "trainer/model/init_from.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "savedmodel/meta_proto.h"
#include "storage/bundle.h"
#include "trainer/checkpoint/checkpoint_dir.h"
#include "trainer/optimizers/finite.h"

#define OBJECT_GRAPH_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"
#define NAMES_SHOWN      8

/* An entry of the map. */
struct renaming {
    const char *old, *new;
    bool used;
};

struct init_from {
    struct arena *arena;
    const struct placement *placement;
    const char *prefix; /* of the files */
    const char *model;  /* its name; NULL: it has none */
    struct bundle *bundle;
    struct map full_names;   /* names of a TF2 checkpoint's objects -> their keys */
    struct map shared_names; /* those that several values have -> text with two of their keys */
    struct renaming *renamings;
    int renamings_count;
    const char **keys; /* [variables_count]; NULL: initialized afresh */
    char *report;
    struct bundle_stream stream;
    int variable;
};

/* ---- the files ---- */

static struct status find_prefix(const char *path, struct arena *arena, const char **out)
{
    static const char *const models[] = { "variables/variables", "export" };

    *out = path;
    if (!file_is_directory(path) &&
        (file_exists(path) || file_exists(arena_printf(arena, "%s.index", path))))
        return status_ok();
    for (size_t i = 0; i < COUNT(models); i++) {
        *out = file_join(arena, path, models[i]);
        if (file_exists(arena_printf(arena, "%s.index", *out)) ||
            file_exists(arena_printf(arena, "%s-00000-of-00001", *out)))
            return status_ok();
    }
    if (file_exists(file_join(arena, path, "checkpoint")))
        return checkpoint_dir_find_latest(path, arena, out);
    return status_error(STATUS_NOT_FOUND,
                        "there is neither a checkpoint, nor a directory of checkpoints, nor a "
                        "SavedModel");
}

/* Keras 3 writes each value twice, with the same name. */
static void note_full_name(struct init_from *init, const char *name, const char *key)
{
    const char *first = map_get_text(&init->full_names, name);

    if (first == NULL)
        map_put_text(&init->full_names, name, (void *)(uintptr_t)key);
    else if (map_get_text(&init->shared_names, name) == NULL &&
             !bundle_is_same_value(init->bundle, first, key))
        map_put_text(&init->shared_names, name,
                     arena_printf(init->arena, "'%s' and '%s'", first, key));
}

/* A TF2 checkpoint keys a value by the path of its object, and keeps the variable's name beside
 * it. */
static struct status read_full_names(struct init_from *init)
{
    struct tensor serialized = { 0 };
    struct object_graph graph = { 0 };

    if (bundle_find(init->bundle, OBJECT_GRAPH_KEY) == NULL)
        return status_ok();
    TRY(bundle_read(init->bundle, OBJECT_GRAPH_KEY, &serialized));
    struct status status = status_ok();
    if (serialized.dtype == DT_STRING && serialized.size == 1)
        status = meta_read_checkpoint_objects(tensor_strings(&serialized)[0], init->arena, &graph);
    tensor_release(&serialized);
    TRY(status);
    for (int i = 0; i < graph.count; i++) {
        const struct object_node *node = &graph.nodes[i];
        if (node->checkpoint_key != NULL && node->full_name != NULL)
            note_full_name(init, node->full_name, node->checkpoint_key);
    }
    return status_ok();
}

/* A name that several values have does not tell which of them is meant. */
static const char *find_exact_key(const struct init_from *init, const char *name)
{
    bool shared = map_get_text(&init->shared_names, name) != NULL;
    const char *key = shared ? NULL : map_get_text(&init->full_names, name);

    if (key == NULL && bundle_find(init->bundle, name) != NULL)
        key = bundle_find(init->bundle, name)->name;
    return key != NULL && bundle_find(init->bundle, key) != NULL ? key : NULL;
}

/* The key of a value by its name; NULL: not there. The variables of Keras' Sequential models
 * are named after the model as well: "sequential/dense/kernel". */
static const char *find_key(const struct init_from *init, const char *name)
{
    const char *key = find_exact_key(init, name);

    if (key != NULL || init->model == NULL)
        return key;
    return find_exact_key(init, arena_printf(init->arena, "%s/%s", init->model, name));
}

/* ---- the map ---- */

static struct status read_renaming(char *text, struct renaming *out)
{
    char *equals = strchr(text, '=');

    if (equals == NULL || equals[1] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "--init_map: '%s' is not old=new", text);
    *equals = '\0';
    *out = (struct renaming){ .old = text, .new = equals + 1 };
    bool old_star = strchr(text, '*') != NULL, new_star = strchr(equals + 1, '*') != NULL;
    bool one = !new_star || strchr(strchr(equals + 1, '*') + 1, '*') == NULL;
    if (!one || (old_star && strchr(strchr(text, '*') + 1, '*') != NULL) ||
        (*text != '\0' && old_star != new_star))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--init_map: '%s=%s' needs one * on both sides, or none", text,
                            equals + 1);
    return status_ok();
}

static struct status read_map(struct init_from *init, const char *map)
{
    char *rest = arena_strdup(init->arena, map), *text;

    init->renamings = ARENA_ARRAY(init->arena, struct renaming, strlen(map) / 2 + 1);
    while ((text = strsep(&rest, ",")) != NULL && *map != '\0')
        TRY(read_renaming(text, &init->renamings[init->renamings_count++]));
    return status_ok();
}

/* Does a name match the pattern? Sets the text that the * matched. */
static bool fits(const char *pattern, const char *name, struct bytes *star)
{
    const char *at = strchr(pattern, '*');
    size_t head = at != NULL ? (size_t)(at - pattern) : 0, size = strlen(name);

    *star = (struct bytes){ "", 0 };
    if (at == NULL)
        return strcmp(pattern, name) == 0;
    size_t tail = strlen(at + 1);
    if (size < head + tail || strncmp(pattern, name, head) != 0 ||
        strcmp(name + size - tail, at + 1) != 0)
        return false;
    *star = (struct bytes){ name + head, size - head - tail };
    return true;
}

/* The old name of a variable of the model; "": none. */
static const char *old_name(struct init_from *init, const char *name)
{
    struct bytes star;

    for (int i = 0; i < init->renamings_count; i++) {
        struct renaming *renaming = &init->renamings[i];
        if (!fits(renaming->new, name, &star))
            continue;
        renaming->used = true;
        const char *at = strchr(renaming->old, '*');
        return at == NULL ? renaming->old
                          : arena_printf(init->arena, "%.*s%.*s%s", (int)(at - renaming->old),
                                         renaming->old, (int)star.size, star.data, at + 1);
    }
    return name;
}

/* ---- finding the value of each variable ---- */

/* The variables' names, or the keys of a file without them. */
static const char *names_there(const struct init_from *init)
{
    const char *text = "";
    size_t named = init->full_names.count, shown = 0;
    size_t count = named > 0 ? named : bundle_count(init->bundle);

    for (size_t i = 0; i < count && shown < NAMES_SHOWN; i++, shown++)
        text = arena_printf(init->arena, "%s\n    %s", text,
                            named > 0 ? init->full_names.entries[i].key.data
                                      : bundle_at(init->bundle, i)->name);
    return count > NAMES_SHOWN
               ? arena_printf(init->arena, "%s\n    and %zu more", text, count - NAMES_SHOWN)
               : text;
}

static struct status check_fit(const struct bundle_entry *entry, const char *old,
                               const struct placed_variable *variable)
{
    if (entry->dtype == variable->dtype && shape_equal(&entry->shape, &variable->shape))
        return status_ok();
    struct buffer there = { 0 };
    buffer_printf(&there, "%s %s", dtype_name(entry->dtype), shape_text(&entry->shape));
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT, "'%s' is %.*s there, '%s' of the model is %s %s", old,
                     (int)there.size, there.data, variable->name, dtype_name(variable->dtype),
                     shape_text(&variable->shape));
    buffer_finish(&there);
    return status;
}

/* Is `text` the name `name` of this size, by itself or after "scope/"? */
static bool ends_in_name(struct bytes text, struct bytes name)
{
    size_t before = text.size - name.size;

    return text.size >= name.size && memcmp(text.data + before, name.data, name.size) == 0 &&
           (before == 0 || text.data[before - 1] == '/');
}

/* The name of the layer: what is before the last '/', which the name has. */
static struct bytes layer_of(const char *name)
{
    return (struct bytes){ name, (size_t)(strrchr(name, '/') - name) };
}

/* Does exactly one variable of the model have this name, by itself or after names of models? */
static bool is_unique(const struct init_from *init, const char *name)
{
    int count = 0;

    for (int v = 0; v < init->placement->variables_count; v++)
        count += ends_in_name(bytes_of(init->placement->variables[v].name), bytes_of(name));
    return count == 1;
}

/* Is it the only variable of its layer? */
static bool is_alone(const struct init_from *init, const char *name)
{
    int count = 0;

    for (int v = 0; v < init->placement->variables_count; v++) {
        const char *other = init->placement->variables[v].name;
        count += strrchr(other, '/') != NULL && ends_in_name(layer_of(other), layer_of(name));
    }
    return count == 1;
}

/* "variable", "variable_1" and so on: Keras' names of a variable to which its layer gives none. */
static bool is_name_of_none(const char *name)
{
    static const char none[] = "variable";

    if (strncmp(name, none, strlen(none)) != 0)
        return false;
    name += strlen(none);
    return *name == '\0' ||
           (*name == '_' && name[1] != '\0' && name[1 + strspn(name + 1, "0123456789")] == '\0');
}

/* Finds the value whose name is `name` after scopes, as in "reduction/left/conv/kernel": Keras
 * names the variables of a layer also after each name_scope around its first call. The variable of
 * a layer that gives it no name is found by the layer's. NULL: none, or several. */
static const char *find_scoped_key(const struct init_from *init, const char *name)
{
    bool alone = is_alone(init, name), named = init->full_names.count > 0;
    size_t count = named ? init->full_names.count : bundle_count(init->bundle);
    const char *found = NULL;

    for (size_t i = 0; i < count; i++) {
        const char *there =
            named ? init->full_names.entries[i].key.data : bundle_at(init->bundle, i)->name;
        const char *last = strrchr(there, '/');
        bool nameless = alone && last != NULL && is_name_of_none(last + 1);
        if (!ends_in_name(bytes_of(there), bytes_of(name)) &&
            !(nameless && ends_in_name(layer_of(there), layer_of(name))))
            continue;
        if (found != NULL)
            return NULL;
        found = there;
    }
    return found != NULL ? find_exact_key(init, found) : NULL;
}

/* Finds the value of "tower/dense/kernel" as "dense/kernel": Keras does not name the variables of a
 * Functional model inside another one after it. NULL: none that fits. */
static const char *find_similar_key(const struct init_from *init,
                                    const struct placed_variable *variable)
{
    for (const char *name = variable->name; strchr(name, '/') != NULL;
         name = strchr(name, '/') + 1) {
        const char *key = find_exact_key(init, name);
        if (key == NULL)
            key = find_scoped_key(init, name);
        if (key != NULL && is_unique(init, name) &&
            status_is_ok(check_fit(bundle_find(init->bundle, key), name, variable)))
            return key;
    }
    return NULL;
}

static struct status choose(struct init_from *init, int v, bool partial)
{
    const struct placed_variable *variable = &init->placement->variables[v];
    const char *old = old_name(init, variable->name);
    const char *key = *old != '\0' ? find_key(init, old) : NULL;

    if (key == NULL && old == variable->name)
        key = find_similar_key(init, variable);
    init->keys[v] = key;
    if (key != NULL)
        return check_fit(bundle_find(init->bundle, key), old, variable);
    if (partial || *old == '\0')
        return status_ok();
    const char *shared = map_get_text(&init->shared_names, old);
    if (shared != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "several values there have the name '%s', such as %s; --init_map takes "
                            "one by this key for the variable '%s' of the model",
                            old, shared, variable->name);
    return status_error(STATUS_NOT_FOUND,
                        "there is no '%s' for the variable '%s' of the model; --init_partial lets "
                        "such variables begin anew, and --init_map takes other ones:%s",
                        old, variable->name, names_there(init));
}

/* Makes the report: a line for each variable with the source of its value. */
static void make_report(struct init_from *init, int taken)
{
    struct buffer text = { 0 };

    buffer_printf(&text, "%d of %d variables from %s", taken, init->placement->variables_count,
                  init->prefix);
    for (int v = 0; v < init->placement->variables_count; v++) {
        const char *name = init->placement->variables[v].name, *key = init->keys[v];
        if (key == NULL)
            buffer_printf(&text, "\n    anew:  %s", name);
        else if (strcmp(name, key) == 0)
            buffer_printf(&text, "\n    taken: %s", name);
        else
            buffer_printf(&text, "\n    taken: %s, there %s", name, key);
    }
    init->report = arena_printf(init->arena, "%.*s", (int)text.size, text.data);
    buffer_finish(&text);
}

static struct status choose_all(struct init_from *init, bool partial)
{
    int taken = 0;

    init->keys =
        ARENA_ARRAY(init->arena, const char *, (size_t)init->placement->variables_count + 1);
    for (int v = 0; v < init->placement->variables_count; v++) {
        TRY(choose(init, v, partial));
        taken += init->keys[v] != NULL;
    }
    for (int i = 0; i < init->renamings_count; i++)
        if (!init->renamings[i].used)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--init_map: no variable of the model is '%s'",
                                init->renamings[i].new);
    if (taken == 0)
        return status_error(STATUS_NOT_FOUND, "no variable of the model is there; there are:%s",
                            names_there(init));
    make_report(init, taken);
    return status_ok();
}

struct status init_from_open(const struct init_from_options *options,
                             const struct placement *placement, struct init_from **out)
{
    struct init_from *init = zalloc(sizeof *init);
    struct status status;

    init->arena = arena_create(0);
    init->placement = placement;
    init->model = options->model;
    TRY_OR(fail, find_prefix(options->path, init->arena, &init->prefix));
    TRY_OR(fail, bundle_open(init->prefix, &init->bundle));
    TRY_OR(fail, read_full_names(init));
    TRY_OR(fail, read_map(init, options->map));
    TRY_OR(fail, choose_all(init, options->partial));
    *out = init;
    return status_ok();

fail:
    status = status_error(status.code, "--init_from=%s: %s", options->path, status.message);
    init_from_close(init);
    return status;
}

void init_from_close(struct init_from *init)
{
    if (init == NULL)
        return;
    bundle_stream_finish(&init->stream);
    bundle_close(init->bundle);
    map_finish(&init->full_names);
    map_finish(&init->shared_names);
    arena_destroy(init->arena);
    free(init);
}

const char *init_from_report(const struct init_from *init)
{
    return init->report;
}

/* ---- values ---- */

struct status init_from_begin(struct init_from *init, int variable, bool *has)
{
    init->variable = variable;
    *has = init->keys[variable] != NULL;
    if (!*has)
        return status_ok();
    return status_in(bundle_stream_begin(&init->stream, init->bundle, init->keys[variable]),
                     "--init_from: '%s'", init->keys[variable]);
}

struct status init_from_next(struct init_from *init, struct bytes *chunk)
{
    const struct placed_variable *variable = &init->placement->variables[init->variable];
    struct status status = bundle_stream_next(&init->stream, chunk);

    if (status_is_ok(status) && chunk->size > 0 && variable->dtype == DT_FLOAT)
        status = finite_check(variable->name, *chunk);
    return status_in(status, "--init_from: '%s'", init->keys[init->variable]);
}
