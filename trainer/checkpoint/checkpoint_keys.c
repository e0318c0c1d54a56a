#include "trainer/checkpoint/checkpoint_keys.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trainer/optimizers/finite.h"

static const char *const part_names[KEY_PARTS] = {
    [KEY_PART_VALUES] = "values",
    [KEY_PART_KEYS] = "keys",
    [KEY_PART_USED] = "used",
    [KEY_PART_WAITING_KEYS] = "waiting_keys",
    [KEY_PART_WAITING_USED] = "waiting_used",
    [KEY_PART_WAITING_COUNT] = "waiting_count",
};

static const struct placed_variable *variable_at(const struct checkpoint_layout *layout,
                                                 int variable)
{
    return &layout->placement->variables[variable];
}

/* NULL: not in checkpoints. */
static const char *name_of(const struct checkpoint_layout *layout, int variable, uint32_t shard,
                           int part, struct arena *arena)
{
    const char *name = variable_at(layout, variable)->name;

    if (part == KEY_PART_VALUES || part >= KEY_PART_KEYS)
        return arena_printf(arena, "%s/shard_%04u/%s", name, shard, part_names[part]);
    const struct layout_optimizer *of = checkpoint_layout_of(layout, variable);
    if (part > of->optimizer->slots_count)
        return NULL;
    const char *suffix = optimizer_slot_suffix(of->optimizer, of->settings, part - 1);
    return suffix != NULL ? arena_printf(arena, "%s/shard_%04u/values/%s", name, shard, suffix)
                          : NULL;
}

static const char *shards_name(const struct checkpoint_layout *layout, int variable,
                               struct arena *arena)
{
    return arena_printf(arena, "%s/shards", variable_at(layout, variable)->name);
}

/* The shape of a part with `count` keys. */
static struct shape shape_of_part(const struct placed_variable *variable, int part, int64_t count)
{
    struct shape shape = { .rank = 1 };

    if (part < KEY_PART_KEYS)
        shape = variable->shape;
    shape.dims[0] = count;
    return shape;
}

static size_t element_bytes(const struct placed_variable *variable, int part)
{
    return part < KEY_PART_KEYS ? placement_row_bytes(variable) : sizeof(int64_t);
}

static enum dtype dtype_of_part(int part)
{
    return part < KEY_PART_KEYS ? DT_FLOAT : DT_INT64;
}

/* ---- writing ---- */

static struct status write_tensor(struct bundle_writer *writer, const char *name, int part,
                                  const struct shape *shape, struct bytes bytes)
{
    TRY(bundle_writer_begin(writer, name, dtype_of_part(part), shape));
    TRY(bundle_writer_append(writer, bytes.data, bytes.size));
    return bundle_writer_end(writer);
}

static struct status write_shard(const struct checkpoint_layout *layout, int variable,
                                 uint32_t shard, struct client_snapshot *snapshot,
                                 struct bundle_writer *writer, struct arena *arena)
{
    /* Each list of keys precedes the parts that belong to it: if it is empty, these need not be
     * read. */
    static const int parts[] = { KEY_PART_KEYS,
                                 KEY_PART_USED,
                                 KEY_PART_VALUES,
                                 1,
                                 2,
                                 3,
                                 4, /* the slots */
                                 KEY_PART_WAITING_KEYS,
                                 KEY_PART_WAITING_USED,
                                 KEY_PART_WAITING_COUNT };
    const struct placed_variable *row = variable_at(layout, variable);
    bool empty = false;

    for (size_t i = 0; i < COUNT(parts); i++) {
        int part = parts[i];
        bool list = part == KEY_PART_KEYS || part == KEY_PART_WAITING_KEYS;
        const char *name = name_of(layout, variable, shard, part, arena);
        struct bytes bytes;
        if (name == NULL || (empty && !list))
            continue;
        TRY(client_snapshot_read_keys(snapshot, variable, shard, (enum key_part)part, &bytes));
        struct shape shape =
            shape_of_part(row, part, (int64_t)(bytes.size / element_bytes(row, part)));
        empty = list ? bytes.size == 0 : empty;
        if (bytes.size > 0)
            TRY(write_tensor(writer, name, part, &shape, bytes));
    }
    return status_ok();
}

struct status checkpoint_write_keys(const struct checkpoint_layout *layout, int variable,
                                    struct client_snapshot *snapshot, struct bundle_writer *writer)
{
    struct arena *arena = arena_create(0);
    const struct shape scalar = { 0 };
    const int64_t shards = KEY_SHARDS;
    struct status status;

