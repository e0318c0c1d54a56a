/*
 * Plans of real models. Turning folding or fusing off must not change the outputs. If a plan
 * reports that its rows are independent, each row alone must give the same outputs as in a batch.
 * With --verbose, prints one line for each signature.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "savedmodel/load.h"
#include "support/models.h"
#include "support/tensor_row.h"

#define ROWS         3
#define ELEMENTS_MAX 60000 /* of a feed: more take too long in plain kernels */

static struct random random_state;
static bool verbose;

struct answer {
    struct status status;
    struct tensor *outputs;
};

struct subject {
    struct savedmodel *models[3]; /* default options, fusing off, folding off */
    const char *name;
};

static struct shape feed_shape(const struct signature_tensor *input)
{
    struct shape shape = input->shape.rank >= 0 ? input->shape : shape_of(-1);
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0)
            shape.dims[i] = i == 0 ? ROWS : 24;
    }
    return shape;
}

static void fill(struct tensor *tensor)
{
    static const struct bytes words[] = { { "good", 4 }, { "a bad day", 9 }, { "", 0 } };
    for (int64_t i = 0; i < tensor->size; i++) {
        uint64_t number = random_u64(&random_state);
        if (tensor->dtype == DT_FLOAT)
            tensor_floats_mut(tensor)[i] = (float)random_between(&random_state, -1, 1);
        else if (tensor->dtype == DT_DOUBLE)
            tensor_doubles_mut(tensor)[i] = random_between(&random_state, -1, 1);
        else if (tensor->dtype == DT_INT32)
            tensor_int32s_mut(tensor)[i] = (int32_t)(number % 5);
        else if (tensor->dtype == DT_INT64)
            tensor_int64s_mut(tensor)[i] = (int64_t)(number % 5);
        else if (tensor->dtype == DT_STRING)
            tensor_strings_mut(tensor)[i] = words[number % 3];
        else
            memset((char *)tensor->data + (size_t)i * dtype_size(tensor->dtype), (int)(number % 2),
                   1);
    }
}

static bool make_feeds(const struct signature *signature, struct tensor *feeds)
{
    for (int i = 0; i < signature->inputs_count; i++) {
        const struct signature_tensor *input = &signature->inputs[i];
        struct shape shape = feed_shape(input);
        if (dtype_size(input->dtype) == 0 || shape_size(&shape) > ELEMENTS_MAX ||
            !status_is_ok(tensor_create(input->dtype, &shape, &feeds[i])))
            return false;
        if (dtype_size(input->dtype) > 0)
            memset(feeds[i].data, 0, tensor_bytes(&feeds[i]));
        fill(&feeds[i]);
    }
    return true;
}

/* Integers and strings must be equal. Floats may differ by 1e-4 of the output's magnitude: fusing
 * changes the order of multiplications, and the error grows over the layers of a real model. */
static bool is_near(const struct tensor *a, const struct tensor *b)
{
    if (a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape))
        return false;
    if (a->dtype == DT_STRING) {
        for (int64_t i = 0; i < a->size; i++) {
            if (!bytes_equal(tensor_strings(a)[i], tensor_strings(b)[i]))
                return false;
        }
        return true;
    }
    if (a->dtype != DT_FLOAT)
        return memcmp(a->data, b->data, tensor_bytes(a)) == 0;
    const float *x = tensor_floats(a), *y = tensor_floats(b);
    float magnitude = 1e-6f;
    for (int64_t i = 0; i < a->size; i++)
        magnitude = fmaxf(magnitude, fabsf(x[i]));
    for (int64_t i = 0; i < a->size; i++) {
        bool same = x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
        if (!same && !(fabsf(x[i] - y[i]) <= 1e-4f * magnitude))
            return false;
    }
    return true;
}

static const char *compare(const struct signature *signature, const struct tensor *a,
                           const struct tensor *b)
{
    for (int i = 0; i < signature->outputs_count; i++) {
        if (!is_near(&a[i], &b[i]))
            return signature->outputs[i].key;
    }
    return NULL;
}

/* Runs each row alone and compares it with its row of the batch. */
static void check_rows(const struct subject *subject, const struct signature *signature,
                       const struct plan *plan, struct run *run, const struct tensor *feeds,
                       const struct tensor *batch)
{
    struct tensor row[64], alone[64], of_batch;
    for (int64_t r = 0; r < ROWS; r++) {
        for (int i = 0; i < signature->inputs_count; i++)
            row[i] = tensor_row(&feeds[i], r);
        struct status status = plan_run(plan, run, row, alone);
        if (!status_is_ok(status))
            fail_msg("%s, %s, row %d alone: %s", subject->name, signature->name, (int)r,
                     status.message);
        for (int i = 0; i < signature->outputs_count; i++) {
            assert_true(batch[i].shape.rank > 0);
            assert_int_equal(batch[i].shape.dims[0], ROWS);
            of_batch = tensor_row(&batch[i], r);
            if (!is_near(&of_batch, &alone[i]))
                fail_msg("%s, %s, output %s: row %d alone differs from the batch", subject->name,
                         signature->name, signature->outputs[i].key, (int)r);
            tensor_release(&of_batch);
        }
        tensors_release(signature->inputs_count, row);
        tensors_release(signature->outputs_count, alone);
    }
}

