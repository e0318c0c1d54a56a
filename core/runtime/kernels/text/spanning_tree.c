/*
 * spanning_tree: TensorFlow Text's MaxSpanningTree, the tree of a directed graph whose arcs have
 * the greatest sum, by the algorithm of Chu, Liu and Edmonds: each node takes its best arc; the
 * nodes of a cycle become one node, whose arcs lose what the arc costs that they replace; at the
 * end, the cycles are opened where an arc comes into them.
 *
 * Node 0 is an artificial root, from which an arc leads to each node that may be a root. Original
 * node i is node i + 1; nodes from count + 1 on are cycles.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

#define NODES_MAX 32767 /* as in TensorFlow Text */
#define NO_ARC    (-1)

struct tree_arc {
    double score;
    int32_t source, target; /* original nodes, also of an arc into a cycle. source NO_ARC: none */
};

struct tree_search {
    struct kernel_context *k;
    enum dtype dtype; /* of the scores: sums are rounded as sums of that type */
    bool forest;      /* may have more than one root */
    int32_t count;    /* of original nodes */
    int32_t width;    /* count + 1: of arcs to a node */
    int32_t nodes;    /* count + 1 and the cycles so far */
    struct tensor arcs_of, best_of, numbers_of; /* scratch */
    struct tree_arc *arcs;                      /* [nodes, width]: to a node, by source */
    const struct tree_arc **best;               /* [nodes] to each node */
    int32_t *cycle;                             /* [nodes] of a cycle that is being closed */
    int32_t *cycle_of; /* [nodes] the cycle that a node went into; 0: none, -1: opened */
    /* Disjoint sets: the outermost cycle, what arcs link, and what is in one cycle. */
    int32_t *top, *linked, *within;
};

static double rounded(const struct tree_search *s, double sum)
{
    if (s->dtype == DT_FLOAT)
        return (double)(float)sum;
    return s->dtype == DT_INT32 ? (double)(int32_t)(uint32_t)(int64_t)sum : sum;
}

static int32_t find_set(int32_t *sets, int32_t node)
{
    while (sets[node] != node) {
        sets[node] = sets[sets[node]];
        node = sets[node];
    }
    return node;
}

static struct tree_arc *arcs_to(const struct tree_search *s, int32_t node)
{
    return &s->arcs[(int64_t)node * s->width];
}

/* ---- the graph ---- */

static struct status make_room(struct tree_search *s)
{
    int64_t nodes = 2 * (int64_t)s->count;
    nodes = nodes > s->width ? nodes : s->width;
    TRY(kernel_scratch_reserve(s->k, &s->arcs_of, 0, nodes * s->width, sizeof *s->arcs));
    TRY(kernel_scratch_reserve(s->k, &s->best_of, 0, nodes, sizeof *s->best));
    TRY(kernel_scratch_reserve(s->k, &s->numbers_of, 0, 5 * nodes, sizeof(int32_t)));
    s->arcs = s->arcs_of.data;
    s->best = s->best_of.data;
    s->cycle_of = s->numbers_of.data;
    s->top = s->cycle_of + nodes;
    s->linked = s->top + nodes;
    s->within = s->linked + nodes;
    s->cycle = s->within + nodes;
    for (int32_t i = 0; i < nodes; i++) {
        s->cycle_of[i] = 0;
        s->top[i] = s->linked[i] = s->within[i] = i;
    }
    return status_ok();
}

/* scores[target, source]; the diagonal has the scores of roots. A score that is not finite makes
 * no arc. */
static void add_arcs(struct tree_search *s, const struct tensor *scores, int64_t first,
                     int64_t stride)
{
    for (int32_t i = 0; i < s->width; i++)
        arcs_to(s, 0)[i].source = NO_ARC;
    for (int32_t target = 0; target < s->count; target++) {
        struct tree_arc *arcs = arcs_to(s, target + 1);
        arcs[0].source = arcs[target + 1].source = NO_ARC;
        for (int32_t source = 0; source < s->count; source++) {
            double score = real_element(scores, first + target * stride + source);
            int32_t from = source == target ? 0 : source + 1;
            arcs[from] = (struct tree_arc){ score, isfinite(score) ? from : NO_ARC, target + 1 };
        }
    }
}

