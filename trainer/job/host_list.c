#include "trainer/job/host_list.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "trainer/job/job_map.h"

#define DIGITS_MAX    9 /* fits an int */
#define NAME_SIZE_MAX 255

static struct status broken(const char *text, const char *at, const char *why)
{
    return status_error(STATUS_INVALID_ARGUMENT, "'%.200s': %s at '%.40s'", text, why, at);
}

static struct status too_many(const char *text)
{
    return status_error(STATUS_INVALID_ARGUMENT, "'%.200s': more than %d hosts", text,
                        JOB_TASKS_MAX);
}

/* Reads a number and advances *at. */
static struct status read_number(const char *text, const char **at, int *value, int *digits)
{
    *value = *digits = 0;
    for (; isdigit((unsigned char)**at); ++*at, ++*digits) {
        if (*digits == DIGITS_MAX)
            return broken(text, *at - DIGITS_MAX, "a number is too long");
        *value = *value * 10 + (**at - '0');
    }
    return *digits > 0 ? status_ok() : broken(text, *at, "a number is missing");
}

/* ---- hosts ---- */

struct host_expansion {
    const char *text;
    struct buffer names; /* char *, in the arena */
    struct arena *arena;
};

static int names_count(const struct host_expansion *expansion)
{
    return (int)(expansion->names.size / sizeof(char *));
}

static struct status expand_rest(struct host_expansion *expansion, const char *name,
                                 const char *at);

/* Continues after the brackets with each number from `first` to `last`. */
static struct status expand_range(struct host_expansion *expansion, const char *name, int first,
                                  int last, int digits, const char *rest)
{
    for (int number = first; number <= last; number++) {
        if (names_count(expansion) >= JOB_TASKS_MAX)
            return too_many(expansion->text);
        TRY(expand_rest(expansion, arena_printf(expansion->arena, "%s%0*d", name, digits, number),
                        rest));
    }
    return status_ok();
}

/* `at` points after the opening bracket. */
static struct status expand_brackets(struct host_expansion *expansion, const char *name,
                                     const char *at)
{
    const char *text = expansion->text, *close = strchr(at, ']');

    if (close == NULL)
        return broken(text, at - 1, "a bracket has no end");
    for (;; at++) {
        int first, last, digits, last_digits;
        TRY(read_number(text, &at, &first, &digits));
        last = first;
        if (*at == '-') {
            at++;
            TRY(read_number(text, &at, &last, &last_digits));
        }
        if (last < first)
            return broken(text, at, "a range ends before it begins");
        if (at != close && *at != ',')
            return broken(text, at, "expected a comma or ]");
        TRY(expand_range(expansion, name, first, last, digits, close + 1));
        if (at == close)
            return status_ok();
    }
}

/* Adds the hosts whose names begin with `name` and continue with the text at `at`, up to a
 * comma. */
static struct status expand_rest(struct host_expansion *expansion, const char *name, const char *at)
{
    size_t size = strcspn(at, "[],:");
    int repeats = 1, digits;

    name = arena_printf(expansion->arena, "%s%.*s", name, (int)size, at);
    at += size;
    if (strlen(name) > NAME_SIZE_MAX)
        return broken(expansion->text, name, "a name is too long");
    if (*at == '[')
        return expand_brackets(expansion, name, at + 1);
    if (*at == ']')
        return broken(expansion->text, at, "a bracket has no beginning");
    if (*name == '\0')
        return broken(expansion->text, at, "a name is missing");
    if (*at == ':') {
        at++;
        TRY(read_number(expansion->text, &at, &repeats, &digits));
        if (*at != ',' && *at != '\0')
            return broken(expansion->text, at, "expected a comma");
    }
    if (repeats < 1 || repeats > JOB_TASKS_MAX - names_count(expansion))
        return repeats < 1 ? broken(expansion->text, at, "a count of 0")
                           : too_many(expansion->text);
    for (int i = 0; i < repeats; i++)
        buffer_append(&expansion->names, &name, sizeof name);
    return status_ok();
}

/* The comma after an item, or the end; commas in brackets do not count. */
static const char *item_end(const char *at)
{
    for (bool inside = false; *at != '\0' && (inside || *at != ','); at++)
        inside = *at == '[' || (inside && *at != ']');
    return at;
}

static struct status check_names(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if (!isgraph((unsigned char)*at) || strchr("/;", *at) != NULL)
            return broken(text, at, "a character that no host's name has");
    return status_ok();
}

struct status host_list_expand(const char *text, struct arena *arena, struct host_list *out)
{
    struct host_expansion expansion = { .text = text, .arena = arena };
    struct status status = check_names(text);

    for (const char *at = text; status_is_ok(status); at++) {
        status = expand_rest(&expansion, "", at);
        at = item_end(at);
        if (*at == '\0')
            break;
    }
    out->count = names_count(&expansion);
    out->hosts = ARENA_ARRAY(arena, const char *, out->count + 1);
    if (out->count > 0)
        memcpy(out->hosts, expansion.names.data, expansion.names.size);
    buffer_finish(&expansion.names);
    return status;
}

/* ---- numbers of tasks ---- */

struct status task_counts_expand(const char *text, struct arena *arena, struct task_counts *out)
{
    const char *at = text;

    *out = (struct task_counts){ .list = ARENA_ARRAY(arena, int, JOB_TASKS_MAX) };
    for (;; at++) {
        int tasks, nodes = 1, digits;
        TRY(read_number(text, &at, &tasks, &digits));
        if (strncmp(at, "(x", 2) == 0) {
            at += 2;
            TRY(read_number(text, &at, &nodes, &digits));
            if (*at++ != ')')
                return broken(text, at - 1, "expected )");
        }
        if (nodes > JOB_TASKS_MAX - out->count)
            return too_many(text);
        while (nodes-- > 0)
            out->list[out->count++] = tasks;
        if (*at == '\0')
            return status_ok();
        if (*at != ',')
            return broken(text, at, "expected a comma");
    }
}
