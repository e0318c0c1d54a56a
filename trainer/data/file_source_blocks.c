#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/plural.h"
#include "trainer/data/file_source_internal.h"

#define PLAIN_BLOCK_ROWS 1024                /* of a block in the files' order */
#define BLOCK_BYTES_MAX  ((size_t)256 << 20) /* a block ends earlier if its rows are large */
#define EXPECT_AFTER     256                 /* rows that tell how large a block will be */
#define WARNINGS_MAX     20

/* ---- bad records ---- */

static uint64_t reader_bit(const struct file_source *source)
{
    return (uint64_t)1 << source->how.worker % 64;
}

/* Does a reader see the record that was just read for the first time? A reader with its own part
 * of the records does in its first epoch; otherwise each reader reads all of them. */
static bool is_new(struct file_source *source)
{
    struct file_split *split = source->split;
    _Atomic uint64_t *seen = &split->records_seen[source->file];
    uint64_t before = atomic_load(seen);

    if (source->how.workers > 1)
        return (atomic_load(&split->passed) & reader_bit(source)) == 0;
    while (source->record > before && !atomic_compare_exchange_weak(seen, &before, source->record))
        ;
    return source->record > before;
}

/* Counts a bad record when it is first seen, and reports it. */
static struct status count_bad(struct file_source *source, struct status bad)
{
    struct file_split *split = source->split;

    if (source->bad_records++ == 0)
        snprintf(source->first_bad, sizeof source->first_bad, "%s", bad.message);
    if (source->quiet || !is_new(source))
        return status_ok();
    int64_t count = atomic_fetch_add(&split->bad, 1) + 1;
    if (count > split->options.max_bad_records)
        return status_error(STATUS_DATA_LOSS, "%s; that is bad record %lld, --max_bad_records=%lld",
                            bad.message, (long long)count,
                            (long long)split->options.max_bad_records);
    struct buffer text = { 0 };
    buffer_printf(&text, "bad record skipped: %s%s", bad.message,
                  count == WARNINGS_MAX ? "; further ones are not reported" : "");
    buffer_append_char(&text, '\0');
    if (count <= WARNINGS_MAX)
        split->options.warn(split->options.context, text.data);
    buffer_finish(&text);
    return status_ok();
}

/* ---- blocks of rows ---- */

/* Does the record belong to this reader? If some may be bad, a reader always has the same ones,
 * so that it knows its number of rows in an epoch. */
static bool is_own(const struct file_source *source)
{
    uint64_t number = file_source_rows_are_records(source)
                          ? source->epoch * source->epoch_records + source->index
                          : source->record + source->file;

    return number % source->how.workers == source->how.worker;
}

/* Skips a record of another reader. */
static struct status skip_row(struct file_source *source, bool *ended)
{
    bool found;

    TRY(record_reader_skip(source->open, &found));
    source->record += found;
    source->index += found;
    *ended = !found;
    return status_ok();
}

struct status file_source_read_row(struct file_source *source, bool *ended)
{
    struct columns *block = &source->block;
    size_t rows = block->rows;
    bool own = is_own(source);
    struct status bad;

    if (!own && record_reader_can_skip(source->open))
        return skip_row(source, ended);
    TRY(record_reader_read(source->open, 1, block, &bad));
    bool added = block->rows > rows;
    *ended = !added && status_is_ok(bad);
    if (*ended)
        return status_ok();
    source->record++;
    source->index++;
    if (added && own) {
        row_layout_complete(&source->split->options.layout, block);
        struct status wrong = row_layout_check(&source->split->options.layout, block, rows);
        bad = status_is_ok(wrong) ? wrong : record_reader_at(source->open, wrong);
    }
    if (added && (!own || !status_is_ok(bad))) {
        block->rows = rows;
        columns_drop_row(block);
    }
    return status_is_ok(bad) || !own ? status_ok() : count_bad(source, bad);
}

int64_t file_source_block_rows(const struct file_split_options *options)
{
    return options->shuffle_buffer > 0 ? options->shuffle_buffer : PLAIN_BLOCK_ROWS;
}

size_t file_source_rows_wanted(const struct file_source *source)
{
    return source->how.shuffle ? (size_t)file_source_block_rows(&source->split->options)
                               : PLAIN_BLOCK_ROWS;
}

