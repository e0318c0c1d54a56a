#include "layers/layer.h"

/* Keras' constraints. All but NonNeg scale norms into a range. */
static const struct constraint_row {
    const char *name, *alias;
    struct constraint value; /* the defaults */
    const char *keys[4];     /* its arguments */
} rows[] = {
    { "MaxNorm", "max_norm", { CONSTRAINT_NORM, 0, 2, 1, 0 }, { "max_value", "axis" } },
    { "MinMaxNorm",
      "min_max_norm",
      { CONSTRAINT_NORM, 0, 1, 1, 0 },
      { "min_value", "max_value", "rate", "axis" } },
    { "UnitNorm", "unit_norm", { CONSTRAINT_NORM, 1, 1, 1, 0 }, { "axis" } },
    { "NonNeg", "non_neg", { CONSTRAINT_NON_NEGATIVE, 0, 0, 0, 0 }, { NULL } },
    { "NonNegative", "nonneg", { CONSTRAINT_NON_NEGATIVE, 0, 0, 0, 0 }, { NULL } },
};

static const struct constraint_row *find_row(const char *name)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (same_name(rows[i].name, name) || same_name(rows[i].alias, name))
            return &rows[i];
    return NULL;
}

static bool has_key(const struct constraint_row *row, const char *key)
{
    for (size_t i = 0; i < COUNT(row->keys) && row->keys[i] != NULL; i++)
        if (strcmp(row->keys[i], key) == 0)
            return true;
    return false;
}

static struct status read_axes(const struct json_value *value, struct arena *arena,
                               struct constraint_choice *out)
{
    const struct json_value *list = list_items(value);
    bool single = list->kind != JSON_VALUE_LIST;
    int count = single ? 1 : list->count;

    if (json_value_is_null(value)) {
        out->all_axes = true;
        return status_ok();
    }
    out->axes_count = 0;
    for (int i = 0; i < count; i++) {
        const struct json_value *axis = single ? list : &list->members[i];
        if (axis->kind != JSON_VALUE_INT || i == SHAPE_RANK_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "axis is %s, expected an integer or a list of them",
                                json_value_show(value, arena));
        out->axes[out->axes_count++] = axis->integer;
    }
    return status_ok();
}

static struct status read_number(const char *key, const struct json_value *value,
                                 struct arena *arena, struct constraint_choice *out)
{
    struct constraint *constraint = &out->constraint;
    double number;

    if (strcmp(key, "axis") == 0)
        return read_axes(value, arena, out);
    if (!json_value_number(value, &number))
        return status_error(STATUS_INVALID_ARGUMENT, "%s is %s, expected a number", key,
                            json_value_show(value, arena));
    *(strcmp(key, "rate") == 0        ? &constraint->rate
      : strcmp(key, "min_value") == 0 ? &constraint->low
                                      : &constraint->high) = (float)number;
    return status_ok();
}

struct status constraint_read(const struct json_value *value, struct arena *arena,
                              struct constraint_choice *out)
{
    const struct json_value *config;

    *out = (struct constraint_choice){ .axes_count = 1 }; /* axis 0 */
    if (json_value_is_null(value))
        return status_ok();
    const char *name = named_object(value, &config);
    const struct constraint_row *row = name != NULL ? find_row(name) : NULL;
    if (row == NULL)
        return status_error(STATUS_UNIMPLEMENTED,
                            "%s is not implemented; known: MaxNorm, MinMaxNorm, UnitNorm, NonNeg",
                            json_value_show(value, arena));
    out->constraint = row->value;
    for (int i = 0; config != NULL && i < config->count; i++) {
        if (!has_key(row, config->keys[i]))
            return status_error(STATUS_INVALID_ARGUMENT, "%s: unknown argument '%.100s'", row->name,
                                config->keys[i]);
        TRY(status_in(read_number(config->keys[i], &config->members[i], arena, out), "%s",
                      row->name));
    }
    return status_ok();
}

struct status constraint_choose(const struct constraint_choice *choice, int rank,
                                struct constraint *out)
{
    struct constraint constraint = choice->constraint;

    constraint.axes = choice->all_axes ? (1u << rank) - 1 : 0;
    for (int i = 0; i < choice->axes_count && !choice->all_axes; i++) {
        int64_t axis = choice->axes[i] < 0 ? choice->axes[i] + rank : choice->axes[i];
        if (constraint.kind != CONSTRAINT_NORM)
            break;
        if (axis < 0 || axis >= rank)
            return status_error(STATUS_INVALID_ARGUMENT, "axis %lld of a variable of rank %d",
                                (long long)choice->axes[i], rank);
        constraint.axes |= 1u << axis;
    }
    *out = constraint;
    return status_ok();
}
