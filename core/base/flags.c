#include "base/flags.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

#define NAME_SIZE_MAX ((size_t)64) /* of a name for which a similar flag is searched */

union flag_value {
    bool boolean;
    int64_t integer;
    double real;
    const char *text;
};

static struct status bad_value(const struct flag *flag, const char *text, const char *wanted)
{
    return status_error(STATUS_INVALID_ARGUMENT, "--%s=%s: wants %s", flag->name, text, wanted);
}

static struct status check_range(const struct flag *flag, const char *text, double number)
{
    if ((flag->min == 0 && flag->max == 0) || (number >= flag->min && number <= flag->max))
        return status_ok();
    if (isinf(flag->max))
        return status_error(STATUS_INVALID_ARGUMENT, "--%s=%s: wants a number of at least %.15g",
                            flag->name, text, flag->min);
    return status_error(STATUS_INVALID_ARGUMENT, "--%s=%s: wants a number from %.15g to %.15g",
                        flag->name, text, flag->min, flag->max);
}

static struct status parse_bool(const struct flag *flag, const char *text, union flag_value *out)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
        out->boolean = true;
    else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0 || *text == '\0')
        out->boolean = false;
    else
        return bad_value(flag, text, "true or false");
    return status_ok();
}

static struct status parse_integer(const struct flag *flag, const char *text, int64_t min,
                                   int64_t max, union flag_value *out)
{
    char *end;
    errno = 0;
    out->integer = *text == '\0' ? 0 : strtoll(text, &end, 10);
    if (*text != '\0' && (end == text || *end != '\0'))
        return bad_value(flag, text, "a whole number");
    TRY(check_range(flag, text, (double)out->integer));
    if (errno == ERANGE || out->integer < min || out->integer > max)
        return status_error(STATUS_INVALID_ARGUMENT, "--%s=%s: wants a number from %lld to %lld",
                            flag->name, text, (long long)min, (long long)max);
    return status_ok();
}

static struct status parse_double(const struct flag *flag, const char *text, union flag_value *out)
{
    char *end;
    out->real = *text == '\0' ? 0 : strtod(text, &end);
    if (*text != '\0' && (end == text || *end != '\0' || !isfinite(out->real)))
        return bad_value(flag, text, "a number");
    return check_range(flag, text, out->real);
}

static struct status parse_text(const struct flag *flag, const char *text, union flag_value *out)
{
    out->text = flag->type == FLAG_PATH ? file_path_of_uri(text) : text;
    size_t size = strlen(text);
    if (flag->filled && size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "--%s: its value is empty", flag->name);
    for (const char *at = flag->choices; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, text, size) == 0 && (at[size] == ' ' || at[size] == '\0') && size > 0)
            return status_ok();
    }
    if (flag->choices != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "--%s=%s: wants one of: %s", flag->name, text,
                            flag->choices);
    return status_ok();
}

static struct status parse_value(const struct flag *flag, const char *text, union flag_value *out)
{
    switch (flag->type) {
    case FLAG_BOOL:
        return parse_bool(flag, text, out);
    case FLAG_INT32:
        return parse_integer(flag, text, INT32_MIN, INT32_MAX, out);
    case FLAG_INT64:
        return parse_integer(flag, text, INT64_MIN, INT64_MAX, out);
    case FLAG_DOUBLE:
        return parse_double(flag, text, out);
    case FLAG_TEXT:
    case FLAG_PATH:
    case FLAG_TEXTS:
        break;
    }
    return parse_text(flag, text, out);
}

static void append_text(struct flag_texts *texts, const char *text)
{
    texts->values = xrealloc(texts->values, (texts->count + 1) * sizeof *texts->values);
    texts->values[texts->count++] = text;
}

static struct status set_value(const struct flag *flag, const char *text)
{
    union flag_value value;
    TRY(parse_value(flag, text, &value));
    switch (flag->type) {
    case FLAG_BOOL:
        *(bool *)flag->target = value.boolean;
        break;
    case FLAG_INT32:
        *(int32_t *)flag->target = (int32_t)value.integer;
        break;
    case FLAG_INT64:
        *(int64_t *)flag->target = value.integer;
        break;
    case FLAG_DOUBLE:
        *(double *)flag->target = value.real;
        break;
    case FLAG_TEXT:
    case FLAG_PATH:
        *(const char **)flag->target = value.text;
        break;
    case FLAG_TEXTS:
        append_text(flag->target, value.text);
        break;
    }
    return status_ok();
}

