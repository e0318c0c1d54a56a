#include "trainer/report/metrics_log.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/append_file.h"
#include "base/file.h"

#define SHOW_NS NS_PER_S

/* The events of one kind of rows. */
struct evaluation_events {
    const char *name, *directory;
    struct event_file *file; /* NULL: not made yet */
};

struct metrics_log {
    struct metrics_log_options options;
    pthread_mutex_t lock;
    struct append_file lines;  /* path NULL: not requested, or ended after an error */
    struct event_file *events; /* of training; NULL: not requested, or ended after an error */
    bool has_events;
    struct evaluation_events evaluations[3];
    uint64_t step;        /* the last step made; 0: none yet */
    uint64_t logged_step; /* the last step in the files */
    double loss;          /* of the last batch since then; NAN: unknown */
    int64_t logged_ns, shown_ns;
};

static double wall_time_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)(now.tv_nsec / 1000000) / 1000;
}

/* ---- opening ---- */

/* A process that was killed by a full disk may have left half a line. */
static struct status ends_line(const char *path, bool *out)
{
    struct file_reader reader;
    char last = '\n';

    TRY(file_reader_open(path, &reader));
    struct status status = reader.size > 0
                               ? file_reader_get(&reader, reader.size - 1, &last, sizeof last)
                               : status_ok();
    file_reader_close(&reader);
    *out = last == '\n';
    return status;
}

static struct status open_lines(const char *path, struct append_file *out)
{
    struct append_file file;
    bool whole;

    TRY(append_file_open(path, &file));
    struct status status = ends_line(path, &whole);
    if (status_is_ok(status) && !whole)
        status = append_file_add(&file, bytes_of("\n"));
    if (!status_is_ok(status)) {
        status_ignore(append_file_close(&file));
        return status;
    }
    *out = file;
    return status_ok();
}

static struct status open_events(struct metrics_log *log)
{
    const char *directory = log->options.directory;

    TRY(file_make_directories(directory));
    if (log->options.trains)
        TRY(event_file_create(directory, &log->events));
    log->has_events = true;
    return status_ok();
}

struct status metrics_log_open(const struct metrics_log_options *options, struct metrics_log **out)
{
    struct metrics_log *log;
    struct status status = status_ok();

    *out = NULL;
    if (*options->file == '\0' && *options->directory == '\0')
        return status;
    log = zalloc(sizeof *log);
    *log = (struct metrics_log){ .options = *options,
                                 .lock = PTHREAD_MUTEX_INITIALIZER,
                                 .loss = NAN,
                                 .evaluations = { { "test", "eval", NULL },
                                                  { "validation", "eval_validation", NULL },
                                                  { "train", "train", NULL } } };
    if (*options->file != '\0')
        status = status_in(open_lines(options->file, &log->lines), "--metrics_file");
    if (status_is_ok(status) && *options->directory != '\0')
        status = status_in(open_events(log), "--log_dir");
    if (!status_is_ok(status)) {
        status = status_hold(status);
        metrics_log_close(log);
        return status_resume(status);
    }
    *out = log;
    return status_ok();
}

/* ---- the files, with the lock ---- */

static void warn(struct metrics_log *log, const char *flag, struct status status)
{
    char text[1024];

    snprintf(text, sizeof text, "--%s: %s: nothing more is written there", flag, status.message);
    log->options.warn(log->options.context, text);
}

static void end_lines(struct metrics_log *log, struct status status)
{
    if (status_is_ok(status))
        return;
    warn(log, "metrics_file", status);
    status_ignore(append_file_close(&log->lines));
}

static struct status close_events(struct metrics_log *log)
{
    struct status status = event_file_close(log->events);

    log->events = NULL;
    log->has_events = false;
    for (size_t i = 0; i < COUNT(log->evaluations); i++) {
        struct status closed = event_file_close(log->evaluations[i].file);
        status = status_is_ok(status) ? closed : status;
        log->evaluations[i].file = NULL;
    }
    return status;
}

static void end_events(struct metrics_log *log, struct status status)
{
    if (status_is_ok(status))
        return;
    warn(log, "log_dir", status);
    status_ignore(close_events(log));
}