/* Makes roots so expensive that any tree with one is better than all with two. */
static void penalize_roots(struct tree_search *s)
{
    double most = -INFINITY, least = INFINITY;
    for (int64_t i = s->width; i < (int64_t)s->width * s->width; i++)
        if (s->arcs[i].source != NO_ARC) {
            most = s->arcs[i].score > most ? s->arcs[i].score : most;
            least = s->arcs[i].score < least ? s->arcs[i].score : least;
        }
    if (most < least)
        return;
    double range = rounded(s, s->width * rounded(s, most - least));
    double penalty = rounded(s, 1 + range);
    for (int32_t target = 1; target < s->width; target++)
        arcs_to(s, target)->score = rounded(s, arcs_to(s, target)->score - penalty);
}

/* ---- closing cycles ---- */

static const struct tree_arc *find_best(const struct tree_search *s, int32_t node)
{
    const struct tree_arc *arcs = arcs_to(s, node), *best = NULL;
    for (int32_t i = 0; i < s->width; i++)
        if (arcs[i].source != NO_ARC && isfinite(arcs[i].score) &&
            (best == NULL || arcs[i].score >= best->score))
            best = &arcs[i];
    return best;
}

/* Offers the arcs to a node of a cycle as arcs to the cycle. */
static void merge_arcs(struct tree_search *s, int32_t node, int32_t cycle)
{
    const struct tree_arc *from = arcs_to(s, node);
    struct tree_arc *to = arcs_to(s, cycle);
    double replaced = s->best[node]->score;
    for (int32_t i = 0; i < s->width; i++) {
        if (from[i].source == NO_ARC ||
            find_set(s->within, from[i].source) == find_set(s->within, from[i].target))
            continue;
        double score = rounded(s, from[i].score - replaced);
        if (to[i].source == NO_ARC || to[i].score < score)
            to[i] = (struct tree_arc){ score, from[i].source, from[i].target };
    }
}

/* Makes one node of the cycle that the best arcs close at `node`. */
static void close_cycle(struct tree_search *s, int32_t node)
{
    int32_t cycle = s->nodes++, size = 0;
    for (int32_t i = 0; i < s->width; i++)
        arcs_to(s, cycle)[i].source = NO_ARC;
    for (int32_t at = node; at != cycle;) { /* top[node] becomes `cycle` at once */
        const struct tree_arc *arc = s->best[at];
        int32_t before = find_set(s->top, arc->source);
        s->within[find_set(s->within, arc->source)] = find_set(s->within, arc->target);
        s->top[at] = s->cycle_of[at] = cycle;
        s->cycle[size++] = at;
        at = before;
    }
    for (int32_t i = 0; i < size; i++)
        merge_arcs(s, s->cycle[i], cycle);
}

static struct status close_cycles(struct tree_search *s)
{
    for (int32_t node = 1; node < s->nodes; node++) {
        const struct tree_arc *arc = s->best[node] = find_best(s, node);
        if (arc == NULL)
            return kernel_error(s->k, STATUS_FAILED_PRECONDITION, "Infeasible digraph");
        if (node % 64 == 0)
            TRY(kernel_check(s->k));
        if (arc->source == 0)
            continue;
        int32_t from = find_set(s->linked, arc->source), to = find_set(s->linked, arc->target);
        if (from == to)
            close_cycle(s, node);
        else
            s->linked[from] = to;
    }
    return status_ok();
}

/* ---- opening cycles ---- */

/* The arc to a cycle replaces the one to its target, and opens all cycles around that target. */
static void open_cycles(struct tree_search *s)
{
    for (int32_t cycle = s->nodes - 1; cycle >= s->width; cycle--) {
        const struct tree_arc *arc = s->best[cycle];
        if (s->cycle_of[cycle] < 0)
            continue;
        s->best[arc->target] = arc;
        for (int32_t node = s->cycle_of[arc->target]; node > 0 && node != cycle;) {
            int32_t around = s->cycle_of[node];
            s->cycle_of[node] = -1;
            node = around;
        }
    }
}

