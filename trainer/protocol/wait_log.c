#include "trainer/protocol/wait_log.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define STILL_MS 5000 /* a step that takes this long is worth a line */

bool wait_log_is_due(struct wait_log *log, const char *text, uint64_t global_step, int64_t now_ns,
                     int64_t repeat_ms)
{
    snprintf(log->text, sizeof log->text, "%s", text);
    if (global_step != log->global_step || log->stepped_ns == 0) {
        log->global_step = global_step;
        log->stepped_ns = now_ns;
        log->printed = false;
    }
    if (*text == '\0') {
        log->printed = false;
        return false;
    }
    if (global_step > 0 && now_ns - log->stepped_ns < (int64_t)STILL_MS * NS_PER_MS)
        return false;
    if (log->printed && now_ns - log->printed_ns < repeat_ms * NS_PER_MS)
        return false;
    log->printed = true;
    log->printed_ns = now_ns;
    return true;
}
