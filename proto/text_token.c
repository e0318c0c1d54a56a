#include "proto/text_token.h"

#include "base/characters.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void tokenizer_init(struct tokenizer *tokenizer, struct bytes text)
{
    if (text.size == 0)
        text.data = ""; /* it may be NULL */
    *tokenizer = (struct tokenizer){
        .at = text.data,
        .end = text.data + text.size,
        .line_start = text.data,
        .line = 1,
        .token.text = { text.data, 0 },
    };
}

struct status tokenizer_error(const struct tokenizer *tokenizer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct status status = status_errorv(STATUS_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    return status_in(status, "%d:%d", tokenizer->line,
                     (int)(tokenizer->token.text.data - tokenizer->line_start) + 1);
}

static void skip_blanks(struct tokenizer *tokenizer)
{
    const char *at = tokenizer->at;
    for (; at < tokenizer->end; at++) {
        if (*at == '#')
            while (at < tokenizer->end && *at != '\n')
                at++;
        if (at == tokenizer->end)
            break;
        if (*at == '\n') {
            tokenizer->line++;
            tokenizer->line_start = at + 1;
        } else if (*at != ' ' && *at != '\t' && *at != '\r' && *at != '\v' && *at != '\f') {
            break;
        }
    }
    tokenizer->at = at;
}

static const char *end_of_number(const char *at, const char *end)
{
    const char *start = at;
    bool hex = end - at > 1 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    for (; at < end; at++) {
        bool sign =
            (*at == '+' || *at == '-') && !hex && at > start && (at[-1] == 'e' || at[-1] == 'E');
        if (!is_digit(*at) && !is_letter(*at) && *at != '.' && !sign)
            break;
    }
    return at;
}

static const char *end_of_string(const char *at, const char *end)
{
    char quote = *at++;
    while (at < end && *at != quote && *at != '\n')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at < end && *at == quote ? at + 1 : NULL;
}

struct status tokenizer_next(struct tokenizer *tokenizer)
{
    skip_blanks(tokenizer);
    const char *at = tokenizer->at, *end = tokenizer->end;
    struct token *token = &tokenizer->token;
    token->text = (struct bytes){ at, 0 };
    if (at == end) {
        token->kind = TOKEN_END;
        return status_ok();
    }
    const char *stop = at + 1;
    if (is_letter(*at)) {
        token->kind = TOKEN_NAME;
        while (stop < end && (is_letter(*stop) || is_digit(*stop)))
            stop++;
    } else if (is_digit(*at) || (*at == '.' && stop < end && is_digit(*stop))) {
        token->kind = TOKEN_NUMBER;
        stop = end_of_number(at, end);
    } else if (*at == '"' || *at == '\'') {
        token->kind = TOKEN_STRING;
        stop = end_of_string(at, end);
        if (stop == NULL)
            return tokenizer_error(tokenizer, "String literals cannot cross line boundaries.");
    } else if ((unsigned char)*at > ' ' && (unsigned char)*at < 0x7f) {
        token->kind = TOKEN_CHARACTER;
    } else {
        return tokenizer_error(tokenizer, "Invalid character \\%03o in text.", (unsigned char)*at);
    }
    token->text.size = (size_t)(stop - at);
    tokenizer->at = stop;
    return status_ok();
}

bool token_is(const struct tokenizer *tokenizer, char character)
{
    return tokenizer->token.kind == TOKEN_CHARACTER && tokenizer->token.text.data[0] == character;
}

static bool is_digit_in(char c, int base)
{
    return hex_digit(c) >= 0 && hex_digit(c) < base;
}

/* Reads up to `most` digits of this base and moves *at past them. */
static unsigned read_digits(const char **at, const char *end, int base, int most)
{
    unsigned value = 0;
    for (int i = 0; i < most && *at < end && is_digit_in(**at, base); i++)
        value = value * (unsigned)base + (unsigned)hex_digit(*(*at)++);
    return value;
}

static void append_utf8(struct buffer *out, unsigned code)
{
    if (code < 0x80) {
        buffer_append_char(out, (char)code);
    } else if (code < 0x800) {
        buffer_append_char(out, (char)(0xc0 | code >> 6));
        buffer_append_char(out, (char)(0x80 | (code & 0x3f)));
    } else {
        if (code < 0x10000) {
            buffer_append_char(out, (char)(0xe0 | code >> 12));
        } else {
            buffer_append_char(out, (char)(0xf0 | code >> 18));
            buffer_append_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
        }
        buffer_append_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        buffer_append_char(out, (char)(0x80 | (code & 0x3f)));
    }
}

/* The four digits of a \u escape. As in protobuf, two of them may be one character. */
static unsigned read_utf16(const char **at, const char *end)
{
    unsigned code = read_digits(at, end, 16, 4);
    bool is_first_half = code >= 0xd800 && code < 0xdc00;
    if (!is_first_half || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return code;
    const char *next = *at + 2;
    unsigned half = read_digits(&next, end, 16, 4);
    if (half < 0xdc00 || half >= 0xe000 || next != *at + 6)
        return code;
    *at = next;
    return 0x10000 + ((code - 0xd800) << 10) + (half - 0xdc00);
}

struct status token_string(const struct tokenizer *tokenizer, struct buffer *out)
{
    static const char letters[] = "n\nr\rt\ta\ab\bf\fv\v\\\\\"\"''??";
    struct bytes text = tokenizer->token.text;
    const char *at = text.data + 1, *end = text.data + text.size - 1;
    while (at < end) {
        if (*at != '\\') {
            buffer_append_char(out, *at++);
            continue;
        }
        char c = *++at; /* there is one: at the latest the closing quote */
        if (c >= '0' && c <= '7') {
            buffer_append_char(out, (char)read_digits(&at, end, 8, 3));
            continue;
        }
        at++;
        const char *letter = NULL;
        for (const char *pair = letters; *pair != '\0' && letter == NULL; pair += 2)
            letter = *pair == c ? pair + 1 : NULL;
        if (letter != NULL)
            buffer_append_char(out, *letter);
        else if ((c == 'x' || c == 'X') && at < end && is_digit_in(*at, 16))
            buffer_append_char(out, (char)read_digits(&at, end, 16, 2));
        else if (c == 'u' && end - at >= 4)
            append_utf8(out, read_utf16(&at, end));
        else if (c == 'U' && end - at >= 8)
            append_utf8(out, read_digits(&at, end, 16, 8) & 0x1fffff);
        else
            return tokenizer_error(tokenizer, "Invalid escape sequence in string literal.");
    }
    return status_ok();
}
