/*
 * json_pretty: prints small documents as protobuf does: one member a line, indented by one space a
 * level.
 */
#ifndef SERVER_JSON_PRETTY_H
#define SERVER_JSON_PRETTY_H

#include "base/bytes.h"

struct json_pretty {
    struct buffer *out;
    int depth;
    bool first; /* nothing was printed yet in the innermost object or list */
};

/* key NULL: it is an element of a list, or the whole document. */
void json_pretty_open(struct json_pretty *pretty, const char *key, char bracket);
void json_pretty_close(struct json_pretty *pretty, char bracket);
void json_pretty_text(struct json_pretty *pretty, const char *key, const char *value);
/* printed as a string */
void json_pretty_number(struct json_pretty *pretty, const char *key, int64_t value);
void json_pretty_word(struct json_pretty *pretty, const char *key, const char *word);

#endif
