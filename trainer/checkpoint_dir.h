/*
 * checkpoint_dir: a directory of checkpoints and its state file, as TensorFlow's Saver keeps them:
 *
 *     checkpoint                                    text: the latest, and all there are
 *     model.ckpt-1000.index, .data-00000-of-00001   a bundle, whole as soon as its index is there
 *
 * One process at a time has a directory (it is locked), so all that is unfinished in it at the
 * start is what a killed one left. A checkpoint is written under another name, then the state as it
 * is going to be beside the state file, and only then everything gets its name, the state file
 * last. A kill in between is completed at the next start, or undone:
 *
 *     model.ckpt-1000.unfinished.*      removed
 *     checkpoint.unfinished             with all it names in place: becomes `checkpoint`; else
 * removed
 *
 * A checkpoint leaves the state file after it is gone, so that none is forgotten on the disk.
 *
 * A state file that does not parse is written anew from the checkpoints beside it. A state file
 * that is missing means, as in TensorFlow, that the job begins anew. checkpoint_dir_note tells of
 * both.
 */
#ifndef TRAINER_CHECKPOINT_DIR_H
#define TRAINER_CHECKPOINT_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

struct checkpoint_dir;

/**
 * Makes the directory if need be, locks it, completes or removes what a killed process left, and
 * reads the state file. max_to_keep 0: all are kept.
 *
 * Errors  UNAVAILABLE another process has it; INVALID_ARGUMENT a state file that does not parse,
 *         and no checkpoint beside it; what the file system says: it must be writable
 */
struct status checkpoint_dir_open(const char *path, int max_to_keep, struct checkpoint_dir **out);
void checkpoint_dir_close(struct checkpoint_dir *dir); /* accepts NULL */

const char *checkpoint_dir_path(const struct checkpoint_dir *dir);
/* A warning about the state file as it was found; "": it was fine. */
const char *checkpoint_dir_note(const struct checkpoint_dir *dir);
/* Prefixes of bundles, the latest first; each may be damaged or gone. */
int checkpoint_dir_count(const struct checkpoint_dir *dir);
char *checkpoint_dir_at(const struct checkpoint_dir *dir, int index, struct arena *arena);

/* The step in the name of the latest one; false: there is none, or it has a name of its own. */
bool checkpoint_dir_last_step(const struct checkpoint_dir *dir, uint64_t *step);

/* Is the latest one of this step, under our name? */
bool checkpoint_dir_has_step(const struct checkpoint_dir *dir, uint64_t step);

/**
 * Adds a checkpoint: `write` makes a bundle under the prefix it is given. It becomes the latest,
 * and the oldest ones go. On failure all is as it was.
 */
struct status checkpoint_dir_add(struct checkpoint_dir *dir, uint64_t step,
                                 struct status (*write)(void *context, const char *prefix),
                                 void *context);

#endif
