/*
 * session_memory: where nghttp2 has its streams and frames. Each call makes about ten small things,
 * of as many calls as are under way, and the C library keeps seven of a size at hand; here all are.
 *
 * Threads: the loop's, that of its sessions.
 */
#ifndef RPC_SESSION_MEMORY_H
#define RPC_SESSION_MEMORY_H

#include <nghttp2/nghttp2.h>

struct session_memory;

struct session_memory *session_memory_create(void);
void session_memory_destroy(struct session_memory *memory); /* after its sessions; accepts NULL */

/* As nghttp2 takes it, when a session is made. */
nghttp2_mem session_memory_functions(struct session_memory *memory);

#endif
