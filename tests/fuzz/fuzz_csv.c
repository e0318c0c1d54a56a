/* CSV, TSV and Criteo files, with one or several values in a field, and with a text that stands for
 * no value. The first byte chooses. */
#include <stddef.h>
#include <stdint.h>

#include "records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct column_spec table[] = { { "x", COLUMN_FLOAT },
                                                { "n", COLUMN_INT64 },
                                                { "s", COLUMN_BYTES } };
    static const struct column_spec criteo[] = { { "I1", COLUMN_FLOAT },
                                                 { "C1", COLUMN_INT64 },
                                                 { "C26", COLUMN_BYTES } };

    static const struct column_separator separators[] = { { "n", '|' }, { "s", '|' } };

    if (size == 0)
        return 0;
    const char *format = data[0] % 3 == 0 ? "csv" : data[0] % 3 == 1 ? "tsv" : "criteo";
    struct record_options options = { .separators = separators,
                                      .separators_count =
                                          data[0] % 3 < 2 && data[0] / 3 % 2 ? 2 : 0,
                                      .na_value = bytes_of(data[0] / 6 % 2 ? "1" : "") };
    compare_windows(format, data + 1, size - 1, options, data[0] % 3 == 2 ? criteo : table, 3);
    return 0;
}
