/* --learning_rate_schedule. A schedule that is accepted has a rate at every step; an error has a
 * message. */
#include <math.h>
#include <stdlib.h>

#include "trainer/options/learning_rate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create(0);
    struct learning_rate_sources sources = { .flag_schedule = arena_memdup(arena, data, size),
                                             .otherwise = .01f };
    struct schedule schedule, again;
    float rate;

    struct status status = learning_rate_choose(&sources, arena, &rate, &schedule);
    if (status_is_ok(status) && schedule.kind != NULL) {
        for (uint64_t step = 0; step < 100; step++)
            (void)schedule_rate(&schedule, rate, step * step);
        if (!isfinite(rate) || !status_is_ok(schedule_read(schedule.kind->name, schedule.values,
                                                           (size_t)schedule.values_count, &again)))
            abort();
    } else if (*status.message == '\0' && *sources.flag_schedule != '\0') {
        abort();
    }
    arena_destroy(arena);
    return 0;
}