static const char *initial_text(const struct flag *flag)
{
    return flag->initial == NULL ? "" : flag->initial;
}

static struct flag without_limits(const struct flag *flag)
{
    struct flag unchecked = *flag;

    unchecked.min = unchecked.max = 0;
    unchecked.choices = NULL;
    unchecked.filled = false;
    return unchecked;
}

/* The default may lie outside the range, like a 0 that means "not given". */
static void set_default(const struct flag *flag)
{
    if (flag->type == FLAG_TEXTS) {
        *(struct flag_texts *)flag->target = (struct flag_texts){ 0 };
        return;
    }
    struct flag unchecked = without_limits(flag);

    status_ignore(set_value(&unchecked, initial_text(flag))); /* the table's own text parses */
}

bool flag_is_default(const struct flag *flag)
{
    struct flag unchecked = without_limits(flag);
    union flag_value value;

    status_ignore(parse_value(&unchecked, initial_text(flag), &value)); /* the table's own */
    switch (flag->type) {
    case FLAG_BOOL:
        return *(bool *)flag->target == value.boolean;
    case FLAG_INT32:
        return *(int32_t *)flag->target == value.integer;
    case FLAG_INT64:
        return *(int64_t *)flag->target == value.integer;
    case FLAG_DOUBLE:
        return *(double *)flag->target == value.real;
    case FLAG_TEXT:
    case FLAG_PATH:
        return strcmp(*(const char **)flag->target, value.text) == 0;
    case FLAG_TEXTS:
        break;
    }
    return ((struct flag_texts *)flag->target)->count == 0;
}

static const struct flag *find(const struct flag_set *set, const char *name, size_t size)
{
    for (size_t i = 0; i < set->count; i++)
        if (strncmp(set->rows[i].name, name, size) == 0 && set->rows[i].name[size] == '\0')
            return &set->rows[i];
    return NULL;
}

const struct flag *flags_find(const struct flag_set *set, const char *name)
{
    return find(set, name, strlen(name));
}

struct flag_set flags_group(const struct flag_set *set, const char *group)
{
    struct flag_set found = { set->usage, set->rows, 0 };
    size_t i = 0;

    while (i < set->count && (set->rows[i].group == NULL || strcmp(set->rows[i].group, group) != 0))
        i++;
    found.rows += i;
    while (i + found.count < set->count &&
           (found.count == 0 || found.rows[found.count].group == NULL))
        found.count++;
    return found;
}

/* The edit distance between `b` and the first `size` characters of `a`. */
static size_t edit_distance(const char *a, size_t size, const char *b)
{
    size_t row[NAME_SIZE_MAX + 1], width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; i <= size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t step = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            diagonal = row[j];
            row[j] = change < step ? change : step;
        }
    }
    return row[width];
}

/* Is the name among these words? */
static bool is_word(const char *words, const char *name, size_t size)
{
    while (*words != '\0') {
        size_t length = strcspn(words, " ");
        if (length == size && memcmp(words, name, size) == 0)
            return true;
        words += length + strspn(words + length, " ");
    }
    return false;
}

/* The flag that another program calls so, or the most similar one, if at most a third of its
 * letters differ; or NULL. */
static const char *nearest(const struct flag_set *set, const char *name, size_t size)
{
    size_t least = size / 3 + 2;
    const char *found = NULL;
    for (size_t i = 0; i < set->count; i++)
        if (set->rows[i].elsewhere != NULL && is_word(set->rows[i].elsewhere, name, size))
            return set->rows[i].name;
    for (size_t i = 0; i < set->count && size <= NAME_SIZE_MAX; i++) {
        const char *other = set->rows[i].name;
        size_t distance = strlen(other) <= NAME_SIZE_MAX ? edit_distance(name, size, other) : least;
        if (distance < least) {
            least = distance;
            found = other;
        }
    }
    return found;
}

/* `name` is without its leading dashes. */
static struct status unknown(const struct flag_set *set, int dashes, const char *name, size_t size)
{
    const char *meant = nearest(set, name, size);
    if (meant == NULL)
        return status_error(STATUS_NOT_FOUND,
                            "unknown argument: %.*s%.*s; --help lists what there is", dashes, "--",
                            (int)size, name);
    return status_error(STATUS_NOT_FOUND, "unknown argument: %.*s%.*s; did you mean --%s?", dashes,
                        "--", (int)size, name, meant);
}

