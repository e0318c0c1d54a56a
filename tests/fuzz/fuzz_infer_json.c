#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "fuzz/infer.h"
#include "server/json/text.h"
#include "server/oip/infer_json.h"

/* Bodies of REST inference requests. The first two bytes are the size of the JSON object; 0xffff:
 * there is no such header. The request is printed as an answer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t json_size = (size_t)data[0] | (size_t)data[1] << 8;
    struct arena *arena = arena_create((size_t)16 << 20);
    struct infer_request request;
    char *body = calloc(1, size - 2 + JSON_PADDING);
    memcpy(body, data + 2, size - 2);
    struct status status =
        infer_json_read((struct bytes){ body, size - 2 },
                        json_size == 0xffff ? INFER_JSON_ALL : json_size, arena, &request);
    if (status_is_ok(status))
        answer_with_inputs(&request, arena, print_answer);
    arena_destroy(arena);
    free(body);
    return 0;
}
