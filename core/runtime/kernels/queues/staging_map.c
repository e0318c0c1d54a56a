#include "runtime/kernels/queues/staging_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/lower_bound.h"

struct staged_row {
    int64_t key;           /* first */
    struct queue_row *row; /* DT_INVALID: a tensor that is not there */
};

/* In the order of the keys. */
struct staged_rows {
    struct staged_row *at;
    int64_t count, room;
};

struct staging_map {
    struct object object;
    struct staging_map_kind kind;
    char *name;
    pthread_mutex_t lock; /* of all that follows, and of kind.width */
    pthread_cond_t changed;
    struct staged_rows complete, incomplete;
    size_t bytes;          /* of the rows, with their overhead */
    size_t elements_bytes; /* of their tensors alone */
};

/* ---- rows by key ---- */

/* The place of a key, or where it would be. */
static int64_t place_of(const struct staged_rows *rows, int64_t key)
{
    return lower_bound(rows->at, sizeof *rows->at, rows->count, key);
}

static bool is_at(const struct staged_rows *rows, int64_t place, int64_t key)
{
    return place < rows->count && rows->at[place].key == key;
}

static void insert(struct staged_rows *rows, int64_t place, int64_t key, struct queue_row *row)
{
    if (rows->count == rows->room) {
        rows->room = 2 * rows->room + 8;
        rows->at = xrealloc(rows->at, (size_t)rows->room * sizeof *rows->at);
    }
    memmove(rows->at + place + 1, rows->at + place,
            (size_t)(rows->count - place) * sizeof *rows->at);
    rows->at[place] = (struct staged_row){ key, row };
    rows->count++;
}

static struct queue_row *extract(struct staged_rows *rows, int64_t place)
{
    struct queue_row *row = rows->at[place].row;
    rows->count--;
    memmove(rows->at + place, rows->at + place + 1,
            (size_t)(rows->count - place) * sizeof *rows->at);
    return row;
}

static void drop_all(struct staged_rows *rows)
{
    while (rows->count > 0)
        queue_row_destroy(rows->at[--rows->count].row);
}

/* ---- the object ---- */

static void staging_map_destroy(struct object *object)
{
    struct staging_map *map = (struct staging_map *)object;
    drop_all(&map->complete);
    drop_all(&map->incomplete);
    free(map->complete.at);
    free(map->incomplete.at);
    free(map->name);
    pthread_cond_destroy(&map->changed);
    pthread_mutex_destroy(&map->lock);
    free(map);
}

const struct object_type *staging_map_type(bool is_ordered)
{
    static const struct object_type types[] = { { "staging map", staging_map_destroy },
                                                { "ordered staging map", staging_map_destroy } };
    return &types[is_ordered ? 1 : 0];
}

void staging_map_create(const struct staging_map_kind *kind, struct bytes name, struct object **out)
{
    struct staging_map *map = zalloc(sizeof *map);
    map->object = (struct object){ .type = staging_map_type(kind->is_ordered), .references = 1 };
    map->kind = *kind;
    map->name = zalloc(name.size + 1);
    if (name.size > 0)
        memcpy(map->name, name.data, name.size);
    pthread_mutex_init(&map->lock, NULL);
    clock_cond_init(&map->changed);
    *out = &map->object;
}

void staging_map_set_width(struct staging_map *map, int width)
{
    pthread_mutex_lock(&map->lock);
    if (map->kind.width == 0)
        map->kind.width = width;
    pthread_mutex_unlock(&map->lock);
}

int64_t staging_map_memory_limit(const struct staging_map *map)
{
    return map->kind.memory_limit;
}

static struct status wait(struct kernel_context *k, struct staging_map *map, int64_t deadline_ns,
                          const char *why)
{
    struct status status = kernel_wait(k, &map->changed, &map->lock, deadline_ns);
    if (status_is_ok(status))
        return status;
    return status_error(status.code, "%s '%s' %s: %s", map->object.type->name, map->name, why,
                        status.message);
}

