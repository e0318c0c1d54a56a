#include "trainer/data/file_source.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/random.h"
#include "trainer/data/kept_batch.h"
#include "trainer/data/prefetch.h"

#define PLAIN_BLOCK_ROWS 1024                /* of a block in the files' order */
#define BLOCK_BYTES_MAX  ((size_t)256 << 20) /* a block ends earlier if its rows are large */
#define WARNINGS_MAX     20
#define KEPT_MAX         16

/* + epoch: the random streams of a seed that order files and blocks */
#define STREAM_FILES  0x66696c6573000000u
#define STREAM_BLOCKS 0x626c6f636b000000u

struct file_source {
    struct batch_source source; /* first */
    struct file_split *split;
    struct batch_order how;
    bool quiet; /* bad records are not counted: for file_source_count_rows */
    /* The last bad record that another reader has counted; "": none */
    char counted[256];

    uint32_t *files; /* [paths_count]: in the epoch's order */
    uint32_t next_file;
    uint32_t file;               /* that is open */
    struct record_reader *open;  /* NULL: none */
    uint64_t record;             /* of this file: number of the next one, bad ones included */
    uint64_t index;              /* the same in the epoch */
    uint64_t epoch, epoch_taken; /* rows of this epoch in earlier blocks */
    uint64_t epoch_records;      /* of all readers; 0: not known yet */
    uint64_t epoch_rows;         /* of this reader, in the first epoch that it read to its end */
    bool unread;                 /* blocks of this epoch were passed unread */
    bool astray;                 /* a failure has left it at an unknown place */
    bool reads_blocks;           /* some block could not be passed unread */

    struct columns block;
    size_t block_rows; /* of the block, whether they were read or passed */
    uint32_t *order;   /* the block's rows, in the order in which they are taken */
    size_t order_capacity, place;
    struct random random; /* orders the blocks of this epoch */

    struct kept_batch batches[KEPT_MAX]; /* source.keep of them in turn; zeroed until used */
    int current;                         /* the one that is made */
};

/* ---- The files of an epoch. ---- */

/* A record is as good as a row if none may be bad. */
static bool rows_are_records(const struct file_source *source)
{
    return source->split->options.max_bad_records == 0;
}

/* The rows that this reader has in the epochs before this one. */
static uint64_t rows_before(const struct file_source *source, uint64_t epoch)
{
    uint64_t workers = source->how.workers, worker = source->how.worker;

    if (!rows_are_records(source))
        return epoch * source->epoch_rows;
    return (epoch * source->epoch_records + workers - 1 - worker) / workers;
}

/* The epoch of this reader's row of this number. The length of an epoch is known. */
static uint64_t epoch_of(const struct file_source *source, uint64_t row)
{
    if (!rows_are_records(source))
        return row / source->epoch_rows;
    return (row * source->how.workers + source->how.worker) / source->epoch_records;
}

static void begin_epoch(struct file_source *source, uint64_t epoch)
{
    uint32_t all = (uint32_t)source->split->options.paths_count;

    record_reader_close(source->open);
    source->open = NULL;
    columns_clear(&source->block);
    source->block_rows = 0;
    source->place = source->next_file = 0;
    source->index = 0;
    source->epoch = epoch;
    source->epoch_taken = 0;
    source->unread = false;
    for (uint32_t i = 0; i < all; i++)
        source->files[i] = i;
    if (!source->how.shuffle || source->split->options.shuffle_buffer == 0)
        return;
    random_init(&source->random, source->how.seed, STREAM_FILES + epoch);
    for (uint32_t i = all; i > 1; i--) {
        uint32_t other = (uint32_t)random_below(&source->random, i), file = source->files[i - 1];
        source->files[i - 1] = source->files[other];
        source->files[other] = file;
    }
    random_init(&source->random, source->how.seed + source->how.worker, STREAM_BLOCKS + epoch);
}

static struct status open_file(struct file_source *source, uint32_t file)
{
    const struct file_split *split = source->split;

