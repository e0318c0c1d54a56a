/*
 * addresses: lists of the addresses of tasks, as tasks compare them.
 */
#ifndef TRAINER_PROTOCOL_ADDRESSES_H
#define TRAINER_PROTOCOL_ADDRESSES_H

#include "base/arena.h"
#include "base/bytes.h"

/* One spelling of "host:port,host:port": host names in lower case, and 127.0.0.1 as localhost. In
 * `arena`. */
const char *addresses_normalized(const char *list, struct arena *arena);

#endif