static struct status check_order(struct kernel_context *k, const struct staged_part *part)
{
    if (part->count == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Indices are empty");
    for (int i = 1; i < part->count; i++)
        if (part->indices[i - 1] >= part->indices[i])
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Indices are not strictly ordered");
    return status_ok();
}

/* A negative index is a large one in TensorFlow's text. */
static struct status check_index(struct kernel_context *k, int32_t index, int64_t key, int width)
{
    if (index >= 0 && index < width)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "Index '%llu' for key '%lld' was out of bounds '%d'.",
                        (unsigned long long)(int64_t)index, (long long)key, width);
}

/* ---- giving ---- */

static void forget(struct kernel_context *k, struct staging_map *map, struct queue_row *row)
{
    map->bytes -= row->bytes;
    map->elements_bytes -= row->elements_bytes;
    kernel_table_shrank(k, row->bytes);
    queue_row_destroy(row);
}

/* A row of the map that has all these tensors. */
static void add_complete(struct kernel_context *k, struct staging_map *map, int64_t key,
                         struct queue_row *row)
{
    int64_t place = place_of(&map->complete, key);
    if (is_at(&map->complete, place, key))
        forget(k, map, row);
    else
        insert(&map->complete, place, key, row);
}

/* Would the tensors find their places free? */
static struct status check_free(struct kernel_context *k, const struct staging_map *map,
                                const struct staged_part *part)
{
    int64_t key = *part->key, place = place_of(&map->incomplete, key);
    const struct queue_row *there =
        is_at(&map->incomplete, place, key) ? map->incomplete.at[place].row : NULL;
    for (int i = 0; i < part->count; i++) {
        TRY(check_index(k, part->indices[i], key, map->kind.width));
        if (part->count < map->kind.width && there != NULL &&
            there->parts[part->indices[i]].dtype != DT_INVALID)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "The tensor for index '%d' for key '%lld' was already initialized "
                                "'%d'.",
                                part->indices[i], (long long)key, map->kind.width);
    }
    return status_ok();
}

static int parts_there(const struct queue_row *row)
{
    int there = 0;
    for (int i = 0; i < row->count; i++)
        there += row->parts[i].dtype != DT_INVALID;
    return there;
}

/* Moves the tensors of `from` to their places in the row of the key. */
static void add_part(struct kernel_context *k, struct staging_map *map,
                     const struct staged_part *part, struct queue_row *from)
{
    int64_t key = *part->key, place = place_of(&map->incomplete, key);
    if (!is_at(&map->incomplete, place, key))
        insert(&map->incomplete, place, key, queue_row_create(map->kind.width));
    struct queue_row *row = map->incomplete.at[place].row;
    row->bytes += from->bytes;
    row->elements_bytes += from->elements_bytes;
    for (int i = 0; i < part->count; i++)
        row->parts[part->indices[i]] = from->parts[i];
    from->count = 0;
    queue_row_destroy(from);
    if (parts_there(row) == row->count)
        add_complete(k, map, key, extract(&map->incomplete, place));
}

static bool is_full(const struct staging_map *map, const struct staged_part *part,
                    const struct queue_row *row)
{
    int64_t limit = map->kind.memory_limit, capacity = map->kind.capacity;
    bool is_complete = part->count == map->kind.width;
    return (is_complete && capacity > 0 && map->complete.count >= capacity) ||
           (limit > 0 && map->elements_bytes + row->elements_bytes > (size_t)limit);
}

/* Under the lock. `row` is taken over if it succeeds. */
static struct status give(struct kernel_context *k, struct staging_map *map,
                          const struct staged_part *part, struct queue_row *row)
{
    int64_t deadline_ns = kernel_wait_deadline(k);
    TRY(check_order(k, part));
    TRY(check_free(k, map, part));
    while (is_full(map, part, row))
        TRY(wait(k, map, deadline_ns, "is full"));
    TRY(check_free(k, map, part)); /* another run may have given them meanwhile */
    TRY(kernel_table_may_grow(k, map->bytes, row->bytes));
    map->bytes += row->bytes;
    map->elements_bytes += row->elements_bytes;
    kernel_table_grew(k, row->bytes);
    if (part->count == map->kind.width)
        add_complete(k, map, *part->key, row);
    else
        add_part(k, map, part, row);
    pthread_cond_broadcast(&map->changed);
    return status_ok();
}

