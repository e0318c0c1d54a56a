/* Inference requests as words, and a signature that has them, for tests of both forms. */
#ifndef TESTS_OIP_WORDS_H
#define TESTS_OIP_WORDS_H

#include "server/oip/datatype.h"
#include "server/oip/infer.h"

static inline void put_element(const struct tensor *tensor, int64_t i, struct buffer *out)
{
    const void *data = tensor->data; /* which may be unaligned */
    char element[16] = { 0 };
    uint16_t bits;
    float number;
    double wide;
    if (tensor->dtype != DT_STRING)
        memcpy(element, (const char *)data + (size_t)i * dtype_size(tensor->dtype),
               dtype_size(tensor->dtype));
    memcpy(&bits, element, sizeof bits);
    memcpy(&number, element, sizeof number);
    memcpy(&wide, element, sizeof wide);
    struct tensor one = tensor_borrow(tensor->dtype, &(struct shape){ 0 }, element);
    switch (tensor->dtype) {
    case DT_STRING:
        buffer_append_char(out, ' ');
        buffer_append(out, tensor_strings(tensor)[i].data, tensor_strings(tensor)[i].size);
        break;
    case DT_FLOAT:
        buffer_printf(out, " %g", (double)number);
        break;
    case DT_DOUBLE:
        buffer_printf(out, " %.17g", wide);
        break;
    case DT_HALF:
        buffer_printf(out, " %g", (double)half_to_float(bits));
        break;
    case DT_BFLOAT16:
        buffer_printf(out, " %g", (double)bfloat16_to_float(bits));
        break;
    case DT_BOOL:
        buffer_printf(out, " %d", element[0]);
        break;
    case DT_UINT64:
        buffer_printf(out, " %llu", (unsigned long long)get_u64le(element));
        break;
    case DT_UINT16:
        buffer_printf(out, " %u", bits);
        break;
    default:
        buffer_printf(out, " %lld", (long long)tensor_index(&one, 0));
    }
}

/* "x FP32 [2,1] 1 2; y BYTES [1] text", then the request's other members. */
static inline char *request_words(const struct infer_request *request, struct arena *arena)
{
    struct buffer out = { 0 };
    for (int i = 0; i < request->inputs_count; i++) {
        const struct infer_input *input = &request->inputs[i];
        buffer_printf(&out, "%s%.*s %s %s", i > 0 ? "; " : "", (int)input->name.size,
                      input->name.data, datatype_show(input->tensor.dtype),
                      shape_text(&input->tensor.shape));
        for (int64_t j = 0; j < input->tensor.size; j++)
            put_element(&input->tensor, j, &out);
    }
    for (int i = 0; i < request->outputs_count; i++)
        buffer_printf(&out, " -> %.*s%s", (int)request->outputs[i].name.size,
                      request->outputs[i].name.data,
                      (const char *[]){ "", " json", " binary" }[request->outputs[i].form]);
    if (request->id.size > 0)
        buffer_printf(&out, " id %.*s", (int)request->id.size, request->id.data);
    if (request->signature_name.size > 0)
        buffer_printf(&out, " signature %.*s", (int)request->signature_name.size,
                      request->signature_name.data);
    if (request->binary)
        buffer_append_text(&out, " binary");
    char *text = arena_memdup(arena, out.size > 0 ? out.data : "", out.size);
    buffer_finish(&out);
    return text;
}

#endif
