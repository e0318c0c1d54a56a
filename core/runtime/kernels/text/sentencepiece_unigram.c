/*
 * sentencepiece_unigram: divides a text into the pieces whose scores have the largest sum, or, to
 * sample, into pieces at random, with probabilities that follow from the scores.
 */
#include <math.h>

#include "base/utf8.h"
#include "runtime/kernels/text/sentencepiece_text.h"

#define UNKNOWN_PENALTY 10.0f

/* The best segmentation of the text up to here (Viterbi). */
struct best_segmentation {
    float score;
    int32_t begin; /* of the last piece; -1: no piece ends here yet */
    int32_t id;
};

/* A piece of the text, as an edge of the lattice; those that end at one place are a list. */
struct lattice_edge {
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

/* A user-defined piece scores better than all segmentations of it. Sums are of double where
 * SentencePiece's are, as another rounding gives another segmentation. */
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
    struct best_segmentation *best = argument, *to = &best[begin + size];
    double score = score_of(work->model, id, size) + (double)best[begin].score;
    if (work->model->pieces[id].kind != PIECE_USER_DEFINED)
        score = (double)(float)score;
    if (to->begin < 0 || score > (double)to->score)
        *to = (struct best_segmentation){ (float)score, (int32_t)begin, id };
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
    TRY(piece_room(work, &work->a, work->normal.count + 1, sizeof(struct best_segmentation)));
    struct best_segmentation *best = work->a.memory.data;
    for (int64_t i = 0; i <= work->normal.count; i++)
        best[i] = (struct best_segmentation){ 0, -1, -1 };
    TRY(all_pieces(work, take_best, best));
    for (int64_t end = work->normal.count; end > 0; end = best[end].begin)
        TRY(piece_found(work, best[end].begin, end - best[end].begin, best[end].id));
    return status_ok();
}

/* ---- at random ---- */

/* All segmentations up to a place of the text. */
struct lattice_node {
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
    struct lattice_node *nodes = work->a.memory.data, *to = &nodes[begin + size];
    double weight = nodes[begin].weight + (double)sampling->alpha * score_of(work->model, id, size);
    TRY(piece_room(work, &work->b, 1, sizeof(struct lattice_edge)));
    ((struct lattice_edge *)work->b.memory.data)[work->b.count] =
        (struct lattice_edge){ weight, to->first, (int32_t)begin, id };
    to->weight = to->first < 0 ? weight : log_sum(to->weight, weight);
    to->first = work->b.count++;
    return status_ok();
}

/* One of the edges that end at a node. */
static const struct lattice_edge *choose(const struct piece_work *work,
                                         const struct lattice_node *node,
                                         struct piece_sampling *sampling)
{
    const struct lattice_edge *edges = work->b.memory.data, *edge = &edges[node->first];
    double rest = random_double(&sampling->random);
    while (edge->next >= 0) {
        rest -= exp(edge->weight - node->weight);
        if (rest < 0)
            break;
        edge = &edges[edge->next];
    }
    return edge;
}

static struct status divide_at_random(struct piece_work *work, struct piece_sampling *sampling)
{
    work->a.count = work->b.count = 0;
    TRY(piece_room(work, &work->a, work->normal.count + 1, sizeof(struct lattice_node)));
    struct lattice_node *nodes = work->a.memory.data;
    for (int64_t i = 0; i <= work->normal.count; i++)
        nodes[i] = (struct lattice_node){ 0, -1 };
    TRY(all_pieces(work, take_edge, sampling));
    for (int64_t end = work->normal.count; end > 0;) {
        const struct lattice_edge *edge = choose(work, &nodes[end], sampling);
        TRY(piece_found(work, edge->begin, end - edge->begin, edge->id));
        end = edge->begin;
    }
    return status_ok();
}

/* ---- n-best ---- */

/* As in SentencePiece: when the agenda exceeds the limit, only the best hypotheses stay. */
#define AGENDA_MAX  10000
#define AGENDA_KEPT 512

/* A segmentation of the text after a place. */
struct hypothesis {
    double whole;  /* its score, with that of the best segmentation up to the place */
    double score;  /* of its pieces */
    int64_t edge;  /* its first piece; -1: it has none */
    int64_t after; /* the hypothesis without that piece; -1: none */
};

static struct status take_best_edge(struct piece_work *work, void *argument, int64_t begin,
                                    int64_t size, int32_t id)
{
    struct lattice_node *nodes = argument, *to = &nodes[begin + size];
    double weight = (double)((float)nodes[begin].weight + (float)score_of(work->model, id, size));
    TRY(piece_room(work, &work->b, 1, sizeof(struct lattice_edge)));
    ((struct lattice_edge *)work->b.memory.data)[work->b.count] =
        (struct lattice_edge){ weight, to->first, (int32_t)begin, id };
    if (to->first < 0 || weight > to->weight)
        to->weight = weight;
    to->first = work->b.count++;
    return status_ok();
}

static const struct hypothesis *hypotheses_of(const struct piece_work *work)
{
    return work->c.memory.data;
}

/* The agenda is a heap in work->d: the best hypothesis is first. */
static void sift_down(struct piece_work *work, int64_t at, int64_t hypothesis)
{
    const struct hypothesis *hypotheses = hypotheses_of(work);
    int64_t *heap = work->d.memory.data;
    for (int64_t child; (child = 2 * at + 1) < work->d.count; at = child) {
        if (child + 1 < work->d.count &&
            hypotheses[heap[child + 1]].whole > hypotheses[heap[child]].whole)
            child++;
        if (hypotheses[heap[child]].whole <= hypotheses[hypothesis].whole)
            break;
        heap[at] = heap[child];
    }
    heap[at] = hypothesis;
}

