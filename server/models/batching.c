#include "server/models/batching.h"

#include "base/cores.h"
#include "base/file.h"
#include "proto/text.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define THREADS_MAX    4096
#define ROWS_MAX       INT32_MAX /* sums of rows must not overflow */

typedef Tensorflow__Serving__BatchingParameters message_type;

struct batching batching_default(void)
{
    return (struct batching){ .rows_max = 1000,
                              .run_rows_max = 1000,
                              .batches_max = 10,
                              .threads = cores_available(),
                              .thread_pool_name = "model_server_batch_threads" };
}

static int64_t value_or(const Google__Protobuf__Int64Value *value, int64_t otherwise)
{
    return value != NULL ? value->value : otherwise;
}

static struct status check_at_least(const char *what, const char *must, int64_t value, int64_t min)
{
    if (value >= min)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "%s must be %s; was %lld", what, must,
                        (long long)value);
}

static struct status check_sizes(const struct batching *batching)
{
    const int64_t *sizes = batching->allowed_sizes;
    size_t count = batching->allowed_count;
    if (count == 0)
        return status_ok();
    if (sizes[count - 1] != batching->rows_max)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Last entry in allowed_batch_sizes must match max_batch_size; last "
                            "entry was %lld; expected %lld",
                            (long long)sizes[count - 1], (long long)batching->rows_max);
    for (size_t i = 0; i < count; i++)
        if (sizes[i] <= (i > 0 ? sizes[i - 1] : 0))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "allowed_batch_sizes entries must be monotonically increasing");
    return status_ok();
}

static struct status check(const struct batching *batching)
{
    TRY(check_at_least("input_batch_size_limit", "positive", batching->rows_max, 1));
    TRY(check_at_least("max_execution_batch_size", "positive", batching->run_rows_max, 1));
    TRY(check_at_least("max_enqueued_batches", "positive", batching->batches_max, 1));
    if (batching->rows_max > ROWS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "max_batch_size is %lld, over %d",
                            (long long)batching->rows_max, ROWS_MAX);
    if (batching->run_rows_max > batching->rows_max)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "When enable_large_batch_splitting is true, input_batch_size_limit "
                            "must be greater than or equal to max_execution_batch_size.");
    return check_sizes(batching);
}

static struct status read_threads(const message_type *message, struct batching *out)
{
    int64_t threads = value_or(message->num_batch_threads, out->threads);
    TRY(check_at_least("num_batch_threads", "positive", threads, 1));
    if (threads > THREADS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "num_batch_threads is %lld, over %d",
                            (long long)threads, THREADS_MAX);
    out->threads = (int)threads;
    out->thread_pool_name =
        message->thread_pool_name != NULL ? message->thread_pool_name->value : "batch_threads";
    return status_ok();
}

static int64_t microseconds(int64_t value)
{
    return value > INT64_MAX / 4000 ? INT64_MAX / 4 : value * 1000;
}

struct status batching_read_message(const message_type *message, struct batching *out)
{
    *out = batching_default();
    TRY(read_threads(message, out));
    out->rows_max = value_or(message->max_batch_size, out->rows_max);
    int64_t wait_us = value_or(message->batch_timeout_micros, 0);
    TRY(check_at_least("batch_timeout_micros", "non-negative", wait_us, 0));
    out->wait_ns = microseconds(wait_us);
    out->batches_max = value_or(message->max_enqueued_batches, out->batches_max);
    out->allowed_sizes = message->allowed_batch_sizes;
    out->allowed_count = message->n_allowed_batch_sizes;
    out->pads_variable_length = message->pad_variable_length_inputs;
    out->splits = message->enable_large_batch_splitting != NULL &&
                  message->enable_large_batch_splitting->value;
    out->run_rows_max = out->rows_max;
    if (out->splits)
        out->run_rows_max = value_or(message->max_execution_batch_size, out->rows_max);
    else if (out->batches_max == 0)
        out->batches_max = 1; /* like TensorFlow Serving, which once gave it that meaning */
    return check(out);
}

struct status batching_read(const char *path, struct arena *arena, struct batching *out)
{
    struct buffer text = { 0 };
    message_type *message;
    struct status status = file_read(path, FILE_BYTES_MAX, &text);
    if (status_is_ok(status)) {
        struct bytes bytes = { text.data, text.size };
        status = status_in(proto_text_read(&tensorflow__serving__batching_parameters__descriptor,
                                           bytes, PROTO_TEXT_CHECK_UTF8, arena, &message),
                           "Invalid protobuf file: '%s'", path);
    }
    buffer_finish(&text);
    return status_is_ok(status) ? batching_read_message(message, out) : status;
}

int64_t batching_round_up(const struct batching *batching, int64_t rows)
{
    for (size_t i = 0; i < batching->allowed_count; i++)
        if (batching->allowed_sizes[i] >= rows)
            return batching->allowed_sizes[i];
    return rows;
}
