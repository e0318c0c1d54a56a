#include "savedmodel/run_once.h"

#include "base/arena.h"

struct status asset_feeds(const struct meta *meta, const char *directory, struct arena *arena,
                          struct run_feed *feeds)
{
    for (int i = 0; i < meta->assets_count; i++) {
        const struct meta_asset *asset = &meta->assets[i];
        TRY(status_in(graph_endpoint(meta->graph, asset->tensor_name, &feeds[i].endpoint),
                      "asset '%s'", asset->filename));
        feeds[i].text = bytes_of(arena_printf(arena, "%s/assets/%s", directory, asset->filename));
    }
    return status_ok();
}

struct status run_once(const struct graph *graph, struct resources *resources,
                       const struct work_limits *limits, const struct run_feed *feeds,
                       int feeds_count, struct node *const *targets, int targets_count)
{
    struct status status;
    struct arena *arena = arena_create(0);
    struct run *run = run_create(limits != NULL ? limits->memory_bytes : 0);
    struct plan *plan = NULL;
    struct endpoint *endpoints = ARENA_ARRAY(arena, struct endpoint, feeds_count + 1);
    struct tensor *values = ARENA_ARRAY(arena, struct tensor, feeds_count + 1);
    const struct shape scalar = shape_scalar();
    const struct plan_options options = {
        .no_fold = true, .no_fuse = true, .writes_variables = true, .limits = limits
    };

    run_set_limits(run, limits);
    for (int i = 0; i < feeds_count; i++) {
        endpoints[i] = feeds[i].endpoint;
        values[i] = tensor_borrow(DT_STRING, &scalar, &feeds[i].text);
    }
    struct flatten_request request = { .feeds = endpoints,
                                       .feeds_count = feeds_count,
                                       .targets = targets,
                                       .targets_count = targets_count };
    TRY_OR(done, plan_create(graph, &request, resources, NULL, &options, &plan));
    TRY_OR(done, plan_run(plan, run, values, NULL));
done:
    plan_destroy(plan);
    run_destroy(run);
    arena_destroy(arena);
    return status;
}