    TRY_OR(done, write_tensor(writer, shards_name(layout, variable, arena), KEY_PART_KEYS, &scalar,
                              (struct bytes){ (const char *)&shards, sizeof shards }));
    for (uint32_t shard = 0; shard < KEY_SHARDS; shard++) {
        arena_reset(arena);
        TRY_OR(done, write_shard(layout, variable, shard, snapshot, writer, arena));
    }
done:
    arena_destroy(arena);
    return status;
}

/* ---- reading ---- */

static struct status check_shards(const struct checkpoint *checkpoint, const char *name)
{
    struct tensor tensor;
    int64_t shards = 0;

    TRY(bundle_read(checkpoint->bundle, name, &tensor));
    if (tensor.dtype == DT_INT64 && tensor.size == 1)
        memcpy(&shards, tensor.data, sizeof shards);
    tensor_release(&tensor);
    if (shards != KEY_SHARDS)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is %" PRId64 ", must be %d", name,
                            shards, KEY_SHARDS);
    return status_ok();
}

/* The number of keys of the shard with a row (KEY_PART_KEYS), or waiting for one. -1: not a
 * list. */
static int64_t count_keys(const struct checkpoint *checkpoint, int variable, uint32_t shard,
                          enum key_part keys, struct arena *arena)
{
    const struct bundle_entry *entry = bundle_find(
        checkpoint->bundle, name_of(checkpoint->layout, variable, shard, (int)keys, arena));

    if (entry == NULL)
        return 0;
    return entry->shape.rank == 1 ? entry->shape.dims[0] : -1;
}

static struct status check_entry(struct checkpoint *checkpoint, int variable, int part,
                                 int64_t count, const char *name)
{
    const struct bundle_entry *entry = bundle_find(checkpoint->bundle, name);
    struct shape shape = shape_of_part(variable_at(checkpoint->layout, variable), part, count);

    if (entry == NULL && count != 0 && part > KEY_PART_VALUES && part < KEY_PART_KEYS) {
        if (checkpoint->slots_missing++ == 0)
            checkpoint->slot_missing = arena_strdup(checkpoint->arena, name);
        return status_ok();
    }
    if (entry == NULL && count != 0)
        return status_error(STATUS_FAILED_PRECONDITION, "it has no '%s'", name);
    if (entry != NULL &&
        (entry->dtype != dtype_of_part(part) || !shape_equal(&entry->shape, &shape)))
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is %s %s there, must be %s %s", name,
                            dtype_name(entry->dtype), shape_text(&entry->shape),
                            dtype_name(dtype_of_part(part)), shape_text(&shape));
    return status_ok();
}

static struct status check_shard(struct checkpoint *checkpoint, int variable, uint32_t shard,
                                 struct arena *arena)
{
    int64_t rows = count_keys(checkpoint, variable, shard, KEY_PART_KEYS, arena);
    int64_t waiting = count_keys(checkpoint, variable, shard, KEY_PART_WAITING_KEYS, arena);

    for (int part = 0; part < KEY_PARTS; part++) {
        const char *name = name_of(checkpoint->layout, variable, shard, part, arena);
        if (name != NULL)
            TRY(check_entry(checkpoint, variable, part,
                            part < KEY_PART_WAITING_KEYS ? rows : waiting, name));
    }
    return status_ok();
}

struct status checkpoint_check_keys(struct checkpoint *checkpoint, int variable)
{
    struct arena *arena = arena_create(0);
    const char *name = shards_name(checkpoint->layout, variable, arena);
    struct status status;

    if (bundle_find(checkpoint->bundle, name) == NULL) {
        status = status_error(STATUS_FAILED_PRECONDITION,
                              "it has no hash table '%s' of the model (no '%s')",
                              variable_at(checkpoint->layout, variable)->name, name);
        goto done;
    }
    TRY_OR(done, check_shards(checkpoint, name));
    for (uint32_t shard = 0; shard < KEY_SHARDS; shard++) {
        arena_reset(arena);
        TRY_OR(done, check_shard(checkpoint, variable, shard, arena));
    }
done:
    arena_destroy(arena);
    return status;
}

static struct status check_numbers(const char *name, uint32_t shard, enum key_part part,
                                   const int64_t *numbers, size_t count)
{
    bool keys = part == KEY_PART_KEYS || part == KEY_PART_WAITING_KEYS;
    int64_t most = part == KEY_PART_WAITING_COUNT ? KEY_COUNT_MAX : INT64_MAX;

    for (size_t i = 0; i < count; i++) {
        if (keys && (key_shard(numbers[i]) != shard || (i > 0 && numbers[i] <= numbers[i - 1])))
            return status_error(STATUS_DATA_LOSS,
                                "'%s': key %" PRId64 " is in shard %u, and keys must ascend", name,
                                numbers[i], key_shard(numbers[i]));
        if (!keys && (numbers[i] < 0 || numbers[i] > most))
            return status_error(STATUS_DATA_LOSS, "'%s': %" PRId64 " is not from 0 to %" PRId64,
                                name, numbers[i], most);
    }
    return status_ok();
}

