/*
 * bundle_index: the types and functions that bundle.c (opening), bundle_read.c (tensors) and
 * checkpoint_v1.c share.
 */
#ifndef STORAGE_BUNDLE_INDEX_H
#define STORAGE_BUNDLE_INDEX_H

#include "base/file.h"
#include "base/map.h"
#include "storage/bundle.h"

struct table;

struct bundle_piece {
    struct bundle_entry entry; /* first: bundle_at gives a pointer to it */
    int shard;
    uint64_t offset, size;
    uint32_t crc;                /* unmasked */
    struct tensor_slice *slices; /* as listed; NULL: the tensor is stored whole */
    int *slices_shards;          /* V1: the table of each slice */
    size_t slices_count;
};

struct bundle {
    struct arena *arena; /* everything but the files */
    char *prefix;
    bool big_endian;
    int shards_count;
    struct file_reader *shards; /* V2, [shards_count]; one that could not be opened has path NULL */
    struct table **tables;      /* V1, [shards_count]; NULL in V2 */
    struct bundle_piece **pieces; /* [count], by name: tensors, not slices */
    size_t count;
    struct map by_key;          /* every key of the index -> struct bundle_piece */
    struct tensor_block *block; /* allocates numbers that are read; NULL: the heap does */
};

/* V1. NOT_FOUND: no file matches. */
struct status checkpoint_v1_open(struct bundle *bundle);
struct status checkpoint_v1_read_slice(const struct bundle *bundle,
                                       const struct bundle_piece *piece, size_t slice_index,
                                       struct tensor *out);

char *bundle_shard_path(struct arena *arena, const char *prefix, int shard, int shards_count);

#endif
