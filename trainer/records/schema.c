#include "trainer/records/schema.h"

#include <fnmatch.h>

#include "base/file.h"
#include "base/map.h"
#include "trainer/records/schema_column.h"

#define SCHEMA_BYTES_MAX ((size_t)16 << 20)

const struct schema_column *schema_find_next(const struct schema *schema, const char *name,
                                             int *next)
{
    for (int k = 0; k < schema->count; k++) {
        int i = (*next + k) % schema->count;
        if (strcmp(schema->columns[i].name, name) != 0)
            continue;
        *next = i + 1;
        return &schema->columns[i];
    }
    return NULL;
}

const struct schema_column *schema_find(const struct schema *schema, const char *name)
{
    int next = 0;

    return schema_find_next(schema, name, &next);
}

void schema_put_column(struct schema *schema, struct arena *arena, struct schema_column column)
{
    const struct schema_column *old = schema_find(schema, column.name);
    struct schema_column *columns = ARENA_ARRAY(arena, struct schema_column, schema->count + 1);

    if (schema->count > 0)
        memcpy(columns, schema->columns, (size_t)schema->count * sizeof *columns);
    columns[old != NULL ? old - schema->columns : schema->count++] = column;
    schema->columns = columns;
}

const struct schema_input *schema_find_input(const struct schema *schema, const char *name)
{
    for (int i = 0; i < schema->inputs_count; i++)
        if (strcmp(schema->inputs[i].name, name) == 0)
            return &schema->inputs[i];
    return NULL;
}

bool schema_is_normalised(const struct schema_column *column)
{
    return column->log || column->mean != 0 || column->stddev != 1;
}

int64_t schema_categories(const struct schema_column *column)
{
    return column->boundaries != NULL ? column->boundaries_count + 1 : column->hash_buckets;
}

static bool reads_field(const struct schema_column *column, const char *field)
{
    return field != NULL && (column->kind == SCHEMA_SPARSE ? strcmp(column->index, field) == 0 ||
                                                                 strcmp(column->value, field) == 0
                                                           : strcmp(column->name, field) == 0);
}

/* Two columns of the schema may come from one column of the file, which has one separator. */
static struct status check_separators(const struct schema *schema, const struct schema_column *last)
{
    bool sparse = last->kind == SCHEMA_SPARSE;

    for (int i = 0; i < schema->count; i++) {
        const struct schema_column *column = &schema->columns[i];
        if (column->separator != last->separator &&
            (reads_field(column, sparse ? last->index : last->name) ||
             reads_field(column, sparse ? last->value : NULL)))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "'%s' and '%s' read the same field with different separators",
                                column->name, last->name);
    }
    return status_ok();
}

/* Prefixes the name of the column or, if it has none, its index in the list. */
static struct status in_column(struct status status, const struct json_value *json, int place)
{
    const struct json_value *name =
        json->kind == JSON_VALUE_OBJECT ? json_value_get(json, "name") : NULL;

    if (name != NULL && name->kind == JSON_VALUE_TEXT && name->text_size > 0)
        return status_in(status, "column '%.200s'", name->text);
    return status_in(status, "column %d", place);
}

static struct status read_list(const struct json_value *list, struct arena *arena,
                               struct schema *out)
{
    if (list == NULL || list->kind != JSON_VALUE_LIST)
        return status_error(STATUS_INVALID_ARGUMENT, "no list 'columns'");
    struct schema_column *columns = ARENA_ARRAY(arena, struct schema_column, list->count + 1);
    struct map names = { .arena = arena };
    bool separated = false; /* does any column so far have a separator? */
    *out = (struct schema){ .columns = columns };
    for (int i = 0; i < list->count; i++) {
        const struct json_value *json = &list->members[i];
        TRY(in_column(schema_column_read(json, arena, &columns[i]), json, i));
        if (map_has(&names, bytes_of(columns[i].name)))
            return status_error(STATUS_INVALID_ARGUMENT, "two columns '%s'", columns[i].name);
        map_put_text(&names, columns[i].name, &columns[i]);
        separated |= columns[i].separator != '\0';
        if (separated)
            TRY(check_separators(out, &columns[i]));
        out->count = i + 1;
    }
    return status_ok();
}

/* ---- the inputs of the model ---- */

static struct status add_matches(const struct schema *schema, const struct json_value *pattern,
                                 struct arena *arena, struct schema_input *out)
{
    int before = out->columns_count;