static struct status write_sources(const struct tree_search *s, int32_t *sources)
{
    int32_t roots = 0;
    for (int32_t i = 0; i < s->count; i++) {
        int32_t source = s->best[i + 1]->source;
        roots += source == 0;
        sources[i] = source == 0 ? i : source - 1;
    }
    return s->forest || roots == 1
               ? status_ok()
               : kernel_error(s->k, STATUS_FAILED_PRECONDITION, "Infeasible digraph");
}

/* ---- the op ---- */

static void set_score(struct tensor *out, int64_t i, double score)
{
    if (out->dtype == DT_FLOAT)
        tensor_floats_mut(out)[i] = (float)score;
    else if (out->dtype == DT_DOUBLE)
        tensor_doubles_mut(out)[i] = score;
    else
        tensor_int32s_mut(out)[i] = (int32_t)score;
}

static struct status find_tree(struct tree_search *s, int64_t problem, struct tensor *sums,
                               struct tensor *sources)
{
    const struct tensor *scores = kernel_input(s->k, 1);
    int64_t stride = scores->shape.dims[1], first = problem * stride * stride;
    int32_t *to = tensor_int32s_mut(sources) + problem * stride;
    double sum = 0;
    s->count = tensor_int32s(kernel_input(s->k, 0))[problem];
    if (s->count > stride)
        return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                            "number of nodes in digraph %lld overflows input dimension: got %d but "
                            "expected <= %lld",
                            (long long)problem, s->count, (long long)stride);
    if (s->count <= 0 || s->count >= NODES_MAX)
        return kernel_error(s->k, STATUS_INVALID_ARGUMENT, "%s: %d",
                            s->count <= 0 ? "Non-positive number of nodes" : "Too many nodes",
                            s->count);
    s->width = s->nodes = s->count + 1;
    TRY(make_room(s));
    add_arcs(s, scores, first, stride);
    if (!s->forest)
        penalize_roots(s);
    TRY(close_cycles(s));
    open_cycles(s);
    TRY(write_sources(s, to));
    for (int32_t i = 0; i < s->count; i++)
        sum = rounded(s, sum + real_element(scores, first + i * stride + to[i]));
    set_score(sums, problem, sum);
    for (int64_t i = s->count; i < stride; i++)
        to[i] = -1;
    return status_ok();
}

static struct status check_graphs(struct kernel_context *k)
{
    const struct tensor *counts = kernel_input(k, 0), *scores = kernel_input(k, 1);
    TRY(kernel_vector(k, 0, "num_nodes"));
    if (scores->shape.rank != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "scores must be rank 3, got shape %s",
                            shape_text(&scores->shape));
    if (counts->size != scores->shape.dims[0])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "num_nodes misshapen: got %s but expected [%lld]",
                            shape_text(&counts->shape), (long long)scores->shape.dims[0]);
    if (scores->shape.dims[1] != scores->shape.dims[2])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "scores misshapen: got %s, whose last dimensions differ",
                            shape_text(&scores->shape));
    return status_ok();
}

static struct status tree_compute(struct kernel_context *k)
{
    struct tree_search s = { .k = k, .dtype = kernel_input(k, 1)->dtype };
    struct status status = status_ok();
    struct tensor *sums, *sources;
    TRY(check_graphs(k));
    TRY(node_attr_bool(kernel_node(k), "forest", &s.forest));
    struct shape shape = shape_of(kernel_input(k, 0)->size, kernel_input(k, 1)->shape.dims[1]);
    TRY(kernel_output(k, 0, &kernel_input(k, 0)->shape, &sums));
    TRY(kernel_output(k, 1, &shape, &sources));
    for (int64_t i = 0; i < sums->size && status_is_ok(status); i++)
        status = find_tree(&s, i, sums, sources);
    tensor_release(&s.arcs_of);
    tensor_release(&s.best_of);
    tensor_release(&s.numbers_of);
    return status;
}

static const struct kernel rows[] = {
    { "MaxSpanningTree", DTYPES(DT_INT32) | DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE),
      .compute = tree_compute },
};
const struct kernel_table kernels_spanning_tree = { rows, COUNT(rows) };
