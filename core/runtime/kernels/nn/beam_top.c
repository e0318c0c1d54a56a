#include "runtime/kernels/nn/beam_top.h"

#include <stdlib.h>

enum { INSERTION_SORT_MAX = 16 }; /* above this, std::sort divides first */

static bool is_better(const struct beam_entry *a, const struct beam_entry *b)
{
    return a->now.total > b->now.total;
}

static struct beam_entry **entries_of(const struct buffer *held)
{
    return (struct beam_entry **)(void *)held->data;
}

static int64_t held_count(const struct beam_top *top)
{
    return (int64_t)(top->held.size / sizeof(struct beam_entry *));
}

int64_t beam_top_count(const struct beam_top *top)
{
    int64_t count = held_count(top);
    return count < top->limit ? count : top->limit;
}

struct beam_entry *const *beam_top_entries(const struct beam_top *top)
{
    return entries_of(&top->held);
}

/* ---- a heap with the worst entry on top ---- */

static void rise(struct beam_entry **heap, int64_t hole, int64_t top, struct beam_entry *value)
{
    for (int64_t parent; hole > top; hole = parent) {
        parent = (hole - 1) / 2;
        if (!is_better(heap[parent], value))
            break;
        heap[hole] = heap[parent];
    }
    heap[hole] = value;
}

/* Fills the hole from below, down to a leaf, and lets the value rise from there. */
static void adjust(struct beam_entry **heap, int64_t hole, int64_t count, struct beam_entry *value)
{
    int64_t top = hole, child = hole;
    while (child < (count - 1) / 2) {
        child = 2 * (child + 1);
        if (is_better(heap[child], heap[child - 1]))
            child--;
        heap[hole] = heap[child];
        hole = child;
    }
    if (count % 2 == 0 && child == (count - 2) / 2) {
        child = 2 * (child + 1);
        heap[hole] = heap[child - 1];
        hole = child - 1;
    }
    rise(heap, hole, top, value);
}

static void make_heap(struct beam_entry **heap, int64_t count)
{
    for (int64_t parent = (count - 2) / 2; count > 1 && parent >= 0; parent--)
        adjust(heap, parent, count, heap[parent]);
}

/* Moves the top of `count` entries to their end. */
static void pop_heap(struct beam_entry **heap, int64_t count)
{
    struct beam_entry *value = heap[count - 1];
    if (count < 2)
        return;
    heap[count - 1] = heap[0];
    adjust(heap, 0, count - 1, value);
}

/* ---- the entries ---- */

void beam_top_push(struct beam_top *top, struct beam_entry *entry)
{
    int64_t count = held_count(top);
    struct beam_entry **entries = entries_of(&top->held);
    if (top->state == TOP_HEAP) { /* the last of the limit + 1 places is free */
        if (!is_better(entry, entries[0]))
            return;
        entries[count - 1] = entry;
        pop_heap(entries, count);
        return;
    }
    buffer_append(&top->held, &entry, sizeof entry);
    entries = entries_of(&top->held);
    if (top->state == TOP_BOTTOM_KNOWN && !is_better(entry, entries[0])) {
        entries[count] = entries[0];
        entries[0] = entry;
    }
    if (count == top->limit) {
        make_heap(entries, count + 1);
        pop_heap(entries, count + 1);
        top->state = TOP_HEAP;
    }
}

struct beam_entry *beam_top_bottom(struct beam_top *top)
{
    struct beam_entry **entries = entries_of(&top->held);
    int64_t worst = 0;
    if (top->state != TOP_UNORDERED)
        return entries[0];
    for (int64_t i = 1; i < held_count(top); i++)
        if (is_better(entries[worst], entries[i]))
            worst = i;
    struct beam_entry *first = entries[0];
    entries[0] = entries[worst];
    entries[worst] = first;
    top->state = TOP_BOTTOM_KNOWN;
    return entries[0];
}

static void insertion_sort(struct beam_entry **entries, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        struct beam_entry *value = entries[i];
        int64_t at = i;
        for (; at > 0 && is_better(value, entries[at - 1]); at--)
            entries[at] = entries[at - 1];
        entries[at] = value;
    }
}

static int compare(const void *a, const void *b)
{
    const struct beam_entry *x = *(struct beam_entry *const *)a,
                            *y = *(struct beam_entry *const *)b;
    return is_better(x, y) ? -1 : is_better(y, x);
}

void beam_top_extract(struct beam_top *top, struct buffer *out)
{
    int64_t count = beam_top_count(top);
    out->size = 0;
    buffer_append(out, top->held.data, (size_t)count * sizeof(struct beam_entry *));
    struct beam_entry **entries = entries_of(out);
    if (top->state == TOP_HEAP)
        for (int64_t left = count; left > 1; left--)
            pop_heap(entries, left);
    else if (count <= INSERTION_SORT_MAX)
        insertion_sort(entries, count);
    else
        qsort(entries, (size_t)count, sizeof *entries, compare);
    top->held.size = 0;
    top->state = TOP_UNORDERED;
}
