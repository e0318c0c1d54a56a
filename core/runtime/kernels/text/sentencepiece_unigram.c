/*
 * sentencepiece_unigram: divides a text into the pieces whose scores have the largest sum, or, to
 * sample, into pieces at random, with probabilities that follow from the scores.
 */
#include <math.h>

#include "base/utf8.h"
#include "runtime/kernels/text/sentencepiece_text.h"

#define UNKNOWN_PENALTY 10.0f

/* The best way to divide the text up to here. */
struct best_way {
    float score;
    int32_t begin; /* of the last piece; -1: no piece ends here yet */
    int32_t id;
};

/* A piece of the text; those that end at one place are a list. */
struct way_edge {
    double weight; /* the logarithm of its probability, with all that comes before */
    int64_t next;  /* -1: the last */
    int32_t begin, id;
};

/* The action for a piece that text[begin .. begin + size) is. */
typedef struct status take_piece(struct piece_work *work, void *argument, int64_t begin,
                                 int64_t size, int32_t id);

/* Calls `take` for all pieces that begin here, and for the unknown one if no piece is exactly a
 * character. */
static struct status pieces_at(struct piece_work *work, int64_t begin, int64_t character,
                               take_piece *take, void *argument)
{
    const struct sentencepiece_model *model = work->model;
    const char *text = work->normal.memory.data;
    bool has_character = false;
    uint32_t node = 0;
    for (int64_t end = begin; end < work->normal.count;) {
        node = piece_child(model, node, text[end++]);
        if (node == 0)
            break;
        int32_t id = model->nodes[node].id;
        if (id < 0 || model->pieces[id].kind == PIECE_UNUSED)
            continue;
        TRY(take(work, argument, begin, end - begin, id));
        has_character |= end - begin == character;
    }
    return has_character ? status_ok() : take(work, argument, begin, character, model->unknown);
}

static struct status all_pieces(struct piece_work *work, take_piece *take, void *argument)
{
    const char *text = work->normal.memory.data;
    for (int64_t at = 0, turn = 1; at < work->normal.count; turn++) {
        int64_t size = (int64_t)utf8_stated_size(text + at, (size_t)(work->normal.count - at));
        TRY(pieces_at(work, at, size, take, argument));
        at += size;
        if (turn % 16384 == 0)
            TRY(kernel_check(work->k));
    }
    return status_ok();
}

/* A user-defined piece scores better than all ways to divide it. Sums are of double where
 * SentencePiece's are, as another rounding gives another division. */
static double score_of(const struct sentencepiece_model *model, int32_t id, int64_t size)
{
    if (id == model->unknown)
        return model->score_min - UNKNOWN_PENALTY;
    if (model->pieces[id].kind == PIECE_USER_DEFINED)
        return (double)((float)size * model->score_max) - 0.1;
    return model->pieces[id].score;
}

static struct status take_best(struct piece_work *work, void *argument, int64_t begin, int64_t size,
                               int32_t id)
{
    struct best_way *best = argument, *to = &best[begin + size];
    double score = score_of(work->model, id, size) + (double)best[begin].score;
    if (work->model->pieces[id].kind != PIECE_USER_DEFINED)
        score = (double)(float)score;
    if (to->begin < 0 || score > (double)to->score)
        *to = (struct best_way){ (float)score, (int32_t)begin, id };
    return status_ok();
}

static void turn_around(struct piece_array *found)
{
    struct piece_part *parts = found->memory.data;
    for (int64_t i = 0, j = found->count - 1; i < j; i++, j--) {
        struct piece_part part = parts[i];
        parts[i] = parts[j];
        parts[j] = part;
    }
}

static struct status divide_best(struct piece_work *work)
{
    work->a.count = 0;
    TRY(piece_room(work, &work->a, work->normal.count + 1, sizeof(struct best_way)));
    struct best_way *best = work->a.memory.data;
    for (int64_t i = 0; i <= work->normal.count; i++)
        best[i] = (struct best_way){ 0, -1, -1 };
    TRY(all_pieces(work, take_best, best));
    for (int64_t end = work->normal.count; end > 0; end = best[end].begin)
        TRY(piece_found(work, best[end].begin, end - best[end].begin, best[end].id));
    return status_ok();
}

/* ---- at random ---- */

