/* Records of request logs: read, redirected to another model, and their answers compared. */
#include <stdint.h>
#include <stdlib.h>

#include "clients/compare.h"
#include "clients/log_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever the record is, each kind of comparison must survive its bytes. */
static void compare(const struct prediction_log *record)
{
    static const enum prediction_kind kinds[] = { PREDICTION_PREDICT, PREDICTION_CLASSIFY,
                                                  PREDICTION_REGRESS, PREDICTION_MULTI_INFERENCE };
    const struct tolerance tolerance = { .rtol = 1e-5, .atol = 1e-6 };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct arena *arena = arena_create((size_t)64 << 20);
        struct buffer out = { 0 };
        bool different;
        struct status status = compare_answers(kinds[i], record->response, record->response,
                                               &tolerance, arena, &different, &out);
        if (status_is_ok(status) && different)
            abort();
        status_ignore(compare_answers(kinds[i], record->response, record->request, &tolerance,
                                      arena, &different, &out));
        buffer_finish(&out);
        arena_destroy(arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prediction_log record;
    struct client_target target = { .model = "other", .version = 7 };
    struct buffer out = { 0 };
    if (!prediction_log_read((struct bytes){ (const char *)data, size }, &record) ||
        record.kind == PREDICTION_NONE)
        return 0;
    log_request_put(&record, &target, &out);
    buffer_finish(&out);
    prediction_log_put(&record, &out);
    if (out.size != prediction_log_size(&record))
        abort();
    buffer_finish(&out);
    compare(&record);
    return 0;
}
