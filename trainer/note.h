/*
 * note: when a line about a wait is due: at once where nothing has been trained yet, after a few
 * seconds of standing still in the middle, and then every so often for as long as it lasts.
 */
#ifndef TRAINER_NOTE_H
#define TRAINER_NOTE_H

#include <stdbool.h>
#include <stdint.h>

struct note {
    char text[256];
    bool printed;
    int64_t printed_ns;
    uint64_t global_step;
    int64_t stepped_ns; /* when it last moved */
};

/* text: whom is waited for, "" for nobody. True: print it now. */
bool note_due(struct note *note, const char *text, uint64_t global_step, int64_t now_ns,
              int64_t repeat_ms);

#endif
