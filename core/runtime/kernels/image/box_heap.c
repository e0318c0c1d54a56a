#include "runtime/kernels/image/box_heap.h"

static bool comes_later(const struct box_heap *heap, const struct box_candidate *a,
                        const struct box_candidate *b)
{
    return a->score < b->score || (heap->ties_by_box && a->score == b->score && a->box > b->box);
}

static void rise(struct box_heap *heap, int64_t hole, struct box_candidate value)
{
    while (hole > 0 && comes_later(heap, &heap->at[(hole - 1) / 2], &value)) {
        heap->at[hole] = heap->at[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap->at[hole] = value;
}

void box_heap_push(struct box_heap *heap, struct box_candidate value)
{
    rise(heap, heap->count++, value);
}

/* The hole sinks to the bottom first, and then the last element rises from there. */
struct box_candidate box_heap_pop(struct box_heap *heap)
{
    struct box_candidate top = heap->at[0], last = heap->at[--heap->count];
    int64_t hole = 0;
    for (int64_t child = 2; child <= heap->count; child = 2 * hole + 2) {
        bool left =
            child == heap->count || comes_later(heap, &heap->at[child], &heap->at[child - 1]);
        child -= left ? 1 : 0;
        heap->at[hole] = heap->at[child];
        hole = child;
    }
    if (heap->count > 0)
        rise(heap, hole, last);
    return top;
}

struct status box_heap_reserve(struct kernel_context *k, int64_t count, struct tensor *memory,
                               struct box_heap *heap)
{
    struct shape shape = shape_of(count * (int64_t)sizeof *heap->at);
    TRY(kernel_scratch(k, DT_UINT8, &shape, memory));
    heap->at = memory->data;
    return status_ok();
}

float boxes_overlap(const float *a, const float *b)
{
    float a_top = smaller(a[0], a[2]), a_left = smaller(a[1], a[3]);
    float a_bottom = larger(a[0], a[2]), a_right = larger(a[1], a[3]);
    float b_top = smaller(b[0], b[2]), b_left = smaller(b[1], b[3]);
    float b_bottom = larger(b[0], b[2]), b_right = larger(b[1], b[3]);
    float a_area = (a_bottom - a_top) * (a_right - a_left);
    float b_area = (b_bottom - b_top) * (b_right - b_left);
    if (a_area <= 0 || b_area <= 0)
        return 0;
    float height = larger(smaller(a_bottom, b_bottom) - larger(a_top, b_top), 0);
    float width = larger(smaller(a_right, b_right) - larger(a_left, b_left), 0);
    return height * width / (a_area + b_area - height * width);
}
