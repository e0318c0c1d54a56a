/* The C side of json_bench: parses a predict body into its tensor as modelserver does. */
#include "server/json/predict.h"

int json_bench_parse(const char *body, size_t size, float *first, long *count);

static struct signature_tensor images = { .key = "images", .dtype = DT_FLOAT };
static const struct signature signature = { .name = "predict_images",
                                            .inputs = &images,
                                            .inputs_count = 1 };

static struct status find(struct signature_finder *finder, struct bytes name,
                          const struct signature **out)
{
    (void)finder, (void)name;
    *out = &signature;
    return status_ok();
}

int json_bench_parse(const char *body, size_t size, float *first, long *count)
{
    static struct arena *arena;
    struct signature_finder finder = { find };
    struct predict_request request;
    if (arena == NULL)
        arena = arena_create(0);
    arena_reset(arena);
    struct status status =
        predict_request_read((struct bytes){ body, size }, &finder, arena, &request);
    if (!status_is_ok(status))
        return -1;
    *first = tensor_floats(&request.inputs[0])[0];
    *count = (long)request.inputs[0].size;
    return 0;
}
