#include "trainer/ps/apply.h"

#include <stdlib.h>

#include "trainer/ps/push_reader.h"
#include "trainer/ps/step_mean.h"
#include "trainer/ps/whole_update.h"

/* The state of an update. If the optimizer measures or takes whole variables, the slices of a
 * variable are measured or collected one by one, and updated after the last one. */
struct applying {
    const struct variables *variables;
    struct slice_update updates[OPTIMIZERS_MAX]; /* of each rule */
    bool skips;   /* the gradients are not finite: only averages change */
    float *zeros; /* as many as the largest slice with rows has; NULL: not needed */
    int first;    /* index of the variable's first slice */
    struct optimizer_norms norms;
    struct whole_update whole;
};

/* The schedule applies to rule 0. */
static float rate_of(const struct variables *variables, int rule, float scheduled)
{
    const struct training_rule *own = &variables->training.rules[rule];

    return rule == 0 ? scheduled : own->ratio > 0 ? scheduled * own->ratio : own->rate;
}

/* push: the first of an update. */
static void apply_keys_to(const struct variables *variables, const struct slice *slice,
                          const struct push *push, const int64_t *keys,
                          const struct rows_gradient *gradient)
{
    const struct key_update update = { .keys = keys,
                                       .g = gradient->g,
                                       .count = gradient->count,
                                       .rate = rate_of(variables, slice->rule, push->rate),
                                       .step = push->step,
                                       .keep_before = variables->keep_before };

    if (push->skips)
        key_table_skip(slice->table, variables->keep_before);
    else
        key_table_apply(slice->table, &update);
}

/* Does an update by this rule also change the rows without a gradient? */
static bool changes_all_rows(const struct training_rule *rule)
{
    return rule->all_rows || !rule->optimizer->row_local;
}

static float *make_zeros(const struct variables *variables)
{
    const struct training *training = &variables->training;
    bool needed = false;

    for (int r = 0; r < training->rules_count; r++)
        needed |= changes_all_rows(&training->rules[r]);
    return needed && variables->rows_largest_bytes > 0 ? zalloc(variables->rows_largest_bytes)
                                                       : NULL;
}

static bool joins_slices(const struct variables *variables)
{
    bool found = false;

    for (int r = 0; r < variables->training.rules_count; r++)
        found |= optimizer_joins_pieces(variables->training.rules[r].optimizer);
    return found;
}

/* pushes: those of the update. */
static void applying_init(struct applying *applying, struct variables *variables,
                          const struct push *pushes)
{
    const struct training *training = &variables->training;

    *applying = (struct applying){ .variables = variables,
                                   .zeros = make_zeros(variables),
                                   .skips = pushes->skips };
    for (int r = 0; r < training->rules_count; r++)
        applying->updates[r] = (struct slice_update){ .optimizer = training->rules[r].optimizer,
                                                      .settings = training->rules[r].settings,
                                                      .rate = rate_of(variables, r, pushes->rate),
                                                      .keep_before = variables->keep_before };
    /* Between the two halves of an update, the slots must not change. */
    if (joins_slices(variables))
        pthread_mutex_lock(&variables->measuring);
}

static void applying_finish(struct applying *applying, struct variables *variables)
{
    if (joins_slices(variables))
        pthread_mutex_unlock(&variables->measuring);
    free(applying->zeros);
    whole_update_finish(&applying->whole);
}

static bool continues(const struct variables *variables, int i)
{
    return i < variables->slices_count && variables->slices[i].continues;
}

/* Begins and ends a variable around its slices. */
static void begin_variable(struct applying *applying, int i)
{
    if (continues(applying->variables, i))
        return;
    applying->first = i;
    applying->norms = (struct optimizer_norms){ 0 };
}

static void end_variable(struct applying *applying, int i)
{
    struct slice_update *update = &applying->updates[applying->variables->slices[i].rule];

    if (continues(applying->variables, i + 1))
        return;
    struct slice *first = &applying->variables->slices[applying->first];
    if (update->optimizer->whole != NULL) {
        whole_update_apply(&applying->whole, first, i + 1 - applying->first, update);
        return;
    }
    update->ratio = optimizer_ratio(&applying->norms);
    for (int k = applying->first; k <= i; k++)
        slice_apply(&applying->variables->slices[k], update, NULL);
}

