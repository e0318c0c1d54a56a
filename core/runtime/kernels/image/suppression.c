/*
 * suppression: NonMaxSuppression in its versions. It takes the boxes in the order of their scores,
 * and selects each that does not overlap a selected one too much.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/image/box_heap.h"
#include "runtime/kernels/kernel_tools.h"

#define CHECK_EVERY 100000 /* comparisons between two checks of the deadline */

struct suppression {
    struct kernel_context *k;
    const float *boxes;    /* [count, 4], or NULL */
    const float *overlaps; /* [count, count] otherwise */
    const float *scores;   /* [count] */
    int64_t count, size_max;
    float overlap_max, score_min;
    float sigma;      /* > 0: overlapping boxes lose score and are not dropped */
    enum dtype dtype; /* in which TensorFlow computes */
    int64_t work;     /* comparisons since the last check of the deadline */
    int64_t *selected;
    float *selected_scores;
    int64_t selected_count;
};

static float rounded(const struct suppression *s, float x)
{
    return s->dtype == DT_HALF ? half_round(DT_HALF, x) : x;
}

/* The factor by which an overlap reduces a score. */
static float weight_of(const struct suppression *s, float overlap)
{
    if (s->sigma > 0) {
        float scale = rounded(s, -0.5f / s->sigma);
        float power = rounded(s, rounded(s, scale * overlap) * overlap);
        return rounded(s, expf(power));
    }
    return overlap <= s->overlap_max ? 1 : 0;
}

/* Compares a candidate with the boxes that were selected since the last time. Returns false if it
 * is dropped. */
static bool compare(struct suppression *s, struct box_candidate *candidate)
{
    for (int64_t j = s->selected_count - 1; j >= candidate->compared; j--) {
        int64_t other = s->selected[j];
        float overlap = s->boxes != NULL
                            ? boxes_overlap(s->boxes + 4 * candidate->box, s->boxes + 4 * other)
                            : s->overlaps[candidate->box * s->count + other];
        overlap = rounded(s, overlap);
        s->work++;
        candidate->score = rounded(s, candidate->score * weight_of(s, overlap));
        if (!(s->sigma > 0) && overlap > s->overlap_max)
            return false;
        if (candidate->score <= s->score_min)
            break;
    }
    candidate->compared = s->selected_count;
    return true;
}

static struct status select_boxes(struct suppression *s, struct box_heap *heap)
{
    for (int64_t i = 0; i < s->count; i++)
        if (s->scores[i] > s->score_min)
            box_heap_push(heap, (struct box_candidate){ i, s->scores[i], 0 });
    while (s->selected_count < s->size_max && heap->count > 0) {
        struct box_candidate next = box_heap_pop(heap);
        float before = next.score;
        if (s->work++ > CHECK_EVERY) {
            TRY(kernel_check(s->k));
            s->work = 0;
        }
        if (!compare(s, &next))
            continue;
        if (next.score == before) {
            s->selected[s->selected_count] = next.box;
            s->selected_scores[s->selected_count++] = next.score;
        } else if (next.score > s->score_min) {
            box_heap_push(heap, next);
        }
    }
    return status_ok();
}

/* ---- the ops ---- */

struct suppression_state {
    bool pads;
    float overlap_max; /* of the first version, where it is an attribute */
};

static struct status suppression_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct suppression_state *state = prepare_state(p, sizeof *state, NULL);
    if (op_attr_find(node->op, "pad_to_max_output_size") != NULL)
        TRY(node_attr_bool(node, "pad_to_max_output_size", &state->pads));
    if (op_attr_find(node->op, "iou_threshold") != NULL)
        TRY(node_attr_float(node, "iou_threshold", &state->overlap_max));
    return status_ok();
}

/* A threshold, in the type in which TensorFlow compares. */
static struct status read_threshold(struct suppression *s, int index, const char *name, float *out)
{
    const struct tensor *scalar;
    TRY(kernel_scalar(s->k, index, name, &scalar));
    *out = rounded(s, (float)floating_element(scalar, 0));
    return status_ok();
}

static struct status read_thresholds(struct suppression *s)
{
    const struct suppression_state *state = kernel_state(s->k);
    int inputs = kernel_inputs_count(s->k);
    s->overlap_max = state->overlap_max;
    s->score_min = s->dtype == DT_HALF ? -65504.0f : -3.40282347e38f;
    if (inputs > 3)
        TRY(read_threshold(s, 3, s->overlaps != NULL ? "overlap_threshold" : "iou_threshold",
                           &s->overlap_max));
    if (s->overlaps == NULL && !(s->overlap_max >= 0 && s->overlap_max <= 1))
        return status_error(STATUS_INVALID_ARGUMENT, "iou_threshold must be in [0, 1]");
    if (inputs > 4)
        TRY(read_threshold(s, 4, "score_threshold", &s->score_min));
    if (inputs > 5)
        TRY(read_threshold(s, 5, "soft_nms_sigma", &s->sigma));
    if (!(s->sigma >= 0))
        return status_error(STATUS_INVALID_ARGUMENT, "soft_nms_sigma_val must be >= 0");
    return status_ok();
}

