#include "loaded_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static void must(struct status status)
{
    if (status_is_ok(status))
        return;
    fprintf(stderr, "%s\n", status.message);
    exit(1);
}

static struct tensor make_feed(const struct signature_tensor *input, int64_t rows)
{
    struct shape shape = input->shape;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0)
            shape.dims[i] = i == 0 ? rows : 1;
    }
    struct tensor feed;
    must(tensor_create(input->dtype, &shape, &feed));
    memset(feed.data, 0, tensor_bytes(&feed));
    for (int64_t i = 0; input->dtype == DT_FLOAT && i < feed.size; i++)
        tensor_floats_mut(&feed)[i] = (float)(i % 17) / 17;
    return feed;
}

void loaded_model_open(const char *directory, const char *signature, int64_t rows,
                       struct loaded_model *out)
{
    *out = (struct loaded_model){ 0 };
    must(savedmodel_load(directory, NULL, &out->model));
    out->signature = savedmodel_signature(out->model, bytes_of(signature));
    if (out->signature == NULL)
        must(status_error(STATUS_NOT_FOUND, "no signature '%s'", signature));
    must(savedmodel_plan_only(out->model, out->signature, &out->plan));
    out->feeds = zalloc((size_t)out->signature->inputs_count * sizeof *out->feeds);
    out->fetches = zalloc((size_t)out->signature->outputs_count * sizeof *out->fetches);
    for (int i = 0; i < out->signature->inputs_count; i++)
        out->feeds[i] = make_feed(&out->signature->inputs[i], rows);
    out->run = run_create(0);
}

void loaded_model_run(struct loaded_model *loaded)
{
    must(plan_run(loaded->plan, loaded->run, loaded->feeds, loaded->fetches));
    tensors_release(loaded->signature->outputs_count, loaded->fetches);
    run_reset(loaded->run);
}

void loaded_model_close(struct loaded_model *loaded)
{
    run_destroy(loaded->run);
    tensors_release(loaded->signature->inputs_count, loaded->feeds);
    free(loaded->feeds);
    free(loaded->fetches);
    savedmodel_destroy(loaded->model);
}
