#include "trainer/protocol/wait_log.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define STILL_MS 5000 /* a step that takes this long is worth a line */

bool wait_log_is_due(struct wait_log *log, const char *text, uint64_t global_step, int64_t now_ns,
                     int64_t repeat_ms)
{
    snprintf(note->text, sizeof note->text, "%s", text);
    if (global_step != note->global_step || note->stepped_ns == 0) {
        note->global_step = global_step;
        note->stepped_ns = now_ns;
        note->printed = false;
    }
    if (*text == '\0') {
        note->printed = false;
        return false;
    }
    if (global_step > 0 && now_ns - note->stepped_ns < (int64_t)STILL_MS * NS_PER_MS)
        return false;
    if (note->printed && now_ns - note->printed_ns < repeat_ms * NS_PER_MS)
        return false;
    note->printed = true;
    note->printed_ns = now_ns;
    return true;
}