    source->file = file;
    source->record = 0;
    return record_reader_open(split->options.paths[file], split->formats[file],
                              &split->options.records, &source->block, &source->open);
}

/* ---- Bad records. ---- */

static uint64_t reader_bit(const struct file_source *source)
{
    return (uint64_t)1 << source->how.worker % 64;
}

/* Does a reader meet the record that was just read for the first time? One that has a part of the
 * records does in its first epoch. Otherwise each reader reads all of them. */
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

/* Counts a bad record when it is met for the first time, and reports it. */
static struct status count_bad(struct file_source *source, struct status bad)
{
    struct file_split *split = source->split;

    if (source->quiet)
        return status_ok();
    if (!is_new(source)) {
        snprintf(source->counted, sizeof source->counted, ": %s", bad.message);
        return status_ok();
    }
    int64_t count = atomic_fetch_add(&split->bad, 1) + 1;
    if (count > split->options.max_bad_records)
        return status_error(STATUS_DATA_LOSS, "%s; that is bad record %lld, --max_bad_records=%lld",
                            bad.message, (long long)count,
                            (long long)split->options.max_bad_records);
    struct buffer text = { 0 };
    buffer_printf(&text, "bad record passed: %s%s", bad.message,
                  count == WARNINGS_MAX ? "; further ones are not reported" : "");
    buffer_append_char(&text, '\0');
    if (count <= WARNINGS_MAX)
        split->options.warn(split->options.context, text.data);
    buffer_finish(&text);
    return status_ok();
}

/* ---- Blocks of rows. ---- */

/* Does the record belong to this reader? If some may be bad, it always has the same ones, so that
 * it knows how many rows it has in an epoch. */
static bool is_own(const struct file_source *source)
{
    uint64_t number = rows_are_records(source)
                          ? source->epoch * source->epoch_records + source->index
                          : source->record + source->file;

    return number % source->how.workers == source->how.worker;
}

/* Passes a record of another reader. */
static struct status skip_row(struct file_source *source, bool *ended)
{
    bool found;

    TRY(record_reader_skip(source->open, &found));
    source->record += found;
    source->index += found;
    *ended = !found;
    return status_ok();
}

/* Reads one record into the block. *ended: the file has no more. */
static struct status read_row(struct file_source *source, bool *ended)
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

static size_t rows_wanted(const struct file_source *source)
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

/* Opens the next file of the epoch if none is open. False: there is none. */
static struct status open_next(struct file_source *source, bool *more)
{
    *more =
        source->open != NULL || source->next_file < (uint32_t)source->split->options.paths_count;
    if (source->open != NULL || !*more)
        return status_ok();
    return open_file(source, source->files[source->next_file++]);
}

static void close_file(struct file_source *source)
{
    record_reader_close(source->open);
    source->open = NULL;
}

static void begin_block(struct file_source *source)
{
    source->epoch_taken += source->block_rows;
    source->place = source->block_rows = 0;
    columns_clear(&source->block);
}

/* Reads the next block of the epoch. It has no rows at the end. */
static struct status next_block(struct file_source *source)
{
    size_t wanted = rows_wanted(source);
    bool ended, more;

    begin_block(source);
    while (source->block.rows < wanted) {
        TRY(open_next(source, &more));
        if (!more)
            break;
        TRY(read_row(source, &ended));
        if (ended)
            close_file(source);
        if (source->block.rows % 64 == 0 && columns_bytes(&source->block) > BLOCK_BYTES_MAX)
            break;
    }
    source->block_rows = source->block.rows;
    order_block(source);
    return status_ok();
}

/* The most memory that a byte of a record takes: 22 in a line "0" of libsvm, with its columns. */
#define BYTES_OF_A_BYTE 32
#define BYTES_OF_A_ROW  512 /* such as the label of a text, which its folder tells */

static size_t bytes_of_rows(const struct file_source *source, size_t rows, size_t record_bytes)
{
    size_t columns = (size_t)source->split->options.layout.specs_count;

    return BYTES_OF_A_BYTE * record_bytes + rows * (16 * columns + BYTES_OF_A_ROW);
}

