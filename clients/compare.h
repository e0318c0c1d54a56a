/*
 * compare: finds where two answers of the prediction service differ. Numbers with a fraction may
 * differ by atol + rtol · |expected|; all else must be equal. NaN equals NaN.
 */
#ifndef CLIENTS_COMPARE_H
#define CLIENTS_COMPARE_H

#include "base/arena.h"
#include "storage/prediction_log.h"

struct tolerance {
    double rtol, atol;
};

/**
 * Compares the messages of two answers to a request of this kind. *different: true if they differ;
 * a line in `out` then has the first difference and the number of differing values. Versions are
 * not compared.
 *
 * Errors  INTERNAL one of them is not a message of that kind
 */
struct status compare_answers(enum prediction_kind kind, struct bytes expected, struct bytes got,
                              const struct tolerance *tolerance, struct arena *arena,
                              bool *different, struct buffer *out);

#endif