/* The best way that ends at a position. */
struct way_end {
    double weight; /* the logarithm of the sum of the weights of its edges */
    int64_t first; /* edge; -1: none */
};

static double log_sum(double a, double b)
{
    double most = a > b ? a : b, least = a > b ? b : a;
    return most + log1p(exp(least - most));
}

static struct status take_edge(struct piece_work *work, void *argument, int64_t begin, int64_t size,
                               int32_t id)
{
    const struct piece_sampling *sampling = argument;
    struct way_end *endings = work->a.memory.data, *to = &endings[begin + size];
    double weight =
        endings[begin].weight + (double)sampling->alpha * score_of(work->model, id, size);
    TRY(piece_room(work, &work->b, 1, sizeof(struct way_edge)));
    ((struct way_edge *)work->b.memory.data)[work->b.count] =
        (struct way_edge){ weight, to->first, (int32_t)begin, id };
    to->weight = to->first < 0 ? weight : log_sum(to->weight, weight);
    to->first = work->b.count++;
    return status_ok();
}

/* One of the edges of an ending. */
static const struct way_edge *choose(const struct piece_work *work, const struct way_end *ending,
                                     struct piece_sampling *sampling)
{
    const struct way_edge *edges = work->b.memory.data, *edge = &edges[ending->first];
    double rest = random_double(&sampling->random);
    while (edge->next >= 0) {
        rest -= exp(edge->weight - ending->weight);
        if (rest < 0)
            break;
        edge = &edges[edge->next];
    }
    return edge;
}

static struct status divide_at_random(struct piece_work *work, struct piece_sampling *sampling)
{
    work->a.count = work->b.count = 0;
    TRY(piece_room(work, &work->a, work->normal.count + 1, sizeof(struct way_end)));
    struct way_end *endings = work->a.memory.data;
    for (int64_t i = 0; i <= work->normal.count; i++)
        endings[i] = (struct way_end){ 0, -1 };
    TRY(all_pieces(work, take_edge, sampling));
    for (int64_t end = work->normal.count; end > 0;) {
        const struct way_edge *edge = choose(work, &endings[end], sampling);
        TRY(piece_found(work, edge->begin, end - edge->begin, edge->id));
        end = edge->begin;
    }
    return status_ok();
}

/* ---- the best ones ---- */

/* So many ways may wait, as in SentencePiece; when there are more, only the best ones stay. */
#define WAITING_MAX  10000
#define WAITING_KEPT 512

/* A way to divide what is after a place of the text. */
struct text_way {
    double whole;  /* its score, with that of the best way up to the place */
    double score;  /* of its pieces */
    int64_t edge;  /* its first piece; -1: it has none */
    int64_t after; /* the way without that piece; -1: none */
};

static struct status take_best_edge(struct piece_work *work, void *argument, int64_t begin,
                                    int64_t size, int32_t id)
{
    struct way_end *endings = argument, *to = &endings[begin + size];
    double weight = (double)((float)endings[begin].weight + (float)score_of(work->model, id, size));
    TRY(piece_room(work, &work->b, 1, sizeof(struct way_edge)));
    ((struct way_edge *)work->b.memory.data)[work->b.count] =
        (struct way_edge){ weight, to->first, (int32_t)begin, id };
    if (to->first < 0 || weight > to->weight)
        to->weight = weight;
    to->first = work->b.count++;
    return status_ok();
}

static const struct text_way *ways_of(const struct piece_work *work)
{
    return work->c.memory.data;
}

/* The heap of ways that wait is in work->d: the best one is first. */
static void sift_down(struct piece_work *work, int64_t at, int64_t way)
{
    const struct text_way *ways = ways_of(work);
    int64_t *heap = work->d.memory.data;
    for (int64_t child; (child = 2 * at + 1) < work->d.count; at = child) {
        if (child + 1 < work->d.count && ways[heap[child + 1]].whole > ways[heap[child]].whole)
            child++;
        if (ways[heap[child]].whole <= ways[way].whole)
            break;
        heap[at] = heap[child];
    }
    heap[at] = way;
}

static int64_t pop_way(struct piece_work *work)
{
    const int64_t *heap = work->d.memory.data;
    int64_t best = heap[0], last = heap[--work->d.count];
    if (work->d.count > 0)
        sift_down(work, 0, last);
    return best;
}