static int64_t pop_hypothesis(struct piece_work *work)
{
    const int64_t *heap = work->d.memory.data;
    int64_t best = heap[0], last = heap[--work->d.count];
    if (work->d.count > 0)
        sift_down(work, 0, last);
    return best;
}

static struct status push_hypothesis(struct piece_work *work, struct hypothesis hypothesis)
{
    TRY(piece_room(work, &work->c, 1, sizeof hypothesis));
    TRY(piece_room(work, &work->d, 1, sizeof(int64_t)));
    ((struct hypothesis *)work->c.memory.data)[work->c.count] = hypothesis;
    int64_t *heap = work->d.memory.data, at = work->d.count++;
    for (; at > 0 && hypotheses_of(work)[heap[(at - 1) / 2]].whole < hypothesis.whole;
         at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = work->c.count++;
    return work->c.count % 16384 == 0 ? kernel_check(work->k) : status_ok();
}

/* The best hypotheses, in order, are a heap as well. */
static void drop_worst(struct piece_work *work)
{
    int64_t kept[AGENDA_KEPT];
    int count = work->nbest_max < AGENDA_KEPT / 10 ? 10 * work->nbest_max : AGENDA_KEPT;
    for (int i = 0; i < count; i++)
        kept[i] = pop_hypothesis(work);
    memcpy(work->d.memory.data, kept, (size_t)count * sizeof *kept);
    work->d.count = count;
}

struct status unigram_begin_nbest(struct piece_work *work, int count_max)
{
    work->a.count = work->b.count = work->c.count = work->d.count = 0;
    work->nbest_max = count_max;
    TRY(piece_room(work, &work->a, work->normal.count + 1, sizeof(struct lattice_node)));
    struct lattice_node *nodes = work->a.memory.data;
    for (int64_t i = 0; i <= work->normal.count; i++)
        nodes[i] = (struct lattice_node){ 0, -1 };
    TRY(all_pieces(work, take_best_edge, nodes));
    return push_hypothesis(work,
                           (struct hypothesis){ nodes[work->normal.count].weight, 0, -1, -1 });
}

static int64_t begin_of(const struct piece_work *work, const struct hypothesis *hypothesis)
{
    const struct lattice_edge *edges = work->b.memory.data;
    return hypothesis->edge < 0 ? work->normal.count : edges[hypothesis->edge].begin;
}

/* A* from the end of the text: the heuristic is the score of the best segmentation of the rest. */
struct status unigram_next_best(struct piece_work *work, int64_t *hypothesis)
{
    const struct lattice_edge *edges = work->b.memory.data;
    const struct lattice_node *nodes = work->a.memory.data;
    for (*hypothesis = -1; work->d.count > 0;) {
        int64_t best = pop_hypothesis(work);
        struct hypothesis from = hypotheses_of(work)[best];
        int64_t end = begin_of(work, &from);
        if (end == 0) {
            *hypothesis = best;
            return status_ok();
        }
        for (int64_t edge = nodes[end].first; edge >= 0; edge = edges[edge].next) {
            float score = (float)score_of(work->model, edges[edge].id, end - edges[edge].begin);
            struct hypothesis next = { (double)(float)(edges[edge].weight + from.score),
                                       (double)(float)((double)score + from.score), edge, best };
            TRY(push_hypothesis(work, next));
        }
        if (work->d.count > AGENDA_MAX)
            drop_worst(work);
    }
    return status_ok();
}

struct status unigram_take(struct piece_work *work, int64_t hypothesis)
{
    const struct lattice_edge *edges = work->b.memory.data;
    work->found.count = 0;
    for (const struct hypothesis *at = &hypotheses_of(work)[hypothesis]; at->edge >= 0;) {
        const struct hypothesis *after = &hypotheses_of(work)[at->after];
        int64_t begin = edges[at->edge].begin;
        TRY(piece_found(work, begin, begin_of(work, after) - begin, edges[at->edge].id));
        at = after;
    }
    return status_ok();
}

/* One of the n best, at random by their scores. */
static struct status divide_among_best(struct piece_work *work, struct piece_sampling *sampling)
{
    double total = 0, best = 0;
    int64_t hypothesis, chosen = -1;
    TRY(unigram_begin_nbest(work, sampling->nbest));
    for (int i = 0; i < sampling->nbest; i++) {
        TRY(unigram_next_best(work, &hypothesis));
        if (hypothesis < 0)
            break;
        best = i == 0 ? hypotheses_of(work)[hypothesis].whole : best;
        double weight =
            exp((double)sampling->alpha * (hypotheses_of(work)[hypothesis].whole - best));
        total += weight;
        if (chosen < 0 || random_double(&sampling->random) * total < weight)
            chosen = hypothesis;
    }
    return unigram_take(work, chosen);
}

struct status divide_unigram(struct piece_work *work, struct piece_sampling *sampling)
{
    if (sampling != NULL && sampling->nbest > 1)
        return divide_among_best(work, sampling);
    TRY(sampling == NULL ? divide_best(work) : divide_at_random(work, sampling));
    turn_around(&work->found);
    return status_ok();
}
