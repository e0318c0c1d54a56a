/*
 * batching: TensorFlow Serving's BatchingParameters, from the file of --batching_parameters_file or
 * from batching_params.pbtxt in the directory of a version.
 */
#ifndef SERVER_MODELS_BATCHING_H
#define SERVER_MODELS_BATCHING_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "proto/serving_config.pb-c.h"

#define BATCHING_FILE_OF_VERSION "batching_params.pbtxt"

struct batching {
    int64_t rows_max;     /* per call: max_batch_size */
    int64_t run_rows_max; /* the same, or max_execution_batch_size if large calls are split */
    int64_t wait_ns;      /* how long the first call of a batch waits for others */
    int64_t batches_max;  /* limit of the waiting batches, including the open one */
    const int64_t *allowed_sizes; /* ascending; a batch is padded to the next one */
    size_t allowed_count;         /* 0: any size */
    bool pads_variable_length;
    bool splits;
    int threads; /* threads for the batches of all models */
    const char *thread_pool_name;
};

/* The defaults of --enable_batching without a file. */
struct batching batching_default(void);

/**
 * Reads a file. A missing field has TensorFlow Serving's default.
 *
 * Owner   texts and sizes live in `arena`
 * Errors  INVALID_ARGUMENT with TensorFlow Serving's texts; file_read's
 */
struct status batching_read(const char *path, struct arena *arena, struct batching *out);

/* The same for a message; the result keeps its texts and sizes. */
struct status batching_read_message(const Tensorflow__Serving__BatchingParameters *message,
                                    struct batching *out);

/* The padded size of a batch of `rows` rows: the next allowed size. */
int64_t batching_round_up(const struct batching *batching, int64_t rows);

#endif