/* Goes to the last mark within the next `most` records of the file. *rows: how many that passes. */
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

/* Passes the next block without reading its values, as if all its rows had been taken. *passed is
 * false if next_block might have ended it earlier, for its memory. */
static struct status pass_block(struct file_source *source, bool *passed)
{
    size_t wanted = rows_wanted(source), bytes = 0, rows, passed_bytes;
    bool ended, more;

    *passed = source->unread = true;
    begin_block(source);
    while (source->block_rows < wanted && *passed) {
        TRY(open_next(source, &more));
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
            close_file(source);
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

/* Has this reader rows in this epoch, which was read, or in one of the next? */
static bool has_rows(const struct file_source *source)
{
    bool later = rows_are_records(source) && source->epoch_records < source->how.workers;

    return source->epoch_taken > 0 || (later && source->epoch_records > 0);
}

struct status file_source_no_rows(const struct file_split *split, uint64_t records, uint32_t worker,
                                  uint32_t workers)
{
    int more = split->options.paths_count - 1;
    char files[32] = "", whose[64] = "";

    if (more > 0)
        snprintf(files, sizeof files, " and %d more %s", more, more == 1 ? "file" : "files");
    if (records > 0 && workers > 1)
        snprintf(whose, sizeof whose, " for worker %u of %u", worker, workers);
    return status_error(STATUS_DATA_LOSS, "'%s'%s: no %srows%s", split->options.paths[0], files,
                        records > 0 ? "good " : "", whose);
}

/* The reader that has counted the bad records says why they are bad; so does one that has not,
 * because a job reports the failure that comes first. */
static struct status no_rows_left(const struct file_source *source)
{
    struct status status = file_source_no_rows(source->split, source->epoch_records,
                                               source->how.worker, source->how.workers);

    return status_error(status.code, "%s%s", status.message, source->counted);
}

/* Makes sure that the block has a row left. *found is false at the end of the input. */
static struct status find_row(struct file_source *source, bool *found)
{
    while (source->place == source->block_rows) {
        TRY(next_block(source));
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
            return no_rows_left(source);
        begin_epoch(source, source->epoch + 1);
    }
    *found = true;
    return status_ok();
}

/* ---- The batch_source. ---- */

/* The memory of the batch that need not stay valid any longer. */
static struct kept_batch *next_memory(struct file_source *source)
{
    int kept = source->source.keep > 1 ? source->source.keep : 1;

    source->current = (source->current + 1) % kept;
    return &source->batches[source->current];
}

static struct status take_rows(struct file_source *source, int64_t rows_max, struct batch *out)
{
    const struct row_layout *layout = &source->split->options.layout;
    bool found = true;

    assert(rows_max > 0 && rows_max <= UINT32_MAX);
    struct kept_batch *batch = next_memory(source);
    TRY(kept_batch_begin(batch, layout, rows_max));
    while (batch->rows < rows_max) {
        TRY(find_row(source, &found));
        if (!found)
            break;
        size_t left = source->block_rows - source->place, wanted = (size_t)(rows_max - batch->rows);
        size_t count = left < wanted ? left : wanted;
        kept_batch_append(batch, layout, &source->block, source->order + source->place, count);
        source->place += count;
    }
    kept_batch_end(batch, layout, out);
    return status_ok();
}

static struct status file_source_next(struct batch_source *base, int64_t rows_max,
                                      struct batch *out)
{
    struct file_source *source = (struct file_source *)base;
    struct status status = take_rows(source, rows_max, out);

    source->astray |= !status_is_ok(status);
    return status;
}

/* Can all records be counted without reading them? If no record may be bad, each is a row. */
static bool can_count_records(const struct file_split *split)
{
    bool can = split->options.max_bad_records == 0;

    for (int i = 0; i < split->options.paths_count; i++)
        can = can && split->formats[i]->skip != NULL;
    return can;
}

/* The rows that were taken since the beginning. */
static uint64_t rows_taken(const struct file_source *source)
{
    return rows_before(source, source->epoch) + source->epoch_taken + source->place;
}

/* Goes on to the place after `rows` rows. *passed is false if a block could not be passed: then the
 * place is undefined. */
static struct status go_on(struct file_source *source, uint64_t rows, bool passes, bool *passed)
{
    bool found = true, knows;

    *passed = true;
    while (rows_taken(source) < rows && found) {
        knows = source->epoch_records > 0 && source->epoch_rows > 0 && source->how.repeat;
        if (knows && epoch_of(source, rows) > source->epoch) {
            begin_epoch(source, epoch_of(source, rows));
            continue;
        }
        uint64_t left = rows - rows_taken(source);
        if (passes && source->place == source->block_rows && left >= rows_wanted(source)) {
            TRY(pass_block(source, passed));
            if (!*passed)
                return status_ok();
            if (source->block_rows > 0)
                continue;
        }
        bool knew = source->epoch_records > 0;
        TRY(find_row(source, &found));
        if (!knew && source->epoch_records > 0)
            continue; /* the length of an epoch has just become known */
        size_t here = source->block_rows - source->place;
        left = rows - rows_taken(source);
        source->place += here < left ? here : (size_t)left;
    }
    return status_ok();
}

/* Goes there from where it is, or from the beginning if that is behind it. */
static struct status go_to(struct file_source *source, uint64_t rows, bool passes, bool *passed)
{
    if (source->astray || rows < rows_taken(source))
        begin_epoch(source, 0);
    source->astray = true;
    TRY(go_on(source, rows, passes, passed));
    source->astray = !*passed;
    return status_ok();
}

/* Every epoch has the same rows in another order. Once one was read to its end, others need not be
 * read to be passed. Blocks before the place are passed without reading their values, if no bad
 * record may be among them. */
static struct status file_source_seek(struct batch_source *base, uint64_t rows)
{
    struct file_source *source = (struct file_source *)base;
    bool passed = false;

    if (can_count_records(source->split) && !source->reads_blocks)
        TRY(go_to(source, rows, true, &passed));
    source->reads_blocks = !passed;
    return passed ? status_ok() : go_to(source, rows, false, &passed);
}

static void file_source_destroy(struct batch_source *base)
{
    struct file_source *source = (struct file_source *)base;

    record_reader_close(source->open);
    columns_finish(&source->block);
    for (int i = 0; i < KEPT_MAX; i++)
        kept_batch_finish(&source->batches[i], &source->split->options.layout);
    free(source->order);
    free(source->files);
    free(source);
}

struct status file_source_open(const struct data_split *base, const struct batch_order *order,
                               struct batch_source **out)
{
    struct file_split *split = (struct file_split *)(uintptr_t)base;
    const struct row_layout *layout = &split->options.layout;
    struct file_source *source = zalloc(sizeof *source);

    source->source = (struct batch_source){ .keep_max = KEPT_MAX,
                                            .next = file_source_next,
                                            .seek = file_source_seek,
                                            .destroy = file_source_destroy };
    source->split = split;
    source->how = *order;
    source->files = zalloc((size_t)split->options.paths_count * sizeof *source->files);
    columns_init(&source->block, layout->specs, layout->specs_count);
    begin_epoch(source, 0);
    const struct prefetch_options ahead = { .rows = order->ahead_rows,
                                            .batches_max = order->ahead };
    *out = prefetch_source(&source->source, layout->count, &ahead);
    return status_ok();
}

/* ---- Counting. ---- */

/* Passes a record, which is noted if it is there. */
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
        TRY(open_file(source, (uint32_t)i));
        while (found) {
            TRY(count_record(source, &found));
            *rows += found;
        }
        close_file(source);
    }
    return status_ok();
}

