#include "server/json/pretty.h"

#include "base/decimal.h"
#include "server/json/print.h"

static void new_line(struct json_pretty *pretty)
{
    if (pretty->depth == 0)
        return;
    buffer_append_char(pretty->out, '\n');
    for (int i = 0; i < pretty->depth; i++)
        buffer_append_char(pretty->out, ' ');
}

static void begin(struct json_pretty *pretty, const char *key)
{
    if (!pretty->first && pretty->depth > 0)
        buffer_append_char(pretty->out, ',');
    new_line(pretty);
    pretty->first = false;
    if (key == NULL)
        return;
    json_print_string(pretty->out, bytes_of(key));
    buffer_append_text(pretty->out, ": ");
}

void json_pretty_open(struct json_pretty *pretty, const char *key, char bracket)
{
    begin(pretty, key);
    buffer_append_char(pretty->out, bracket);
    pretty->depth++;
    pretty->first = true;
}

void json_pretty_close(struct json_pretty *pretty, char bracket)
{
    pretty->depth--;
    if (!pretty->first) {
        if (pretty->depth > 0)
            new_line(pretty);
        else
            buffer_append_char(pretty->out, '\n');
    }
    buffer_append_char(pretty->out, bracket);
    if (pretty->depth == 0)
        buffer_append_char(pretty->out, '\n');
    pretty->first = false;
}

void json_pretty_text(struct json_pretty *pretty, const char *key, const char *value)
{
    begin(pretty, key);
    json_print_string(pretty->out, bytes_of(value));
}

void json_pretty_number(struct json_pretty *pretty, const char *key, int64_t value)
{
    char text[JSON_NUMBER_MAX];
    *decimal_put_int64(text, value) = '\0';
    json_pretty_text(pretty, key, text);
}

void json_pretty_word(struct json_pretty *pretty, const char *key, const char *word)
{
    begin(pretty, key);
    buffer_append_text(pretty->out, word);
}
