/*
 * suppression_combined: CombinedNonMaxSuppression, which suppresses the boxes of each class and
 * then takes the best of all classes.
 */
#include "runtime/kernels/image/box_heap.h"
#include "runtime/kernels/kernel_tools.h"

#define CHECK_EVERY 100000 /* comparisons between two checks of the deadline */

struct combined_state {
    bool pad_per_class, clip_boxes;
};

static struct status combined_prepare(struct prepare_context *p)
{
    struct combined_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_bool(prepare_node(p), "pad_per_class", &state->pad_per_class));
    return node_attr_bool(prepare_node(p), "clip_boxes", &state->clip_boxes);
}

struct detection {
    int64_t box, class_index;
    float score;
};

struct combined_suppression {
    struct kernel_context *k;
    const float *boxes, *scores; /* [count, classes_of_boxes, 4], [count, classes], of one image */
    int64_t count, classes_of_boxes, classes;
    int64_t per_class, total; /* most detections */
    float overlap_max, score_min;
    int64_t work;
    struct box_heap heap;
    struct detection *found, *sorted; /* [per_class * classes] each */
    int64_t found_count;
};

static const float *box_at(const struct combined_suppression *c, int64_t box, int64_t class_index)
{
    int64_t at = box * c->classes_of_boxes + (c->classes_of_boxes > 1 ? class_index : 0);
    return c->boxes + 4 * at;
}

static bool overlaps_any(struct combined_suppression *c, int64_t from, int64_t box,
                         int64_t class_index)
{
    const float *candidate = box_at(c, box, class_index);
    for (int64_t j = c->found_count - 1; j >= from; j--, c->work++)
        if (boxes_overlap(candidate, box_at(c, c->found[j].box, class_index)) > c->overlap_max)
            return true;
    return false;
}

static struct status detect_class(struct combined_suppression *c, int64_t class_index)
{
    int64_t from = c->found_count;
    c->heap.count = 0;
    for (int64_t i = 0; i < c->count; i++) {
        float score = c->scores[i * c->classes + class_index];
        if (score > c->score_min)
            box_heap_push(&c->heap, (struct box_candidate){ i, score, 0 });
    }
    while (c->found_count - from < c->per_class && c->heap.count > 0) {
        struct box_candidate next = box_heap_pop(&c->heap);
        if (c->work++ > CHECK_EVERY) {
            TRY(kernel_check(c->k));
            c->work = 0;
        }
        if (!overlaps_any(c, from, next.box, class_index))
            c->found[c->found_count++] = (struct detection){ next.box, class_index, next.score };
    }
    return status_ok();
}

/* Sorts by falling scores and keeps the order of equal ones: merges runs of 1, 2, 4, … */
static void sort_detections(struct combined_suppression *c)
{
    for (int64_t run = 1; run < c->found_count; run *= 2) {
        for (int64_t at = 0; at < c->found_count; at += 2 * run) {
            int64_t middle = at + run < c->found_count ? at + run : c->found_count;
            int64_t end = middle + run < c->found_count ? middle + run : c->found_count;
            int64_t a = at, b = middle;
            for (int64_t to = at; to < end; to++) {
                bool second = a == middle || (b < end && c->found[b].score > c->found[a].score);
                c->sorted[to] = c->found[second ? b++ : a++];
            }
        }
        struct detection *swap = c->found;
        c->found = c->sorted;
        c->sorted = swap;
    }
}

static float clipped(float x)
{
    return larger(smaller(x, 1), 0);
}

struct combined_out {
    float *boxes, *scores, *classes;
    int32_t *valid;
    int64_t size;
};

static void put_detections(const struct combined_suppression *c, int64_t image,
                           const struct combined_out *out)
{
    const struct combined_state *state = kernel_state(c->k);
    int64_t valid = c->found_count < out->size ? c->found_count : out->size;
    for (int64_t i = 0, at = image * out->size; i < out->size; i++, at++) {
        const struct detection *found = i < valid ? &c->found[i] : NULL;
        const float *box = found != NULL ? box_at(c, found->box, found->class_index) : NULL;
        out->scores[at] = found != NULL ? found->score : 0;
        out->classes[at] = found != NULL ? (float)found->class_index : 0;
        for (int j = 0; j < 4; j++)
            out->boxes[4 * at + j] = box == NULL ? 0 : state->clip_boxes ? clipped(box[j]) : box[j];
    }
    out->valid[image] = (int32_t)valid;
}

