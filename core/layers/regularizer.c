#include "layers/layer.h"

/* Keras prints L1 {l1}, L2 {l2} and L1L2 {l1, l2}; the first two are L1L2 with a 0. */
static const struct regularizer_row {
    const char *name;
    struct regularizer value; /* the defaults */
    bool has_l1, has_l2;
} rows[] = {
    { "L1", { .l1 = 0.01, .l2 = 0 }, true, false },
    { "L2", { .l1 = 0, .l2 = 0.01 }, false, true },
    { "L1L2", { 0, 0 }, true, true },
    { "l1_l2", { .l1 = 0.01, .l2 = 0.01 }, true, true }, /* Keras 2's function, given as text */
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
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s is not a regularizer; known: L1, L2, L1L2, null",
                            json_value_show(value, arena));
    *out = row->value;
    for (int i = 0; config != NULL && i < config->count; i++) {
        const char *key = config->keys[i];
        double *number = row->has_l1 && strcmp(key, "l1") == 0   ? &out->l1
                         : row->has_l2 && strcmp(key, "l2") == 0 ? &out->l2
                                                                 : NULL;
        if (number == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "%s: unknown argument '%s'", row->name,
                                key);
        if (!json_value_number(&config->members[i], number))
            return status_error(STATUS_INVALID_ARGUMENT, "%s: %s is %s, expected a number",
                                row->name, key, json_value_show(&config->members[i], arena));
    }
    return status_ok();
}
