/*
 * servable_cache: a loop thread's cache of the servables that it has found. A warm request finds
 * its servable without a lock, and without writing to a cache line that another loop writes to.
 *
 *     struct servable_cache *cache = servable_cache_create(number);
 *     servable_cache_enter(cache);           in the loop's thread
 *     TRY(manager_find(…));                  caches its results from now on
 *
 * The cache holds a reference to each servable in it. It is valid for one generation of the
 * manager: when any version has changed its state, the cache is cleared at the next request, or
 * when the manager notifies the loops (manager_refresh_cache), whichever comes first.
 */
#ifndef SERVER_MODELS_SERVABLE_CACHE_H
#define SERVER_MODELS_SERVABLE_CACHE_H

#include "server/models/served_model.h"

struct servable_cache;

/* `number`: of the thread, for servable_number_thread. */
struct servable_cache *servable_cache_create(int number);
/* Clears and frees it. In any thread, when the cache's own has ended. Accepts NULL. */
void servable_cache_destroy(struct servable_cache *cache);

/* Makes it the cache of the calling thread, which gets the cache's number. NULL: the thread has
 * neither any more. */
void servable_cache_enter(struct servable_cache *cache);
struct servable_cache *servable_cache_of_thread(void); /* NULL: it has none */

/* The result of manager_find for this name and choice, acquired for the caller; NULL: not
 * cached. If the cache is of another generation, clears it. */
struct servable *servable_cache_get(struct servable_cache *cache, uint64_t generation,
                                    struct bytes name, const struct version_choice *choice);
/* Caches a result of this generation. */
void servable_cache_put(struct servable_cache *cache, uint64_t generation, struct bytes name,
                        const struct version_choice *choice, struct servable *servable);
/* Clears the cache unless it is of this generation. Accepts NULL. */
void servable_cache_forget(struct servable_cache *cache, uint64_t generation);

#endif
