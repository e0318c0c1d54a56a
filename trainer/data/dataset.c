#include "trainer/data/dataset.h"

#include <string.h>

#include "base/clones.h"
#include "base/crc32c.h"

uint32_t dataset_checksum(const struct dataset *dataset)
{
    size_t rows = dataset->rows, features = rows * dataset->width,
           answers = rows * dataset->target_width;
    uint32_t crc = 0;

    if (dataset->bytes != NULL)
        crc = crc32c(crc, dataset->bytes, features);
    if (dataset->floats != NULL)
        crc = crc32c(crc, dataset->floats, features * sizeof *dataset->floats);
    if (dataset->classes != NULL)
        crc = crc32c(crc, dataset->classes, answers);
    if (dataset->targets != NULL)
        crc = crc32c(crc, dataset->targets, answers * sizeof *dataset->targets);
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

void dataset_gather(const struct dataset *dataset, const uint32_t *rows, uint32_t count,
                    float *features, int32_t *classes, float *targets)
{
    uint32_t width = dataset->width, answers = dataset->target_width;

    for (uint32_t i = 0; i < count; i++) {
        size_t row = rows[i];
        float *out = features + (size_t)i * width;
        if (dataset->bytes != NULL) {
            if (i + 2 < count)
                prefetch(dataset->bytes + (size_t)rows[i + 2] * width, width);
            pixels_to_floats(out, dataset->bytes + row * width, width);
        } else {
            memcpy(out, dataset->floats + row * width, width * sizeof *out);
        }
        if (dataset->classes != NULL)
            classes[i] = dataset->classes[row];
        else
            memcpy(targets + (size_t)i * answers, dataset->targets + row * answers,
                   answers * sizeof *targets);
    }
}
