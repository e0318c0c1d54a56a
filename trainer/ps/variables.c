#include "trainer/ps/variables.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/memory.h"
#include "trainer/ps/created_pieces.h"
#include "trainer/ps/pushes.h"

struct variables *variables_create(void)
{
    struct variables *variables = zalloc(sizeof *variables);

    pthread_mutex_init(&variables->measuring, NULL);
    return variables;
}

void variables_destroy(struct variables *variables, struct budget *budget)
{
    for (int i = 0; i < variables->slices_count; i++)
        slice_finish(&variables->slices[i]);
    if (budget != NULL)
        budget_give(budget, variables->paid_bytes);
    free(variables->slices);
    free(variables->block);
    free(variables->slots_block);
    memory_unmap(variables->spares_block, variables->spares_bytes);
    free(variables->sum);
    pthread_mutex_destroy(&variables->measuring);
    free(variables);
}

/* ---- a generation begins ---- */

/* Are these the pieces that the ps already holds? */
static struct status check_same(const struct ps *ps, const struct create_request *request)
{
    const struct variables *variables = ps->variables;
    bool same = (size_t)variables->slices_count == request->pieces_count;

    for (int i = 0; same && i < variables->slices_count; i++) {
        const struct slice *slice = &variables->slices[i];
        const struct created_piece *piece = &request->pieces[i];
        same = (uint32_t)slice->id == piece->id && slice->size_bytes == piece->size_bytes &&
               slice->trainable == (bool)piece->trainable && slice->averaged == piece->averaged &&
               slice->power_iterations == piece->power_iterations &&
               slice->row_bytes == piece->row_bytes &&
               (slice->table != NULL) == (piece->keys != NULL);
    }
    if (!same)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "ps %u holds other pieces than the chief has now: compare --model and "
                            "the ps count",
                            ps->options.index);
    return status_ok();
}

static size_t align_up(size_t offset)
{
    return (offset + 63) & ~(size_t)63;
}

static size_t block_bytes(const struct create_request *request)
{
    size_t offset = 0;

    for (size_t i = 0; i < request->pieces_count; i++)
        offset = (request->pieces[i].continues ? offset : align_up(offset)) +
                 request->pieces[i].size_bytes;
    return offset;
}

/* The memory of a piece as a multiple of its size: values and slots, and the copies that updates
 * make of them while a snapshot is read. By rows, a synchronous step also keeps the old values of
 * the rows that it changes. Otherwise there is a third buffer of values, which a pull reads, or the
 * sum of the gradients. */
static int64_t copies_of(const struct created_piece *piece, const struct optimizer *optimizer,
                         bool sync)
{
    int slots = piece->trainable ? optimizer->slots_count : 0;

    return 2 * (1 + slots) + (piece->row_bytes == 0 || sync);
}

/* The total of all pieces as make_slices lays them out, each multiplied by copies_of. */
static int64_t bytes_of_pieces(const struct create_request *request,
                               const struct training *training)
{
    size_t offset = 0;
    int64_t bytes = 0;

    for (size_t i = 0; i < request->pieces_count; i++) {
        const struct created_piece *piece = &request->pieces[i];
        size_t end = (piece->continues ? offset : align_up(offset)) + piece->size_bytes;
        bytes += (int64_t)(end - offset) *
                 copies_of(piece, training->rules[piece->optimizer].optimizer, request->sync);
        offset = end;
    }
    return bytes;
}

/* Charges the memory of the pieces; of a later generation, what its optimizers need in addition.
 * Nothing is allocated before it is charged, because the sizes come from any caller that claims to
 * be the chief. */
static struct status pay(struct ps *ps, const struct create_request *request,
                         const struct training *training)
{
    struct budget *budget = ps->options.budget;
    int64_t bytes = bytes_of_pieces(request, training);
    int64_t more = bytes - ps->variables->paid_bytes;

    if (budget == NULL || more <= 0)
        return status_ok();
    if (!status_is_ok(budget_take(budget, more)))
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "ps %u would need %" PRId64 " MB for its share of the model with %s, "
                            "and may have %" PRId64 " MB: more ps tasks, or --memory_budget_bytes",
                            ps->options.index, bytes / 1000000, training->rules[0].optimizer->name,
                            budget->limit_bytes / 1000000);
    ps->variables->paid_bytes = bytes;
    return status_ok();
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void count_gradient(struct variables *variables, const struct slice *slice)
{
    if (!slice_is_pushed(slice))
        return;
    if (slice->row_bytes > 0) {
        variables->rows_largest_bytes = larger(variables->rows_largest_bytes, slice->size_bytes);
        return;
    }
    variables->gradient_bytes += slice->size_bytes;
    variables->largest_bytes = larger(variables->largest_bytes, slice->size_bytes);
}