static struct status count_rows(struct file_source *source, int64_t *rows)
{
    do {
        TRY(next_block(source));
        *rows += (int64_t)source->block_rows;
    } while (source->block_rows > 0);
    return status_ok();
}

static struct status open_quietly(const struct data_split *split, struct file_source **out)
{
    const struct batch_order order = { .workers = 1 };
    struct batch_source *base;

    TRY(file_source_open(split, &order, &base));
    *out = (struct file_source *)base;
    (*out)->quiet = true;
    return status_ok();
}

struct status file_source_count_rows(const struct data_split *split, int64_t *out)
{
    struct file_source *source;
    struct status status;

    *out = 0;
    TRY(open_quietly(split, &source));
    status =
        can_count_records(source->split) ? count_records(source, out) : count_rows(source, out);
    source->source.destroy(&source->source);
    return status;
}

static struct status find_record(struct file_source *source)
{
    bool ended, more;

    while (source->index == 0) {
        TRY(open_next(source, &more));
        if (!more)
            return status_ok();
        TRY(read_row(source, &ended));
        if (ended)
            close_file(source);
    }
    return status_ok();
}

struct status file_source_has_record(const struct data_split *split, bool *out)
{
    struct file_source *source;

    TRY(open_quietly(split, &source));
    struct status status = find_record(source);
    *out = source->index > 0;
    source->source.destroy(&source->source);
    return status;
}

