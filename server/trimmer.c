#include "server/trimmer.h"

#include "base/clock.h"
#include "base/memory.h"

/* A smaller growth is not worth it, and it does not happen often. */
#define TRIM_BYTES    ((int64_t)64 << 20)
#define TRIM_CHECK_NS (10 * (int64_t)NS_PER_S)
#define TRIM_PAUSE_NS (60 * (int64_t)NS_PER_S)

static int64_t other_bytes(const struct trimmer *trimmer)
{
    return (int64_t)memory_in_use() - atomic_load(&trimmer->budget->used_bytes);
}

static void *trim(void *context)
{
    struct trimmer *trimmer = context;
    memory_trim();
    trimmer->lowest_bytes = other_bytes(trimmer);
    atomic_store(&trimmer->ended, true);
    return NULL;
}

static bool start(struct trimmer *trimmer)
{
    atomic_store(&trimmer->ended, false);
    trimmer->has_thread = pthread_create(&trimmer->thread, NULL, trim, trimmer) == 0;
    return trimmer->has_thread;
}

void trimmer_finish(struct trimmer *trimmer)
{
    if (trimmer->has_thread)
        pthread_join(trimmer->thread, NULL);
    trimmer->has_thread = false;
}

static bool is_trimming(struct trimmer *trimmer)
{
    if (trimmer->has_thread && !atomic_load(&trimmer->ended))
        return true;
    trimmer_finish(trimmer);
    return false;
}

void trimmer_check(struct trimmer *trimmer, int64_t now_ns)
{
    if (now_ns < trimmer->at_ns || is_trimming(trimmer))
        return;
    int64_t bytes = other_bytes(trimmer);
    if (trimmer->at_ns == 0 || bytes < trimmer->lowest_bytes)
        trimmer->lowest_bytes = bytes;
    bool trims = bytes - trimmer->lowest_bytes >= TRIM_BYTES && start(trimmer);
    trimmer->at_ns = now_ns + (trims ? TRIM_PAUSE_NS : TRIM_CHECK_NS);
}
