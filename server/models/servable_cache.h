/*
 * servable_cache: the servables that a loop's thread has found lately. A warm request finds its own
 * without a lock, and without writing to a cache line that another loop writes to.
 *
 *     struct servable_cache *cache = servable_cache_create(number);
 *     servable_cache_enter(cache);           in the loop's thread
 *     TRY(manager_find(…));                  remembers, from now on
 *
 * The cache holds a reference to each servable in it. It is valid for one generation of the
 * manager: when any version has changed its state, the cache forgets all at the next request, or
 * when the manager tells the loops of the change (manager_refresh_cache), whichever comes first.
 */
#ifndef SERVER_MODELS_SERVABLE_CACHE_H
#define SERVER_MODELS_SERVABLE_CACHE_H

#include "server/models/served_model.h"

struct servable_cache;

/* `number`: of the thread, for servable_number_thread. */
struct servable_cache *servable_cache_create(int number);
/* Forgets all. In any thread, when the cache's own has ended. Accepts NULL. */
void servable_cache_destroy(struct servable_cache *cache);

/* Makes it the cache of the calling thread, which gets the cache's number. NULL: the thread has
 * neither any more. */
void servable_cache_enter(struct servable_cache *cache);
struct servable_cache *servable_cache_of_thread(void); /* NULL: it has none */

/* What manager_find found for this name and choice, acquired for the caller; NULL: not known. If
 * the cache is of another generation, it forgets all. */
struct servable *servable_cache_get(struct servable_cache *cache, uint64_t generation,
                                    struct bytes name, const struct version_choice *choice);
/* Remembers what was found in this generation. */
void servable_cache_put(struct servable_cache *cache, uint64_t generation, struct bytes name,
                        const struct version_choice *choice, struct servable *servable);
/* Forgets all unless it is of this generation. Accepts NULL. */
void servable_cache_forget(struct servable_cache *cache, uint64_t generation);

#endif