/* ---- Finding a row again. ---- */

/* The part of a row that has a NaN or an infinite value; NULL: none has. */
static const struct row_part *part_at_fault(const struct row_tensor *tensor,
                                            const struct columns *columns, size_t row)
{
    for (int p = 0; p < tensor->parts_count; p++) {
        const struct column *column = &columns->list[tensor->parts[p].value];
        if (column->kind != COLUMN_FLOAT)
            continue;
        for (size_t i = column_begin(column, row); i < column->ends[row]; i++)
            if (!isfinite(column->floats[i]))
                return &tensor->parts[p];
    }
    return NULL;
}

/* Has the row these values? Of no size: it is not asked. */
static bool has_values(const struct row_layout *layout, int tensor, const struct columns *columns,
                       size_t row, struct bytes values)
{
    const uint32_t rows[] = { (uint32_t)row };
    size_t size = (size_t)layout->tensors[tensor].width *
                  dtype_size(layout->tensors[tensor].column.spec.dtype);

    if (values.size == 0 || values.size != size)
        return values.size == 0;
    char *made = zalloc(size);
    row_layout_gather(layout, tensor, columns, rows, 1, made);
    bool same = memcmp(made, values.data, size) == 0;
    free(made);
    return same;
}

/* Reads the next row alone. False: there is none. */
static struct status read_alone(struct file_source *source, bool *more)
{
    bool ended;

    columns_clear(&source->block);
    *more = true;
    while (*more && source->block.rows == 0) {
        TRY(open_next(source, more));
        if (!*more)
            return status_ok();
        TRY(read_row(source, &ended));
        if (ended)
            close_file(source);
    }
    return status_ok();
}

static struct status locate(struct file_source *source, int tensor, struct bytes row,
                            struct buffer *out)
{
    const struct row_layout *layout = &source->split->options.layout;
    const struct row_part *part;
    bool more = true;

    while (more) {
        TRY(read_alone(source, &more));
        if (!more)
            return status_ok();
        part = part_at_fault(&layout->tensors[tensor], &source->block, 0);
        if (part == NULL || !has_values(layout, tensor, &source->block, 0, row))
            continue;
        struct status place = record_reader_at(
            source->open, status_error(STATUS_OUT_OF_RANGE, "column '%s'", part->from->name));
        buffer_printf(out, ": %s", place.message);
        return status_ok();
    }
    return status_ok();
}

void file_source_locate(const struct data_split *split, int column, struct bytes row,
                        struct buffer *out)
{
    struct file_source *source;
    struct status status = open_quietly(split, &source);

    if (!status_is_ok(status))
        return; /* the row is told without its place */
    status_ignore(locate(source, column, row, out));
    source->source.destroy(&source->source);
}
