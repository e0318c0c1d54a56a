/* The plans of a loaded model's signatures: one after the other when they are called, or all. */
#include "savedmodel/loaded.h"
#include "savedmodel/shared_plans.h"

struct status savedmodel_request(const struct savedmodel *model, struct arena *arena,
                                 const struct signature *signature, struct flatten_request *out)
{
    int inputs_count = signature->inputs_count;
    int outputs_count = signature_computed_outputs(signature);
    struct endpoint *feeds = ARENA_ARRAY(arena, struct endpoint, inputs_count + 1);
    struct shape *shapes = ARENA_ARRAY(arena, struct shape, inputs_count + 1);
    struct endpoint *fetches = ARENA_ARRAY(arena, struct endpoint, outputs_count + 1);
    for (int i = 0; i < inputs_count; i++) {
        const struct signature_tensor *input = &signature->inputs[i];
        TRY(status_in(signature_check_named(input), "input '%s'", input->key));
        TRY(status_in(graph_endpoint(model->meta.graph, input->tensor_name, &feeds[i]),
                      "input '%s'", input->key));
        shapes[i] = input->has_shape ? input->shape : shape_unknown();
    }
    for (int i = 0; i < outputs_count; i++) {
        const struct signature_tensor *output = &signature->outputs[i];
        TRY(status_in(graph_endpoint(model->meta.graph, output->tensor_name, &fetches[i]),
                      "output '%s'", output->key));
    }
    *out = (struct flatten_request){ .feeds = feeds,
                                     .feeds_count = inputs_count,
                                     .feed_shapes = shapes,
                                     .fetches = fetches,
                                     .fetches_count = outputs_count };
    return status_ok();
}

/* Takes over `flat`, if there is one. */
static void make_plan(struct savedmodel *model, const struct flatten_request *request,
                      struct flat_graph *flat, const struct map *own_variables,
                      struct plan_slot *slot)
{
    struct plan_options options = model->options.plan;
    options.own_variables = own_variables;
    struct status status = flat != NULL && flat->arena != NULL
                               ? plan_create_flat(flat, request, model->resources, &model->written,
                                                  &options, &slot->plan)
                               : plan_create(model->meta.graph, request, model->resources,
                                             &model->written, &options, &slot->plan);
    slot->status = status_keep(model->arena, status);
    slot->made = true;
}

static struct status slot_status(const struct plan_slot *slot, const struct plan **out)
{
    if (!status_is_ok(slot->status)) /* a copy of the text: the model may be destroyed first */
        return status_error(slot->status.code, "%s", slot->status.message);
    *out = slot->plan;
    return status_ok();
}

static struct plan_slot *slot_of(const struct savedmodel *model, const struct signature *signature)
{
    return &model->slots[signature - model->meta.signatures];
}

/* Called with the lock held. Returns false if the signature's endpoints are not in the graph. */
static bool read_request(struct savedmodel *model, const struct signature *signature,
                         struct arena *scratch, struct flatten_request *out)
{
    struct plan_slot *slot = slot_of(model, signature);
    struct status status = savedmodel_request(model, scratch, signature, out);
    if (status_is_ok(status))
        return true;
    slot->status = status_keep(model->arena, status);
    slot->made = true;
    return false;
}

struct status savedmodel_plan(struct savedmodel *model, const struct signature *signature,
                              const struct plan **out)
{
    struct plan_slot *slot = slot_of(model, signature);
    struct arena *scratch = arena_create(0);
    struct flatten_request request;
    pthread_mutex_lock(&model->lock);
    bool too_late = !slot->made && model->is_closed;
    if (!slot->made && !too_late && read_request(model, signature, scratch, &request))
        make_plan(model, &request, NULL, NULL, slot);
    pthread_mutex_unlock(&model->lock);
    arena_destroy(scratch);
    if (too_late)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "signature '%s' has no plan, and the model takes no more",
                            signature->name);
    return slot_status(slot, out);
}

static void share_plan(struct plan_slot *slot, const struct plan_slot *first)
{
    slot->made = slot->shared = true;
    slot->status = first->status;
    slot->plan = first->plan;
}

/* The flattened graph of a signature; empty if it does not flatten. */
static struct flat_graph *find_flat(const struct savedmodel *model, struct plan_slot *slot,
                                    const struct flatten_request *request)
{
    if (slot->flat == NULL || slot->flat->arena == NULL) {
        slot->flat = &slot->own_flat;
        status_ignore(flat_graph_create(model->meta.graph, request, slot->flat));
    }
    return slot->flat;
}

/* Makes the plans of these signatures, and closes the model. */
static void plan_last(struct savedmodel *model, const struct signature *signatures, int count)
{
    struct arena *scratch = arena_create(0);
    struct flatten_request *requests = ARENA_ARRAY(scratch, struct flatten_request, count + 1);
    struct plan_slot **slots = ARENA_ARRAY(scratch, struct plan_slot *, count + 1);
    struct flat_graph **flats = ARENA_ARRAY(scratch, struct flat_graph *, count + 1);
    struct shared_plans shared;
    int planned = 0;
    pthread_mutex_lock(&model->lock);
    for (int i = 0; i < count; i++) {
        slots[planned] = slot_of(model, &signatures[i]);
        if (slots[planned]->made ||
            !read_request(model, &signatures[i], scratch, &requests[planned]))
            continue;
        flats[planned] = find_flat(model, slots[planned], &requests[planned]);
        planned++;
    }
    shared_plans_find(flats, requests, planned, scratch, &shared);
    for (int i = 0; i < planned; i++) {
        if (shared.first[i] == i)
            make_plan(model, &requests[i], flats[i], &shared.own[i], slots[i]);
        else
            share_plan(slots[i], slots[shared.first[i]]);
    }
    model->is_closed = true;
    for (int i = 0; i < model->meta.signatures_count; i++)
        flat_graph_drop(&model->slots[i].own_flat);
    resources_clear_unused_variables(model->resources);
    pthread_mutex_unlock(&model->lock);
    arena_destroy(scratch);
}

struct status savedmodel_plan_only(struct savedmodel *model, const struct signature *signature,
                                   const struct plan **out)
{
    plan_last(model, signature, 1);
    return slot_status(slot_of(model, signature), out);
}

struct status savedmodel_plan_all(struct savedmodel *model)
{
    const struct work_limits *limits = model->options.limits;
    plan_last(model, model->meta.signatures, model->meta.signatures_count);
    model->options.limits = model->options.plan.limits = NULL;
    return limits != NULL && limits->check != NULL ? limits->check(limits->context) : status_ok();
}
