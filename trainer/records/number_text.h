/*
 * number_text: numbers in text files, which have more forms than JSON allows: 007, +1, .5, 5., nan,
 * -inf, surrounding spaces. The fast path is base/json_number.h; this handles everything else.
 */
#ifndef TRAINER_RECORDS_NUMBER_TEXT_H
#define TRAINER_RECORDS_NUMBER_TEXT_H

#include "base/bytes.h"

/* INVALID_ARGUMENT: 'abc' is not a number, or is out of range. Surrounding spaces are accepted. */
struct status number_text_float(struct bytes text, float *out);
struct status number_text_int64(struct bytes text, int64_t *out);
struct status number_text_hex(struct bytes text, int64_t *out); /* up to 16 digits, no sign */

/* The text without the spaces and tabs around it, which a number may have. */
struct bytes number_text_trim(struct bytes text);

#endif
