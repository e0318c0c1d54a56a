#include "savedmodel/trainable/trainable.h"

#include <stdlib.h>

#include "base/file.h"
#include "runtime/resources.h"
#include "savedmodel/restore.h"
#include "savedmodel/trainable/trainable_internal.h"

/* ---- the signature ---- */

static struct status no_such(const char *what, const char *name, const struct buffer *known)
{
    return status_error(STATUS_NOT_FOUND, "no %s '%s'; there are: %.*s", what, name,
                        (int)known->size, known->size > 0 ? known->data : "");
}

static const struct signature *find_signature(const struct meta *meta, const char *name)
{
    for (int i = 0; i < meta->signatures_count; i++)
        if (strcmp(meta->signatures[i].name, name) == 0)
            return &meta->signatures[i];
    return NULL;
}

static struct status choose_signature(struct trainable *trainable, const char *name)
{
    const struct meta *meta = &trainable->meta;
    struct buffer known = { 0 };
    struct status status = status_ok();

    trainable->signature = name != NULL
                               ? find_signature(meta, name)
                               : signature_choose(meta->signatures, meta->signatures_count);
    for (int i = 0; i < meta->signatures_count; i++)
        if (signature_is_callable(&meta->signatures[i]))
            buffer_printf(&known, "%s'%s'", known.size > 0 ? ", " : "", meta->signatures[i].name);
    if (trainable->signature == NULL && name != NULL)
        status = no_such("signature", name, &known);
    else if (trainable->signature == NULL && known.size > 0)
        status = status_error(STATUS_NOT_FOUND, "choose one of its signatures: %.*s",
                              (int)known.size, known.data);
    else if (trainable->signature == NULL)
        status = status_error(STATUS_NOT_FOUND, "choose one of its signatures: none");
    buffer_finish(&known);
    return status;
}

/* Is the key in the list "a,b"? */
static bool is_listed(const char *list, const char *key)
{
    size_t size = strlen(key);

    for (const char *at = list; *at != '\0'; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == size && memcmp(at, key, size) == 0)
            return true;
    return false;
}

static struct status check_names(const struct signature *signature, const char *list,
                                 const struct buffer *known, struct arena *arena)
{
    for (const char *at = list; *at != '\0';) {
        size_t size = strcspn(at, ",");
        const char *name = arena_memdup(arena, at, size);
        int i = 0;
        while (i < signature->outputs_count && strcmp(signature->outputs[i].key, name) != 0)
            i++;
        if (i == signature->outputs_count)
            return no_such("output", name, known);
        at += size + (at[size] == ',');
    }
    return status_ok();
}

static struct status choose_outputs(struct trainable *trainable,
                                    const struct trainable_options *options)
{
    const struct signature *signature = trainable->signature;
    int count = signature->outputs_count;
    bool all = options->outputs == NULL && (options->all_outputs || count == 1);
    struct buffer known = { 0 };
    struct status status = status_ok();

    trainable->outputs = ARENA_ARRAY(trainable->arena, const struct signature_tensor *, count + 1);
    for (int i = 0; i < count; i++) {
        const struct signature_tensor *output = &signature->outputs[i];
        buffer_printf(&known, "%s'%s'", i > 0 ? ", " : "", output->key);
        if (all || (options->outputs != NULL && is_listed(options->outputs, output->key)))
            trainable->outputs[trainable->outputs_count++] = output;
    }
    if (options->outputs != NULL)
        status = check_names(signature, options->outputs, &known, trainable->arena);
    else if (trainable->outputs_count == 0)
        status = status_error(STATUS_INVALID_ARGUMENT,
                              "it has %d outputs: choose some of them, or give a loss for each: "
                              "%.*s",
                              count, (int)known.size, known.size > 0 ? known.data : "");
    buffer_finish(&known);
    return status;
}

static struct status check_input(const struct signature_tensor *input)
{
    TRY(signature_check_named(input));
    if (!input->has_shape || input->shape.rank < 1 || input->shape.dims[0] != -1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "its shape is %s; the first dimension must be open (-1), for the rows "
                            "of a batch",
                            input->has_shape ? shape_text(&input->shape) : "not given");
    return status_ok();
}

/* Is the input the shape of a sparse one, which has no rows? */
static bool is_sparse_shape(const struct signature *signature, int input)
{
    struct signature_sparse parts;

    for (int i = 0; i < signature->inputs_count; i++)
        if (signature_is_sparse(signature, i, &parts) && parts.shape == input)
            return true;
    return false;
}

