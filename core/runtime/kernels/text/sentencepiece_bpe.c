/*
 * sentencepiece_bpe: divides a text by merging pairs of neighbours into pieces, best score first
 * (byte pair encoding). To sample, it leaves out merges at random.
 */
#include "base/utf8.h"
#include "runtime/kernels/text/sentencepiece_text.h"

struct symbol {
    uint32_t begin, size; /* size 0: it was merged into another */
    int32_t before, behind;
    bool is_whole; /* a user-defined piece: it is never merged */
};

struct pair {
    float score;
    int32_t left, right;
    uint32_t size; /* of both, to find out whether they have changed */
};

/* An unused piece was merged from text[.. cut) and the rest. */
struct unused_cut {
    uint32_t size;
};

struct merging {
    struct piece_work *work;
    struct piece_sampling *sampling;
    struct symbol *symbols;
    int64_t count;
};

/* The better score comes first, then what is further left. */
static bool comes_before(const struct pair *a, const struct pair *b)
{
    return a->score > b->score || (a->score == b->score && a->left < b->left);
}

static struct status push(struct piece_work *work, struct pair pair)
{
    TRY(piece_room(work, &work->b, 1, sizeof pair));
    struct pair *heap = work->b.memory.data;
    int64_t at = work->b.count++;
    while (at > 0 && comes_before(&pair, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = pair;
    return status_ok();
}

static struct pair pop(struct piece_array *pairs)
{
    struct pair *heap = pairs->memory.data, top = heap[0], last = heap[--pairs->count];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < pairs->count; at = child) {
        if (child + 1 < pairs->count && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

static struct bytes text_of(const struct piece_work *work, uint32_t begin, uint32_t size)
{
    return (struct bytes){ (const char *)work->normal.memory.data + begin, size };
}

static struct status split_symbols(struct merging *m)
{
    struct piece_work *work = m->work;
    const char *text = work->normal.memory.data;
    work->a.count = 0;
    TRY(piece_room(work, &work->a, work->normal.count, sizeof *m->symbols));
    m->symbols = work->a.memory.data;
    for (int64_t at = 0; at < work->normal.count;) {
        size_t rest = (size_t)(work->normal.count - at);
        size_t whole = user_defined_size(work->model, (struct bytes){ text + at, rest });
        size_t size = whole > 0 ? whole : utf8_stated_size(text + at, rest);
        m->symbols[m->count] = (struct symbol){ (uint32_t)at, (uint32_t)size, (int32_t)m->count - 1,
                                                (int32_t)m->count + 1, whole > 0 };
        m->count++;
        at += (int64_t)size;
    }
    if (m->count > 0)
        m->symbols[m->count - 1].behind = -1;
    return status_ok();
}

static struct status consider(struct merging *m, int32_t left, int32_t right)
{
    const struct sentencepiece_model *model = m->work->model;
    if (left < 0 || right < 0 || m->symbols[left].is_whole || m->symbols[right].is_whole)
        return status_ok();
    uint32_t size = m->symbols[left].size + m->symbols[right].size;
    uint32_t node = piece_node_of(model, text_of(m->work, m->symbols[left].begin, size));
    int32_t id = model->nodes[node].id;
    if (id < 0)
        return status_ok();
    if (model->pieces[id].kind == PIECE_UNUSED)
        ((struct unused_cut *)m->work->c.memory.data)[id].size = m->symbols[left].size;
    return push(m->work, (struct pair){ model->pieces[id].score, left, right, size });
}

/* Leaves out a merge with probability alpha. */
static bool skips(struct piece_sampling *sampling)
{
    return sampling != NULL && sampling->alpha > 0 &&
           (sampling->alpha >= 1 || random_double(&sampling->random) < (double)sampling->alpha);
}

static struct status merge(struct merging *m)
{
    for (int64_t turn = 1; m->work->b.count > 0; turn++) {
        struct pair pair = pop(&m->work->b);
        struct symbol *left = &m->symbols[pair.left], *right = &m->symbols[pair.right];
        if (turn % 16384 == 0)
            TRY(kernel_check(m->work->k));
        if (left->size == 0 || right->size == 0 || left->size + right->size != pair.size ||
            skips(m->sampling))
            continue;
        left->size = pair.size;
        left->behind = right->behind;
        if (right->behind >= 0)
            m->symbols[right->behind].before = pair.left;
        right->size = 0;
        TRY(consider(m, left->before, pair.left));
        TRY(consider(m, pair.left, left->behind));
    }
    return status_ok();
}

/* An unused piece is taken apart into what was merged to it. A piece is shorter than
 * PIECE_SIZE_MAX, and so is the depth of this. */
static struct status add_part(struct piece_work *work, uint32_t begin, uint32_t size)
{
    int32_t id = piece_id(work->model, text_of(work, begin, size));
    if (work->model->pieces[id].kind == PIECE_UNUSED) {
        uint32_t cut = ((const struct unused_cut *)work->c.memory.data)[id].size;
        if (cut > 0 && cut < size) {
            TRY(add_part(work, begin, cut));
            return add_part(work, begin + cut, size - cut);
        }
    }
    return piece_found(work, begin, size, id);
}

static struct status prepare_cuts(struct piece_work *work)
{
    int64_t count = work->model->has_unused ? work->model->pieces_count : 0;
    work->c.count = 0;
    TRY(piece_room(work, &work->c, count, sizeof(struct unused_cut)));
    if (count > 0)
        memset(work->c.memory.data, 0, (size_t)count * sizeof(struct unused_cut));
    return status_ok();
}

struct status divide_bpe(struct piece_work *work, struct piece_sampling *sampling)
{
    struct merging m = { .work = work, .sampling = sampling };
    work->b.count = 0;
    TRY(prepare_cuts(work));
    TRY(split_symbols(&m));
    for (int64_t i = 1; i < m.count; i++)
        TRY(consider(&m, (int32_t)i - 1, (int32_t)i));
    TRY(merge(&m));
    for (int64_t i = m.count > 0 ? 0 : -1; i >= 0; i = m.symbols[i].behind)
        TRY(add_part(work, m.symbols[i].begin, m.symbols[i].size));
    return status_ok();
}
