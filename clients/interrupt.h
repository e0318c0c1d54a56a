/*
 * interrupt: Ctrl-C during a command that sends many requests. The first one ends the command early
 * and its result so far is printed. The second one ends the program.
 */
#ifndef CLIENTS_INTERRUPT_H
#define CLIENTS_INTERRUPT_H

#include <stdbool.h>

void interrupt_watch(void);
bool interrupt_came(void); /* Threads: any */

#endif