static struct status push_way(struct piece_work *work, struct text_way way)
{
    TRY(piece_room(work, &work->c, 1, sizeof way));
    TRY(piece_room(work, &work->d, 1, sizeof(int64_t)));
    ((struct text_way *)work->c.memory.data)[work->c.count] = way;
    int64_t *heap = work->d.memory.data, at = work->d.count++;
    for (; at > 0 && ways_of(work)[heap[(at - 1) / 2]].whole < way.whole; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = work->c.count++;
    return work->c.count % 16384 == 0 ? kernel_check(work->k) : status_ok();
}

/* The best ways, in order, are a heap as well. */
static void drop_worst(struct piece_work *work)
{
    int64_t kept[WAITING_KEPT];
    int count = work->ways_max < WAITING_KEPT / 10 ? 10 * work->ways_max : WAITING_KEPT;
    for (int i = 0; i < count; i++)
        kept[i] = pop_way(work);
    memcpy(work->d.memory.data, kept, (size_t)count * sizeof *kept);
    work->d.count = count;
}

struct status unigram_begin_ways(struct piece_work *work, int count_max)
{
    work->a.count = work->b.count = work->c.count = work->d.count = 0;
    work->ways_max = count_max;
    TRY(piece_room(work, &work->a, work->normal.count + 1, sizeof(struct way_end)));
    struct way_end *endings = work->a.memory.data;
    for (int64_t i = 0; i <= work->normal.count; i++)
        endings[i] = (struct way_end){ 0, -1 };
    TRY(all_pieces(work, take_best_edge, endings));
    return push_way(work, (struct text_way){ endings[work->normal.count].weight, 0, -1, -1 });
}

static int64_t begin_of(const struct piece_work *work, const struct text_way *way)
{
    const struct way_edge *edges = work->b.memory.data;
    return way->edge < 0 ? work->normal.count : edges[way->edge].begin;
}

/* A search from the end of the text (A*), that knows how good the best way up to each place is. */
struct status unigram_next_way(struct piece_work *work, int64_t *way)
{
    const struct way_edge *edges = work->b.memory.data;
    const struct way_end *endings = work->a.memory.data;
    for (*way = -1; work->d.count > 0;) {
        int64_t best = pop_way(work);
        struct text_way from = ways_of(work)[best];
        int64_t end = begin_of(work, &from);
        if (end == 0) {
            *way = best;
            return status_ok();
        }
        for (int64_t edge = endings[end].first; edge >= 0; edge = edges[edge].next) {
            float score = (float)score_of(work->model, edges[edge].id, end - edges[edge].begin);
            struct text_way next = { (double)(float)(edges[edge].weight + from.score),
                                     (double)(float)((double)score + from.score), edge, best };
            TRY(push_way(work, next));
        }
        if (work->d.count > WAITING_MAX)
            drop_worst(work);
    }
    return status_ok();
}

struct status unigram_take_way(struct piece_work *work, int64_t way)
{
    const struct way_edge *edges = work->b.memory.data;
    work->found.count = 0;
    for (const struct text_way *at = &ways_of(work)[way]; at->edge >= 0;) {
        const struct text_way *after = &ways_of(work)[at->after];
        int64_t begin = edges[at->edge].begin;
        TRY(piece_found(work, begin, begin_of(work, after) - begin, edges[at->edge].id));
        at = after;
    }
    return status_ok();
}

/* One of the best ways, at random by their scores. */
static struct status divide_among_best(struct piece_work *work, struct piece_sampling *sampling)
{
    double total = 0, best = 0;
    int64_t way, chosen = -1;
    TRY(unigram_begin_ways(work, sampling->nbest));
    for (int i = 0; i < sampling->nbest; i++) {
        TRY(unigram_next_way(work, &way));
        if (way < 0)
            break;
        best = i == 0 ? ways_of(work)[way].whole : best;
        double weight = exp((double)sampling->alpha * (ways_of(work)[way].whole - best));
        total += weight;
        if (chosen < 0 || random_double(&sampling->random) * total < weight)
            chosen = way;
    }
    return unigram_take_way(work, chosen);
}

struct status divide_unigram(struct piece_work *work, struct piece_sampling *sampling)
{
    if (sampling != NULL && sampling->nbest > 1)
        return divide_among_best(work, sampling);
    TRY(sampling == NULL ? divide_best(work) : divide_at_random(work, sampling));
    turn_around(&work->found);
    return status_ok();
}
