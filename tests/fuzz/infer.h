/* infer: for the fuzz targets of inference requests: answers with the request's own inputs. */
#ifndef FUZZ_INFER_H
#define FUZZ_INFER_H

#include <assert.h>

#include "server/oip/infer_json.h"
#include "server/oip/infer_wire.h"

static inline void print_answer(const struct infer_answer *answer, const struct tensor *outputs)
{
    struct buffer out = { 0 };
    size_t json_size = 0, most = infer_json_size_max(answer, outputs);
    struct status status = infer_json_print(answer, outputs, &out, &json_size);
    assert(!status_is_ok(status) || out.size <= most);
    assert(!status_is_ok(status) || json_size == INFER_JSON_ALL || json_size <= out.size);
    buffer_finish(&out);
}

static inline void put_answer(const struct infer_answer *answer, const struct tensor *outputs)
{
    struct buffer out = { 0 };
    size_t most = infer_wire_size_max(answer, outputs);
    infer_wire_put(answer, outputs, &out);
    assert(out.size <= most);
    buffer_finish(&out);
}

/* The elements of a request may be unaligned; those of an answer are not. */
static inline struct tensor aligned(const struct tensor *tensor, struct arena *arena)
{
    void *data = arena_alloc(arena, tensor_bytes(tensor) + 1);
    if (tensor_bytes(tensor) > 0)
        memcpy(data, tensor->data, tensor_bytes(tensor));
    return tensor_borrow(tensor->dtype, &tensor->shape, data);
}

static inline void answer_with_inputs(const struct infer_request *request, struct arena *arena,
                                      void (*write)(const struct infer_answer *,
                                                    const struct tensor *))
{
    int count = request->inputs_count < 16 ? request->inputs_count : 16;
    struct signature_tensor keys[16];
    struct tensor outputs[16];
    struct infer_choice choices[16];
    for (int i = 0; i < count; i++) {
        outputs[i] = aligned(&request->inputs[i].tensor, arena);
        keys[i] = (struct signature_tensor){ .key = "y" };
        choices[i] = (struct infer_choice){ i, request->binary };
    }
    struct signature signature = { .name = "s", .outputs = keys, .outputs_count = count };
    struct infer_answer answer = { .model_name = { "m", 1 },
                                   .id = request->id,
                                   .version = 1,
                                   .signature = &signature,
                                   .choices = choices,
                                   .choices_count = count,
                                   .raw = request->binary };
    if (status_is_ok(infer_check_outputs(&answer, outputs)))
        write(&answer, outputs);
}

#endif
