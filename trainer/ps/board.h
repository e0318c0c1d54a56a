/*
 * board: notes that tasks leave for each other before the variables exist (the methods Post and
 * Fetch). A note stays until the process ends, or until a later one with the same key replaces it.
 */
#ifndef TRAINER_PS_BOARD_H
#define TRAINER_PS_BOARD_H

#include "trainer/ps/state.h"

struct board *board_create(void);
void board_destroy(struct board *board, struct budget *budget); /* NULL: none was charged */

#endif
