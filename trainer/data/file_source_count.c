#include "trainer/data/file_source_internal.h"

/* Skips a record; marks it if there is one. */
static struct status count_record(struct file_source *source, bool *found)
{
    struct record_marks *marks = &source->split->marks[source->file];
    struct record_mark mark = { .record = source->record };
    bool notes =
        record_marks_wants(marks, source->record) && record_reader_tell(source->open, &mark);

    TRY(record_reader_skip(source->open, found));
    source->record += *found;
    if (notes && *found)
        record_marks_note(marks, &mark);
    return status_ok();
}

static struct status count_records(struct file_source *source, int64_t *rows)
{
    for (int i = 0; i < source->split->options.paths_count; i++) {
        bool found = true;
        TRY(file_source_open_file(source, (uint32_t)i));
        while (found) {
            TRY(count_record(source, &found));
            *rows += found;
        }
        file_source_close_file(source);
    }
    return status_ok();
}

static struct status count_rows(struct file_source *source, int64_t *rows)
{
    do {
        TRY(file_source_next_block(source));
        *rows += (int64_t)source->block_rows;
    } while (source->block_rows > 0);
    return status_ok();
}

struct status file_source_count_rows(const struct data_split *split, int64_t *out)
{
    struct file_source *source;
    struct status status;

    *out = 0;
    TRY(file_source_open_quietly(split, &source));
    status = file_source_can_count_records(source->split) ? count_records(source, out)
                                                          : count_rows(source, out);
    if (status_is_ok(status) && *out == 0)
        status = file_source_no_rows(source);
    struct status held = status_hold(status);
    source->source.destroy(&source->source);
    return status_resume(held);
}

static struct status find_record(struct file_source *source)
{
    bool ended, more;

    while (source->index == 0) {
        TRY(file_source_open_next(source, &more));
        if (!more)
            return status_ok();
        TRY(file_source_read_row(source, &ended));
        if (ended)
            file_source_close_file(source);
    }
    return status_ok();
}

struct status file_source_check_records(const struct data_split *split)
{
    struct file_source *source;

    TRY(file_source_open_quietly(split, &source));
    struct status status = find_record(source);
    if (status_is_ok(status) && source->index == 0)
        status = file_source_no_rows(source);
    struct status held = status_hold(status);
    source->source.destroy(&source->source);
    return status_resume(held);
}
