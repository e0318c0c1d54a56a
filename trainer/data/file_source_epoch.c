#include <inttypes.h>
#include <sys/stat.h>

#include "trainer/data/file_source_internal.h"
#include "trainer/records/image_records.h"

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

/* Every epoch and every reader must find the same rows. An image is one row, whatever it shows. */
static struct status check_size(const struct file_split *split, uint32_t file)
{
    const char *path = split->options.paths[file];
    struct stat found;
    uint64_t before = 0;

    if (split->formats[file] == &image_format || stat(path, &found) != 0)
        return status_ok(); /* a file that is gone is not opened either */
    uint64_t now = (uint64_t)found.st_size + 1;
    if (atomic_compare_exchange_strong(&split->sizes[file], &before, now) || before == now)
        return status_ok();
    return status_error(STATUS_DATA_LOSS,
                        "'%s' has changed since the job first read it: it had %" PRIu64
                        " bytes, and now has %" PRIu64,
                        path, before - 1, now - 1);
}

struct status file_source_open_file(struct file_source *source, uint32_t file)
{
    const struct file_split *split = source->split;

    source->file = file;
    source->record = 0;
    TRY(check_size(split, file));
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