static void set_momentum(struct slice *slice, double momentum)
{
    slice->averaging[0] = (float)momentum;
    slice->averaging[1] = (float)(1 - momentum);
}

static void set_update(struct slice *slice, const struct created_piece *piece)
{
    slice->constraint = piece->constraint;
    slice->shape = piece->shape;
    slice->averaged = piece->averaged;
    slice->power_iterations = piece->power_iterations;
}

/* The secret seed keeps strangers from choosing colliding keys. */
static void make_table(struct slice *slice, const struct created_piece *piece,
                       struct budget *budget)
{
    uint64_t secret = 0;

    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) != (ssize_t)sizeof secret)
        secret = (uint64_t)(uintptr_t)slice;
    slice->table = zalloc(sizeof *slice->table);
    slice->ps_count = (int)piece->keys->ps_count;
    key_table_init(slice->table, piece->row_bytes / sizeof(float), budget, secret);
}

/* One block for all values: neighbours in a variable are contiguous in memory, and each variable
 * is aligned. */
static struct status make_slices(struct variables *variables, const struct create_request *request,
                                 struct budget *budget)
{
    size_t total = block_bytes(request), offset = 0;
    uint64_t rows = 0;
    void *block = memory_alloc_table(total);

    if (block == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes of variables",
                            total);
    variables->block = block;
    variables->slices = zalloc((request->pieces_count + 1) * sizeof *variables->slices);
    for (size_t i = 0; i < request->pieces_count; i++) {
        const struct created_piece *piece = &request->pieces[i];
        if (!piece->continues)
            offset = align_up(offset);
        struct slice *slice = &variables->slices[i];
        slice_init(slice, (int)piece->id, piece->size_bytes, piece->trainable,
                   (char *)block + offset);
        set_update(slice, piece);
        slice->continues = i > 0 && piece->continues && piece[-1].trainable == piece->trainable;
        slice->row_bytes = piece->row_bytes;
        slice->first_row = rows;
        slice->rows_count = piece->row_bytes > 0 ? piece->size_bytes / piece->row_bytes : 0;
        rows += slice->rows_count;
        offset += piece->size_bytes;
        if (piece->keys != NULL)
            make_table(slice, piece, budget);
        count_gradient(variables, slice);
    }
    variables->slices_count = (int)request->pieces_count;
    return status_ok();
}

struct status variables_prepare(struct ps *ps, const struct create_request *request,
                                struct training *out)
{
    ASSERT_LOCKED(ps);
    TRY(created_pieces_check(request));
    if (ps->variables->slices != NULL)
        TRY(check_same(ps, request));
    TRY(training_choose(request, out));
    TRY(pay(ps, request, out));
    if (ps->variables->slices != NULL)
        return status_ok();
    return make_slices(ps->variables, request, ps->options.budget);
}

/* The scalars of a rule in the request; NULL: the initial ones. */
static const float *first_scalars(const struct create_request *request,
                                  const struct training *training, int rule)
{
    return request->scalars_count > 0 ? request->scalars + training_first_scalar(training, rule)
                                      : NULL;
}

/* Without memory even for an empty table, Open reports it. */
static void begin_tables(struct variables *variables, const struct create_request *request,
                         const struct training *training)
{
    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        if (slice->table == NULL)
            continue;
        slice->ps_count = (int)request->pieces[i].keys->ps_count;
        const struct training_rule *rule = &training->rules[slice->rule];
        status_ignore(key_table_begin(slice->table, &request->pieces[i].keys->spec, rule->optimizer,
                                      rule->settings,
                                      first_scalars(request, training, slice->rule)));
    }
}

/* Assigns the slices their slots in the block. Returns the bytes used; without a block, it only
 * counts. */
static size_t place_slots(struct variables *variables, const struct create_request *request,
                          const struct training *training, char *block)
{
    size_t offset = 0;

    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        int slots = training->rules[request->pieces[i].optimizer].optimizer->slots_count;
        if (!slice->trainable || slice->table != NULL)
            continue;
        for (int s = 0; s < slots; s++) {
            if (block != NULL && slice->now.parts[1 + s] == NULL)
                slice_lend(slice, 1 + s, block + offset);
            offset = align_up(offset + slice->size_bytes);
        }
    }
    return offset;
}

/* One block for all slots, so that they are on huge pages: an update reads single rows of them.
 * Without memory for it, each slice allocates its own. */
