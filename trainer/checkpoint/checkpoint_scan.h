/*
 * checkpoint_scan: lists the checkpoints in a directory by its files, without the state file.
 */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_SCAN_H
#define TRAINER_CHECKPOINT_CHECKPOINT_SCAN_H

#include "base/arena.h"
#include "base/status.h"

struct checkpoint_scan {
    const char **names; /* "model.ckpt-1000", by ascending steps */
    int count;
};

/**
 * Finds every model.ckpt-<step> with an index and a data file.
 *
 * Owner   out lives in `arena`
 * Errors  file-system errors
 */
struct status checkpoint_scan(const char *directory, struct arena *arena,
                              struct checkpoint_scan *out);

#endif
