#include "server/metrics/rows.h"

#define NS      1e9 /* nanoseconds are added, seconds printed */
#define NO_UNIT 1
#define NOTHING \
    {           \
        0, 0, 0 \
    }
/* TensorFlow Serving's latencies, in microseconds: up to about 20 minutes. */
#define TF_TIME     \
    {               \
        10, 1.8, 33 \
    }
#define TF_WAIT      \
    {                \
        100, 1.2, 52 \
    }
#define TF_RUN      \
    {               \
        1000, 2, 20 \
    }
#define TF_SIZE  \
    {            \
        1, 2, 14 \
    }
#define TF_COUNT \
    {            \
        1, 2, 15 \
    }
#define STAGE       \
    {               \
        4e-6, 2, 22 \
    } /* up to 8 s */
#define LOAD        \
    {               \
        1e-3, 2, 20 \
    } /* up to 9 minutes */
#define ROWS     \
    {            \
        1, 2, 11 \
    }

#define TF   "/tensorflow/serving/"
#define CC   "/tensorflow/cc/saved_model/"
#define CORE "/tensorflow/core/"

const struct metric_row metric_rows[METRIC_COUNT] = {
#define METRIC(id, name, kind, buckets, unit, help, ...) \
    [METRIC_##id] = { name, METRIC_##kind, { __VA_ARGS__ }, buckets, unit, help },
#include "server/metrics/rows.def"
#undef METRIC
};
