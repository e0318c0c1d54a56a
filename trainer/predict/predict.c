#include "trainer/predict/predict.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/command.h"
#include "base/file.h"
#include "base/plural.h"
#include "savedmodel/format.h"
#include "trainer/inputs/file_data.h"
#include "trainer/inputs/pad_rows.h"
#include "trainer/inputs/sparse_parts.h"
#include "trainer/predict/predictor.h"

#define PROGRESS_MS 200
#define FLUSH_BYTES ((size_t)256 << 10)

/* ---- opening ---- */

static void warn(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "pstrain: %s\n", text);
}

static struct status open_files(struct predictor *predictor)
{
    const struct prediction_request *request = predictor->request;
    const struct file_data_request files = { .flags = request->files,
                                             .files_flag = "predict_files",
                                             .id_column = request->id_column,
                                             .feeds = predictor->feeds,
                                             .feeds_count = predictor->feeds_count,
                                             .warn = warn };

    TRY(file_data_open(&files, predictor->arena, &predictor->data));
    predictor->places = ARENA_ARRAY(predictor->arena, int, predictor->feeds_count + 1);
    for (int i = 0; i < predictor->feeds_count; i++)
        predictor->places[i] =
            data_split_column(predictor->data->train, predictor->feeds[i].spec.name);
    return status_ok();
}

/* Describes the outputs, preceded by the id. */
static void describe_outputs(struct predictor *predictor)
{
    const struct signature *signature = predictor->signature;
    struct arena *arena = predictor->arena;

    predictor->inputs = ARENA_ARRAY(arena, struct tensor, signature->inputs_count + 1);
    predictor->made = ARENA_ARRAY(arena, struct buffer, signature->inputs_count + 1);
    predictor->padded = ARENA_ARRAY(arena, struct buffer, predictor->feeds_count + 1);
    predictor->outputs = ARENA_ARRAY(arena, struct tensor, signature->outputs_count + 1);
    predictor->columns = ARENA_ARRAY(arena, struct prediction_column, signature->outputs_count + 1);
    predictor->id = *predictor->request->id_column != '\0';
    predictor->columns[0].name = predictor->request->id_column;
    for (int i = 0; i < signature->outputs_count; i++)
        predictor->columns[predictor->id + i] =
            (struct prediction_column){ signature->outputs[i].key, &predictor->outputs[i] };
    predictor->columns_count = predictor->id + signature->outputs_count;
}

/* Locks the partial file, so that no other program writes to it, and opens it. Overwrites one
 * that a killed program left. */
static struct status open_partial(struct prediction_output *output)
{
    struct stat opened, named;

