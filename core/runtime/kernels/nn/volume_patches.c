/*
 * volume_patches: ExtractVolumePatches, which lays the elements under each position of a window in
 * a row.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

struct volume_state {
    int64_t size[3], stride[3];
    bool same;
};

static struct status read_three(const struct node *node, const char *name, int64_t out[3])
{
    int64_t values[5];
    int count;
    TRY(node_attr_ints(node, name, 5, values, &count));
    if (count != 5 || values[0] != 1 || values[4] != 1)
        return status_error(STATUS_UNIMPLEMENTED, "Only support %s across space.", name);
    for (int i = 0; i < 3; i++) {
        out[i] = values[1 + i];
        if (out[i] < 1 || out[i] > INT32_MAX)
            return status_error(STATUS_OUT_OF_RANGE, "%s is out of range.", name);
    }
    return status_ok();
}

static struct status volume_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct volume_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes padding;
    TRY(read_three(node, "ksizes", state->size));
    TRY(read_three(node, "strides", state->stride));
    TRY(node_attr_string(node, "padding", &padding));
    state->same = bytes_equal(padding, bytes_of("SAME"));
    return status_ok();
}

/* A volume [in[0], in[1], in[2]] of pixels of some bytes, and where windows begin: at
 * i · stride - before. */
struct volume {
    const struct volume_state *state;
    int64_t in[3], out[3], before[3];
    size_t pixel;
};

static struct status find_windows(struct kernel_context *k, const int64_t *dims, struct volume *v)
{
    for (int d = 0; d < 3; d++) {
        int64_t in = dims[1 + d], size = v->state->size[d], stride = v->state->stride[d];
        v->in[d] = in;
        v->out[d] =
            v->state->same ? in / stride + (in % stride != 0) : (in - size + stride) / stride;
        if (v->out[d] < 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Computed output size would be negative: %lld [input_size: %lld, "
                                "effective_filter_size: %lld, stride: %lld]",
                                (long long)v->out[d], (long long)in, (long long)size,
                                (long long)stride);
        int64_t padding =
            v->state->same && v->out[d] > 0 ? (v->out[d] - 1) * stride + size - in : 0;
        v->before[d] = padding > 0 ? padding / 2 : 0;
    }
    return status_ok();
}

/* The window at `at`, plane by plane; zeros outside. */
static char *copy_window(const struct volume *v, const char *volume, const int64_t at[3], char *out)
{
    const int64_t *size = v->state->size;
    for (int64_t i = 0; i < size[0] * size[1] * size[2]; i++, out += v->pixel) {
        const int64_t tap[] = { i / (size[1] * size[2]), i / size[2] % size[1], i % size[2] };
        int64_t place = 0;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            int64_t p = at[d] * v->state->stride[d] - v->before[d] + tap[d];
            inside = inside && p >= 0 && p < v->in[d];
            place = place * v->in[d] + p;
        }
        if (inside)
            memcpy(out, volume + (size_t)place * v->pixel, v->pixel);
        else
            memset(out, 0, v->pixel);
    }
    return out;
}

static struct status volume_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct volume v = { .state = kernel_state(k) };
    const int64_t *dims = x->shape.dims;
    struct tensor *out;
    if (x->shape.rank != 5)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be 5-dimensional%s",
                            shape_text(&x->shape));
    TRY(find_windows(k, dims, &v));
    struct shape patch = shape_of(v.state->size[0], v.state->size[1], v.state->size[2], dims[4]);
    TRY(shape_check(4, patch.dims, &patch));
    struct shape shape = shape_of(dims[0], v.out[0], v.out[1], v.out[2], shape_size(&patch));
    TRY(shape_check(5, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    v.pixel = (size_t)dims[4] * dtype_size(x->dtype);
    char *to = out->data;
    int64_t windows = v.out[0] * v.out[1] * v.out[2];
    for (int64_t i = 0; i < dims[0] * windows; i++) {
        int64_t w = i % windows;
        const int64_t at[] = { w / (v.out[1] * v.out[2]), w / v.out[2] % v.out[1], w % v.out[2] };
        if (w % v.out[2] == 0)
            TRY(kernel_check(k));
        to = copy_window(
            &v, at_bytes_const(x->data, i / windows * dims[1] * dims[2] * dims[3], v.pixel), at,
            to);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "ExtractVolumePatches", DTYPES_REAL, .prepare = volume_prepare, .compute = volume_compute,
      .costly = true },
};
const struct kernel_table kernels_volume_patches = { rows, COUNT(rows) };