static bool is_text(const struct flag *flag)
{
    return flag->type == FLAG_TEXT || flag->type == FLAG_PATH || flag->type == FLAG_TEXTS;
}

/* Parses an argument that begins with --. `next` is the argument that follows, or NULL; *used_next:
 * it was the value. */
static struct status parse_argument(const struct flag_set *set, const char *argument,
                                    const char *next, bool *used_next)
{
    const char *name = argument + 2;
    const char *equals = strchr(name, '=');
    size_t size = equals ? (size_t)(equals - name) : strlen(name);

    *used_next = false;
    const struct flag *flag = find(set, name, size);
    if (flag == NULL && equals == NULL && size > 2 && strncmp(name, "no", 2) == 0) {
        size_t skipped = name[2] == '_' ? 3 : 2;
        flag = find(set, name + skipped, size - skipped);
        if (flag != NULL && flag->type == FLAG_BOOL)
            return set_value(flag, "false");
        flag = NULL;
    }
    if (flag == NULL)
        return unknown(set, 2, name, size);
    if (equals != NULL) {
        if (equals[1] == '\0' && !is_text(flag))
            return status_error(STATUS_INVALID_ARGUMENT, "--%s= has no value", flag->name);
        return set_value(flag, equals + 1);
    }
    if (flag->type == FLAG_BOOL)
        return set_value(flag, "true");
    if (next == NULL || strncmp(next, "--", 2) == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "--%s has no value", flag->name);
    *used_next = true;
    return set_value(flag, next);
}

struct status flags_parse(const struct flag_set *set, int argc, char **argv, int *positional_count)
{
    int positional = 0;
    struct status wrong = status_ok();
    for (size_t i = 0; i < set->count; i++)
        set_default(&set->rows[i]);
    for (int i = 1; i < argc; i++) {
        const char *argument = strcmp(argv[i], "-h") == 0 ? "--help" : argv[i];
        struct status status = status_ok();
        bool used_next = false;
        if (strcmp(argument, "--") == 0) {
            while (++i < argc)
                argv[++positional] = argv[i];
        } else if (strncmp(argument, "--", 2) == 0) {
            status = parse_argument(set, argument, i + 1 < argc ? argv[i + 1] : NULL, &used_next);
            i += used_next;
        } else if (argument[0] == '-' && argument[1] != '\0') {
            status = unknown(set, 1, argument + 1, strcspn(argument + 1, "="));
        } else {
            argv[++positional] = argv[i];
        }
        if (status_is_ok(wrong) && !status_is_ok(status))
            wrong = status_hold(status);
    }
    *positional_count = positional;
    return status_resume(wrong);
}

#define HELP_COLUMN 6
#define HELP_WIDTH  96

static void print_wrapped(const char *text, FILE *out)
{
    int column = fprintf(out, "%*s", HELP_COLUMN - 1, "");
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column + 1 + (int)word > HELP_WIDTH && column > HELP_COLUMN - 1)
            column = fprintf(out, "\n%*s", HELP_COLUMN - 1, "") - 1;
        column += fprintf(out, " %.*s", (int)word, text);
        text += word;
        text += *text == ' ';
    }
    fputc('\n', out);
}

void flags_print_help(const struct flag_set *set, FILE *out)
{
    if (set->usage != NULL)
        fprintf(out, "%s\n\n", set->usage);
    if (set->rows[0].group == NULL)
        fprintf(out, "flags:\n");
    for (size_t i = 0; i < set->count; i++) {
        const struct flag *flag = &set->rows[i];
        bool boolean = flag->type == FLAG_BOOL;
        if (flag->group != NULL)
            fprintf(out, "%s%s:\n", i > 0 ? "\n" : "", flag->group);
        fprintf(out, boolean && !flag->alone ? "  --[no]%s" : "  --%s", flag->name);
        if (flag->type == FLAG_TEXTS)
            fprintf(out, "=… (may be repeated)");
        else if (boolean && !flag->alone)
            fprintf(out, " (%s)", *initial_text(flag) ? flag->initial : "false");
        else if (!boolean)
            fprintf(out, "=%s", *initial_text(flag) ? flag->initial : "…");
        if (flag->choices != NULL)
            fprintf(out, "   one of: %s", flag->choices);
        fputc('\n', out);
        if (i + 1 == set->count || strcmp(flag->help, set->rows[i + 1].help) != 0)
            print_wrapped(flag->help, out); /* once for all rows with the same help */
    }
}
