/*
 * copy_tree: copies files of a model unchanged.
 */
#ifndef SAVEDMODEL_COPY_TREE_H
#define SAVEDMODEL_COPY_TREE_H

#include "base/arena.h"
#include "base/status.h"

/* Copies a file byte for byte. */
struct status copy_file(const char *from, const char *to);

/* Copies a directory of files, if there is one, and fsyncs it. INVALID_ARGUMENT: it is too deep. */
struct status copy_tree(const char *from, const char *to, struct arena *arena);

#endif