static void order_block(struct file_source *source)
{
    size_t rows = source->block_rows;

    if (rows > source->order_capacity) {
        source->order = xrealloc(source->order, rows * sizeof *source->order);
        source->order_capacity = rows;
    }
    if (source->how.shuffle && source->split->options.shuffle_buffer > 0) {
        random_permutation(&source->random, source->order, (uint32_t)rows);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        source->order[i] = (uint32_t)i;
}

static void begin_block(struct file_source *source)
{
    source->epoch_taken += source->block_rows;
    source->place = source->block_rows = 0;
    columns_clear(&source->block);
    source->rows = &source->block;
}

/* Gives a block its memory after its first rows. Without it, realloc copied a block of 16,000 rows
 * of 39 ids several times, to small pages that were all new. */
static void expect_rows(struct columns *block, size_t wanted)
{
    if (block->rows == EXPECT_AFTER &&
        columns_bytes(block) / EXPECT_AFTER < BLOCK_BYTES_MAX / wanted)
        columns_expect(block, wanted);
}

struct status file_source_next_block(struct file_source *source)
{
    size_t wanted = file_source_rows_wanted(source);
    bool ended, more;

    begin_block(source);
    if (file_source_take_kept(source)) {
        order_block(source);
        return status_ok();
    }
    TRY(file_source_catch_up(source));
    uint64_t first = source->open != NULL ? source->record : 0;
    while (source->block.rows < wanted) {
        TRY(file_source_open_next(source, &more));
        if (!more)
            break;
        TRY(file_source_read_row(source, &ended));
        if (ended)
            file_source_close_file(source);
        expect_rows(&source->block, wanted);
        if (source->block.rows % 64 == 0 && columns_bytes(&source->block) > BLOCK_BYTES_MAX)
            break;
    }
    source->block_rows = source->block.rows;
    file_source_keep_block(source, first);
    order_block(source);
    return status_ok();
}

/* Limit of the memory per byte of a record: a line "0" of libsvm takes 22, with its columns. */
#define BYTES_OF_A_BYTE 32
#define BYTES_OF_A_ROW  512 /* such as the label of a text, which comes from its folder */

static size_t bytes_of_rows(const struct file_source *source, size_t rows, size_t record_bytes)
{
    size_t columns = (size_t)source->split->options.layout.specs_count;

    return BYTES_OF_A_BYTE * record_bytes + rows * (16 * columns + BYTES_OF_A_ROW);
}

/* Jumps to the last mark within the next `most` records of the file. *rows: the number skipped. */
static struct status jump(struct file_source *source, size_t most, size_t *rows, size_t *bytes)
{
    const struct record_mark *mark =
        record_marks_find(&source->split->marks[source->file], source->record + most);
    struct record_mark here;

    *rows = *bytes = 0;
    if (mark == NULL || mark->record <= source->record || source->how.workers > 1 ||
        !record_reader_tell(source->open, &here))
        return status_ok();
    TRY(record_reader_go_to(source->open, mark));
    *rows = (size_t)(mark->record - source->record);
    *bytes = (size_t)(mark->offset - here.offset);
    source->record += *rows;
    source->index += *rows;
    return status_ok();
}

struct status file_source_pass_block(struct file_source *source, bool *passed)
{
    size_t wanted = file_source_rows_wanted(source), bytes = 0, rows, passed_bytes;
    bool ended, more;

    *passed = source->unread = true;
    begin_block(source);
    if (file_source_take_kept(source)) {
        order_block(source);
        source->place = source->block_rows;
        return status_ok();
    }
    TRY(file_source_catch_up(source));
    while (source->block_rows < wanted && *passed) {
        TRY(file_source_open_next(source, &more));
        if (!more)
            break;
        TRY(jump(source, wanted - source->block_rows, &rows, &passed_bytes));
        source->block_rows += rows;
        bytes += bytes_of_rows(source, rows, passed_bytes);
        if (source->block_rows == wanted)
            break;
        bool own = is_own(source);
        TRY(skip_row(source, &ended));
        if (ended) {
            file_source_close_file(source);
            continue;
        }
        if (!own)
            continue;
        source->block_rows++;
        bytes += bytes_of_rows(source, 1, source->open->skipped_bytes);
        *passed = source->open->skipped_bytes > 0 && bytes <= BLOCK_BYTES_MAX;
    }
    *passed = *passed && bytes <= BLOCK_BYTES_MAX;
    order_block(source);
    source->place = source->block_rows;
    return status_ok();
}

/* Does this reader have rows in this epoch, which was read, or in one of the next? */
static bool has_rows(const struct file_source *source)
{
    bool later =
        file_source_rows_are_records(source) && source->epoch_records < source->how.workers;

    return source->epoch_taken > 0 || (later && source->epoch_records > 0);
}

struct status file_source_no_rows(const struct file_source *source)
{
    const struct file_split_options *options = &source->split->options;
    int more = options->paths_count - 1;
    char files[32] = "", whose[64] = "", why[sizeof source->first_bad + 64] = "";

    if (more > 0)
        snprintf(files, sizeof files, " and %d more file%s", more, plural(more));
    if (source->index > 0 && source->how.workers > 1)
        snprintf(whose, sizeof whose, " for worker %u of %u", source->how.worker,
                 source->how.workers);
    if (source->bad_records == 1)
        snprintf(why, sizeof why, ": 1 bad record: %s", source->first_bad);
    else if (source->bad_records > 1)
        snprintf(why, sizeof why, ": %llu bad records, the first: %s",
                 (unsigned long long)source->bad_records, source->first_bad);
    return status_error(STATUS_DATA_LOSS, "'%s'%s: no %srows%s%s", options->paths[0], files,
                        source->index > 0 ? "good " : "", whose, why);
}

struct status file_source_find_row(struct file_source *source, bool *found)
{
    while (source->place == source->block_rows) {
        TRY(file_source_next_block(source));
        *found = source->block_rows > 0;
        if (*found)
            return status_ok();
        if (source->epoch_rows == 0)
            source->epoch_rows = source->epoch_taken;
        source->epoch_records = source->index;
        if (!source->quiet && !source->unread)
            atomic_fetch_or(&source->split->passed, reader_bit(source));
        if (!source->how.repeat)
            return status_ok();
        if (!has_rows(source))
            return file_source_no_rows(source);
        file_source_begin_epoch(source, source->epoch + 1);
    }
    *found = true;
    return status_ok();
}