static void make_slots(struct variables *variables, const struct create_request *request,
                       const struct training *training)
{
    size_t size = place_slots(variables, request, training, NULL);

    if (variables->slots_block != NULL || size == 0)
        return;
    variables->slots_block = memory_alloc_table(size);
    if (variables->slots_block != NULL)
        place_slots(variables, request, training, variables->slots_block);
}

/* Lends the slices with rows a spare for each part. Returns the bytes used; without a block, it
 * only counts. */
static size_t place_spares(struct variables *variables, char *block)
{
    size_t offset = 0;

    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        if (!slice->trainable || slice->row_bytes == 0 || slice->table != NULL)
            continue;
        for (int part = 0; part < SLICE_PARTS_MAX && slice->now.parts[part] != NULL; part++) {
            if (block != NULL)
                slice_lend_spare(slice, part, block + offset);
            offset = align_up(offset + slice->size_bytes);
        }
    }
    return offset;
}

/* One block for all copies, so that they are on huge pages. A page is provided when an update first
 * writes to it. Slices that allocated their own copies, of 1 MiB, had them on small pages, where
 * they stayed: after a checkpoint, each step of a sparse model with ids anywhere in 0.5 GB took
 * twice as long. Without memory for the block, they still do. Later snapshots use the same memory,
 * in turn with the first. */
void variables_lend_spares(struct variables *variables)
{
    if (variables->spares_block != NULL)
        return;
    variables->spares_bytes = place_spares(variables, NULL);
    if (variables->spares_bytes == 0)
        return;
    variables->spares_block = memory_reserve(variables->spares_bytes);
    if (variables->spares_block != NULL)
        place_spares(variables, variables->spares_block);
}

void variables_begin(struct ps *ps, const struct create_request *request,
                     const struct training *training)
{
    struct variables *variables = ps->variables;

    ASSERT_LOCKED(ps);
    assert(pushes_is_idle(ps));
    variables->training = *training;
    make_slots(variables, request, training);
    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        slice->rule = (int)request->pieces[i].optimizer;
        /* a restarted chief may accumulate another number of batches */
        set_momentum(slice, request->pieces[i].momentum);
        const struct training_rule *rule = &training->rules[slice->rule];
        slice_begin(slice, rule->optimizer, rule->settings,
                    first_scalars(request, training, slice->rule));
    }
    begin_tables(variables, request, training);
    free(variables->sum);
    variables->sum = request->sync ? zalloc(variables->largest_bytes) : NULL;
    variables->keep_before = request->sync && request->keep_before;
}

struct status variables_check_filled(const struct ps *ps)
{
    const struct variables *variables = ps->variables;

    ASSERT_LOCKED(ps);
    for (int i = 0; i < variables->slices_count; i++)
        TRY(status_in(slice_check_filled(&variables->slices[i]), "ps %u", ps->options.index));
    return variables_check_tables(ps);
}

void variables_open(const struct ps *ps)
{
    const struct variables *variables = ps->variables;

    ASSERT_LOCKED(ps);
    for (int i = 0; i < variables->slices_count; i++)
        if (variables->slices[i].table != NULL)
            key_table_sort(variables->slices[i].table);
}

struct status variables_check_tables(const struct ps *ps)
{
    const struct variables *variables = ps->variables;

    for (int i = 0; i < variables->slices_count; i++)
        if (variables->slices[i].table != NULL)
            TRY(status_in(key_table_check(variables->slices[i].table), "ps %u, piece %d",
                          ps->options.index, variables->slices[i].id));
    return status_ok();
}

/* ---- which slices ---- */

int variables_find_from(const struct variables *variables, uint32_t id)
{
    int low = 0, high = variables->slices_count;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((uint32_t)variables->slices[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct slice *variables_find(const struct variables *variables, uint32_t id)
{
    int i = variables_find_from(variables, id);

    return i < variables->slices_count && (uint32_t)variables->slices[i].id == id
               ? &variables->slices[i]
               : NULL;
}

size_t variables_gradient_bytes(const struct variables *variables, struct piece_range range)
{
    size_t bytes = 0;

    if (range.first == 0 && range.end == PIECES_END)
        return variables->gradient_bytes;
    for (int i = variables_find_from(variables, range.first);
         i < variables->slices_count && (uint32_t)variables->slices[i].id < range.end; i++)
        if (slice_is_pushed(&variables->slices[i]) && variables->slices[i].row_bytes == 0)
            bytes += variables->slices[i].size_bytes;
    return bytes;
}

struct status piece_range_read(uint32_t first, uint32_t end, struct piece_range *out)
{
    *out = (struct piece_range){ first, end != 0 ? end : PIECES_END };
    if (first >= out->end)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "pieces from %u up to, but not including, %u: must be at least one",
                            first, end);
    return status_ok();
}
