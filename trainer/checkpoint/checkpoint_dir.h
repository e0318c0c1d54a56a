/*
 * checkpoint_dir: a directory of checkpoints and its state file, as TensorFlow's Saver keeps them:
 *
 *     checkpoint                                    the state file: text that lists the checkpoints
 *     model.ckpt-1000.index, .data-00000-of-00001   a bundle, complete once its index is there
 *
 * A process locks the directory while it uses it. Unfinished files at the start were left by a
 * process that was killed. A checkpoint is written under a temporary name, and the new state file
 * beside the old one. Then data, index and state file are renamed, in this order. After a kill in
 * between, the next start completes or reverts this:
 *
 *     model.ckpt-1000.unfinished.*   removed
 *     checkpoint.unfinished          becomes `checkpoint` if all its files exist, otherwise removed
 *
 * A checkpoint is removed from the state file only after its files are gone, so no files are
 * orphaned.
 *
 * A state file that does not parse is rewritten from the checkpoints beside it. If it is missing,
 * the job starts from scratch, as with TensorFlow. checkpoint_dir_note reports both.
 */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_DIR_H
#define TRAINER_CHECKPOINT_CHECKPOINT_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

struct checkpoint_dir;

/**
 * Creates the directory if it is missing, locks it, completes or removes what a killed process
 * left, and reads the state file. max_to_keep 0: keeps all checkpoints.
 *
 * Errors  UNAVAILABLE another process has locked it; INVALID_ARGUMENT the state file does not
 * parse, and no checkpoint is beside it; file-system errors, if it is not writable
 */
struct status checkpoint_dir_open(const char *path, int max_to_keep, struct checkpoint_dir **out);
void checkpoint_dir_close(struct checkpoint_dir *dir); /* accepts NULL */

/* A warning about the existing state file; "": none. */
const char *checkpoint_dir_note(const struct checkpoint_dir *dir);
/* Prefixes of bundles, the latest first; each may be damaged or gone. */
int checkpoint_dir_count(const struct checkpoint_dir *dir);
char *checkpoint_dir_at(const struct checkpoint_dir *dir, int index, struct arena *arena);

/* The step in the latest checkpoint's name. Returns false if there is none, or its name is not
 * ours. */
bool checkpoint_dir_last_step(const struct checkpoint_dir *dir, uint64_t *step);

/* Is the latest checkpoint of this step, with a name of ours? */
bool checkpoint_dir_has_step(const struct checkpoint_dir *dir, uint64_t step);

/* The prefix of the latest checkpoint according to the state file, for a directory that is only
 * read. NOT_FOUND, INVALID_ARGUMENT: there is no state file, or it names no checkpoint. */
struct status checkpoint_dir_find_latest(const char *path, struct arena *arena, const char **out);

/**
 * Adds a checkpoint, which becomes the latest: `write` writes a bundle with the given prefix.
 * Removes the oldest checkpoints over the limit. A failure changes nothing.
 */
struct status checkpoint_dir_add(struct checkpoint_dir *dir, uint64_t step,
                                 struct status (*write)(void *context, const char *prefix),
                                 void *context);

#endif
