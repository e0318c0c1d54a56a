#include "server/models/cost_table.h"

#define COST_BITS  40
#define SLOW_BITS  2
#define SHAPE_BITS (64 - COST_BITS - SLOW_BITS)

/* After this many runs in a row that took more than twice the cost, it was too low. */
#define SLOW_RUNS 2

static uint32_t log2_class(uint64_t size)
{
    return size < 2 ? (uint32_t)size : 65 - (uint32_t)__builtin_clzll(size - 1);
}

static uint64_t mix(uint64_t hash, uint32_t class)
{
    hash = (hash ^ class) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

size_t cost_bytes(const struct tensor *inputs, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += tensor_bytes(&inputs[i]);
        if (inputs[i].dtype != DT_STRING)
            continue;
        const struct bytes *strings = tensor_strings(&inputs[i]);
        for (int64_t j = 0; j < inputs[i].size; j++)
            bytes += strings[j].size;
    }
    return bytes;
}

/* The bytes alone do not distinguish rows of 1 × 4096 from rows of 64 × 64, but if the product
 * of two inputs is computed, the latter cost 64 times as much. */
struct cost_key cost_key_of(const struct tensor *inputs, int count, size_t bytes, int64_t rows)
{
    if (rows < 1)
        rows = 1;
    uint64_t hash = mix(1, log2_class(bytes / (uint64_t)rows));
    for (int i = 0; i < count; i++)
        for (int j = 1; j < inputs[i].shape.rank; j++)
            hash = mix(hash, log2_class((uint64_t)inputs[i].shape.dims[j]));
    return (struct cost_key){ rows, (uint32_t)hash };
}

/* Index of the smallest of 1, 2, 4 … 64 that is at least `rows`. */
static int rows_index(int64_t rows)
{
    int index = 0;
    while (index < COST_ROWS_COUNT - 1 && (int64_t)1 << index < rows)
        index++;
    return index;
}

struct cost_cell {
    int64_t cost_ns;    /* 0: not measured */
    uint32_t slow_runs; /* the last runs that took more than twice the cost; at most SLOW_RUNS */
};

static uint64_t pack(uint32_t shape, struct cost_cell cell)
{
    return (uint64_t)shape << (64 - SHAPE_BITS) | (uint64_t)cell.slow_runs << COST_BITS |
           (uint64_t)cell.cost_ns;
}

static struct cost_cell load(const _Atomic uint64_t *packed, uint32_t shape)
{
    uint64_t value = atomic_load_explicit(packed, memory_order_relaxed);
    struct cost_cell cell = { (int64_t)(value & COST_MAX_NS),
                              (uint32_t)(value >> COST_BITS) & ((1U << SLOW_BITS) - 1) };
    return value == pack(shape, cell) ? cell : (struct cost_cell){ 0 };
}

static int64_t cell_cost(const _Atomic uint64_t *packed, uint32_t shape)
{
    return load(packed, shape).cost_ns;
}

static int64_t clamp_cost(double cost_ns)
{
    return cost_ns < 1 ? 1 : cost_ns > COST_MAX_NS ? COST_MAX_NS : (int64_t)cost_ns;
}

/* Scales the cost of a run with the class's own number of rows. */
static int64_t cost_for(int64_t cost_ns, int index, int64_t rows)
{
    return clamp_cost((double)cost_ns * (double)rows / (double)((int64_t)1 << index));
}

/* If this number of rows is not measured yet, a smaller one gives an upper bound. If there is none,
 * a larger one gives a share: under constant load, batches of one are never measured. */
int64_t cost_find(const struct cost_table *table, struct cost_key key)
{
    const _Atomic uint64_t *cells = table->cells[key.shape % COST_SHAPES_COUNT];
    int index = rows_index(key.rows);
    for (int i = index; i >= 0; i--) {
        int64_t cost = cell_cost(&cells[i], key.shape);
        if (cost != 0)
            return cost_for(cost, i, key.rows);
    }
    for (int i = index + 1; i < COST_ROWS_COUNT; i++) {
        int64_t cost = cell_cost(&cells[i], key.shape);
        if (cost != 0)
            return cost_for(cost, i, key.rows);
    }
    return 0;
}

int64_t cost_measured(const struct cost_table *table, struct cost_key key)
{
    const _Atomic uint64_t *cells = table->cells[key.shape % COST_SHAPES_COUNT];
    return cell_cost(&cells[rows_index(key.rows)], key.shape);
}

/* Scales the time of a run of `rows` to the class's own number of rows. Otherwise a class that is
 * mostly measured by its smallest runs would look cheaper than it is. */
static int64_t cost_of_class(int64_t took_ns, int64_t rows, int index)
{
    return clamp_cost((double)took_ns * (double)((int64_t)1 << index) /
                      (double)(rows > 0 ? rows : 1));
}

/* The first run also pays for cold caches and page faults: a much lower cost replaces it at once, a
 * higher one is averaged in slowly. A run of 50 us that loses its core to another thread takes
 * milliseconds, so none counts as more than twice the cost. But if further ones follow at once, the
 * cost itself was too low, and doubles with each: averaged in, a twentieth of the cost would take
 * 25 runs to become right, all of them in a loop that has no time for them. */
static struct cost_cell count_run(struct cost_cell cell, int64_t took_ns)
{
    int64_t old = cell.cost_ns;
    if (old == 0 || took_ns < old / 2)
        return (struct cost_cell){ .cost_ns = took_ns };
    if (took_ns < 2 * old)
        return (struct cost_cell){ .cost_ns = old + (took_ns - old) / 8 };
    if (cell.slow_runs == SLOW_RUNS)
        return (struct cost_cell){ clamp_cost(2 * (double)old), SLOW_RUNS };
    return (struct cost_cell){ clamp_cost((double)old + (double)old / 8), cell.slow_runs + 1 };
}

void cost_add(struct cost_table *table, struct cost_key key, int64_t took_ns)
{
    int index = rows_index(key.rows);
    _Atomic uint64_t *packed = &table->cells[key.shape % COST_SHAPES_COUNT][index];
    struct cost_cell cell = load(packed, key.shape);
    cell = count_run(cell, cost_of_class(took_ns, key.rows, index));
    atomic_store_explicit(packed, pack(key.shape, cell), memory_order_relaxed);
}
