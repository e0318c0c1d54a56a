#include "tensor/shell_value.h"

#define SHOWN_MAX    16                 /* numbers that are printed one by one */
#define ARGUMENT_MAX ((uint64_t)100000) /* Linux allows 128 KiB in one argument */

static int64_t dim_of(const struct shape *shape, int i)
{
    return shape->dims[i] < 1 ? 1 : shape->dims[i];
}

/* The count of numbers in a list of the dimensions from `level` on. */
static uint64_t elements(const struct shape *shape, int level)
{
    uint64_t count = 1;
    for (int i = level; i < shape->rank; i++)
        if (__builtin_mul_overflow(count, (uint64_t)dim_of(shape, i), &count))
            return UINT64_MAX;
    return count;
}

static void print_level(const struct shape *shape, int level, const char *number,
                        struct buffer *out)
{
    if (level == shape->rank) {
        buffer_append_text(out, number);
        return;
    }
    int64_t size = dim_of(shape, level);
    buffer_append_char(out, '[');
    if (size == 1 || elements(shape, level) <= SHOWN_MAX) {
        for (int64_t i = 0; i < size; i++) {
            buffer_append_text(out, i > 0 ? "," : "");
            print_level(shape, level + 1, number, out);
        }
    } else {
        const char *quote = level + 1 < shape->rank ? "\"" : "";
        buffer_printf(out, "$(yes %s", quote);
        print_level(shape, level + 1, number, out);
        buffer_printf(out, "%s | head -n %lld | paste -sd, -)", quote, (long long)size);
    }
    buffer_append_char(out, ']');
}

void shell_value_print(const struct shape *shape, const char *number, struct buffer *out)
{
    print_level(shape, 0, number, out);
}

uint64_t shell_value_expanded(const struct shape *shape, const char *number)
{
    uint64_t size = strlen(number);
    for (int i = shape->rank - 1; i >= 0; i--)
        if (__builtin_add_overflow(size, (uint64_t)1, &size) ||
            __builtin_mul_overflow(size, (uint64_t)dim_of(shape, i), &size) ||
            __builtin_add_overflow(size, (uint64_t)1, &size))
            return UINT64_MAX;
    return size;
}

void shell_command_print(struct bytes body, uint64_t expanded, const char *url, struct buffer *out)
{
    bool long_body = expanded > ARGUMENT_MAX;
    buffer_printf(out, long_body ? "echo \"%.*s\" | curl -d @- %s" : "curl -d \"%.*s\" %s",
                  (int)body.size, body.data, url);
}

bool shell_is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=";
    return text[0] != '\0' && text[strspn(text, plain)] == '\0';
}

void shell_word_print(const char *text, struct buffer *out)
{
    if (shell_is_plain(text)) {
        buffer_append_text(out, text);
        return;
    }
    buffer_append_char(out, '\'');
    for (; *text != '\0'; text++)
        if (*text == '\'')
            buffer_append_text(out, "'\\''");
        else
            buffer_append_char(out, *text);
    buffer_append_char(out, '\'');
}