static void check_signature(const struct subject *subject, int index)
{
    const struct signature *signature = savedmodel_signature_at(subject->models[0], index);
    const struct plan *plans[3];
    struct tensor feeds[64] = { 0 }, outputs[3][64], again[64];
    if (signature->inputs_count > 64 || signature->outputs_count > 64)
        return;
    for (int i = 0; i < 3; i++) {
        const struct signature *own = savedmodel_signature_at(subject->models[i], index);
        struct status status = savedmodel_plan(subject->models[i], own, &plans[i]);
        if (!status_is_ok(status)) {
            if (verbose)
                printf("  %s %s: %s\n", subject->name, signature->name, status.message);
            return;
        }
    }
    struct run *run = run_create(0);
    if (make_feeds(signature, feeds)) {
        struct status first = plan_run(plans[0], run, feeds, outputs[0]);
        bool repeats = status_is_ok(first) && status_is_ok(plan_run(plans[0], run, feeds, again));
        const char *differs = repeats ? compare(signature, outputs[0], again) : NULL;
        for (int i = 1; i < 3; i++) {
            struct status status = plan_run(plans[i], run, feeds, outputs[i]);
            if (status.code != first.code)
                fail_msg("%s, %s: '%s', but with %s off '%s'", subject->name, signature->name,
                         first.message, i == 1 ? "fusing" : "folding", status.message);
            if (!status_is_ok(status))
                continue;
            const char *key = differs != NULL ? NULL : compare(signature, outputs[0], outputs[i]);
            if (key != NULL)
                fail_msg("%s, %s: output %s differs with %s off", subject->name, signature->name,
                         key, i == 1 ? "fusing" : "folding");
            tensors_release(signature->outputs_count, outputs[i]);
        }
        bool rows = plan_rows_independent(plans[0]) && plan_rows_fit(plans[0], feeds);
        if (verbose)
            printf("  %s %s: %s%s%s, %d steps, %d plain\n", subject->name, signature->name,
                   status_is_ok(first) ? "ok" : first.message, differs ? " random" : "",
                   rows ? (plan_batch_pays(plans[0]) ? " rows, pays" : " rows") : "",
                   plan_steps_count(plans[0]), plan_steps_count(plans[2]));
        if (status_is_ok(first) && rows && differs == NULL)
            check_rows(subject, signature, plans[0], run, feeds, outputs[0]);
        if (repeats)
            tensors_release(signature->outputs_count, again);
        if (status_is_ok(first))
            tensors_release(signature->outputs_count, outputs[0]);
        run_reset(run);
        assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    }
    tensors_release(signature->inputs_count, feeds);
    run_destroy(run);
}

static void check_model(const char *name, const char *directory)
{
    struct subject subject = { .name = name };
    bool loaded = true;
    for (int i = 0; i < 3 && loaded; i++) {
        struct savedmodel_options options = { .plan = { .no_fuse = i > 0, .no_fold = i > 1 } };
        struct status status = savedmodel_load(directory, &options, &subject.models[i]);
        loaded = status_is_ok(status);
        if (!loaded && verbose)
            printf("  %s: %s\n", name, status.message);
    }
    int count = loaded ? savedmodel_signatures_count(subject.models[0]) : 0;
    for (int i = 0; i < count; i++) {
        if (strncmp(savedmodel_signature_at(subject.models[0], i)->name, "__", 2) != 0)
            check_signature(&subject, i);
    }
    for (int i = 0; i < 3; i++)
        savedmodel_destroy(subject.models[i]);
}

static void plans_of_real_models_answer_alike(void **state)
{
    (void)state;
    const char *directory = models_directory();
    if (directory == NULL)
        skip();
    struct dirent **names;
    int count = scandir(directory, &names, NULL, alphasort);
    const char *only = getenv("ONLY_MODEL");
    for (int i = 0; i < count; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s/1", directory, names[i]->d_name);
        random_init(&random_state, 1, (uint64_t)i);
        if (names[i]->d_name[0] != '.' && access(path, R_OK) == 0 &&
            (only == NULL || strcmp(only, names[i]->d_name) == 0))
            check_model(names[i]->d_name, path);
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv)
{
    verbose = argc > 1 && strcmp(argv[1], "--verbose") == 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(plans_of_real_models_answer_alike) };
    return cmocka_run_group_tests_name("real plans", tests, NULL, NULL);
}
