#include "runtime/kernels/plain/byte_product.h"

#include <string.h>

static int32_t byte_at(const struct byte_operand *x, int64_t i)
{
    return x->is_signed ? ((const int8_t *)x->bytes)[i] : ((const uint8_t *)x->bytes)[i];
}

/* out[j] += factor · (f[j] - zero), for the bytes from `first` */
static void add_multiple(uint32_t factor, const struct byte_operand *f, int64_t first,
                         int64_t count, int32_t *out)
{
    uint32_t zero = (uint32_t)f->zero;
    if (f->is_signed) {
        const int8_t *bytes = (const int8_t *)f->bytes + first;
        for (int64_t j = 0; j < count; j++)
            out[j] = (int32_t)((uint32_t)out[j] + factor * ((uint32_t)(int32_t)bytes[j] - zero));
    } else {
        const uint8_t *bytes = (const uint8_t *)f->bytes + first;
        for (int64_t j = 0; j < count; j++)
            out[j] = (int32_t)((uint32_t)out[j] + factor * ((uint32_t)bytes[j] - zero));
    }
}

/* One pixel times one tap. The channels of a group are multiplied with its outputs only. */
static void add_tap(const struct conv_size *size, const struct byte_operand *x, int64_t pixel,
                    const struct byte_operand *filter, int64_t tap, int32_t *out)
{
    int64_t depth = size->c / size->groups, outputs = size->m / size->groups;
    for (int64_t g = 0; g < size->groups; g++)
        for (int64_t c = 0; c < depth; c++) {
            uint32_t factor = (uint32_t)byte_at(x, pixel * size->c + g * depth + c);
            factor -= (uint32_t)x->zero;
            if (factor != 0)
                add_multiple(factor, filter, (tap * depth + c) * size->m + g * outputs, outputs,
                             out + g * outputs);
        }
}

void byte_conv_pixel(const struct conv_size *size, const struct byte_operand *x,
                     const struct byte_operand *filter, int64_t pixel, int32_t *out)
{
    const struct window *rows = &size->rows, *columns = &size->columns;
    int64_t row = pixel / columns->out, image = row / rows->out;
    struct window_taps down = window_taps(rows, row % rows->out);
    struct window_taps across = window_taps(columns, pixel % columns->out);
    memset(out, 0, (size_t)size->m * sizeof *out);
    for (int64_t r = down.first; r < down.end; r++)
        for (int64_t c = across.first; c < across.end; c++) {
            int64_t line = image * rows->in + down.start + r * rows->dilation;
            add_tap(size, x, line * columns->in + across.start + c * columns->dilation, filter,
                    r * columns->kernel + c, out);
        }
}

void byte_matmul_row(int64_t n, int64_t k, const struct byte_operand *a, int64_t a_row,
                     int64_t a_step, const struct byte_operand *b, int64_t row, int32_t *out)
{
    memset(out, 0, (size_t)n * sizeof *out);
    for (int64_t i = 0; i < k; i++) {
        uint32_t factor = (uint32_t)byte_at(a, row * a_row + i * a_step) - (uint32_t)a->zero;
        if (factor != 0)
            add_multiple(factor, b, i * n, n, out);
    }
}
