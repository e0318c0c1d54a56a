/*
 * list: a list of structs that embed their own link, so that removing one needs no search.
 *
 *     struct watcher {
 *         struct list_link link;
 *     };
 *     struct list_link *watchers = NULL;
 *
 *     list_push(&watchers, &watcher->link);
 *     for (struct list_link *at = watchers; at != NULL; at = at->next)
 *         tell(CONTAINER_OF(at, struct watcher, link));
 *     list_remove(&watcher->link);
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise it. */
struct list_link {
    struct list_link *next;
    struct list_link **from; /* the pointer to this link; NULL: not in a list */
};

static inline bool list_holds(const struct list_link *link)
{
    return link->from != NULL;
}

/* Adds the link at the front. */
static inline void list_push(struct list_link **list, struct list_link *link)
{
    assert(!list_holds(link));
    link->next = *list;
    link->from = list;
    if (link->next != NULL)
        link->next->from = &link->next;
    *list = link;
}

static inline void list_remove(struct list_link *link)
{
    assert(list_holds(link) && *link->from == link);
    *link->from = link->next;
    if (link->next != NULL)
        link->next->from = link->from;
    *link = (struct list_link){ NULL, NULL };
}

#endif