    for (;;) {
        output->lock = open(output->partial, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (output->lock < 0)
            return status_errno(errno, "--output=%s", output->path);
        if (flock(output->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            return status_error(STATUS_FAILED_PRECONDITION,
                                "--output=%s: another program is writing it", output->path);
        if (fstat(output->lock, &opened) == 0 && stat(output->partial, &named) == 0 &&
            opened.st_ino == named.st_ino)
            break;
        close(output->lock); /* the other program has just renamed it */
    }
    /* A separate descriptor: the lock is held until the rename. */
    output->file = fopen(output->partial, "we");
    return output->file != NULL ? status_ok() : status_errno(errno, "--output=%s", output->path);
}

static struct status open_output(struct predictor *predictor)
{
    struct prediction_output *output = &predictor->output;
    const char *path = predictor->request->output;
    struct stat found;
    bool special = stat(path, &found) == 0 && !S_ISREG(found.st_mode); /* such as /dev/stdout */

    output->file = stdout;
    if (*path == '\0')
        return status_ok();
    output->path = path;
    output->file = special ? fopen(path, "we") : NULL;
    if (special)
        return output->file != NULL ? status_ok() : status_errno(errno, "--output=%s", path);
    output->partial = arena_printf(predictor->arena, "%s.part", path);
    struct status status = open_partial(output);
    if (!status_is_ok(status))
        output->partial = NULL; /* it is not ours to remove */
    return status;
}

static struct status open_all(struct predictor *predictor)
{
    const char *directory = predictor->request->directory;

    TRY(savedmodel_hint_version(savedmodel_load(directory, NULL, &predictor->model), directory));
    TRY(predictor_choose_signature(predictor));
    TRY(predictor_describe_feeds(predictor));
    TRY(open_files(predictor));
    describe_outputs(predictor);
    predictor->run = run_create(0);
    return open_output(predictor);
}

/* ---- running ---- */

static struct status feed_values(struct predictor *predictor, int input,
                                 const struct batch_column *column)
{
    int c = predictor->sources[input].column;
    const struct tensor_spec *spec = &predictor->feeds[c].spec;

    if (pads_rows(spec, &predictor->data->train->columns[predictor->places[c]].spec))
        return pad_rows(spec, column, NULL, &predictor->made[input], &predictor->inputs[input]);
    predictor->inputs[input] = column->values;
    return status_ok();
}

/* Feeds labels or weights, padded if their rows have different numbers of values. */
static struct status feed_label(struct predictor *predictor, int feed,
                                const struct batch_column *column)
{
    const struct training_feed *label = &predictor->feeds[feed];
    int place = feed - predictor->inputs_count;

    if (pads_rows(&label->spec, &predictor->data->train->columns[predictor->places[feed]].spec))
        return pad_rows(&label->spec, column, label->ignored_class, &predictor->padded[place],
                        &predictor->labels[place]);
    predictor->labels[place] = column->values;
    return status_ok();
}

static struct status feed_batch(struct predictor *predictor, const struct batch *batch)
{
    for (int i = 0; i < predictor->signature->inputs_count; i++) {
        struct fed_source *source = &predictor->sources[i];
        int place = predictor->places[source->column];
        const struct batch_column *column = &batch->columns[place];
        switch (source->part) {
        case PART_VALUES:
            TRY(feed_values(predictor, i, column));
            break;
        case PART_INDICES:
            predictor->inputs[i] = sparse_indices(column, &predictor->made[i]);
            break;
        case PART_ROW_SPLITS:
            predictor->inputs[i] = column->row_splits;
            break;
        case PART_SHAPE:
            predictor->inputs[i] =
                sparse_shape(&predictor->feeds[source->column].spec, column, source->shape);
            break;
        }
    }
    for (int i = predictor->inputs_count; i < predictor->feeds_count; i++)
        TRY(feed_label(predictor, i, &batch->columns[predictor->places[i]]));
    if (predictor->id)
        predictor->columns[0].values = &batch->columns[predictor->feeds_count].values;
    return status_ok();
}

static struct status write_text(struct predictor *predictor)
{
    struct prediction_output *output = &predictor->output;
    size_t written = fwrite(output->text.data, 1, output->text.size, output->file);
    bool whole = written == output->text.size;

    output->text.size = 0;
    return whole ? status_ok()
                 : status_errno(errno, "write to %s",
                                output->path != NULL ? output->path : "the standard output");
}

static struct status print_batch(struct predictor *predictor, int64_t rows)
{
    enum prediction_format format = predictor->request->format;
    struct buffer *text = &predictor->output.text;
    bool silent = predictor->scorer != NULL && predictor->output.path == NULL;

    if (silent) {
        predictor->rows += rows;
        return status_ok();
    }
    if (predictor->rows == 0)
        prediction_print_header(format, predictor->columns, predictor->columns_count, text);
    for (int64_t row = 0; row < rows; row++) {
        prediction_print_row(format, predictor->columns, predictor->columns_count, row, text);
        if (text->size >= FLUSH_BYTES)
            TRY(write_text(predictor));
    }
    predictor->rows += rows;
    return write_text(predictor);
}

static struct status run_batch(struct predictor *predictor, const struct batch *batch)
{
    TRY(feed_batch(predictor, batch));
    struct status status =
        plan_run(predictor->plan, predictor->run, predictor->inputs, predictor->outputs);
    if (!status_is_ok(status))
        return status_in(status, "signature '%s'", predictor->signature->name);
    status = prediction_check(predictor->columns, predictor->columns_count, batch->rows);
    if (status_is_ok(status) && predictor->scorer != NULL)
        status = scorer_add(predictor->scorer, predictor->outputs, predictor->labels, batch->rows);
    if (status_is_ok(status))
        status = print_batch(predictor, batch->rows);
    tensors_release(predictor->signature->outputs_count, predictor->outputs);
    run_reset(predictor->run);
    return status;
}

static void show_progress(struct predictor *predictor, bool ended)
{
    int64_t now_ns = clock_now_ns(clock_monotonic());

    if (!isatty(STDERR_FILENO) ||
        (!ended && now_ns - predictor->shown_ns < (int64_t)PROGRESS_MS * NS_PER_MS))
        return;
    predictor->shown_ns = now_ns;
    fprintf(stderr, "\r%lld row%s%s", (long long)predictor->rows, plural(predictor->rows),
            ended ? "\n" : "");
}

static struct status run_all(struct predictor *predictor)
{
    const struct batch_order order = { .workers = 1 };
    const struct data_split *split = predictor->data->train;
    struct batch_source *source;
    struct batch batch = { .rows = 1 };
    struct status status;

    TRY(split->open(split, &order, &source));
    do {
        status = source->next(source, predictor->request->files->batch_size, &batch);
        if (status_is_ok(status) && batch.rows > 0)
            status = run_batch(predictor, &batch);
        show_progress(predictor, batch.rows == 0 || !status_is_ok(status));
    } while (status_is_ok(status) && batch.rows > 0);
    source->destroy(source);
    if (status_is_ok(status) && predictor->scorer != NULL && predictor->rows == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--evaluate: --predict_files has no rows to evaluate");
    return status;
}

/* Renames the complete file to its final name. */
static struct status close_output(struct prediction_output *output, struct status status)
{
    struct status held = status_hold(status);
    int error = 0;

    if (output->file != NULL && fflush(output->file) != 0)
        error = errno;
    if (output->file != NULL && output->path != NULL && fclose(output->file) != 0 && error == 0)
        error = errno;
    bool whole = error == 0 && status_is_ok(held);
    if (output->partial != NULL && !whole)
        remove(output->partial);
    buffer_finish(&output->text);
    status = status_resume(held);
    if (status_is_ok(status) && error != 0)
        status = status_errno(error, "write to %s",
                              output->path != NULL ? output->path : "the standard output");
    if (status_is_ok(status) && output->partial != NULL)
        status = file_rename(output->partial, output->path);
    if (output->lock >= 0)
        close(output->lock);
    return status;
}

static void print_score(const struct predictor *predictor)
{
    struct buffer text = { 0 };

    scorer_print(predictor->scorer, &text);
    printf("%.*s", (int)text.size, text.data);
    buffer_finish(&text);
}

static struct status report_end(const struct predictor *predictor)
{
    int64_t bad = file_data_bad_records(predictor->data);

    if (predictor->scorer != NULL)
        print_score(predictor);

    fprintf(stderr, "pstrain: %lld row%s by signature '%s'", (long long)predictor->rows,
            plural(predictor->rows), predictor->signature->name);
    if (bad > 0)
        fprintf(stderr, "; %lld bad record%s skipped%s", (long long)bad, plural(bad),
                predictor->id ? "" : " (--id_column tells which rows the lines are of)");
    fprintf(stderr, "\n");
    return file_flush_stdout();
}

static void close_all(struct predictor *predictor)
{
    for (int i = 0; predictor->made != NULL && i < predictor->signature->inputs_count; i++)
        buffer_finish(&predictor->made[i]);
    for (int i = 0; predictor->padded != NULL && i < predictor->feeds_count; i++)
        buffer_finish(&predictor->padded[i]);
    scorer_destroy(predictor->scorer);
    run_destroy(predictor->run);
    data_destroy(predictor->data);
    savedmodel_destroy(predictor->model);
}

struct status predict(const struct prediction_request *request, struct arena *arena)
{
    struct predictor predictor = { .request = request, .arena = arena, .output.lock = -1 };
    struct status status = command_line_fault(open_all(&predictor));

    if (status_is_ok(status))
        status = run_all(&predictor);
    status = close_output(&predictor.output, status);
    if (status_is_ok(status))
        status = report_end(&predictor);
    struct status held = status_hold(status);
    close_all(&predictor);
    return status_resume(held);
}
