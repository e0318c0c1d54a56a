/*
 * metadata: a list of the names and values that a call carries beside its messages. Zero-initialise
 * it.
 */
#ifndef RPC_METADATA_H
#define RPC_METADATA_H

#include "rpc/channel.h"

struct metadata_list {
    struct metadata *items;
    int count, capacity;
};

void metadata_add(struct metadata_list *list, const char *name, const char *value); /* copies */
/* The first value of this name; NULL: none. */
const char *metadata_find(const struct metadata *items, int count, const char *name);
void metadata_finish(struct metadata_list *list);

#endif
