/*
 * json_pretty: small documents of known form, one member to a line, indented by one space: what
 * protobuf prints.
 */
#ifndef SERVER_JSON_PRETTY_H
#define SERVER_JSON_PRETTY_H

#include "base/bytes.h"

struct json_pretty {
    struct buffer *out;
    int depth;
    bool first; /* of its object or list */
};

/* key NULL: an element of a list, or the document itself. */
void json_pretty_open(struct json_pretty *pretty, const char *key, char bracket);
void json_pretty_close(struct json_pretty *pretty, char bracket);
void json_pretty_text(struct json_pretty *pretty, const char *key, const char *value);
void json_pretty_number(struct json_pretty *pretty, const char *key, int64_t value); /* as text */
void json_pretty_word(struct json_pretty *pretty, const char *key, const char *word);

#endif
