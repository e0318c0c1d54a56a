/*
 * auth: bearer tokens. A request must have one of the tokens of a file, in REST's header
 * `Authorization: Bearer TOKEN` or in gRPC's metadata `authorization`. The file has a token per
 * line; empty lines and those that begin with # are skipped.
 *
 *     TRY(auth_create(path, &auth));
 *     TRY(auth_check(auth, header));
 *
 * Threads: safe.
 */
#ifndef SERVER_INFERENCE_AUTH_H
#define SERVER_INFERENCE_AUTH_H

#include "base/status.h"

struct auth;

/* Errors  those of reading the file; INVALID_ARGUMENT no token, or a line that cannot be one */
struct status auth_create(const char *path, struct auth **out);
void auth_destroy(struct auth *auth); /* accepts NULL */

/* Reads the file again. A failure keeps the old tokens. */
struct status auth_reload(struct auth *auth);

/* `header`: the received value; NULL: none. `auth` NULL: no token is required. UNAUTHENTICATED:
 * no valid token. The time is the same for all tokens of one length. */
struct status auth_check(struct auth *auth, const char *header);

#endif
