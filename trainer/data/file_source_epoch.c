#include "trainer/data/file_source_internal.h"

/* + epoch: the random streams of a seed for the order of files and blocks */
#define STREAM_FILES  0x66696c6573000000u
#define STREAM_BLOCKS 0x626c6f636b000000u

bool file_source_rows_are_records(const struct file_source *source)
{
    return source->split->options.max_bad_records == 0;
}

uint64_t file_source_rows_before(const struct file_source *source, uint64_t epoch)
{
    uint64_t workers = source->how.workers, worker = source->how.worker;

    if (!file_source_rows_are_records(source))
        return epoch * source->epoch_rows;
    return (epoch * source->epoch_records + workers - 1 - worker) / workers;
}

uint64_t file_source_epoch_of(const struct file_source *source, uint64_t row)
{
    if (!file_source_rows_are_records(source))
        return row / source->epoch_rows;
    return (row * source->how.workers + source->how.worker) / source->epoch_records;
}

void file_source_begin_epoch(struct file_source *source, uint64_t epoch)
{
    uint32_t all = (uint32_t)source->split->options.paths_count;

    record_reader_close(source->open);
    source->open = NULL;
    source->ahead = NULL;
    columns_clear(&source->block);
    source->block_rows = 0;
    source->place = source->next_file = 0;
    source->index = source->bad_records = 0;
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

struct status file_source_open_file(struct file_source *source, uint32_t file)
{
    const struct file_split *split = source->split;

    source->file = file;
    source->record = 0;
    return record_reader_open(split->options.paths[file], split->formats[file],
                              &split->options.records, &source->block, &source->open);
}

bool file_source_can_count_records(const struct file_split *split)
{
    bool can = split->options.max_bad_records == 0;

    for (int i = 0; i < split->options.paths_count; i++)
        can = can && split->formats[i]->skip != NULL;
    return can;
}

struct status file_source_open_next(struct file_source *source, bool *more)
{
    *more =
        source->open != NULL || source->next_file < (uint32_t)source->split->options.paths_count;
    if (source->open != NULL || !*more)
        return status_ok();
    return file_source_open_file(source, source->files[source->next_file++]);
}

void file_source_close_file(struct file_source *source)
{
    record_reader_close(source->open);
    source->open = NULL;
}
