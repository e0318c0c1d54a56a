#include "runtime/resources.h"

#include <limits.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"

struct resource_entry {
    struct bytes container, name;
    struct object *object;
};

struct resources {
    pthread_mutex_t lock;
    struct arena *arena; /* keys and entries; under the lock */
    const char *root;    /* where ops may read files; NULL: everywhere */
    struct map map;      /* make_key(type, container, name) -> struct resource_entry */
};

struct resources *resources_create(void)
{
    struct resources *resources = zalloc(sizeof *resources);
    pthread_mutex_init(&resources->lock, NULL);
    resources->arena = arena_create(0);
    return resources;
}

void resources_destroy(struct resources *resources)
{
    if (resources == NULL)
        return;
    for (size_t i = 0; i < resources->map.count; i++)
        object_release(((struct resource_entry *)resources->map.entries[i].value)->object);
    map_finish(&resources->map);
    arena_destroy(resources->arena);
    pthread_mutex_destroy(&resources->lock);
    free(resources);
}

void resources_clear_unused_variables(struct resources *resources)
{
    pthread_mutex_lock(&resources->lock);
    for (size_t i = 0; i < resources->map.count; i++) {
        struct object *object = ((struct resource_entry *)resources->map.entries[i].value)->object;
        if (object->type == &variable_type && atomic_load(&object->references) == 1)
            variable_clear((struct variable *)object);
    }
    pthread_mutex_unlock(&resources->lock);
}

static void put_part(char **at, struct bytes part)
{
    if (part.size > 0)
        memcpy(*at, part.data, part.size);
    *at += part.size;
}

/* The three parts, each after its size: names may contain NUL. */
static struct bytes make_key(struct buffer *buffer, const struct object_type *type,
                             struct bytes container, struct bytes name)
{
    struct bytes parts[] = { bytes_of(type->name), container, name };
    buffer_reserve(buffer, 3 * sizeof(uint64_t) + parts[0].size + container.size + name.size);
    char *at = buffer->data;
    for (size_t i = 0; i < COUNT(parts); i++) {
        put_u64le(at, parts[i].size);
        at += sizeof(uint64_t);
        put_part(&at, parts[i]);
    }
    return (struct bytes){ buffer->data, (size_t)(at - buffer->data) };
}

struct status resources_find(struct resources *resources, const struct object_type *type,
                             struct bytes container, struct bytes name, struct object **out)
{
    struct buffer buffer = { 0 };
    struct bytes key = make_key(&buffer, type, container, name);

    pthread_mutex_lock(&resources->lock);
    struct resource_entry *entry = map_get(&resources->map, key);
    struct object *object = entry != NULL ? object_acquire(entry->object) : NULL;
    pthread_mutex_unlock(&resources->lock);

    buffer_finish(&buffer);
    if (object == NULL)
        return status_error(STATUS_NOT_FOUND, "no %s of the name '%.*s'", type->name,
                            (int)name.size, name.data);
    *out = object;
    return status_ok();
}

static void add(struct resources *resources, struct bytes key, struct bytes container,
                struct bytes name, struct object *object)
{
    struct resource_entry *entry = ARENA_NEW(resources->arena, struct resource_entry);
    key.data = arena_memdup(resources->arena, key.data, key.size);
    container.data = arena_memdup(resources->arena, container.data, container.size);
    name.data = arena_memdup(resources->arena, name.data, name.size);
    *entry = (struct resource_entry){ container, name, object };
    map_put(&resources->map, key, entry);
}

struct status resources_find_or_create(struct resources *resources, const struct object_type *type,
                                       struct bytes container, struct bytes name,
                                       struct status (*create)(void *argument, struct object **out),
                                       void *argument, struct object **out)
{
    struct buffer buffer = { 0 };
    struct bytes key = make_key(&buffer, type, container, name);
    struct status status = status_ok();
    struct object *object = NULL;

    pthread_mutex_lock(&resources->lock);
    struct resource_entry *entry = map_get(&resources->map, key);
    if (entry != NULL) {
        object = entry->object;
    } else {
        status = create(argument, &object);
        if (status_is_ok(status))
            add(resources, key, container, name, object);
    }
    if (status_is_ok(status))
        *out = object_acquire(object);
    pthread_mutex_unlock(&resources->lock);

    buffer_finish(&buffer);
    return status;
}

struct status resources_confine(struct resources *resources, const char *directory)
{
    return file_real_path(directory, resources->arena, &resources->root);
}

static bool is_within(const char *root, const char *path)
{
    size_t size = strlen(root);
    return strncmp(path, root, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

struct status resources_real_path(const struct resources *resources, struct bytes path,
                                  struct arena *arena, const char **out)
{
    if (path.size > PATH_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "a path of %zu bytes is too long", path.size);
    const char *real, *given = arena_memdup(arena, path.data, path.size);
    TRY(file_real_path(given, arena, &real));
    if (resources->root != NULL && !is_within(resources->root, real))
        return status_error(STATUS_PERMISSION_DENIED,
                            "'%s' is outside of the model's directory '%s': it is read only with "
                            "--allow_paths_outside_model",
                            given, resources->root);
    *out = file_paths_equal(real, given) ? real : given;
    return status_ok();
}
