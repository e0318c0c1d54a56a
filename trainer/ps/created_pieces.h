/*
 * created_pieces: are the pieces that a Create names consistent, each with itself and with its
 * neighbours? Nothing is allocated before this is known, because the sizes come from any caller
 * that claims to be the chief.
 */
#ifndef TRAINER_PS_CREATED_PIECES_H
#define TRAINER_PS_CREATED_PIECES_H

#include "trainer/protocol/protocol.h"

/* INVALID_ARGUMENT: names the piece, and what it must be. */
struct status created_pieces_check(const struct create_request *request);

#endif