static struct status check_combined(const struct tensor *boxes, const struct tensor *scores)
{
    const struct shape *b = &boxes->shape, *s = &scores->shape;
    if (b->rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "boxes must be 4-D [batch, num_boxes, q, 4], got shape %s",
                            shape_text(b));
    if (s->rank != 3)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "scores must be 3-D [batch, num_boxes, num_classes], got shape %s",
                            shape_text(s));
    if (b->dims[2] != 1 && b->dims[2] != s->dims[2])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "third dimension of boxes must be either 1 or num classes");
    if (b->dims[3] != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "boxes must have 4 columns");
    if (s->dims[1] != b->dims[1])
        return status_error(STATUS_INVALID_ARGUMENT, "scores has incompatible shape");
    if (b->dims[0] != s->dims[0])
        return status_error(STATUS_INVALID_ARGUMENT, "boxes and scores must have same batch size");
    return status_ok();
}

static struct status read_combined(struct kernel_context *k, struct combined_suppression *out)
{
    static const char *const names[] = { "max_size_per_class", "max_total_size", "iou_threshold",
                                         "score_threshold" };
    const struct tensor *scalars[4];
    for (int i = 0; i < 4; i++)
        TRY(kernel_scalar(k, i + 2, names[i], &scalars[i]));
    out->per_class = tensor_int32s(scalars[0])[0];
    out->total = tensor_int32s(scalars[1])[0];
    out->overlap_max = tensor_floats(scalars[2])[0];
    out->score_min = tensor_floats(scalars[3])[0];
    if (out->per_class <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "max_size_per_class must be positive");
    if (out->total <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "max_total_size must be > 0");
    if (!(out->overlap_max >= 0 && out->overlap_max <= 1))
        return status_error(STATUS_INVALID_ARGUMENT, "iou_threshold must be in [0, 1]");
    return status_ok();
}

static struct status make_combined_outputs(struct kernel_context *k, int64_t images, int64_t size,
                                           struct combined_out *out)
{
    struct shape boxes = shape_of(images, size, 4), scores = shape_of(images, size),
                 valid = shape_of(images);
    struct tensor *tensors[4];
    TRY(shape_check(3, boxes.dims, &boxes));
    TRY(kernel_output(k, 0, &boxes, &tensors[0]));
    TRY(kernel_output(k, 1, &scores, &tensors[1]));
    TRY(kernel_output(k, 2, &scores, &tensors[2]));
    TRY(kernel_output(k, 3, &valid, &tensors[3]));
    *out =
        (struct combined_out){ tensor_floats_mut(tensors[0]), tensor_floats_mut(tensors[1]),
                               tensor_floats_mut(tensors[2]), tensor_int32s_mut(tensors[3]), size };
    return status_ok();
}

static struct status detect_images(struct combined_suppression *c, int64_t images,
                                   const struct combined_out *out)
{
    for (int64_t i = 0; i < images; i++) {
        c->found_count = 0;
        for (int64_t j = 0; j < c->classes && c->count > 0; j++)
            TRY(detect_class(c, j));
        sort_detections(c);
        put_detections(c, i, out);
        c->boxes += c->count * c->classes_of_boxes * 4;
        c->scores += c->count * c->classes;
    }
    return status_ok();
}

static struct status combined_compute(struct kernel_context *k)
{
    const struct tensor *boxes = kernel_input(k, 0), *scores = kernel_input(k, 1);
    const struct combined_state *state = kernel_state(k);
    struct combined_suppression c = { .k = k };
    struct combined_out out;
    struct tensor heap = { 0 }, found = { 0 }, sorted = { 0 };
    struct status status;
    TRY(check_combined(boxes, scores));
    TRY(read_combined(k, &c));
    c.boxes = boxes->data;
    c.scores = scores->data;
    c.count = boxes->shape.dims[1];
    c.classes_of_boxes = boxes->shape.dims[2];
    c.classes = scores->shape.dims[2];
    int64_t size = c.total, images = boxes->shape.dims[0];
    if (state->pad_per_class && c.classes <= INT32_MAX && c.per_class * c.classes < size)
        size = c.per_class * c.classes;
    c.per_class = c.per_class < c.count ? c.per_class : c.count;
    TRY(make_combined_outputs(k, images, size, &out));
    /* there are no more detections than scores, which have memory */
    struct shape most = shape_of(
        scores->size > 0 ? c.per_class * c.classes * (int64_t)sizeof(struct detection) : 0);
    TRY_OR(done, box_heap_reserve(k, scores->size > 0 ? c.count : 0, &heap, &c.heap));
    TRY_OR(done, kernel_scratch(k, DT_UINT8, &most, &found));
    TRY_OR(done, kernel_scratch(k, DT_UINT8, &most, &sorted));
    c.found = found.data;
    c.sorted = sorted.data;
    status = detect_images(&c, images, &out);
done:
    tensor_release(&heap);
    tensor_release(&found);
    tensor_release(&sorted);
    return status;
}

static const struct kernel rows[] = {
    { "CombinedNonMaxSuppression", DTYPES_ALL, .prepare = combined_prepare,
      .compute = combined_compute, .costly = true },
};
const struct kernel_table kernels_suppression_combined = { rows, COUNT(rows) };
