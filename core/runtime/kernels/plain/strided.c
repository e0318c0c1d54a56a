#include "runtime/kernels/plain/strided.h"

#include <string.h>

#include "runtime/kernels/plain/types.h"

void dense_strides(const struct shape *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= shape->dims[d];
    }
}

/* Drops dimensions of 1 and merges those that form one walk. */
static struct strided merged(const struct strided *in)
{
    struct strided out = { 0 };
    for (int d = 0; d < in->rank; d++) {
        int last = out.rank - 1;
        if (in->dims[d] == 1)
            continue;
        if (last >= 0 && out.strides[last] == in->strides[d] * in->dims[d]) {
            out.dims[last] *= in->dims[d];
            out.strides[last] = in->strides[d];
        } else {
            strided_append(&out, in->dims[d], in->strides[d]);
        }
    }
    if (out.rank == 0)
        strided_append(&out, 1, 1);
    return out;
}

/* `from` and `to` step through `count` elements. */
#define MOVE_ROW(name, T)                                                              \
    static void name(const void *from_, int64_t from_step, void *to_, int64_t to_step, \
                     int64_t count)                                                    \
    {                                                                                  \
        const T *from = from_;                                                         \
        T *to = to_;                                                                   \
        for (int64_t i = 0; i < count; i++)                                            \
            to[i * to_step] = from[i * from_step];                                     \
    }
MOVE_ROW(move_1, uint8_t)
MOVE_ROW(move_2, uint16_t)
MOVE_ROW(move_4, uint32_t)
MOVE_ROW(move_8, uint64_t)
MOVE_ROW(move_16, struct wide_element)

static void move_row(size_t size, const void *from, int64_t from_step, void *to, int64_t to_step,
                     int64_t count)
{
    if (from_step == 1 && to_step == 1) {
        memcpy(to, from, (size_t)count * size);
        return;
    }
    switch (size) {
    case 1:
        move_1(from, from_step, to, to_step, count);
        break;
    case 2:
        move_2(from, from_step, to, to_step, count);
        break;
    case 4:
        move_4(from, from_step, to, to_step, count);
        break;
    case 8:
        move_8(from, from_step, to, to_step, count);
        break;
    default:
        move_16(from, from_step, to, to_step, count);
        break;
    }
}

/* Walks all dimensions but the last. `read`: the destination is contiguous; otherwise the source
 * is. */
static void walk(const struct strided *strided, size_t size, const char *src, char *out, bool read)
{
    struct strided s = merged(strided);
    int64_t at[STRIDED_RANK_MAX] = { 0 }, offset = 0, dense = 0;
    int last = s.rank - 1;
    for (int d = 0; d < s.rank; d++)
        if (s.dims[d] == 0)
            return;
    for (;;) {
        const char *from = src + (read ? offset : dense) * (int64_t)size;
        char *to = out + (read ? dense : offset) * (int64_t)size;
        move_row(size, from, read ? s.strides[last] : 1, to, read ? 1 : s.strides[last],
                 s.dims[last]);
        dense += s.dims[last];
        int d = last - 1;
        for (; d >= 0; d--) {
            offset += s.strides[d];
            if (++at[d] < s.dims[d])
                break;
            offset -= s.strides[d] * s.dims[d];
            at[d] = 0;
        }
        if (d < 0)
            return;
    }
}

void strided_read(const struct strided *strided, size_t element_bytes, const void *src, void *out)
{
    walk(strided, element_bytes, src, out, true);
}

void strided_write(const struct strided *strided, size_t element_bytes, const void *src, void *out)
{
    walk(strided, element_bytes, src, out, false);
}
