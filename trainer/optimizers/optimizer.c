/* Built with -ffp-contract=off, like formulas.c. */
#include "trainer/optimizers/optimizer.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clones.h"
#include "trainer/optimizers/average.h"
#include "trainer/optimizers/muon.h"
#include "trainer/optimizers/name_list.h"
#include "trainer/optimizers/table.h"

static const struct optimizer *find_plain(const char *name, size_t size)
{
    for (size_t i = 0; i < optimizer_rows_count; i++)
        if (strlen(optimizer_rows[i].name) == size &&
            strncasecmp(optimizer_rows[i].name, name, size) == 0)
            return &optimizer_rows[i];
    return NULL;
}

const struct optimizer *optimizer_find(const char *name)
{
    size_t size = strlen(name), end = strlen(AVERAGE_SUFFIX);

    if (size <= end || strcmp(name + size - end, AVERAGE_SUFFIX) != 0)
        return find_plain(name, size);
    const struct optimizer *plain = find_plain(name, size - end);
    return plain != NULL ? optimizer_with_average(plain) : NULL;
}

struct status optimizer_can_be_another(const struct optimizer *optimizer)
{
    if (optimizer->whole == muon_update)
        return status_error(STATUS_UNIMPLEMENTED,
                            "the optimizer 'muon' for some variables: it brings adamw for others");
    if (!optimizer->averages)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "the optimizer '%s' for some variables: averages are of all variables",
                        optimizer->name);
}

const struct optimizer *optimizer_lazy(const struct optimizer *optimizer)
{
    char name[40];

    if (optimizer->row_local)
        return optimizer;
    snprintf(name, sizeof name, "lazy_%s", optimizer->name);
    return optimizer_find(name);
}

const struct optimizer_setting optimizer_keras_defaults[] = {
    { "epsilon", 1e-7f },
    { "initial_rms", 0 },
    { NULL, 0 },
};

static struct name_list names;

static void join_names(void)
{
    for (size_t i = 0; i < optimizer_rows_count; i++)
        name_list_add(&names, optimizer_rows[i].name);
}

const char *optimizer_names(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, join_names);
    return names.text;
}

int optimizer_setting_index(const struct optimizer *optimizer, const char *name)
{
    for (int i = 0; i < optimizer->settings_count; i++)
        if (strcmp(optimizer->settings[i].name, name) == 0)
            return i;
    return -1;
}

struct status optimizer_no_setting(const struct optimizer *optimizer, const char *name)
{
    struct name_list list = { "learning_rate" };

    for (int i = 0; i < optimizer->settings_count; i++)
        name_list_add(&list, optimizer->settings[i].name);
    return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' has no setting '%s'; it has: %s",
                        optimizer->name, name, list.text);
}

struct status optimizer_choose(const struct optimizer_choice *choice, float *settings,
                               const struct optimizer **out)
{
    const struct optimizer *optimizer = optimizer_find(choice->name);

    if (optimizer == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' is none of: %s", choice->name,
                            optimizer_names());
    for (int i = 0; i < optimizer->settings_count; i++)
        settings[i] = optimizer->settings[i].initial;
    for (int i = 0; i < choice->settings_count; i++) {
        const struct setting_value *given = &choice->settings[i];
        int index = optimizer_setting_index(optimizer, given->name);
        if (index < 0)
            return optimizer_no_setting(optimizer, given->name);
        settings[index] = given->value;
    }
    *out = optimizer;
    return status_ok();
}

const char *optimizer_slot_suffix(const struct optimizer *optimizer, const float *settings,
                                  int slot)
{
    const struct optimizer_slot *row = &optimizer->slots[slot];
    int last = optimizer->settings_count - 1 - (optimizer->averages ? AVERAGE_SETTINGS : 0);

    return row->suffix_then != NULL && settings[last] != 0 ? row->suffix_then : row->suffix;
}

float optimizer_initial(const float *settings, int initial_setting)
{
    return initial_setting == OPTIMIZER_STARTS_AT_0 ? 0 : settings[initial_setting];
}

float optimizer_ratio(const struct optimizer_norms *norms)
{
    return norms->variable > 0 && norms->update > 0 ? (float)sqrt(norms->variable / norms->update)
                                                    : 1;
}

void optimizer_advance(const struct optimizer *optimizer, const float *settings, float *scalars)
{
    if (optimizer->advance != NULL)
        optimizer->advance(settings, scalars);
    optimizer_advance_average(optimizer, settings, scalars);
}

CLONES static void add(const float *a, const float *b, float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

CLONES static void add_to(float *restrict out, const float *restrict b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] += b[i];
}

CLONES static void scale(float *out, float by, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] *= by;
}

void optimizer_mean(const float *const *gradients, int gradients_count, float *out, size_t count)
{
    add(gradients[0], gradients[1], out, count);
    for (int i = 2; i < gradients_count; i++)
        add_to(out, gradients[i], count);
    scale(out, 1 / (float)gradients_count, count);
}
