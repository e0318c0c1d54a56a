/*
 * new_directory: creates an export directory atomically. It is built beside its final name and
 * renamed last: a server that polls the base path sees a complete version or none.
 *
 *     model/1.tmp-<pid>-<n>/…  is written and fsynced, then renamed to  model/1
 */
#ifndef SAVEDMODEL_NEW_DIRECTORY_H
#define SAVEDMODEL_NEW_DIRECTORY_H

#include "base/arena.h"
#include "base/status.h"

/* Writes everything into `directory`, which it makes. */
typedef struct status new_directory_fill(const char *directory, void *context, struct arena *arena);

/**
 * Makes `directory`, which must be absent or hold nothing but empty directories. `again`: succeed
 * also if it already has the same content, byte for byte. A failure leaves nothing behind.
 *
 * Errors  ALREADY_EXISTS not empty; those of `fill` and of the file system
 */
struct status new_directory_write(const char *directory, bool again, new_directory_fill *fill,
                                  void *context);

/* Fails if new_directory_write could not make this directory. It makes and removes a temporary
 * sibling. */
struct status new_directory_check(const char *directory);

#endif
