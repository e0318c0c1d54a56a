/*
 * auth: bearer tokens. A request needs one of the tokens of a file, in the header `Authorization:
 * Bearer TOKEN` of REST or the metadata `authorization` of gRPC. The file has a token on each line;
 * empty lines and those that begin with # are skipped.
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

/* Reads the file again. After a failure, the old tokens stay. */
struct status auth_reload(struct auth *auth);

/* `header`: the value that came; NULL: none did. `auth` NULL: no token is needed. UNAUTHENTICATED:
 * it has none of the tokens. Takes the same time for every token of one length. */
struct status auth_check(struct auth *auth, const char *header);

#endif