static struct status check_inputs(const struct signature *signature)
{
    if (signature->inputs_count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "it has no inputs");
    for (int i = 0; i < signature->inputs_count; i++)
        if (!is_sparse_shape(signature, i))
            TRY(status_in(check_input(&signature->inputs[i]), "input '%s'",
                          signature->inputs[i].key));
    return status_ok();
}

struct status trainable_request(const struct trainable *trainable, struct arena *arena,
                                struct flatten_request *out)
{
    const struct signature *signature = trainable->signature;
    const struct graph *graph = trainable->meta.graph;
    struct endpoint *feeds = ARENA_ARRAY(arena, struct endpoint, signature->inputs_count);
    struct shape *shapes = ARENA_ARRAY(arena, struct shape, signature->inputs_count);
    struct endpoint *fetches = ARENA_ARRAY(arena, struct endpoint, trainable->outputs_count + 1);

    for (int i = 0; i < signature->inputs_count; i++) {
        TRY(status_in(graph_endpoint(graph, signature->inputs[i].tensor_name, &feeds[i]),
                      "input '%s'", signature->inputs[i].key));
        shapes[i] = signature->inputs[i].shape;
    }
    for (int i = 0; i < trainable->outputs_count; i++)
        TRY(status_in(graph_endpoint(graph, trainable->outputs[i]->tensor_name, &fetches[i]),
                      "output '%s'", trainable->outputs[i]->key));
    *out = (struct flatten_request){ .feeds = feeds,
                                     .feeds_count = signature->inputs_count,
                                     .feed_shapes = shapes,
                                     .fetches = fetches,
                                     .fetches_count = trainable->outputs_count };
    return status_ok();
}

/* ---- opening ---- */

static struct status read_meta(struct trainable *trainable)
{
    static const char *const serve[] = { "serve" };
    const struct model_file *kind;
    struct buffer file = { 0 };

    struct status status = savedmodel_read_file(trainable->directory, &kind, &file);
    if (status_is_ok(status) && kind->format != FORMAT_SAVED_MODEL)
        status =
            status_error(STATUS_UNIMPLEMENTED,
                         "'%s' is a session_bundle: `savedmodel convert` makes a SavedModel of "
                         "it, which can be trained",
                         trainable->directory);
    if (status_is_ok(status))
        status = meta_read((struct bytes){ file.data, file.size }, kind, trainable->directory,
                           serve, 1, trainable->arena, &trainable->meta);
    buffer_finish(&file);
    return status;
}

/* The values. A model without variables has no such directory. */
static struct status open_values(struct trainable *trainable)
{
    const char *prefix =
        savedmodel_variables_prefix(trainable->directory, FORMAT_SAVED_MODEL, trainable->arena);
    const char *index = arena_printf(trainable->arena, "%s.index", prefix);

    if (!file_exists(index))
        return status_error(STATUS_NOT_FOUND,
                            "there is no '%s': the model has no variables that could be trained, "
                            "or its directory is incomplete",
                            index);
    return bundle_open(prefix, &trainable->bundle);
}

static struct status open_parts(struct trainable *trainable,
                                const struct trainable_options *options)
{
    TRY(read_meta(trainable));
    TRY(choose_signature(trainable, options->signature));
    const char *name = trainable->signature->name;
    TRY(status_in(choose_outputs(trainable, options), "signature '%s'", name));
    TRY(status_in(check_inputs(trainable->signature), "signature '%s'", name));
    TRY(open_values(trainable));
    TRY(trainable_list_variables(trainable));
    return trainable_freeze(trainable, options->freeze);
}

struct status trainable_open(const char *directory, const struct trainable_options *options,
                             struct trainable **out)
{
    struct trainable *trainable = zalloc(sizeof *trainable);

    trainable->arena = arena_create(0);
    trainable->directory = arena_strdup(trainable->arena, directory);
    struct status status = open_parts(trainable, options);
    if (!status_is_ok(status)) {
        status = status_error(status.code, "%s", status.message); /* it may lie in the arena */
        trainable_close(trainable);
        return status;
    }
    *out = trainable;
    return status_ok();
}

