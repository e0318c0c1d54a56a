#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/json/example_request.h"
#include "server/json/text.h"
#include "tests/unit/json/signatures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bodies of predict and classify requests. If a body parses, every byte of its tensors can be read
 * and their sizes match their shapes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct test_finder finder = { .base.find = find_test_signature };
    struct arena *arena = arena_create((size_t)16 << 20);
    struct predict_request request;
    char *body = calloc(1, size + JSON_PADDING);
    memcpy(body, data, size);
    struct status status =
        predict_request_read((struct bytes){ body, size }, &finder.base, arena, &request);
    unsigned sum = 0;
    for (int i = 0; status_is_ok(status) && i < request.signature->inputs_count; i++) {
        const struct tensor *tensor = &request.inputs[i];
        const unsigned char *bytes = tensor->data;
        assert(tensor->size == shape_size(&tensor->shape));
        for (size_t at = 0; at < tensor_bytes(tensor); at++)
            sum += bytes[at];
    }
    struct example_request examples;
    status = example_request_read((struct bytes){ body, size }, arena, &examples);
    for (int64_t i = 0; status_is_ok(status) && i < examples.examples.size; i++)
        for (size_t at = 0; at < tensor_strings(&examples.examples)[i].size; at++)
            sum += (unsigned char)tensor_strings(&examples.examples)[i].data[at];
    arena_destroy(arena);
    free(body);
    return sum == 1u << 31 ? 0 : 0;
}