/* JSON has no NaN. */
static void put_number(struct buffer *line, const char *key, double value)
{
    if (isfinite(value))
        buffer_printf(line, ",\"%s\":%.7g", key, value);
    else
        buffer_printf(line, ",\"%s\":null", key);
}

static void put_head(struct buffer *line, double time_s, uint64_t step)
{
    buffer_printf(line, ",\"time\":%.3f,\"step\":%llu", time_s, (unsigned long long)step);
}

static void add_line(struct metrics_log *log, struct buffer *line)
{
    buffer_append_text(line, "}\n");
    end_lines(log, append_file_add(&log->lines, (struct bytes){ line->data, line->size }));
    buffer_finish(line);
}

/* ---- training ---- */

struct rates {
    double loss, learning_rate;
    double steps_per_second; /* negative: not known yet */
};

static void add_train_line(struct metrics_log *log, double time_s, uint64_t step,
                           const struct rates *rates)
{
    struct buffer line = { 0 };

    if (log->lines.path == NULL)
        return;
    buffer_append_text(&line, "{\"kind\":\"train\"");
    put_head(&line, time_s, step);
    put_number(&line, "loss", rates->loss);
    put_number(&line, "learning_rate", rates->learning_rate);
    if (rates->steps_per_second >= 0) {
        put_number(&line, "steps_per_second", rates->steps_per_second);
        put_number(&line, "examples_per_second",
                   rates->steps_per_second * (double)log->options.rows_per_step);
    }
    add_line(log, &line);
}

static void add_train_events(struct metrics_log *log, double time_s, uint64_t step, bool start,
                             const struct rates *rates)
{
    const struct event_scalar scalars[] = { { "loss", rates->loss },
                                            { "learning_rate", rates->learning_rate },
                                            { "global_step/sec", rates->steps_per_second } };
    int count = (int)COUNT(scalars) - (rates->steps_per_second < 0);

    if (log->events == NULL)
        return;
    struct status status = start ? event_file_add_start(log->events, time_s, step) : status_ok();
    bool no_loss = !isfinite(rates->loss);
    if (status_is_ok(status))
        status =
            event_file_add_scalars(log->events, time_s, step, scalars + no_loss, count - no_loss);
    end_events(log, status);
}

static bool is_due(const struct metrics_log *log, uint64_t step)
{
    uint64_t every = log->options.every_steps;

    return step / every != log->step / every || step >= log->options.last_step;
}

bool metrics_log_step(struct metrics_log *log, uint64_t step, const float *loss,
                      double learning_rate)
{
    if (log == NULL)
        return false;
    pthread_mutex_lock(&log->lock);
    bool start = step <= log->step || log->step == 0;
    bool due = start ? step % log->options.every_steps == 0 || step >= log->options.last_step
                     : is_due(log, step);
    if (loss != NULL)
        log->loss = (double)*loss;
    if (start || due) {
        int64_t now_ns = clock_now_ns(log->options.clock), passed_ns = now_ns - log->logged_ns;
        double steps = (double)(step - log->logged_step);
        struct rates rates = { log->loss, learning_rate,
                               start || passed_ns <= 0 ? -1 : steps * 1e9 / (double)passed_ns };
        double time_s = wall_time_s();
        add_train_line(log, time_s, step, &rates);
        add_train_events(log, time_s, step, start, &rates);
        log->logged_step = step;
        log->logged_ns = now_ns;
        log->loss = NAN;
    }
    log->step = step;
    pthread_mutex_unlock(&log->lock);
    return due;
}

void metrics_log_graph(struct metrics_log *log, struct bytes graph)
{
    if (log == NULL)
        return;
    pthread_mutex_lock(&log->lock);
    if (log->events != NULL)
        end_events(log, event_file_add_graph(log->events, wall_time_s(), graph));
    pthread_mutex_unlock(&log->lock);
}