struct status staging_map_give(struct kernel_context *k, struct staging_map *map,
                               const struct staged_part *part, struct queue_row *row)
{
    pthread_mutex_lock(&map->lock);
    struct status status = give(k, map, part, row);
    pthread_mutex_unlock(&map->lock);
    if (!status_is_ok(status))
        queue_row_destroy(row);
    return status;
}

/* ---- taking ---- */

/* Waits for the row. */
static struct status find_row(struct kernel_context *k, struct staging_map *map,
                              const struct staged_part *part, int64_t *place)
{
    int64_t deadline_ns = kernel_wait_deadline(k);
    for (;;) {
        *place = part->key != NULL ? place_of(&map->complete, *part->key) : 0;
        if (part->key != NULL ? is_at(&map->complete, *place, *part->key) : map->complete.count > 0)
            return status_ok();
        TRY(wait(k, map, deadline_ns, part->key != NULL ? "has no such key" : "is empty"));
    }
}

static struct status check_parts(struct kernel_context *k, const struct staged_row *staged,
                                 const struct staged_part *part, int first_output)
{
    const struct queue_row *row = staged->row;
    for (int i = 0; i < part->count; i++) {
        TRY(check_index(k, part->indices[i], staged->key, row->count));
        enum dtype dtype = row->parts[part->indices[i]].dtype,
                   wanted = kernel_node(k)->outputs[first_output + i].dtype;
        if (dtype == DT_INVALID)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Tensor at index '%d' for key '%lld' has already been removed.",
                                part->indices[i], (long long)staged->key);
        if (dtype != wanted)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "component %d of a row is of type %s, not %s", part->indices[i],
                                dtype_name(dtype), dtype_name(wanted));
    }
    return status_ok();
}

static void remove_parts(struct kernel_context *k, struct staging_map *map, int64_t place,
                         const struct staged_part *part)
{
    struct queue_row *row = map->complete.at[place].row;
    for (int i = 0; i < part->count; i++) {
        struct tensor *gone = &row->parts[part->indices[i]];
        size_t bytes = tensor_content_bytes(gone), elements = tensor_bytes(gone);
        row->bytes -= bytes;
        row->elements_bytes -= elements;
        map->bytes -= bytes;
        map->elements_bytes -= elements;
        kernel_table_shrank(k, bytes);
        tensor_release(gone);
    }
    if (parts_there(row) == 0)
        forget(k, map, extract(&map->complete, place));
    pthread_cond_broadcast(&map->changed);
}

/* Under the lock. */
static struct status take(struct kernel_context *k, struct staging_map *map,
                          const struct staged_part *part, int first_output, bool keeps,
                          int64_t *key, struct queue_row **out)
{
    int64_t place;
    TRY(check_order(k, part));
    TRY(find_row(k, map, part, &place));
    const struct staged_row *staged = &map->complete.at[place];
    TRY(check_parts(k, staged, part, first_output));
    *key = staged->key;
    *out = queue_row_create(part->count);
    for (int i = 0; i < part->count; i++)
        (*out)->parts[i] = tensor_acquire(&staged->row->parts[part->indices[i]]);
    if (!keeps)
        remove_parts(k, map, place, part);
    return status_ok();
}

struct status staging_map_take(struct kernel_context *k, struct staging_map *map,
                               const struct staged_part *part, int first_output, bool keeps,
                               int64_t *key, struct queue_row **out)
{
    pthread_mutex_lock(&map->lock);
    struct status status = take(k, map, part, first_output, keeps, key, out);
    pthread_mutex_unlock(&map->lock);
    return status;
}

/* ---- the rest ---- */

void staging_map_clear(struct staging_map *map)
{
    pthread_mutex_lock(&map->lock);
    drop_all(&map->complete);
    drop_all(&map->incomplete);
    map->bytes = map->elements_bytes = 0;
    pthread_cond_broadcast(&map->changed);
    pthread_mutex_unlock(&map->lock);
}

int64_t staging_map_size(struct staging_map *map, bool is_complete)
{
    pthread_mutex_lock(&map->lock);
    int64_t size = is_complete ? map->complete.count : map->incomplete.count;
    pthread_mutex_unlock(&map->lock);
    return size;
}

size_t staging_map_bytes(struct staging_map *map)
{
    pthread_mutex_lock(&map->lock);
    size_t bytes = map->bytes;
    pthread_mutex_unlock(&map->lock);
    return bytes;
}
