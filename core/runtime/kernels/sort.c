/* A merge sort from the bottom up. qsort_r sorts the first runs: they fit the L2 cache. */
#include "runtime/kernels/sort.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"

#define RUN_ELEMENTS 4096
#define CHECK_EVERY  65536 /* merged elements; a power of two */

struct sorting {
    struct kernel_context *k;
    int64_t count;
    size_t size;
    compare_elements *compare;
    void *context;
};

static struct status sort_runs(const struct sorting *s, void *elements)
{
    for (int64_t at = 0; at < s->count; at += RUN_ELEMENTS) {
        int64_t rest = s->count - at;
        TRY(kernel_check(s->k));
        qsort_r(at_bytes(elements, at, s->size),
                (size_t)(rest < RUN_ELEMENTS ? rest : RUN_ELEMENTS), s->size, s->compare,
                s->context);
    }
    return status_ok();
}

/* Merges from[first .. middle) and from[middle .. end) into the same places of `to`. */
static struct status merge(const struct sorting *s, const void *from, int64_t first, int64_t middle,
                           int64_t end, void *to)
{
    size_t size = s->size;
    const char *left = at_bytes_const(from, first, size);
    const char *right = at_bytes_const(from, middle, size);
    const char *left_end = right, *right_end = at_bytes_const(from, end, size);
    char *out = at_bytes(to, first, size);
    bool in_order = middle == end || s->compare(right - size, right, s->context) <= 0;
    for (int64_t merged = 1; !in_order && left < left_end && right < right_end; merged++) {
        const char **next = s->compare(left, right, s->context) <= 0 ? &left : &right;
        memcpy(out, *next, size);
        out += size;
        *next += size;
        if (merged % CHECK_EVERY == 0)
            TRY(kernel_check(s->k));
    }
    memcpy(out, left, (size_t)(left_end - left));
    memcpy(out + (left_end - left), right, (size_t)(right_end - right));
    return kernel_check(s->k);
}

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

/* The sorted runs become one, which `elements` then holds. */
static struct status merge_runs(const struct sorting *s, void *elements, void *copy)
{
    void *from = elements, *to = copy;
    for (int64_t length = RUN_ELEMENTS; length < s->count; length *= 2) {
        for (int64_t at = 0; at < s->count; at += 2 * length)
            TRY(merge(s, from, at, at_most(at + length, s->count),
                      at_most(at + 2 * length, s->count), to));
        void *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != elements)
        memcpy(elements, from, (size_t)s->count * s->size);
    return status_ok();
}

struct status kernel_sort(struct kernel_context *k, void *elements, int64_t count, size_t size,
                          compare_elements *compare, void *context)
{
    const struct sorting sorting = { k, count, size, compare, context };
    struct shape shape = shape_of(count, (int64_t)size);
    struct tensor copy;
    TRY(sort_runs(&sorting, elements));
    if (count <= RUN_ELEMENTS)
        return status_ok();
    TRY(kernel_scratch(k, DT_UINT8, &shape, &copy));
    struct status status = merge_runs(&sorting, elements, copy.data);
    tensor_release(&copy);
    return status;
}
