/* TF_CONFIG. The parser returns a consistent job map or an error with a message. */
#include <stdlib.h>
#include <string.h>

#include "trainer/job/job_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct job_map *map, struct arena *arena)
{
    const struct job_task *self = job_self(map);

    if (job_map_is_local(map))
        return;
    if (map->has_self && self == NULL && map->kind != JOB_EVALUATOR)
        abort();
    if (self != NULL && !status_is_ok(job_check_address(self->address)))
        abort();
    if (!map->sparse && map->has_self && map->kind != JOB_PS && map->kind != JOB_EVALUATOR &&
        job_map_rank(map) >= job_map_trainers(map))
        abort();
    if (*job_map_ps_list(map, arena) == '\0' ||
        *job_task_name(map, map->kind, map->index, arena) == '\0')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create(0);
    const char *text = arena_memdup(arena, data, size);
    struct job_map map;

    for (int need_self = 0; need_self < 2; need_self++) {
        struct status status = job_map_parse(text, need_self, arena, &map);
        if (status_is_ok(status))
            check(&map, arena);
        else if (*status.message == '\0')
            abort();
    }
    arena_destroy(arena);
    return 0;
}
