#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "fuzz/infer.h"
#include "server/oip/infer_wire.h"

/* Serialized ModelInferRequests. The request is written as an answer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create((size_t)16 << 20);
    struct infer_request request;
    char *message = malloc(size + 1);
    memcpy(message, data, size);
    struct status status = infer_wire_read((struct bytes){ message, size }, arena, &request);
    if (status_is_ok(status))
        answer_with_inputs(&request, arena, put_answer);
    arena_destroy(arena);
    free(message);
    return 0;
}
