/* libsvm and libffm files. The first byte chooses. */
#include <stddef.h>
#include <stdint.h>

#include "records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct column_spec specs[] = { { "label", COLUMN_FLOAT },
                                                { "index", COLUMN_INT64 },
                                                { "value", COLUMN_FLOAT },
                                                { "qid", COLUMN_INT64 },
                                                { "weight", COLUMN_FLOAT } };

    if (size > 0)
        compare_windows(data[0] % 2 ? "libffm" : "libsvm", data + 1, size - 1,
                        (struct record_options){ 0 }, specs, 3 + (data[0] >> 1) % 3);
    return 0;
}
