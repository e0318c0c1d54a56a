#include "server/inference/explain.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/text_print.h"
#include "graph/graph.h"
#include "server/inference/request_metrics.h"

/* All runs of one node. */
struct explained_op {
    const struct node *node; /* also the key in the map */
    int64_t took_ns;
    uint64_t count;
};

struct explain {
    struct run_profile profile;
    struct arena *arena;
    struct map ops; /* of struct explained_op, by the address of the node */
};

static void add_step(struct run_profile *profile, const struct node *node, int64_t took_ns)
{
    struct explain *explain = CONTAINER_OF(profile, struct explain, profile);
    struct bytes key = { (const char *)&node, sizeof node };
    struct explained_op *op = map_get(&explain->ops, key);
    if (op == NULL) {
        op = ARENA_NEW(explain->arena, struct explained_op);
        op->node = node;
        map_put(&explain->ops, (struct bytes){ (const char *)&op->node, sizeof op->node }, op);
    }
    op->took_ns += took_ns;
    op->count++;
}

struct explain *explain_begin(struct served_request *request)
{
    struct explain *explain = ARENA_NEW(request->arena, struct explain);
    explain->profile.step = add_step;
    explain->arena = request->arena;
    explain->ops.arena = request->arena;
    request->call.profile = &explain->profile;
    return explain;
}

bool explain_is_requested(const char *value)
{
    return value != NULL && (strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0);
}

static int compare_ops(const void *a, const void *b)
{
    const struct explained_op *x = *(struct explained_op *const *)a;
    const struct explained_op *y = *(struct explained_op *const *)b;
    return (x->took_ns < y->took_ns) - (x->took_ns > y->took_ns);
}

/* `indent` NULL: on one line. */
static void new_line(const char *indent, const char *more, struct buffer *out)
{
    if (indent == NULL)
        return;
    buffer_append_char(out, '\n');
    buffer_append_text(out, indent);
    buffer_append_text(out, more);
}

static double us(int64_t ns)
{
    return ns > 0 ? (double)ns / 1000 : 0;
}

static void print_stages(const struct served_request *request, struct buffer *out)
{
    struct request_stages stages = request_stages_of(request);
    buffer_printf(out,
                  "\"stages_us\": {\"queue\": %.1f, \"parse\": %.1f, \"run\": %.1f, \"print\": "
                  "%.1f}",
                  us(stages.queue_ns), us(stages.parse_ns), us(stages.run_ns), us(stages.print_ns));
}

static void print_ops(const struct explain *explain, const char *indent, size_t ops_max,
                      struct buffer *out)
{
    const struct map *map = &explain->ops;
    struct explained_op **ops = ARENA_ARRAY(explain->arena, struct explained_op *, map->count + 1);
    for (size_t i = 0; i < map->count; i++)
        ops[i] = map->entries[i].value;
    qsort(ops, map->count, sizeof *ops, compare_ops);
    size_t count = map->count < ops_max ? map->count : ops_max;
    buffer_append_text(out, "\"ops\": [");
    for (size_t i = 0; i < count; i++) {
        new_line(indent, "        ", out);
        buffer_append_text(out, "{\"node\": ");
        json_print_ascii(out, bytes_of(ops[i]->node->name));
        buffer_append_text(out, ", \"op\": ");
        json_print_ascii(out, bytes_of(ops[i]->node->op_name));
        buffer_printf(out, ", \"count\": %llu, \"us\": %.1f}%s", (unsigned long long)ops[i]->count,
                      us(ops[i]->took_ns), i + 1 < count ? "," : "");
    }
    new_line(indent, "    ", out);
    buffer_append_char(out, ']');
    if (count < map->count)
        buffer_printf(out, ", \"ops_left_out\": %zu", map->count - count);
}

void explain_print(const struct explain *explain, const struct served_request *request,
                   const char *indent, size_t ops_max, struct buffer *out)
{
    buffer_append_char(out, '{');
    new_line(indent, "    ", out);
    print_stages(request, out);
    buffer_append_text(out, indent != NULL ? "," : ", ");
    new_line(indent, "    ", out);
    print_ops(explain, indent, ops_max, out);
    new_line(indent, "", out);
    buffer_append_char(out, '}');
}
