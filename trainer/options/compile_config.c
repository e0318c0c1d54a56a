#include "trainer/options/compile_config.h"

#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json_value.h"
#include "base/text_print.h"
#include "savedmodel/format.h"

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

/* Appends the object, but with the metrics of --metrics, if it is given. */
static void append_with_metrics(const struct json_value *object, const char *metrics,
                                struct buffer *out)
{
    bool own = *metrics == '\0', first = true;

    buffer_append_char(out, '{');
    for (int i = 0; i < object->count; i++) {
        if (!own && strstr(object->keys[i], "metrics") != NULL)
            continue;
        buffer_append_text(out, first ? "" : ",");
        json_print_string(out, bytes_of(object->keys[i]));
        buffer_append_char(out, ':');
        json_value_print(&object->members[i], out);
        first = false;
    }
    if (!own) {
        buffer_append_text(out, first ? "\"metrics\":" : ",\"metrics\":");
        append_metrics(metrics, out);
    }
    buffer_append_char(out, '}');
}

static struct status read_object(const char *path, const char *metrics, struct arena *arena,
                                 struct buffer *out)
{
    const struct json_value *object;
    struct buffer text = { 0 };
    struct status status = file_read(path, COMPILE_CONFIG_BYTES_MAX, &text);

    if (status_is_ok(status))
        status = json_value_read_strict((struct bytes){ text.data, text.size }, arena, &object);
    buffer_finish(&text);
    TRY(status_in(status, "'%s'", path));
    if (object->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s': %s, expected an object", path,
                            json_value_show(object, arena));
    append_with_metrics(object, metrics, out);
    return status_ok();
}

struct status compile_config_read_export(const struct flag_values *flags, const char *directory,
                                         struct buffer *out)
{
    struct arena *arena = arena_create(0);
    struct status status = status_ok();

    const char *extra = file_join(arena, directory, SAVEDMODEL_EXTRA_DIRECTORY);
    const char *path = file_join(arena, extra, SAVEDMODEL_COMPILE_CONFIG_FILE);
    if (file_exists(path)) {
        TRY_OR(done, check_json("metrics", flags->metrics));
        status = read_object(path, flags->metrics, arena, out);
    }
done:;
    struct status held = status_hold(status);
    arena_destroy(arena);
    return status_resume(held);
}

bool compile_config_is_flags(const struct flag_values *flags)
{
    return *flags->compile_config == '\0';
}
