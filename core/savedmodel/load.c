#include "savedmodel/load.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "graph/function.h"
#include "savedmodel/loaded.h"
#include "savedmodel/output_shapes_wire.h"
#include "savedmodel/restore.h"
#include "savedmodel/restore_graph.h"
#include "savedmodel/shared_plans.h"

/* ---- reading the file ---- */

/* Like TensorFlow, checks nodes of the graph at load, and those of functions when they are
 * called. */
static struct status check_registered(const struct graph *graph)
{
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        if (node->op == NULL && function_find(graph->library, node->op_name) == NULL &&
            !op_is_registered(node->op_name))
            return status_error(STATUS_NOT_FOUND,
                                "Op type not registered '%s': TensorFlow has no such op, which "
                                "node '%s' needs",
                                node->op_name, node->name);
    }
    return status_ok();
}

static struct status read_meta(struct savedmodel *model)
{
    static const char *const serve[] = { "serve" };
    const struct savedmodel_options *options = &model->options;
    const char *const *tags = options->tags ? options->tags : serve;
    int tags_count = options->tags ? options->tags_count : 1;
    const struct model_file *kind;
    struct buffer file = { 0 };

    struct status status = savedmodel_read_file(model->directory, &kind, &file);
    if (!status_is_ok(status)) {
        buffer_finish(&file);
        return status;
    }
    model->format = kind->format;
    if (kind->format == FORMAT_SAVED_MODEL && !kind->is_text)
        hide_output_shapes(&file);
    status = meta_read((struct bytes){ file.data, file.size }, kind, model->directory, tags,
                       tags_count, model->arena, &model->meta);
    buffer_finish(&file);
    if (status_is_ok(status))
        status = check_registered(model->meta.graph);
    return status.code == STATUS_DATA_LOSS || status.code == STATUS_INTERNAL
               ? status_in(status, "'%s/%s'", model->directory, kind->name)
               : status;
}

/* ---- restoring and initialising ---- */

/* The requests that decide which variables are restored: the callable signatures, then the init
 * op. */
struct restore_requests {
    struct flatten_request *requests;
    struct plan_slot **slots; /* NULL: the init op */
    struct flat_graph **flats;
    int count, signatures_count;
    struct flat_graph init_flat;
};

static struct status needed_requests(const struct savedmodel *model, struct arena *arena,
                                     struct restore_requests *needed)
{
    const struct meta *meta = &model->meta;
    int max = meta->signatures_count + 1, n = 0;
    struct flatten_request *all = ARENA_ARRAY(arena, struct flatten_request, max);
    needed->requests = all;
    needed->slots = ARENA_ARRAY(arena, struct plan_slot *, max);
    needed->flats = ARENA_ARRAY(arena, struct flat_graph *, max);
    for (int i = 0; i < meta->signatures_count; i++) {
        /* A signature with unknown endpoints fails when it is called; the others work. */
        if (signature_is_callable(&meta->signatures[i]) &&
            status_is_ok(savedmodel_request(model, arena, &meta->signatures[i], &all[n])))
            needed->slots[n++] = &model->slots[i];
    }
    needed->signatures_count = n;
    if (meta->init_op != NULL) {
        struct node **target = ARENA_NEW(arena, struct node *);
        *target = graph_find(meta->graph, meta->init_op);
        if (*target == NULL)
            return status_error(STATUS_NOT_FOUND, "the init op '%s' is not in the graph",
                                meta->init_op);
        all[n++] = (struct flatten_request){ .targets = target, .targets_count = 1 };
    }
    needed->count = n;
    return status_ok();
}

static struct status run_init_op(struct savedmodel *model, const struct run_feed *feeds)
{
    const struct meta *meta = &model->meta;
    if (meta->init_op == NULL)
        return status_ok();
    struct node *target = graph_find(meta->graph, meta->init_op);
    int64_t began_ns = clock_now_ns(clock_monotonic());
    log_debug("'%s': running the init op '%s'", model->directory, meta->init_op);
    struct status status = run_once(meta->graph, model->resources, model->options.limits, feeds,
                                    meta->assets_count, &target, 1);
    model->times.init_ns = clock_now_ns(clock_monotonic()) - began_ns;
    return status_in(status, "init op '%s'", meta->init_op);
}

/* A request that does not flatten has no graph: a signature then fails when it is called. A
 * request that computes the same as another has none either, because it needs the same
 * variables. */
static void flatten_needed(const struct savedmodel *model, struct restore_requests *needed)
{
    for (int i = 0; i < needed->count; i++) {
        struct plan_slot *slot = needed->slots[i];
        struct flat_graph *flat = slot != NULL ? &slot->own_flat : &needed->init_flat;
        needed->flats[i] = flat;
        const struct graph *graph = model->meta.graph;
        int alike = slot != NULL
                        ? shared_plans_alike_unflattened(graph, needed->flats, needed->requests, i)
                        : i;
        bool made =
            alike == i && status_is_ok(flat_graph_create(graph, &needed->requests[i], flat));
        if (slot == NULL)
            continue;
        slot->flat = flat;
        if (made)
            alike = shared_plans_alike(needed->flats, needed->requests, i);
        if (alike != i) {
            slot->flat = needed->slots[alike]->flat;
            flat_graph_drop(flat);
        }
    }
}