    if (pattern->kind != JSON_VALUE_TEXT)
        return status_error(STATUS_INVALID_ARGUMENT, "%s, expected a column's name or a pattern",
                            json_value_show(pattern, arena));
    for (int i = 0; i < schema->count; i++) {
        if (fnmatch(pattern->text, schema->columns[i].name, 0) != 0)
            continue;
        for (int k = 0; k < out->columns_count; k++)
            if (out->columns[k] == schema->columns[i].name)
                return status_error(STATUS_INVALID_ARGUMENT, "column '%s' twice", out->columns[k]);
        out->columns[out->columns_count++] = schema->columns[i].name;
    }
    if (out->columns_count == before)
        return status_error(STATUS_INVALID_ARGUMENT, "no column matches '%.200s'", pattern->text);
    return status_ok();
}

static struct status read_input(const struct schema *schema, const struct json_value *list,
                                struct arena *arena, struct schema_input *out)
{
    if (list->kind != JSON_VALUE_LIST || list->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "%s, expected a list of columns",
                            json_value_show(list, arena));
    out->columns = ARENA_ARRAY(arena, const char *, schema->count + 1);
    for (int i = 0; i < list->count; i++)
        TRY(add_matches(schema, &list->members[i], arena, out));
    return status_ok();
}

static struct status read_inputs(const struct json_value *json, struct arena *arena,
                                 struct schema *out)
{
    if (json_value_is_null(json))
        return status_ok();
    if (json->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "'inputs' is %s, expected an object",
                            json_value_show(json, arena));
    struct schema_input *inputs = ARENA_ARRAY(arena, struct schema_input, json->count + 1);
    out->inputs = inputs;
    out->inputs_count = json->count;
    for (int i = 0; i < json->count; i++) {
        inputs[i].name = json->keys[i];
        TRY(status_in(read_input(out, &json->members[i], arena, &inputs[i]), "input '%.200s'",
                      json->keys[i]));
    }
    return status_ok();
}

static struct status read_separator(const struct json_value *json, struct arena *arena,
                                    struct schema *out)
{
    if (json_value_is_null(json))
        return status_ok();
    if (!schema_is_separator(json))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'separator': %s, expected a character such as ';'",
                            json_value_show(json, arena));
    out->separator = json->text[0];
    return status_ok();
}

struct status schema_read(struct bytes json, struct arena *arena, struct schema *out)
{
    const struct json_value *root;

    TRY(json_value_read_strict(json, arena, &root));
    if (root->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "a schema is an object with a list 'columns'");
    for (int i = 0; i < root->count; i++)
        if (strcmp(root->keys[i], "columns") != 0 && strcmp(root->keys[i], "inputs") != 0 &&
            strcmp(root->keys[i], "separator") != 0)
            return status_error(STATUS_INVALID_ARGUMENT, "unknown key '%s'", root->keys[i]);
    TRY(read_list(json_value_get(root, "columns"), arena, out));
    TRY(read_separator(json_value_get(root, "separator"), arena, out));
    return read_inputs(json_value_get(root, "inputs"), arena, out);
}

struct status schema_read_file(const char *path, struct arena *arena, struct schema *out)
{
    struct buffer file = { 0 };

    TRY(file_read(path, SCHEMA_BYTES_MAX, &file));
    struct status status = schema_read((struct bytes){ file.data, file.size }, arena, out);
    buffer_finish(&file);
    out->path = path;
    return status_in(status, "'%s'", path);
}

void schema_print(const struct schema *schema, struct buffer *out)
{
    struct json_writer writer = { .out = out };

    json_open(&writer, NULL, '{');
    json_open(&writer, "columns", '[');
    for (int i = 0; i < schema->count; i++)
        schema_column_print(&schema->columns[i], &writer);
    json_close(&writer, ']');
    if (schema->separator != '\0')
        json_write_text(&writer, "separator", (struct bytes){ &schema->separator, 1 });
    json_close(&writer, '}');
    buffer_append_char(out, '\n');
}

/* ---- fields with several values ---- */

static void add_separator(const char *column, char separator, struct column_separator *list,
                          int *count)
{
    if (column != NULL && separator != '\0')
        list[(*count)++] = (struct column_separator){ column, separator };
}

void schema_separators(const struct schema *schema, struct arena *arena, struct record_options *out)
{
    struct column_separator *list =
        ARENA_ARRAY(arena, struct column_separator, 2 * schema->count + 1);

    out->delimiter = schema->separator;
    out->separators = list;
    out->separators_count = 0;
    for (int i = 0; i < schema->count; i++) {
        const struct schema_column *column = &schema->columns[i];
        bool sparse = column->kind == SCHEMA_SPARSE;
        add_separator(sparse ? column->index : column->name, column->separator, list,
                      &out->separators_count);
        add_separator(sparse ? column->value : NULL, column->separator, list,
                      &out->separators_count);
    }
}