static struct status check_shapes(const struct tensor *boxes, const struct tensor *scores,
                                  bool are_overlaps)
{
    const struct shape *shape = &boxes->shape;
    const char *name = are_overlaps ? "overlaps" : "boxes";
    if (shape->rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be 2-D%s", name, shape_text(shape));
    if (are_overlaps && shape->dims[0] != shape->dims[1])
        return status_error(STATUS_INVALID_ARGUMENT, "overlaps must be square%s",
                            shape_text(shape));
    if (!are_overlaps && shape->dims[1] != 4)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "boxes must have 4 columns (Dimension must be 4 but is %lld)",
                            (long long)shape->dims[1]);
    if (scores->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "scores must be 1-D%s",
                            shape_text(&scores->shape));
    if (scores->size != shape->dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "scores has incompatible shape (Dimensions must be equal, but are "
                            "%lld and %lld)",
                            (long long)shape->dims[0], (long long)scores->size);
    return status_ok();
}

static struct status put_selection(const struct suppression *s, int64_t size)
{
    struct kernel_context *k = s->k;
    struct shape shape = shape_of(size), scalar = shape_scalar();
    struct tensor *indices, *scores, *valid;
    int outputs = kernel_outputs_count(k);
    TRY(kernel_output(k, 0, &shape, &indices));
    for (int64_t i = 0; i < size; i++)
        tensor_int32s_mut(indices)[i] = i < s->selected_count ? (int32_t)s->selected[i] : 0;
    if (outputs == 3) {
        TRY(kernel_output(k, 1, &shape, &scores));
        memset(scores->data, 0, tensor_bytes(scores));
        if (s->dtype == DT_HALF)
            half_block_store(DT_HALF, s->selected_scores, scores->data, s->selected_count);
        else if (s->selected_count > 0)
            memcpy(scores->data, s->selected_scores, (size_t)s->selected_count * sizeof(float));
    }
    if (outputs > 1) {
        TRY(kernel_output(k, outputs - 1, &scalar, &valid));
        tensor_int32s_mut(valid)[0] = (int32_t)s->selected_count;
    }
    return status_ok();
}

/* Memory of one suppression. */
struct suppression_memory {
    struct tensor boxes, scores, heap, selected, selected_scores;
};

static struct status suppress(struct suppression *s, struct suppression_memory *memory,
                              bool are_overlaps, int64_t output_size)
{
    const struct suppression_state *state = kernel_state(s->k);
    struct box_heap heap = { .ties_by_box = true };
    TRY(float_values(s->k, kernel_input(s->k, 0), &memory->boxes));
    TRY(float_values(s->k, kernel_input(s->k, 1), &memory->scores));
    s->count = memory->scores.size;
    s->scores = memory->scores.data;
    s->boxes = are_overlaps ? NULL : memory->boxes.data;
    s->size_max = output_size < s->count ? output_size : s->count;
    struct shape shape = shape_of(s->size_max);
    TRY(kernel_scratch(s->k, DT_INT64, &shape, &memory->selected));
    TRY(kernel_scratch(s->k, DT_FLOAT, &shape, &memory->selected_scores));
    s->selected = memory->selected.data;
    s->selected_scores = memory->selected_scores.data;
    TRY(box_heap_reserve(s->k, s->count, &memory->heap, &heap));
    TRY(select_boxes(s, &heap));
    return put_selection(s, state->pads ? output_size : s->selected_count);
}

static struct status suppression(struct kernel_context *k, bool are_overlaps)
{
    const struct tensor *boxes = kernel_input(k, 0), *size;
    struct suppression s = { .k = k,
                             .dtype = boxes->dtype,
                             .overlaps = are_overlaps ? boxes->data : NULL };
    struct suppression_memory memory = { 0 };
    TRY(kernel_scalar(k, 2, "max_output_size", &size));
    TRY(read_thresholds(&s));
    TRY(check_shapes(boxes, kernel_input(k, 1), are_overlaps));
    int64_t output_size = tensor_int32s(size)[0];
    if (output_size < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "output size must be non-negative");
    struct status status = suppress(&s, &memory, are_overlaps, output_size);
    tensor_release(&memory.boxes);
    tensor_release(&memory.scores);
    tensor_release(&memory.heap);
    tensor_release(&memory.selected);
    tensor_release(&memory.selected_scores);
    return status;
}

static struct status suppression_compute(struct kernel_context *k)
{
    return suppression(k, false);
}

static struct status overlaps_compute(struct kernel_context *k)
{
    return suppression(k, true);
}

#define SUPPRESSION(op, dtypes, function)                                               \
    {                                                                                   \
        op, dtypes, .prepare = suppression_prepare, .compute = function, .costly = true \
    }
#define DTYPES_BOXES (DTYPES(DT_FLOAT) | DTYPES(DT_HALF))
static const struct kernel rows[] = {
    SUPPRESSION("NonMaxSuppression", DTYPES_ALL, suppression_compute),
    SUPPRESSION("NonMaxSuppressionV2", DTYPES_BOXES, suppression_compute),
    SUPPRESSION("NonMaxSuppressionV3", DTYPES_BOXES, suppression_compute),
    SUPPRESSION("NonMaxSuppressionV4", DTYPES_BOXES, suppression_compute),
    SUPPRESSION("NonMaxSuppressionV5", DTYPES_BOXES, suppression_compute),
    SUPPRESSION("NonMaxSuppressionWithOverlaps", DTYPES_ALL, overlaps_compute),
};
const struct kernel_table kernels_suppression = { rows, COUNT(rows) };
