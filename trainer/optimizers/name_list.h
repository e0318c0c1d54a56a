/*
 * name_list: the names of a table's rows in one text, for an error or for the choices of a flag.
 *
 *     struct name_list list = { "learning_rate" };
 *     for (int i = 0; i < count; i++)
 *         name_list_add(&list, rows[i].name);
 *     … list.text …       "learning_rate momentum nesterov"
 */
#ifndef TRAINER_OPTIMIZERS_NAME_LIST_H
#define TRAINER_OPTIMIZERS_NAME_LIST_H

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct name_list {
    char text[256]; /* separated by spaces; zeroed: empty */
};

/* The tables are ours: the text must have room for their names. */
static inline void name_list_add(struct name_list *list, const char *name)
{
    size_t size = strlen(list->text), room = sizeof list->text - size;
    int added = snprintf(list->text + size, room, size > 0 ? " %s" : "%s", name);

    assert((size_t)added < room);
    (void)added;
}

#endif
