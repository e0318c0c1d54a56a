#include "server/models/servable_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"

/* A cached result of manager_find, followed by the texts of its name and label. */
struct finding {
    struct version_choice choice;
    struct servable *servable;
    struct finding *next; /* for the same model, which has few versions and labels */
};

struct servable_cache {
    int number;
    uint64_t generation;
    struct map models; /* of struct finding, by the model's name */
};

static _Thread_local struct servable_cache *of_thread;

struct servable_cache *servable_cache_create(int number)
{
    struct servable_cache *cache = zalloc(sizeof *cache);
    cache->number = number;
    return cache;
}

static void forget_all(struct servable_cache *cache)
{
    for (size_t i = 0; i < cache->models.count; i++)
        for (struct finding *at = cache->models.entries[i].value, *next; at != NULL; at = next) {
            next = at->next;
            servable_release(at->servable);
            free(at);
        }
    map_finish(&cache->models);
    cache->models = (struct map){ 0 };
}

void servable_cache_destroy(struct servable_cache *cache)
{
    if (cache == NULL)
        return;
    if (of_thread == cache)
        servable_cache_enter(NULL);
    forget_all(cache);
    free(cache);
}

void servable_cache_enter(struct servable_cache *cache)
{
    of_thread = cache;
    servable_number_thread(cache != NULL ? cache->number : 0);
}

struct servable_cache *servable_cache_of_thread(void)
{
    return of_thread;
}

void servable_cache_forget(struct servable_cache *cache, uint64_t generation)
{
    if (cache == NULL || cache->generation == generation)
        return;
    forget_all(cache);
    cache->generation = generation;
}

static bool is_same(const struct version_choice *a, const struct version_choice *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == VERSION_LATEST ||
           (a->kind == VERSION_SPECIFIC ? a->number == b->number : bytes_equal(a->label, b->label));
}

struct servable *servable_cache_get(struct servable_cache *cache, uint64_t generation,
                                    struct bytes name, const struct version_choice *choice)
{
    servable_cache_forget(cache, generation);
    const struct finding *at = map_get(&cache->models, name);
    while (at != NULL && !is_same(&at->choice, choice))
        at = at->next;
    return at != NULL ? servable_acquire(at->servable) : NULL;
}

static char *append(char *end, struct bytes text)
{
    if (text.size > 0)
        memcpy(end, text.data, text.size);
    return end + text.size;
}

void servable_cache_put(struct servable_cache *cache, uint64_t generation, struct bytes name,
                        const struct version_choice *choice, struct servable *servable)
{
    struct bytes label = choice->kind == VERSION_LABELLED ? choice->label : (struct bytes){ "", 0 };
    struct finding *finding = zalloc(sizeof *finding + name.size + label.size);
    char *text = (char *)(finding + 1);
    char *label_text = append(text, name);
    append(label_text, label);
    servable_cache_forget(cache, generation);
    *finding = (struct finding){ .choice = *choice, .servable = servable_acquire(servable) };
    finding->choice.label = (struct bytes){ label_text, label.size };
    struct finding *first = map_get(&cache->models, name);
    if (first == NULL) {
        map_put(&cache->models, (struct bytes){ text, name.size }, finding);
    } else { /* the map borrows the name of the first one */
        finding->next = first->next;
        first->next = finding;
    }
}
