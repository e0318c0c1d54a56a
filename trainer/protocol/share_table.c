#include "trainer/protocol/share_table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define TURNS_MAX ((uint64_t)1 << 62)

void share_table_finish(struct share_table *table)
{
    free(table->given);
    free(table->back);
    *table = (struct share_table){ 0 };
}

/* ---- ranges ---- */

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct turn_range *)a)->first, y = ((const struct turn_range *)b)->first;

    return (x > y) - (x < y);
}

/* Sorts ranges that do not overlap, and joins adjacent ones. Returns the number that remains. */
static size_t join_ranges(struct turn_range *ranges, size_t count)
{
    size_t left = 0;

    qsort(ranges, count, sizeof *ranges, compare);
    for (size_t i = 0; i < count; i++)
        if (left > 0 && ranges[left - 1].first + ranges[left - 1].count == ranges[i].first)
            ranges[left - 1].count += ranges[i].count;
        else
            ranges[left++] = ranges[i];
    return left;
}

/* ---- giving ---- */

static size_t shares_of(const struct share_table *table, uint32_t worker)
{
    size_t count = 0;

    for (size_t i = 0; i < table->given_count; i++)
        count += table->given[i].worker == worker;
    return count;
}

/* Takes turns from the front of the returned ones, or else new ones. */
static struct turn_range take_turns(struct share_table *table, uint64_t most)
{
    struct turn_range taken = { table->next, most };

    if (table->back_count == 0) {
        table->next += most;
        return taken;
    }
    struct turn_range *first = &table->back[0];
    taken = (struct turn_range){ first->first, first->count < most ? first->count : most };
    first->first += taken.count;
    first->count -= taken.count;
    if (first->count == 0)
        memmove(first, first + 1, --table->back_count * sizeof *first);
    return taken;
}

struct status share_table_take(struct share_table *table, uint32_t worker, uint64_t most,
                               struct turn_range *out)
{
    assert(most > 0);
    if (shares_of(table, worker) >= SHARES_OF_WORKER_MAX || most > TURNS_MAX - table->next)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "worker %" PRIu32 " asks for more rows and has %zu shares of them",
                            worker, shares_of(table, worker));
    *out = take_turns(table, most);
    table->given = xrealloc(table->given, (table->given_count + 1) * sizeof *table->given);
    table->given[table->given_count++] = (struct given_share){ *out, worker };
    return status_ok();
}

static void remove_share(struct share_table *table, size_t at)
{
    struct given_share *share = &table->given[at];

    memmove(share, share + 1, (--table->given_count - at) * sizeof *share);
}

/* The index of the share whose next turn this is; given_count: none. */
static size_t find(const struct share_table *table, uint32_t worker, uint64_t turn)
{
    size_t at = 0;

    while (at < table->given_count &&
           (table->given[at].worker != worker || table->given[at].turns.first != turn))
        at++;
    return at;
}

bool share_table_has(const struct share_table *table, uint32_t worker, uint64_t turn)
{
    return find(table, worker, turn) < table->given_count;
}

void share_table_count(struct share_table *table, uint32_t worker, uint64_t turn)
{
    size_t at = find(table, worker, turn);

    if (at == table->given_count)
        return;
    table->given[at].turns.first++;
    if (--table->given[at].turns.count == 0)
        remove_share(table, at);
}

void share_table_give_back(struct share_table *table, uint32_t worker)
{
    for (size_t at = 0; at < table->given_count;) {
        if (table->given[at].worker != worker) {
            at++;
            continue;
        }
        table->back = xrealloc(table->back, (table->back_count + 1) * sizeof *table->back);
        table->back[table->back_count++] = table->given[at].turns;
        remove_share(table, at);
    }
    if (table->back_count > 0)
        table->back_count = join_ranges(table->back, table->back_count);
}

bool share_table_holds(const struct share_table *table, uint32_t worker)
{
    return shares_of(table, worker) > 0;
}

uint64_t share_table_given(const struct share_table *table)
{
    uint64_t turns = 0;

    for (size_t i = 0; i < table->given_count; i++)
        turns += table->given[i].turns.count;
    return turns;
}

/* ---- the position ---- */

void share_table_position(const struct share_table *table, uint64_t **numbers, size_t *count)
{
    size_t ranges_count = table->back_count + table->given_count;
    struct turn_range *ranges = zalloc((ranges_count + 1) * sizeof *ranges);

    for (size_t i = 0; i < table->back_count; i++)
        ranges[i] = table->back[i];
    for (size_t i = 0; i < table->given_count; i++)
        ranges[table->back_count + i] = table->given[i].turns;
    ranges_count = join_ranges(ranges, ranges_count);
    *count = 1 + 2 * ranges_count;
    *numbers = zalloc(*count * sizeof **numbers);
    (*numbers)[0] = table->next;
    for (size_t i = 0; i < ranges_count; i++) {
        (*numbers)[1 + 2 * i] = ranges[i].first;
        (*numbers)[2 + 2 * i] = ranges[i].count;
    }
    free(ranges);
}

static struct status check_position(const uint64_t *numbers, size_t count)
{
    uint64_t end = 0; /* of the range before */

    if (count % 2 == 0 || numbers[0] > TURNS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "a position of %zu numbers in the rows",
                            count);
    for (size_t i = 1; i < count; i += 2) {
        if (numbers[i] < end || numbers[i] > numbers[0] || numbers[i + 1] == 0 ||
            numbers[i + 1] > numbers[0] - numbers[i])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "a position in the rows: %" PRIu64 " turns from %" PRIu64
                                " on, after %" PRIu64 " and before %" PRIu64,
                                numbers[i + 1], numbers[i], end, numbers[0]);
        end = numbers[i] + numbers[i + 1];
    }
    return status_ok();
}

struct status share_table_begin(struct share_table *table, const uint64_t *numbers, size_t count)
{
    TRY(check_position(numbers, count));
    share_table_finish(table);
    table->next = numbers[0];
    table->back_count = (count - 1) / 2;
    table->back = zalloc((table->back_count + 1) * sizeof *table->back);
    for (size_t i = 0; i < table->back_count; i++)
        table->back[i] = (struct turn_range){ numbers[1 + 2 * i], numbers[2 + 2 * i] };
    table->back_count = join_ranges(table->back, table->back_count);
    return status_ok();
}

/* The turns of `to` rows, before `limit`, that share a row with these turns of `from` rows. */
static struct turn_range convert(struct turn_range range, uint64_t from, uint64_t to,
                                 uint64_t limit)
{
    uint64_t first = range.first * from / to;
    uint64_t end = ((range.first + range.count) * from + to - 1) / to;

    end = end < limit ? end : limit;
    return (struct turn_range){ first, first < end ? end - first : 0 };
}

size_t share_position_convert(uint64_t *numbers, size_t count, uint64_t from, uint64_t to)
{
    size_t kept = 1;

    numbers[0] = numbers[0] * from / to;
    for (size_t i = 1; i < count; i += 2) {
        const struct turn_range given = { numbers[i], numbers[i + 1] };
        struct turn_range range = convert(given, from, to, numbers[0]);
        uint64_t before = kept > 1 ? numbers[kept - 2] + numbers[kept - 1] : 0;
        if (range.count == 0)
            continue;
        if (kept > 1 && range.first <= before) {
            numbers[kept - 1] = range.first + range.count - numbers[kept - 2];
            continue;
        }
        numbers[kept++] = range.first;
        numbers[kept++] = range.count;
    }
    return kept;
}
