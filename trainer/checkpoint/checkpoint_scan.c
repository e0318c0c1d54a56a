#include "trainer/checkpoint/checkpoint_scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define BASENAME "model.ckpt-"
#define INDEX    ".index"
#define DATA     ".data-"

/* Parses the step of "model.ckpt-1000.index". Returns false for any other name. */
static bool step_of_index(const char *name, unsigned long long *step)
{
    char *end;

    if (strncmp(name, BASENAME, strlen(BASENAME)) != 0)
        return false;
    const char *digits = name + strlen(BASENAME);
    *step = strtoull(digits, &end, 10);
    return *digits >= '0' && *digits <= '9' && strcmp(end, INDEX) == 0;
}

static bool has_data(const struct file_list *list, const char *prefix)
{
    size_t size = strlen(prefix);

    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->names[i], prefix, size) == 0 &&
            strncmp(list->names[i] + size, DATA, strlen(DATA)) == 0)
            return true;
    return false;
}

static int by_step(const void *a, const void *b)
{
    unsigned long long left = strtoull(*(const char *const *)a + strlen(BASENAME), NULL, 10),
                       right = strtoull(*(const char *const *)b + strlen(BASENAME), NULL, 10);

    return left < right ? -1 : left > right;
}

struct status checkpoint_scan(const char *directory, struct arena *arena,
                              struct checkpoint_scan *out)
{
    struct file_list list;
    unsigned long long step;

    TRY(file_list(directory, arena, &list));
    *out = (struct checkpoint_scan){ .names = ARENA_ARRAY(arena, const char *, list.count + 1) };
    for (size_t i = 0; i < list.count; i++) {
        if (!step_of_index(list.names[i], &step))
            continue;
        const char *prefix =
            arena_memdup(arena, list.names[i], strlen(list.names[i]) - strlen(INDEX));
        if (has_data(&list, prefix))
            out->names[out->count++] = prefix;
    }
    qsort(out->names, (size_t)out->count, sizeof *out->names, by_step);
    return status_ok();
}
