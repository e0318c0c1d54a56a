#include "layers/layer.h"

/* Keras prints L1 {l1}, L2 {l2}, L1L2 {l1, l2} (the first two are L1L2 with a 0) and
 * OrthogonalRegularizer {factor, mode}. */
static const struct regularizer_row {
    const char *name;
    struct regularizer value; /* the defaults */
    bool has_l1, has_l2, is_orthogonal;
} rows[] = {
    { "L1", { .l1 = 0.01 }, .has_l1 = true },
    { "L2", { .l2 = 0.01 }, .has_l2 = true },
    { "L1L2", { .l1 = 0 }, .has_l1 = true, .has_l2 = true },
    /* Keras 2's function, given as text */
    { "l1_l2", { .l1 = 0.01, .l2 = 0.01 }, .has_l1 = true, .has_l2 = true },
    { "OrthogonalRegularizer", { .orthogonal = 0.01 }, .is_orthogonal = true },
};

static const struct regularizer_row *find_row(const char *name)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    for (size_t i = 0; i < COUNT(rows); i++)
        if (same_name(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static struct status read_mode(const struct json_value *value, struct arena *arena,
                               struct regularizer *out)
{
    const char *mode = value->kind == JSON_VALUE_TEXT ? value->text : "";

    out->columns = strcmp(mode, "columns") == 0;
    if (out->columns || strcmp(mode, "rows") == 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "OrthogonalRegularizer: mode is %s, expected \"rows\" or \"columns\"",
                        json_value_show(value, arena));
}

static double *find_number(const struct regularizer_row *row, const char *key,
                           struct regularizer *out)
{
    return row->has_l1 && strcmp(key, "l1") == 0              ? &out->l1
           : row->has_l2 && strcmp(key, "l2") == 0            ? &out->l2
           : row->is_orthogonal && strcmp(key, "factor") == 0 ? &out->orthogonal
                                                              : NULL;
}

struct status regularizer_read(const struct json_value *value, struct arena *arena,
                               struct regularizer *out)
{
    const struct json_value *config;

    *out = (struct regularizer){ 0 };
    if (json_value_is_null(value))
        return status_ok();

    const char *name = named_object(value, &config);
    const struct regularizer_row *row = name != NULL ? find_row(name) : NULL;
    if (row == NULL)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "%s is not a regularizer; known: L1, L2, L1L2, OrthogonalRegularizer, null",
            json_value_show(value, arena));
    *out = row->value;
    for (int i = 0; config != NULL && i < config->count; i++) {
        const char *key = config->keys[i];
        double *number = find_number(row, key, out);
        if (row->is_orthogonal && strcmp(key, "mode") == 0) {
            TRY(read_mode(&config->members[i], arena, out));
            continue;
        }
        if (number == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "%s: unknown argument '%s'", row->name,
                                key);
        if (!json_value_number(&config->members[i], number))
            return status_error(STATUS_INVALID_ARGUMENT, "%s: %s is %s, expected a number",
                                row->name, key, json_value_show(&config->members[i], arena));
    }
    return status_ok();
}
