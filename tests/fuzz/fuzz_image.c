/* JPEG and PNG files as records, in 1, 3 and 4 channels. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "trainer/records/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int channels[] = { 1, 3, 4 };

    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        struct picture image;
        float out[2 * 3 * 4];
        struct status status =
            image_decode((struct bytes){ (const char *)data, size }, channels[i], &image);
        if (!status_is_ok(status))
            continue;
        image_resize(&image, 2, 3, out);
        for (int k = 0; k < 2 * 3 * channels[i]; k++)
            if (!(out[k] >= 0 && out[k] <= 255))
                abort();
        image_finish(&image);
    }
    return 0;
}
