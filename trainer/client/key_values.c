#include "trainer/client/key_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Finds the hash table and the part of a name: "ids/keys". */
static bool find(const struct placement *placement, const char *name, int *variable,
                 enum key_part *part)
{
    static const struct {
        const char *suffix;
        enum key_part part;
    } parts[] = { { "/keys", KEY_PART_KEYS }, { "/values", KEY_PART_VALUES } };

    for (int v = 0; v < placement->variables_count; v++) {
        size_t size = strlen(placement->variables[v].name);
        if (!placement->variables[v].by_keys ||
            strncmp(name, placement->variables[v].name, size) != 0)
            continue;
        for (size_t i = 0; i < COUNT(parts); i++)
            if (strcmp(name + size, parts[i].suffix) == 0) {
                *variable = v;
                *part = parts[i].part;
                return true;
            }
    }
    return false;
}

static size_t row_floats(const struct placed_variable *variable)
{
    return placement_row_bytes(variable) / sizeof(float);
}

bool key_values_begin(struct key_values *values, const struct placement *placement,
                      const char *name)
{
    key_values_finish(values);
    values->is_open = find(placement, name, &values->variable, &values->part);
    if (!values->is_open || values->part != KEY_PART_VALUES)
        return values->is_open;
    const struct placed_variable *variable = &placement->variables[values->variable];
    values->default_row = zalloc(placement_row_bytes(variable));
    for (size_t i = 0; i < row_floats(variable); i++)
        values->default_row[i] = key_default_value(&variable->keys);
    return true;
}

static struct bytes default_row(const struct key_values *values,
                                const struct placed_variable *variable)
{
    return (struct bytes){ (const char *)values->default_row, placement_row_bytes(variable) };
}

struct status key_values_next(struct key_values *values, const struct key_reader *reader,
                              struct bytes *chunk)
{
    static const int64_t only_key = 0;
    const struct placed_variable *variable = &reader->placement->variables[values->variable];
    bool is_keys = values->part == KEY_PART_KEYS;

    *chunk = (struct bytes){ 0 };
    if (!is_keys && !values->has_begun) {
        values->has_begun = true;
        *chunk = default_row(values, variable);
        return status_ok();
    }
    while (chunk->size == 0 && values->shard < KEY_SHARDS)
        TRY(reader->read(reader->context, values->variable, values->shard++, values->part, chunk));
    if (chunk->size == 0 && !values->has_rows)
        *chunk = is_keys ? (struct bytes){ (const char *)&only_key, sizeof only_key }
                         : default_row(values, variable);
    values->has_rows = true;
    return status_ok();
}

void key_values_finish(struct key_values *values)
{
    free(values->default_row);
    *values = (struct key_values){ .counted = values->counted, .rows = values->rows };
}

static struct status count(const struct key_reader *reader, int variable, int64_t *rows)
{
    struct bytes keys;

    *rows = 0;
    for (uint32_t shard = 0; shard < KEY_SHARDS; shard++) {
        TRY(reader->read(reader->context, variable, shard, KEY_PART_KEYS, &keys));
        *rows += (int64_t)(keys.size / sizeof(int64_t));
    }
    return status_ok();
}

struct status key_values_count(struct key_values *values, const struct key_reader *reader,
                               const char *name, int64_t *rows)
{
    enum key_part part;
    int variable;

    if (!find(reader->placement, name, &variable, &part))
        return status_error(STATUS_NOT_FOUND, "no hash table has a variable '%s'", name);
    if (values->counted != variable + 1)
        TRY(count(reader, variable, &values->rows));
    values->counted = variable + 1;
    *rows = (values->rows > 0 ? values->rows : 1) + (part == KEY_PART_VALUES);
    return status_ok();
}