static void apply_to(struct applying *applying, int i, const float *gradient)
{
    struct slice *slice = &applying->variables->slices[i];
    const struct slice_update *update = &applying->updates[slice->rule];

    if (slice->averaged) {
        const struct slice_update average = { &optimizer_average, slice->averaging,
                                              .keep_before = update->keep_before };
        slice_apply(slice, &average, gradient);
        return;
    }
    if (applying->skips) {
        slice_skip(slice, update->keep_before);
        return;
    }
    if (!optimizer_joins_pieces(update->optimizer)) {
        slice_apply(slice, update, gradient);
        return;
    }
    begin_variable(applying, i);
    if (update->optimizer->whole != NULL)
        whole_update_add(&applying->whole, slice, update, gradient);
    else
        slice_measure(slice, update, gradient, &applying->norms);
    end_variable(applying, i);
}

static void apply_rows_to(struct applying *applying, int i, const struct rows_gradient *gradient)
{
    struct slice *slice = &applying->variables->slices[i];
    const struct slice_update *update = &applying->updates[slice->rule];
    bool all = changes_all_rows(&applying->variables->training.rules[slice->rule]);

    if (applying->skips) {
        slice_skip(slice, update->keep_before);
        return;
    }
    if (!optimizer_joins_pieces(update->optimizer)) {
        slice_apply_rows(slice, update, gradient, all ? applying->zeros : NULL);
        return;
    }
    begin_variable(applying, i);
    if (update->optimizer->whole != NULL)
        whole_update_add_rows(&applying->whole, slice, update, gradient);
    else
        slice_measure_rows(slice, update, gradient, applying->zeros, &applying->norms);
    end_variable(applying, i);
}

/* Is an update of the slice independent of those of other slices? */
static bool is_alone(const struct applying *applying, const struct slice *slice)
{
    const struct training_rule *rule = &applying->variables->training.rules[slice->rule];

    return !applying->skips && !optimizer_joins_pieces(rule->optimizer) && !changes_all_rows(rule);
}

static void update_rows(void *context, const struct row_item *item, const uint32_t *rows)
{
    const struct applying *applying = context;

    slice_apply_rows(item->slice, &applying->updates[item->slice->rule],
                     &(struct rows_gradient){ rows, item->g, item->count }, NULL);
}

static void apply_one(struct variables *variables, const struct push *push)
{
    struct push_reader reader;
    struct applying applying;
    struct row_work work = { .body = update_rows,
                             .context = &applying,
                             .parts = 1 + variables->training.rules[0].optimizer->slots_count };

    applying_init(&applying, variables, push);
    push_reader_init(&reader, push);
    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        if (slice->table != NULL) {
            struct rows_gradient gradient = { .g = push_read_keys(&reader, slice),
                                              .count = reader.keys.count };
            apply_keys_to(variables, slice, push, reader.keys.keys, &gradient);
        } else if (slice->trainable && slice->row_bytes > 0 && is_alone(&applying, slice)) {
            push_read_into_work(&reader, slice, &work);
        } else if (slice->trainable && slice->row_bytes > 0) {
            struct rows_gradient gradient = push_read_rows(&reader, slice);
            apply_rows_to(&applying, i, &gradient);
        } else if (slice_is_pushed(slice)) {
            apply_to(&applying, i, push_read(&reader, slice));
        }
    }
    row_work_run(&work);
    row_work_finish(&work);
    push_reader_finish(&reader);
    applying_finish(&applying, variables);
}

static void apply_mean(struct variables *variables, const struct push *pushes)
{
    struct applying applying;
    struct step_mean step;

    applying_init(&applying, variables, pushes);
    step_mean_init(&step, pushes);
    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        if (slice->table != NULL) {
            const int64_t *keys;
            struct rows_gradient gradient = step_mean_read_keys(&step, slice, &keys);
            apply_keys_to(variables, slice, pushes, keys, &gradient);
        } else if (slice->trainable && slice->row_bytes > 0) {
            struct rows_gradient gradient = step_mean_read_rows(&step, slice);
            apply_rows_to(&applying, i, &gradient);
        } else if (slice_is_pushed(slice)) {
            step_mean_read(&step, slice, variables->sum);
            apply_to(&applying, i, variables->sum);
        }
    }
    step_mean_finish(&step);
    applying_finish(&applying, variables);
}

void push_apply(struct variables *variables, const struct push *pushes)
{
    if (pushes->next_push == NULL)
        apply_one(variables, pushes);
    else
        apply_mean(variables, pushes);
}
