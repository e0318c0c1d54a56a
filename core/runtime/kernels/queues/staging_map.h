/*
 * staging_map: the object of MapStage and OrderedMapStage (map_stage_ops.c): rows of tensors by a
 * key, of which the runs of a servable put and take some tensors at a time, by index. A row that
 * has all its tensors is complete, and can be taken; until then it is kept apart.
 *
 * Threads  all functions are safe
 */
#ifndef KERNELS_STAGING_MAP_H
#define KERNELS_STAGING_MAP_H

#include "runtime/kernels/queues/queue.h"

struct staging_map;

struct staging_map_kind {
    bool is_ordered;
    int64_t capacity;     /* of complete rows; 0: no limit */
    int64_t memory_limit; /* bytes of the elements of all rows; 0: none */
    int width;            /* tensors of a row; 0: the next op that gives some says it */
};

/* Some tensors of a row, in the order of their indices. */
struct staged_part {
    const int64_t *key; /* NULL: the least one */
    const int32_t *indices;
    int count; /* of indices */
};

const struct object_type *staging_map_type(bool is_ordered);
/* Owner: the caller, of one reference. */
void staging_map_create(const struct staging_map_kind *kind, struct bytes name,
                        struct object **out);
void staging_map_set_width(struct staging_map *map, int width); /* unless it is known */
int64_t staging_map_memory_limit(const struct staging_map *map);

/**
 * Adds the tensors of `row` to the row of their key, and waits while there is no room. A complete
 * row whose key is there already is dropped, as in TensorFlow. Takes over the row.
 *
 * Errors  INVALID_ARGUMENT an index; RESOURCE_EXHAUSTED; those of kernel_wait
 */
struct status staging_map_give(struct kernel_context *k, struct staging_map *map,
                               const struct staged_part *part, struct queue_row *row);

/**
 * Takes these tensors of a complete row, or only reads them (`keeps`); waits for the row. A row is
 * removed with the last of its tensors. Output `first_output` and the following ones must have the
 * types of the tensors.
 *
 * Owner   the caller, of *out
 * Errors  INVALID_ARGUMENT an index, a type; those of kernel_wait
 */
struct status staging_map_take(struct kernel_context *k, struct staging_map *map,
                               const struct staged_part *part, int first_output, bool keeps,
                               int64_t *key, struct queue_row **out);
void staging_map_clear(struct staging_map *map);
int64_t staging_map_size(struct staging_map *map, bool is_complete); /* in rows of that kind */
size_t staging_map_bytes(struct staging_map *map);

#endif
