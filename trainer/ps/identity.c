#include "trainer/ps/identity.h"

#include "trainer/protocol/addresses.h"
#include "trainer/ps/generation.h"

#define AGREED_BYTES_MAX 1024

/* Splits a comma-separated list of addresses, and sorts it. */
static int split(char *list, const char **out, int max)
{
    int count = 0;

    for (char *at = list, *comma; at != NULL && count < max;
         at = comma != NULL ? comma + 1 : NULL) {
        comma = strchr(at, ',');
        if (comma != NULL)
            *comma = '\0';
        out[count++] = at;
    }
    texts_sort(out, (size_t)count);
    return count;
}

static bool in_another_order(const char *a, const char *b, struct arena *arena)
{
    size_t size = strlen(a);
    bool same = size == strlen(b);

    if (same) {
        const char **left = ARENA_ARRAY(arena, const char *, size / 2 + 1);
        const char **right = ARENA_ARRAY(arena, const char *, size / 2 + 1);
        int count = split(arena_strdup(arena, a), left, (int)(size / 2 + 1));
        same = count == split(arena_strdup(arena, b), right, (int)(size / 2 + 1));
        for (int i = 0; i < count && same; i++)
            same = strcmp(left[i], right[i]) == 0;
    }
    return same;
}

/* The address at `index` in a list. */
static bool names_at(const char *list, uint32_t index, const char *address)
{
    for (; index > 0 && list != NULL; index--) {
        list = strchr(list, ',');
        list = list != NULL ? list + 1 : NULL;
    }
    return list != NULL && strcspn(list, ",") == strlen(address) &&
           strncmp(list, address, strlen(address)) == 0;
}

static struct status compare_lists(const struct ps_options *mine, const struct identity *identity,
                                   struct arena *arena)
{
    const char *theirs = addresses_normalized(identity->ps_list, arena);

    if (mine->ps_list == NULL) /* a sparse cluster: this ps knows only its own address */
        return names_at(theirs, mine->index, addresses_normalized(mine->address, arena))
                   ? status_ok()
                   : status_error(STATUS_PERMISSION_DENIED,
                                  "ps %u at %s is not where %s looks for it: %s", mine->index,
                                  mine->address, identity->task, identity->ps_list);
    const char *own = addresses_normalized(mine->ps_list, arena);
    if (strcmp(theirs, own) == 0)
        return status_ok();
    if (in_another_order(theirs, own, arena))
        return status_error(STATUS_FAILED_PRECONDITION,
                            "%s has the ps tasks in another order than ps %u: %s there, %s here",
                            identity->task, mine->index, identity->ps_list, mine->ps_list);
    return status_error(STATUS_PERMISSION_DENIED,
                        "%s is of the job with the ps tasks %s, ps %u of the one with %s",
                        identity->task, identity->ps_list, mine->index, mine->ps_list);
}

static struct status check_list(const struct ps_options *mine, const struct identity *identity)
{
    if (mine->ps_list != NULL && strcmp(identity->ps_list, mine->ps_list) == 0)
        return status_ok();
    struct arena *arena = arena_create(0);
    struct status status = compare_lists(mine, identity, arena);

    arena_destroy(arena);
    return status;
}

static struct status check_job(const struct ps_options *mine, const struct identity *identity)
{
    if (strcmp(identity->cluster, mine->cluster) != 0)
        return status_error(STATUS_PERMISSION_DENIED, "ps %u belongs to cluster '%s', %s to '%s'",
                            mine->index, mine->cluster, identity->task, identity->cluster);
    if (identity->protocol != PROTOCOL_VERSION)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "%s speaks version %u of the protocol, ps %u version %d: they are of "
                            "different releases",
                            identity->task, identity->protocol, mine->index, PROTOCOL_VERSION);
    TRY(check_list(mine, identity));
    if (identity->ps_index != mine->index)
        return status_error(STATUS_NOT_FOUND, "%s asks for ps %u, and this is ps %u",
                            identity->task, identity->ps_index, mine->index);
    return status_ok();
}

/* Finds the first word in which two lists of words differ, and its length in each. */
static void find_difference(const char **a, const char **b, int *a_size, int *b_size)
{
    for (;; *a += *a_size + 1, *b += *b_size + 1) {
        *a_size = (int)strcspn(*a, " ");
        *b_size = (int)strcspn(*b, " ");
        bool same = *a_size == *b_size && strncmp(*a, *b, (size_t)*a_size) == 0;
        if (!same || (*a)[*a_size] == '\0' || (*b)[*b_size] == '\0')
            return;
    }
}

static struct status check_agreed(const struct ps *ps, const struct identity *identity)
{
    const char *theirs = identity->agreed, *chiefs = generation_of(ps)->agreed;
    int theirs_size, chiefs_size;

    if (strcmp(theirs, chiefs) == 0)
        return status_ok();
    find_difference(&theirs, &chiefs, &theirs_size, &chiefs_size);
    return status_error(STATUS_FAILED_PRECONDITION,
                        "%s was given %.*s, the chief %.*s: it must be the same", identity->task,
                        theirs_size, theirs, chiefs_size, chiefs);
}

struct status identity_check_job(const struct ps *ps, const struct identity *identity)
{
    return check_job(&ps->options, identity);
}

struct status identity_check(const struct ps *ps, const struct identity *identity)
{
    if (identity == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "the request does not say who asks");
    TRY(check_job(&ps->options, identity));
    if (strlen(identity->agreed) > AGREED_BYTES_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%s: its settings have %zu bytes, at most %d",
                            identity->task, strlen(identity->agreed), AGREED_BYTES_MAX);
    if (identity->index >= PS_WORKERS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%s has index %u, must be below %d",
                            identity->task, identity->index, PS_WORKERS_MAX);
    if (ps->options.trainers != NULL && !identity->reader &&
        identity->index >= ps->options.trainers_count)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "%s is none of the %u tasks that train by the lists of ps %u: compare "
                            "--worker_hosts and --chief_hosts",
                            identity->task, ps->options.trainers_count, ps->options.index);
    return identity_check_settings(ps, identity);
}

struct status identity_check_settings(const struct ps *ps, const struct identity *identity)
{
    const struct generation *generation = generation_of(ps);

    if (generation->number != 0 && identity->placement_hash != generation->placement_hash)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "%s has another model or placement than the chief: compare --model, "
                            "--placement and the ps count",
                            identity->task);
    return generation->number != 0 && !identity->reader ? check_agreed(ps, identity) : status_ok();
}
