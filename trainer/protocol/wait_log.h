/* wait_log: decides when to log a line about a wait: at once before the first step, later after a
 * few seconds without progress, and then at intervals until the wait ends. */
#ifndef TRAINER_PROTOCOL_WAIT_LOG_H
#define TRAINER_PROTOCOL_WAIT_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct wait_log {
    char text[256];
    bool printed;
    int64_t printed_ns;
    uint64_t global_step;
    int64_t stepped_ns; /* when it last moved */
};

/* text: what the task waits for, "" for nothing. Returns true if it should be logged now. */
bool wait_log_is_due(struct wait_log *log, const char *text, uint64_t global_step, int64_t now_ns,
                     int64_t repeat_ms);

#endif
