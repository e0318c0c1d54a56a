#include "server/models/cost_table.h"

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

static uint32_t cell_cost(const _Atomic uint64_t *cell, uint32_t shape)
{
    uint64_t value = atomic_load_explicit(cell, memory_order_relaxed);
    return value >> 32 == shape ? (uint32_t)value : 0;
}

static uint32_t cost_for(uint64_t cost, int index, int64_t rows)
{
    if (__builtin_mul_overflow(cost, (uint64_t)rows, &cost))
        return UINT32_MAX;
    cost >>= index;
    return cost > UINT32_MAX ? UINT32_MAX : cost == 0 ? 1 : (uint32_t)cost;
}

/* If this number of rows is not measured yet, a smaller one gives an upper bound. If there is none,
 * a larger one gives a share: under constant load, batches of one are never measured. */
uint32_t cost_find(const struct cost_table *table, struct cost_key key)
{
    const _Atomic uint64_t *cells = table->cells[key.shape % COST_SHAPES_COUNT];
    int index = rows_index(key.rows);
    for (int i = index; i >= 0; i--) {
        uint32_t cost = cell_cost(&cells[i], key.shape);
        if (cost != 0)
            return cost_for(cost, i, key.rows);
    }
    for (int i = index + 1; i < COST_ROWS_COUNT; i++) {
        uint32_t cost = cell_cost(&cells[i], key.shape);
        if (cost != 0)
            return cost_for(cost, i, key.rows);
    }
    return 0;
}

uint32_t cost_measured(const struct cost_table *table, struct cost_key key)
{
    const _Atomic uint64_t *cells = table->cells[key.shape % COST_SHAPES_COUNT];
    return cell_cost(&cells[rows_index(key.rows)], key.shape);
}

/* Scales the time of a run of `rows` to the class's own number of rows. Otherwise a class that is
 * mostly measured by its smallest runs would look cheaper than it is. */
static int64_t cost_of_class(int64_t took_ns, int64_t rows, int index)
{
    double full = (double)took_ns * (double)((int64_t)1 << index) / (double)(rows > 0 ? rows : 1);
    return full < 1 ? 1 : full > UINT32_MAX ? UINT32_MAX : (int64_t)full;
}

void cost_add(struct cost_table *table, struct cost_key key, int64_t took_ns)
{
    int index = rows_index(key.rows);
    _Atomic uint64_t *cell = &table->cells[key.shape % COST_SHAPES_COUNT][index];
    int64_t old = cell_cost(cell, key.shape);
    took_ns = cost_of_class(took_ns, key.rows, index);
    /* The first run also pays for cold caches and page faults: a much lower cost replaces it at
     * once, a higher one is averaged in slowly. */
    int64_t smoothed = old == 0 || took_ns < old / 2 ? took_ns : old + (took_ns - old) / 8;
    uint64_t cost = smoothed > UINT32_MAX ? UINT32_MAX : (uint64_t)smoothed;
    atomic_store_explicit(cell, (uint64_t)key.shape << 32 | cost, memory_order_relaxed);
}
