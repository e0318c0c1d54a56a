#include "base/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The limit of the process's control group; SIZE_MAX: it has none. */
static size_t group_memory(void)
{
    size_t memory = SIZE_MAX;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
    if (file == NULL)
        return memory;
    if (fscanf(file, "%zu", &memory) != 1) /* "max" */
        memory = SIZE_MAX;
    fclose(file);
    return memory;
}

static size_t address_space(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return limit.rlim_cur;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t memory_of_machine(void)
{
    static _Atomic size_t known;
    size_t memory = atomic_load_explicit(&known, memory_order_relaxed);
    if (memory == 0) {
        memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
        memory = smaller(memory, smaller(group_memory(), address_space()));
        atomic_store_explicit(&known, memory, memory_order_relaxed);
    }
    return memory;
}

#define ALIGNMENT 64
#define HUGE_PAGE ((size_t)2 << 20)

void *memory_alloc_table(size_t size_bytes)
{
    size_t alignment = size_bytes < HUGE_PAGE ? ALIGNMENT : HUGE_PAGE;
    void *block;

    if (posix_memalign(&block, alignment, size_bytes > 0 ? size_bytes : 1) != 0)
        return NULL;
    /* Whole pages only: the rest of the last one may become another block. A system that has none
     * refuses, and the block is as good. */
    if (alignment == HUGE_PAGE)
        madvise(block, size_bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return block;
}

void *memory_alloc_lines(size_t size_bytes)
{
    void *lines = NULL;
    if (posix_memalign(&lines, ALIGNMENT, (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT) !=
        0)
        abort();
    return memset(lines, 0, size_bytes);
}

static size_t whole_pages(size_t size_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size_bytes + page - 1) / page * page;
}

void *memory_reserve(size_t size_bytes)
{
    if (size_bytes > SIZE_MAX - 2 * HUGE_PAGE)
        return NULL;
    size_t size = whole_pages(size_bytes), room = size + HUGE_PAGE;
    char *all = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE;
    char *block = all + before;
    if (before > 0)
        munmap(all, before);
    munmap(block + size, HUGE_PAGE - before);
    /* A system that refuses leaves the block as good. */
    madvise(block, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return block;
}

static void *map_huge(size_t size_bytes)
{
    void *block = memory_reserve(size_bytes);
#ifdef MADV_POPULATE_WRITE
    if (block != NULL) /* the same if the system refuses */
        madvise(block, whole_pages(size_bytes), MADV_POPULATE_WRITE);
#endif
    return block;
}

void *memory_map(size_t size_bytes)
{
    if (size_bytes >= HUGE_PAGE)
        return map_huge(size_bytes);
    void *block = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return block != MAP_FAILED ? block : NULL;
}

void memory_unmap(void *block, size_t size_bytes)
{
    if (block != NULL)
        munmap(block, size_bytes);
}

static void *map_pages(size_t size)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block != MAP_FAILED ? block : NULL;
}

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer does not see that mremap leaves an address, and would report the thread that gets
 * it next. */
static void *move_pages(void *block, size_t old_size, size_t size)
{
    void *moved = map_pages(size);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, smaller(old_size, size));
    munmap(block, old_size);
    return moved;
}
#else
static void *move_pages(void *block, size_t old_size, size_t size)
{
    void *moved = mremap(block, old_size, size, MREMAP_MAYMOVE);
    return moved != MAP_FAILED ? moved : NULL;
}
#endif

void *memory_resize(void *block, size_t old_bytes, size_t new_bytes)
{
    size_t size = whole_pages(new_bytes);
    return block == NULL ? map_pages(size) : move_pages(block, whole_pages(old_bytes), size);
}

void memory_forbid_huge_pages(void *block, size_t size_bytes)
{
    madvise(block, whole_pages(size_bytes), MADV_NOHUGEPAGE);
}

void memory_drop(void *data, size_t size_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)data + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)data + size_bytes) / page * page;
    if (first < end)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

void memory_trim(void)
{
    malloc_trim(0);
}

void memory_keep_freed(void)
{
#if defined(M_MMAP_THRESHOLD) && defined(M_TRIM_THRESHOLD)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

size_t memory_in_use(void)
{
    size_t total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%zu %zu", &total, &resident) != 2) /* in pages */
        resident = 0;
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}
