/* Record files, plain and compressed. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/tfrecord.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "/tmp/slipway_fuzz_tfrecord_%ld", (long)getpid());
        atexit(remove_file);
    }
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size)
        abort();
    fclose(file);
    struct tfrecord_reader *reader;
    struct bytes record;
    bool found = true;
    size_t total = 0;
    if (!status_is_ok(tfrecord_reader_open(path, TFRECORD_DETECT, &reader)))
        return 0;
    while (total < (1 << 26) && status_is_ok(tfrecord_reader_next(reader, &record, &found)) &&
           found)
        total += record.size + 16;
    tfrecord_reader_close(reader);
    return 0;
}
