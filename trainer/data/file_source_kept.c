/* Blocks of a single file that stay in memory for later epochs. */
#include "trainer/data/file_source_internal.h"

/* Has each epoch the same blocks, and does this reader take them as a whole? */
static bool keeps_blocks(const struct file_source *source)
{
    const struct file_split_options *options = &source->split->options;

    return options->kept_bytes_max > 0 && options->paths_count == 1 &&
           file_source_can_count_records(source->split) && source->how.repeat &&
           source->how.workers == 1 && file_source_rows_wanted(source) == source->split->kept.rows;
}

bool file_source_take_kept(struct file_source *source)
{
    bool begins = source->next_file == 0;

    if (!keeps_blocks(source) || (!begins && source->open == NULL && source->ahead == NULL))
        return false;
    uint64_t record = begins ? 0 : source->record;
    const struct kept_block *block = kept_blocks_find(&source->split->kept, record);
    if (block == NULL)
        return false;
    if (source->ahead == NULL)
        source->behind = record;
    source->next_file = 1;
    source->rows = &block->columns;
    source->block_rows = block->columns.rows;
    source->record = record + block->columns.rows;
    source->index += block->columns.rows;
    source->ahead = block->is_last ? NULL : block;
    if (block->is_last)
        file_source_close_file(source);
    return true;
}

struct status file_source_catch_up(struct file_source *source)
{
    const struct kept_block *ahead = source->ahead;
    bool found;

    if (ahead == NULL)
        return status_ok();
    if (source->open == NULL)
        TRY(file_source_open_file(source, source->files[0]));
    if (ahead->can_go)
        TRY(record_reader_go_to(source->open, &ahead->end));
    else
        for (; source->behind < ahead->end.record; source->behind++)
            TRY(record_reader_skip(source->open, &found));
    source->record = ahead->end.record;
    source->ahead = NULL;
    return status_ok();
}

void file_source_keep_block(struct file_source *source, uint64_t first)
{
    struct kept_block block = { .columns = source->block,
                                .end = { .record = source->record },
                                .is_last = source->open == NULL };
    bool whole = block.is_last || source->block.rows == source->split->kept.rows;

    if (!keeps_blocks(source) || source->block.rows == 0 || !whole)
        return;
    block.can_go = !block.is_last && record_reader_tell(source->open, &block.end);
    const struct kept_block *kept = kept_blocks_add(&source->split->kept, first, &block);
    if (kept == NULL)
        return;
    source->rows = &kept->columns;
}
