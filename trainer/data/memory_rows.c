#include "trainer/data/memory_rows.h"

#include <string.h>

#include "base/clones.h"
#include "base/crc32c.h"

uint32_t memory_rows_checksum(const struct memory_rows *data)
{
    size_t rows = data->rows, features = rows * data->width, answers = rows * data->target_width;
    uint32_t crc = 0;

    if (data->bytes != NULL)
        crc = crc32c(crc, data->bytes, features);
    if (data->floats != NULL)
        crc = crc32c(crc, data->floats, features * sizeof *data->floats);
    if (data->classes != NULL)
        crc = crc32c(crc, data->classes, answers);
    if (data->targets != NULL)
        crc = crc32c(crc, data->targets, answers * sizeof *data->targets);
    return crc;
}

CLONES static void pixels_to_floats(float *restrict out, const uint8_t *restrict in, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = (float)in[i] * (1 / 255.0f);
}

/* Rows are read in random order: while one is converted, the one after the next is prefetched. */
static void prefetch(const uint8_t *row, uint32_t width)
{
    for (uint32_t at = 0; at < width; at += 64)
        __builtin_prefetch(row + at);
}

void memory_rows_gather(const struct memory_rows *data, const uint32_t *rows, uint32_t count,
                        float *features, int32_t *classes, float *targets)
{
    uint32_t width = data->width, answers = data->target_width;

    for (uint32_t i = 0; i < count; i++) {
        size_t row = rows[i];
        float *out = features + (size_t)i * width;
        if (data->bytes != NULL) {
            if (i + 2 < count)
                prefetch(data->bytes + (size_t)rows[i + 2] * width, width);
            pixels_to_floats(out, data->bytes + row * width, width);
        } else {
            memcpy(out, data->floats + row * width, width * sizeof *out);
        }
        if (data->classes != NULL)
            classes[i] = data->classes[row];
        else
            memcpy(targets + (size_t)i * answers, data->targets + row * answers,
                   answers * sizeof *targets);
    }
}
