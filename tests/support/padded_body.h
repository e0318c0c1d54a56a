/*
 * padded_body: a text that ends with exactly the padding that readers of JSON need, so that
 * AddressSanitizer reports reads past it. Each call frees the text of the call before;
 * padded_body_teardown, or another call, that of the last one.
 */
#ifndef SUPPORT_PADDED_BODY_H
#define SUPPORT_PADDED_BODY_H

#include <stdlib.h>
#include <string.h>

#include "server/json/text.h"
#include "support/arena.h"

static char *padded_text;

static inline struct bytes padded_body(struct bytes text)
{
    free(padded_text);
    padded_text = calloc(1, text.size + JSON_PADDING);
    memcpy(padded_text, text.data, text.size);
    return (struct bytes){ padded_text, text.size };
}

static inline int padded_body_teardown(void **state)
{
    free(padded_text);
    padded_text = NULL;
    return arena_teardown(state);
}

#endif
