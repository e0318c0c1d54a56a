/*
 * text_token: the words of text format: names, numbers, strings and single characters, with
 * comments and blanks between.
 */
#ifndef PROTO_TEXT_TOKEN_H
#define PROTO_TEXT_TOKEN_H

#include "base/arena.h"
#include "base/bytes.h"

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_CHARACTER };

struct token {
    enum token_kind kind;
    struct bytes text; /* as written; a string's quotes included */
};

struct tokenizer {
    const char *at, *end;
    const char *line_start; /* of the current token's line */
    int line;
    struct token token; /* the current one */
};

void tokenizer_init(struct tokenizer *tokenizer, struct bytes text);

/* To the next token. INVALID_ARGUMENT: a string without end, a character that begins none. */
struct status tokenizer_next(struct tokenizer *tokenizer);

/* INVALID_ARGUMENT "line:column: …" at the current token. */
struct status tokenizer_error(const struct tokenizer *tokenizer, const char *format, ...)
    PRINTF_LIKE(2, 3);

bool token_is(const struct tokenizer *tokenizer, char character);

/* The characters of the current string token, escapes undone, appended. */
struct status token_string(const struct tokenizer *tokenizer, struct buffer *out);

#endif
