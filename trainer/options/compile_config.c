#include "trainer/options/compile_config.h"

#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json_value.h"
#include "base/text_print.h"

#define COMPILE_CONFIG_BYTES_MAX ((size_t)1 << 20)

static bool is_json(const char *text)
{
    return *text != '\0' && strchr("{[\"", *text) != NULL;
}

/* Parses the flag by itself, so that a syntax error has its position in the flag. */
static struct status check_json(const char *flag, const char *text)
{
    if (!is_json(text))
        return status_ok();
    struct arena *arena = arena_create(0);
    const struct json_value *value;
    struct status held = status_hold(json_value_read_strict(bytes_of(text), arena, &value));
    arena_destroy(arena);
    return status_in(status_resume(held), "--%s", flag);
}

/* Appends JSON verbatim, or the name of a class as a string. */
static void append_value(const char *text, struct buffer *out)
{
    if (is_json(text))
        buffer_append_text(out, text);
    else
        json_print_string(out, bytes_of(text));
}

/* "auc,accuracy", or JSON. */
static void append_metrics(const char *text, struct buffer *out)
{
    if (*text == '[' || *text == '{') {
        buffer_append_text(out, text);
        return;
    }
    buffer_append_char(out, '[');
    for (const char *at = text; *at != '\0';) {
        size_t size = strcspn(at, ",");
        buffer_append_text(out, at == text ? "" : ",");
        json_print_string(out, (struct bytes){ at, size });
        at += size + (at[size] == ',');
    }
    buffer_append_char(out, ']');
}

struct status compile_config_read(const struct flag_values *flags, struct buffer *out)
{
    bool loss = *flags->loss != '\0', metrics = *flags->metrics != '\0';

    if (*flags->compile_config != '\0') {
        if (loss || metrics)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--compile_config and --%s: give one of them",
                                loss ? "loss" : "metrics");
        return status_in(file_read(flags->compile_config, COMPILE_CONFIG_BYTES_MAX, out),
                         "--compile_config");
    }
    TRY(check_json("loss", flags->loss));
    TRY(check_json("metrics", flags->metrics));
    buffer_append_char(out, '{');
    if (loss) {
        buffer_append_text(out, "\"loss\":");
        append_value(flags->loss, out);
    }
    if (metrics) {
        buffer_append_text(out, loss ? ",\"metrics\":" : "\"metrics\":");
        append_metrics(flags->metrics, out);
    }
    buffer_append_char(out, '}');
    return status_ok();
}

bool compile_config_is_flags(const struct flag_values *flags)
{
    return *flags->compile_config == '\0';
}