static struct status read_part(struct checkpoint *checkpoint, const char *name, uint32_t shard,
                               enum key_part part, struct bytes *out)
{
    TRY(bundle_read(checkpoint->bundle, name, &checkpoint->keys));
    const struct tensor *tensor = &checkpoint->keys;
    *out = (struct bytes){ tensor->data, tensor_bytes(tensor) };
    if (part >= KEY_PART_KEYS)
        return check_numbers(name, shard, part, tensor->data, (size_t)tensor->size);
    return part == KEY_PART_VALUES ? finite_check(name, *out) : status_ok();
}

struct status checkpoint_get_keys(struct client_state *state, int variable, uint32_t shard,
                                  enum key_part part, struct bytes *out)
{
    struct checkpoint *checkpoint = (struct checkpoint *)state;
    struct arena *arena = arena_create(0);
    const char *name = name_of(checkpoint->layout, variable, shard, (int)part, arena);
    struct status status = status_ok();

    *out = (struct bytes){ 0 };
    tensor_release(&checkpoint->keys);
    if (name != NULL && bundle_find(checkpoint->bundle, name) != NULL)
        status = status_in(read_part(checkpoint, name, shard, part, out), "checkpoint '%s'",
                           checkpoint->prefix);
    arena_destroy(arena);
    return status;
}

/* ---- single keys ---- */

/* A hash table in memory: the shards that were read. */
struct checkpoint_table {
    struct checkpoint_shard {
        bool is_read;
        struct tensor keys, values; /* empty if the shard has no rows */
    } shards[KEY_SHARDS];
};

void checkpoint_tables_free(struct checkpoint *checkpoint)
{
    int count = checkpoint->tables != NULL ? checkpoint->layout->placement->variables_count : 0;

    for (int v = 0; v < count; v++)
        for (int s = 0; s < KEY_SHARDS; s++) {
            tensor_release(&checkpoint->tables[v].shards[s].keys);
            tensor_release(&checkpoint->tables[v].shards[s].values);
        }
    free(checkpoint->tables);
    checkpoint->tables = NULL;
}

/* Takes ownership of the tensor that was read. */
static struct status keep_part(struct checkpoint *checkpoint, int variable, uint32_t shard,
                               enum key_part part, struct tensor *out)
{
    struct bytes bytes;

    TRY(checkpoint_get_keys(&checkpoint->state, variable, shard, part, &bytes));
    *out = checkpoint->keys;
    checkpoint->keys = (struct tensor){ 0 };
    return status_ok();
}

static struct status find_shard(struct checkpoint *checkpoint, int variable, uint32_t number,
                                const struct checkpoint_shard **out)
{
    struct checkpoint_shard *shard = &checkpoint->tables[variable].shards[number];

    *out = shard;
    if (shard->is_read)
        return status_ok();
    TRY(keep_part(checkpoint, variable, number, KEY_PART_KEYS, &shard->keys));
    TRY(keep_part(checkpoint, variable, number, KEY_PART_VALUES, &shard->values));
    shard->is_read = true;
    return status_ok();
}

static int compare_keys(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

struct status checkpoint_copy_keys(struct checkpoint *checkpoint, int variable,
                                   const struct row_ids *keys, float *out)
{
    const struct placement *placement = checkpoint->layout->placement;
    const struct placed_variable *row = &placement->variables[variable];
    size_t floats = placement_row_bytes(row) / sizeof(float);
    const struct checkpoint_shard *shard;

    if (checkpoint->tables == NULL)
        checkpoint->tables =
            zalloc((size_t)placement->variables_count * sizeof *checkpoint->tables);
    for (size_t i = 0; i < keys->count; i++, out += floats) {
        TRY(find_shard(checkpoint, variable, key_shard(keys->ids[i]), &shard));
        const int64_t *found = shard->keys.size == 0
                                   ? NULL
                                   : bsearch(&keys->ids[i], shard->keys.data,
                                             (size_t)shard->keys.size, sizeof *found, compare_keys);
        if (found != NULL)
            memcpy(out,
                   tensor_floats(&shard->values) +
                       (size_t)(found - tensor_int64s(&shard->keys)) * floats,
                   floats * sizeof *out);
        for (size_t j = 0; j < floats && found == NULL; j++)
            out[j] = key_default_value(&row->keys);
    }
    return status_ok();
}
