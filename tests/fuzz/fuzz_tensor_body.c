#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "fuzz/infer.h"
#include "server/oip/tensor_body.h"

/* Bodies that are one tensor: raw elements and .npy files. An input is
 *
 *     dtype(1)  rank of the signature(1)  its dimensions(1 each; 255: unknown)
 *     size of the text of x-slipway-shape(1; 255: there is none)  that text  the body
 *
 * The request is printed as an answer. */
struct input {
    const uint8_t *at, *end;
};

static int take(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static void read_signature(struct input *input, struct signature_tensor *out)
{
    *out = (struct signature_tensor){ .key = "x", .dtype = take(input) % 24, .has_shape = true };
    out->shape.rank = take(input) % 7 - 1; /* -1: unknown */
    for (int i = 0; i < out->shape.rank; i++) {
        int dim = take(input);
        out->shape.dims[i] = dim == 255 ? -1 : dim;
    }
}

/* NULL: there is none. */
static const char *read_shape(struct input *input, struct arena *arena)
{
    size_t size = (size_t)take(input), left = (size_t)(input->end - input->at);
    if (size == 255)
        return NULL;
    size = size < left ? size : left;
    char *text = arena_alloc(arena, size + 1);
    memcpy(text, input->at, size);
    text[size] = '\0';
    input->at += size;
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, data + size };
    struct arena *arena = arena_create((size_t)16 << 20);
    struct signature_tensor x;
    read_signature(&input, &x);
    const struct signature signature = { .name = "s", .inputs = &x, .inputs_count = 1 };
    const char *shape = read_shape(&input, arena);
    size_t body_size = (size_t)(input.end - input.at);
    char *bytes = malloc(body_size + 1); /* of its own, so that reading beyond it is seen */
    memcpy(bytes, input.at, body_size);
    struct bytes body = { bytes, body_size };
    struct infer_request request;
    if (status_is_ok(tensor_body_read_raw(body, shape, &signature, arena, &request)))
        answer_with_inputs(&request, arena, print_answer);
    if (status_is_ok(tensor_body_read_npy(body, &signature, arena, &request)))
        answer_with_inputs(&request, arena, put_answer);
    free(bytes);
    arena_destroy(arena);
    return 0;
}