void trainable_close(struct trainable *trainable)
{
    if (trainable == NULL)
        return;
    bundle_close(trainable->bundle);
    meta_finish(&trainable->meta);
    arena_destroy(trainable->arena);
    free(trainable);
}

/* ---- looking ---- */

const char *trainable_directory(const struct trainable *trainable)
{
    return trainable->directory;
}

const struct signature *trainable_signature(const struct trainable *trainable)
{
    return trainable->signature;
}

const struct graph *trainable_whole_graph(const struct trainable *trainable)
{
    return trainable->meta.graph;
}

void trainable_set_ragged(struct trainable *trainable, int values, int row_splits)
{
    trainable->input_rows[values] = ROWS_OF_VALUES;
    trainable->input_rows[row_splits] = ROWS_OF_SPLITS;
}

void trainable_set_sparse(struct trainable *trainable, int indices,
                          const struct signature_sparse *parts)
{
    trainable->input_rows[indices] = trainable->input_rows[parts->values] = ROWS_OF_VALUES;
    trainable->input_rows[parts->shape] = ROWS_NONE;
}

bool trainable_input_is_example(const struct trainable *trainable, int input)
{
    return trainable->is_example[input];
}

int trainable_outputs_count(const struct trainable *trainable)
{
    return trainable->outputs_count;
}

const struct signature_tensor *trainable_output_at(const struct trainable *trainable, int index)
{
    return trainable->outputs[index];
}

int trainable_variables_count(const struct trainable *trainable)
{
    return trainable->variables_count;
}

const struct trainable_variable *trainable_variable_at(const struct trainable *trainable, int index)
{
    return &trainable->variables[index];
}

struct status trainable_begin(const struct trainable *trainable, int variable,
                              struct bundle_stream *stream)
{
    return bundle_stream_begin(stream, trainable->bundle, trainable->variables[variable].key);
}

struct status trainable_read(const struct trainable *trainable, int variable, void *out)
{
    struct bundle_stream stream = { 0 };
    struct bytes chunk = { 0 };
    char *at = out;

    struct status status = trainable_begin(trainable, variable, &stream);
    do {
        if (status_is_ok(status))
            status = bundle_stream_next(&stream, &chunk);
        if (status_is_ok(status) && chunk.size > 0) {
            memcpy(at, chunk.data, chunk.size);
            at += chunk.size;
        }
    } while (status_is_ok(status) && chunk.size > 0);
    bundle_stream_finish(&stream);
    return status;
}

/* ---- tables ---- */

/* The variables that the init op reads, such as the keys of a hash table. */
static struct status restore_for(const struct trainable *trainable, struct node *init,
                                 const struct run_feed *feeds, struct resources *resources,
                                 struct arena *arena)
{
    const struct flatten_request request = { .targets = &init, .targets_count = 1 };
    struct flatten_result needed = { 0 };
    /* An init op that does not flatten needs no variables: running it reports the error. */
    status_ignore(graph_flatten(trainable->meta.graph, &request, arena, &needed));
    struct restore restore = {
        .meta = &trainable->meta,
        .prefix = savedmodel_variables_prefix(trainable->directory, FORMAT_SAVED_MODEL, arena),
        .resources = resources,
        .needed = &needed,
        .needed_count = 1,
        .assets = feeds,
        .arena = arena,
    };

    struct status status = restore_variables(&restore);
    graph_finish(needed.graph);
    return status;
}

struct status trainable_initialise(const struct trainable *trainable, struct resources *resources)
{
    const struct meta *meta = &trainable->meta;
    struct arena *arena = arena_create(0);
    struct run_feed *feeds = ARENA_ARRAY(arena, struct run_feed, meta->assets_count);
    struct node *init = meta->init_op != NULL ? graph_find(meta->graph, meta->init_op) : NULL;
    struct status status = asset_feeds(meta, trainable->directory, arena, feeds);

    if (status_is_ok(status) && init != NULL)
        status = restore_for(trainable, init, feeds, resources, arena);
    if (status_is_ok(status))
        status = resources_confine(resources, trainable->directory);
    if (status_is_ok(status) && init != NULL)
        status =
            status_in(run_once(meta->graph, resources, NULL, feeds, meta->assets_count, &init, 1),
                      "init op '%s'", meta->init_op);
    if (!status_is_ok(status))
        status = status_error(status.code, "%s", status.message);
    arena_destroy(arena);
    return status;
}
