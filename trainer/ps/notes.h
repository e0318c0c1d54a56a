/*
 * notes: notes that tasks leave for each other before the variables exist (the methods Post and
 * Fetch). A note stays until the process ends, or until a later one with the same key replaces it.
 */
#ifndef TRAINER_PS_NOTES_H
#define TRAINER_PS_NOTES_H

#include "trainer/ps/state.h"

struct notes *notes_create(void);
void notes_destroy(struct notes *notes, struct budget *budget); /* NULL: none was charged */

#endif
