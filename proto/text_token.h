/*
 * text_token: the tokens of text format: names, numbers, strings and single characters. Comments
 * and blanks separate them.
 */
#ifndef PROTO_TEXT_TOKEN_H
#define PROTO_TEXT_TOKEN_H

#include "base/arena.h"
#include "base/bytes.h"

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_CHARACTER };

struct token {
    enum token_kind kind;
    struct bytes text; /* as written, with a string's quotes */
};

struct tokenizer {
    const char *at, *end;
    const char *line_start; /* of the current token's line */
    int line;
    struct token token; /* the current one */
};

void tokenizer_init(struct tokenizer *tokenizer, struct bytes text);

/* Reads the next token. INVALID_ARGUMENT: an unterminated string, or an invalid character. */
struct status tokenizer_next(struct tokenizer *tokenizer);

/* INVALID_ARGUMENT "line:column: …" at the current token. */
struct status tokenizer_error(const struct tokenizer *tokenizer, const char *format, ...)
    PRINTF_LIKE(2, 3);

bool token_is(const struct tokenizer *tokenizer, char character);

/* Appends the characters of the current string token, unescaped. */
struct status token_string(const struct tokenizer *tokenizer, struct buffer *out);

#endif
