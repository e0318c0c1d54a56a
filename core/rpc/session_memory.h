/*
 * session_memory: the allocator that nghttp2 uses for streams and frames. nghttp2 makes about ten
 * small allocations per call. malloc's thread cache holds seven of each size, too few for many
 * concurrent calls; this free list holds them all.
 *
 * Threads: the loop's.
 */
#ifndef RPC_SESSION_MEMORY_H
#define RPC_SESSION_MEMORY_H

#include <nghttp2/nghttp2.h>

struct session_memory;

struct session_memory *session_memory_create(void);
void session_memory_destroy(struct session_memory *memory); /* after its sessions; accepts NULL */

/* For nghttp2_session_server_new3 and nghttp2_session_client_new3. */
nghttp2_mem session_memory_functions(struct session_memory *memory);

#endif
