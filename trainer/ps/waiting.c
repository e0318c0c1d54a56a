#include "trainer/ps/waiting.h"

#include <stdlib.h>

void waiting_append(struct waiting **list, struct waiting *waiting)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = waiting;
}

struct waiting *waiting_take(struct waiting **list, const struct call *call)
{
    for (; *list != NULL; list = &(*list)->next)
        if ((*list)->call == call) {
            struct waiting *taken = *list;
            *list = taken->next;
            taken->next = NULL;
            return taken;
        }
    return NULL;
}

void waiting_fail_all(struct waiting *list, struct status why)
{
    while (list != NULL) {
        struct waiting *next = list->next;
        message_release(&list->request);
        call_fail(list->call, why);
        if (list->finish != NULL)
            list->finish(list);
        free(list);
        list = next;
    }
}
