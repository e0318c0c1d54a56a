/*
 * other_content: kinds of files that no format reads, by their first bytes. Their names may end in
 * .csv all the same.
 */
#ifndef TRAINER_RECORDS_OTHER_CONTENT_H
#define TRAINER_RECORDS_OTHER_CONTENT_H

#include "base/bytes.h"

struct other_content {
    struct bytes start;
    const char *name, *advice;
    bool is_text;                             /* lines of it may be rows of texts */
    bool (*is_of_kind)(struct bytes content); /* what begins with `start`; NULL: all that does */
};

/* NULL: none of these. */
const struct other_content *other_content_find(struct bytes start);

#endif