static void note_written_variables(struct savedmodel *model, const struct restore_requests *needed)
{
    for (int i = 0; i < needed->signatures_count; i++) {
        const struct flat_graph *flat = needed->flats[i];
        const struct flatten_request *request = &needed->requests[i];
        if (flat->arena != NULL && may_write_variables(&flat->parts, request->fetches_count))
            status_ignore(
                plan_written_variables(model->meta.graph, request, model->arena, &model->written));
    }
}

static struct status restore_flattened(struct savedmodel *model, struct arena *scratch,
                                       const struct restore_requests *needed)
{
    struct meta *meta = &model->meta;
    struct run_feed *feeds = ARENA_ARRAY(scratch, struct run_feed, meta->assets_count + 1);
    struct flatten_result *flats = ARENA_ARRAY(scratch, struct flatten_result, needed->count + 1);

    for (int i = 0; i < needed->count; i++)
        flats[i] = needed->flats[i]->parts;
    TRY(asset_feeds(meta, model->directory, scratch, feeds));
    struct restore restore = {
        .meta = meta,
        .prefix = savedmodel_variables_prefix(model->directory, model->format, scratch),
        .prefix_required = model->format == FORMAT_SESSION_BUNDLE,
        .resources = model->resources,
        .needed = flats,
        .needed_count = needed->count,
        .assets = feeds,
        .arena = model->arena,
        .limits = model->options.limits,
    };
    int64_t began_ns = clock_now_ns(clock_monotonic());
    TRY(status_in(restore_variables(&restore), "restore of '%s'", model->directory));
    model->times.restore_ns = clock_now_ns(clock_monotonic()) - began_ns;
    model->variables = restore.variables;
    model->variables_count = restore.variables_count;
    /* Confines ops only after the restore: links in a model's directory may point to a store of
     * large files. */
    if (!model->options.allow_paths_outside_model)
        TRY(resources_confine(model->resources, model->directory));
    TRY(run_init_op(model, feeds));
    note_written_variables(model, needed);
    return status_in(restore_check_whole(&restore, &model->written), "restore of '%s'",
                     model->directory);
}

static struct status restore_and_initialise(struct savedmodel *model, struct arena *scratch)
{
    struct restore_requests needed = { 0 };
    TRY(needed_requests(model, scratch, &needed));
    flatten_needed(model, &needed);
    struct status status = restore_flattened(model, scratch, &needed);
    flat_graph_drop(&needed.init_flat);
    return status;
}

struct status savedmodel_load(const char *directory, const struct savedmodel_options *options,
                              struct savedmodel **out)
{
    struct status status;
    struct arena *scratch = arena_create(0);
    struct savedmodel *model = zalloc(sizeof *model);

    model->arena = arena_create(0);
    model->directory = arena_strdup(model->arena, directory);
    if (options != NULL)
        model->options = *options;
    model->options.plan.limits = model->options.limits;
    pthread_mutex_init(&model->lock, NULL);
    model->resources = resources_create();
    TRY_OR(fail, read_meta(model));
    model->slots = ARENA_ARRAY(model->arena, struct plan_slot, model->meta.signatures_count + 1);
    TRY_OR(fail, restore_and_initialise(model, scratch));
    arena_destroy(scratch);
    *out = model;
    return status_ok();

fail:
    status = status_error(status.code, "%s", status.message); /* it may be in the model's arena */
    arena_destroy(scratch);
    savedmodel_destroy(model);
    return status;
}

void savedmodel_destroy(struct savedmodel *model)
{
    if (model == NULL)
        return;
    for (int i = 0; i < model->meta.signatures_count && model->slots != NULL; i++) {
        flat_graph_drop(&model->slots[i].own_flat);
        if (!model->slots[i].shared)
            plan_destroy(model->slots[i].plan);
    }
    map_finish(&model->written);
    meta_finish(&model->meta);
    resources_destroy(model->resources);
    pthread_mutex_destroy(&model->lock);
    arena_destroy(model->arena);
    free(model);
}

/* ---- for people and tools ---- */

int savedmodel_signatures_count(const struct savedmodel *model)
{
    return model->meta.signatures_count;
}

const struct signature *savedmodel_signature_at(const struct savedmodel *model, int index)
{
    return &model->meta.signatures[index];
}

const struct signature *savedmodel_default_signature(const struct savedmodel *model)
{
    return signature_choose(model->meta.signatures, model->meta.signatures_count);
}

const struct signature *savedmodel_signature(const struct savedmodel *model, struct bytes name)
{
    for (int i = 0; i < model->meta.signatures_count; i++) {
        if (bytes_equal(bytes_of(model->meta.signatures[i].name), name))
            return &model->meta.signatures[i];
    }
    return NULL;
}

const struct graph *savedmodel_graph(const struct savedmodel *model)
{
    return model->meta.graph;
}

const char *savedmodel_directory(const struct savedmodel *model)
{
    return model->directory;
}

struct savedmodel_times savedmodel_load_times(const struct savedmodel *model)
{
    return model->times;
}

const char *savedmodel_tensorflow_version(const struct savedmodel *model)
{
    return model->meta.tensorflow_version;
}

const char *savedmodel_slipway_version(const struct savedmodel *model)
{
    return model->meta.slipway_version;
}

int savedmodel_variables_count(const struct savedmodel *model)
{
    return model->variables_count;
}

struct savedmodel_variable savedmodel_variable_at(const struct savedmodel *model, int index)
{
    return model->variables[index];
}