void metrics_log_histogram(struct metrics_log *log, const char *variable, uint64_t step,
                           const struct histogram *histogram)
{
    struct buffer tag = { 0 };

    if (log == NULL)
        return;
    buffer_printf(&tag, "%s/histogram", variable);
    buffer_append_char(&tag, '\0');
    pthread_mutex_lock(&log->lock);
    if (log->events != NULL)
        end_events(log,
                   event_file_add_histogram(log->events, wall_time_s(), step, tag.data, histogram));
    pthread_mutex_unlock(&log->lock);
    buffer_finish(&tag);
}

/* ---- evaluations, and the training rows of all workers ---- */

/* rows: negative: of an evaluation. */
static void add_values_line(struct metrics_log *log, double time_s, const char *name, uint64_t step,
                            int64_t rows, const struct event_scalar *values, int count)
{
    struct buffer line = { 0 };

    if (log->lines.path == NULL)
        return;
    if (rows < 0)
        buffer_printf(&line, "{\"kind\":\"evaluation\",\"name\":\"%s\"", name);
    else
        buffer_append_text(&line, "{\"kind\":\"train_metrics\"");
    put_head(&line, time_s, step);
    if (rows >= 0)
        buffer_printf(&line, ",\"rows\":%lld", (long long)rows);
    for (int i = 0; i < count; i++)
        put_number(&line, values[i].tag, values[i].value);
    add_line(log, &line);
}

static struct status create_events(struct metrics_log *log, struct evaluation_events *out)
{
    struct arena *arena = arena_create(0);
    struct status status =
        event_file_create(file_join(arena, log->options.directory, out->directory), &out->file);

    arena_destroy(arena);
    return status;
}

static struct status add_values_events(struct metrics_log *log, double time_s, const char *name,
                                       uint64_t step, const struct event_scalar *values, int count)
{
    struct evaluation_events *events = log->evaluations;

    while (strcmp(events->name, name) != 0) {
        events++;
        assert(events < log->evaluations + COUNT(log->evaluations));
    }
    if (events->file == NULL)
        TRY(create_events(log, events));
    return event_file_add_scalars(events->file, time_s, step, values, count);
}

static void add_values(struct metrics_log *log, const char *name, uint64_t step, int64_t rows,
                       const struct event_scalar *values, int count)
{
    double time_s = wall_time_s();

    if (log == NULL)
        return;
    pthread_mutex_lock(&log->lock);
    add_values_line(log, time_s, name, step, rows, values, count);
    if (log->has_events)
        end_events(log, add_values_events(log, time_s, name, step, values, count));
    pthread_mutex_unlock(&log->lock);
}

void metrics_log_evaluation(struct metrics_log *log, const char *name, uint64_t step,
                            const struct event_scalar *values, int values_count)
{
    add_values(log, name, step, -1, values, values_count);
}

void metrics_log_train(struct metrics_log *log, uint64_t step, int64_t rows,
                       const struct event_scalar *values, int values_count)
{
    add_values(log, "train", step, rows, values, values_count);
}

/* ---- readers ---- */

/* With the lock. */
static void flush(struct metrics_log *log)
{
    if (log->lines.path != NULL)
        end_lines(log, append_file_flush(&log->lines));
    if (log->events != NULL)
        end_events(log, event_file_flush(log->events));
    for (size_t i = 0; i < COUNT(log->evaluations); i++)
        if (log->evaluations[i].file != NULL)
            end_events(log, event_file_flush(log->evaluations[i].file));
}

void metrics_log_show(struct metrics_log *log)
{
    if (log == NULL)
        return;
    pthread_mutex_lock(&log->lock);
    int64_t now_ns = clock_now_ns(log->options.clock);
    if (now_ns - log->shown_ns >= SHOW_NS) {
        log->shown_ns = now_ns;
        flush(log);
    }
    pthread_mutex_unlock(&log->lock);
}

void metrics_log_close(struct metrics_log *log)
{
    if (log == NULL)
        return;
    struct status status = append_file_close(&log->lines);
    if (!status_is_ok(status))
        warn(log, "metrics_file", status);
    status = close_events(log);
    if (!status_is_ok(status))
        warn(log, "log_dir", status);
    pthread_mutex_destroy(&log->lock);
    free(log);
}
