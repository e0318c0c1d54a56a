/*
 * pool_places: pooling by the place of the greatest element of each window: MaxPool of integers,
 * MaxPoolWithArgmax, and the gradients of maxima of any real type.
 */
#include "runtime/kernels/nn/pool_places.h"

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/plain/window_places.h"

/* Elements read between two checks of the deadline. */
#define STEPS_PER_CHECK ((int64_t)1 << 22)

/* The number of windows of a row to handle at once. */
static int64_t windows_per_check(const struct conv_size *size)
{
    int64_t rows = size->rows.kernel < size->rows.in ? size->rows.kernel : size->rows.in;
    int64_t columns =
        size->columns.kernel < size->columns.in ? size->columns.kernel : size->columns.in;
    int64_t each = rows * columns * size->c; /* at most the elements of an image */
    return each < STEPS_PER_CHECK && each > 0 ? STEPS_PER_CHECK / each : 1;
}

/* The places of one row of windows. */
static struct status find_row(struct kernel_context *k, const struct conv_size *size,
                              enum dtype dtype, const void *image, int64_t row, int64_t *places)
{
    int64_t piece = windows_per_check(size);
    for (int64_t first = 0; first < size->columns.out; first += piece) {
        int64_t left = size->columns.out - first;
        TRY(kernel_check(k));
        max_places_of(dtype)(size, image, row, first, first + (left < piece ? left : piece),
                             places + first * size->c);
    }
    return status_ok();
}

struct status pool_places_find(struct kernel_context *k, const struct conv_size *size,
                               const struct tensor *x, struct tensor *places)
{
    struct shape shape = shape_of(size->n, size->rows.out, size->columns.out, size->c);
    struct tensor image;
    TRY(shape_check(4, shape.dims, &shape));
    TRY(kernel_scratch(k, DT_INT64, &shape, places));
    if (places->size == 0)
        return status_ok();
    struct status status = status_ok();
    if (dtype_is_half(x->dtype))
        status = float_values(k, x, &image);
    else
        image = tensor_acquire(x);
    if (status_is_ok(status)) {
        int64_t row = size->columns.out * size->c, area = conv_places_in(size) * size->c;
        for (int64_t i = 0; i < size->n * size->rows.out && status_is_ok(status); i++)
            status = find_row(
                k, size, image.dtype,
                at_bytes_const(image.data, i / size->rows.out * area, dtype_size(image.dtype)),
                i % size->rows.out, tensor_int64s_mut(places) + i * row);
        tensor_release(&image);
    }
    if (!status_is_ok(status))
        tensor_release(places);
    return status;
}

int64_t pool_places_index(const struct conv_size *size, const struct tensor *places, int64_t i)
{
    int64_t batch = i / (conv_places_out(size) * size->c), place = tensor_int64s(places)[i];
    return place < 0 ? -1 : (batch * conv_places_in(size) + place) * size->c + i % size->c;
}

void pool_places_take(const struct conv_size *size, const struct tensor *places,
                      const struct tensor *x, struct tensor *out)
{
    size_t bytes = dtype_size(x->dtype);
    for (int64_t i = 0; i < out->size; i++) {
        int64_t from = pool_places_index(size, places, i);
        if (from >= 0)
            memcpy(at_bytes(out->data, i, bytes), at_bytes_const(x->data, from, bytes), bytes);
        else
            memset(at_bytes(out->data, i, bytes), 0, bytes);
    }
}

void pool_places_add(const struct conv_size *size, const struct tensor *places,
                     const struct tensor *dy, struct tensor *dx)
{
    size_t bytes = dtype_size(dy->dtype);
    for (int64_t i = 0; i < dy->size; i++) {
        int64_t to = pool_places_index(size, places, i);
        if (to >= 0)
            add_elements(dy->dtype, at_bytes_const(dy->data, i, bytes),
                         at_bytes(dx->data, to, bytes), 1);
    }
}
