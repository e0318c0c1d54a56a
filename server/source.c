#include "server/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* A decimal that is the whole name and fits 64 bits; a sign is allowed, as strtoll reads it. */
static bool parse_version(const char *name, int64_t *out)
{
    char *end;
    if (*name != '-' && (*name < '0' || *name > '9'))
        return false;
    errno = 0;
    long long number = strtoll(name, &end, 10);
    *out = number;
    return errno == 0 && *end == '\0' && end != name;
}

static char *join(const char *base, const char *name)
{
    size_t size = strlen(base) + strlen(name) + 2;
    char *path = zalloc(size);
    snprintf(path, size, "%s/%s", base, name);
    return path;
}

static int compare(const void *a, const void *b)
{
    const struct source_version *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->directory, y->directory);
}

/* Keeps the last of equal numbers. */
static void drop_duplicates(struct source_versions *versions)
{
    size_t kept = 0;
    for (size_t i = 0; i < versions->count; i++) {
        if (i + 1 < versions->count && versions->items[i].number == versions->items[i + 1].number)
            free(versions->items[i].directory);
        else
            versions->items[kept++] = versions->items[i];
    }
    versions->count = kept;
}

struct status source_scan(const char *base_path, struct source_versions *out)
{
    struct source_versions found = { 0 };
    DIR *directory = opendir(base_path);
    if (directory == NULL)
        return status_errno(errno, "open '%s'", base_path);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        int64_t number;
        if (!parse_version(entry->d_name, &number))
            continue;
        found.items = xrealloc(found.items, (found.count + 1) * sizeof *found.items);
        found.items[found.count++] =
            (struct source_version){ number, join(base_path, entry->d_name) };
    }
    closedir(directory);
    if (found.count > 0) {
        qsort(found.items, found.count, sizeof *found.items, compare);
        drop_duplicates(&found);
    }
    *out = found;
    return status_ok();
}

void source_versions_finish(struct source_versions *versions)
{
    for (size_t i = 0; i < versions->count; i++)
        free(versions->items[i].directory);
    free(versions->items);
    *versions = (struct source_versions){ 0 };
}
