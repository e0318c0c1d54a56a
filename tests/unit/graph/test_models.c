#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <time.h>

#include "base/file.h"
#include "graph/attr_proto.h"
#include "graph/graph_proto.h"
#include "proto/message.h"
#include "proto/saved_model.pb-c.h"
#include "support/models.h"

/* If GRAPH_TIMES is set, the test prints the CPU time of each model. */
static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void assert_ok(struct status status, const char *model)
{
    if (!status_is_ok(status))
        fail_msg("%s: %s: %s", model, status_code_name(status.code), status.message);
}

/* ---- normalized equality: attributes by name, constants by value, without hints ---- */

static bool is_hint(const attr_entry *entry)
{
    return strcmp(entry->key, "_output_shapes") == 0;
}

static const Tensorflow__AttrValue *find_attr(size_t count, attr_entry *const *entries,
                                              const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i]->key, name) == 0)
            return entries[i]->value;
    return NULL;
}

static void compare_attrs(const struct proto_reader *reader, size_t count, attr_entry *const *a,
                          size_t other_count, attr_entry *const *b)
{
    size_t hints = 0;
    for (size_t i = 0; i < count; i++) {
        struct attr_value left, right;
        if (is_hint(a[i])) {
            hints++;
            continue;
        }
        const Tensorflow__AttrValue *other = find_attr(other_count, b, a[i]->key);
        assert_non_null(other);
        assert_int_equal(a[i]->value->value_case, other->value_case);
        assert_ok(attr_value_from_proto(reader, a[i]->value, &left), a[i]->key);
        assert_ok(attr_value_from_proto(reader, other, &right), a[i]->key);
        if (!attr_value_equal(&left, &right))
            fail_msg("attribute '%s' differs", a[i]->key);
    }
    assert_int_equal(count, other_count + hints);
}

static void compare_nodes(const struct proto_reader *reader, size_t count,
                          Tensorflow__NodeDef *const *a, size_t other_count,
                          Tensorflow__NodeDef *const *b)
{
    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(a[i]->name, b[i]->name);
        assert_string_equal(a[i]->op, b[i]->op);
        assert_string_equal(a[i]->device, b[i]->device);
        assert_int_equal(a[i]->n_input, b[i]->n_input);
        for (size_t k = 0; k < a[i]->n_input; k++)
            assert_string_equal(a[i]->input[k], b[i]->input[k]);
        compare_attrs(reader, a[i]->n_attr, a[i]->attr, b[i]->n_attr, b[i]->attr);
    }
}

static void compare_functions(const struct proto_reader *reader, const Tensorflow__FunctionDef *a,
                              const Tensorflow__FunctionDef *b)
{
    assert_string_equal(a->signature->name, b->signature->name);
    assert_int_equal(a->signature->n_input_arg, b->signature->n_input_arg);
    for (size_t i = 0; i < a->signature->n_input_arg; i++) {
        assert_string_equal(a->signature->input_arg[i]->name, b->signature->input_arg[i]->name);
        assert_int_equal(a->signature->input_arg[i]->type, b->signature->input_arg[i]->type);
    }
    assert_int_equal(a->signature->n_output_arg, b->signature->n_output_arg);
    assert_int_equal(a->signature->is_stateful, b->signature->is_stateful);
    assert_int_equal(a->signature->n_control_output, b->signature->n_control_output);
    assert_int_equal(a->n_ret, b->n_ret);
    assert_int_equal(a->n_control_ret, b->n_control_ret);
    assert_int_equal(a->n_arg_attr, b->n_arg_attr);
    assert_int_equal(a->n_resource_arg_unique_id, b->n_resource_arg_unique_id);
    compare_attrs(reader, a->n_attr, (attr_entry *const *)a->attr, b->n_attr,
                  (attr_entry *const *)b->attr);
    compare_nodes(reader, a->n_node_def, a->node_def, b->n_node_def, b->node_def);
}

static void compare_graphs(const struct proto_reader *reader, const Tensorflow__GraphDef *a,
                           const Tensorflow__GraphDef *b)
{
    compare_nodes(reader, a->n_node, a->node, b->n_node, b->node);
    size_t count = a->library != NULL ? a->library->n_function : 0;
    assert_int_equal(count, b->library != NULL ? b->library->n_function : 0);
    for (size_t i = 0; i < count; i++)
        compare_functions(reader, a->library->function[i], b->library->function[i]);
}

/* Writes the graph, parses the result and compares it with the original. */
static void round_trip(const struct graph *graph, const Tensorflow__GraphDef *proto,
                       struct arena *arena, const char *model)
{
    struct buffer bytes = { 0 };
    Tensorflow__GraphDef *again = NULL;
    struct graph *scratch = graph_create(arena);
    size_t repeated = 0;
    struct proto_reader reader = { arena, scratch, false, &repeated };

    proto_pack(graph_to_proto(graph, arena), &bytes);
    assert_ok(proto_unpack(&tensorflow__graph_def__descriptor,
                           (struct bytes){ bytes.data, bytes.size }, arena, &again),
              model);
    buffer_finish(&bytes);
    compare_graphs(&reader, proto, again);
    graph_finish(scratch);
}

/* ---- flattening of every signature ---- */

/* Checks that every node comes after its inputs and control inputs. */
static void assert_ordered(const struct graph *graph)
{
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        bool closes_loop = strcmp(node->op_name, "Merge") == 0;
        for (int k = 0; k < node->inputs_count && !closes_loop; k++)
            assert_true(node->inputs[k].node->id < i);
        for (int k = 0; k < node->controls_count; k++)
            assert_true(node->controls[k]->id < i);
    }
}

static int flatten_signature(const struct graph *graph, const Tensorflow__SignatureDef *signature,
                             struct arena *arena, const char *model)
{
    struct endpoint *feeds = ARENA_ARRAY(arena, struct endpoint, signature->n_inputs + 1);
    struct endpoint *fetches = ARENA_ARRAY(arena, struct endpoint, signature->n_outputs + 1);
    struct flatten_request request = { .feeds = feeds, .fetches = fetches };
    struct flatten_result flat;

    for (size_t i = 0; i < signature->n_inputs; i++)
        assert_ok(
            graph_endpoint(graph, signature->inputs[i]->value->name, &feeds[request.feeds_count++]),
            model);
    for (size_t i = 0; i < signature->n_outputs; i++)
        assert_ok(graph_endpoint(graph, signature->outputs[i]->value->name,
                                 &fetches[request.fetches_count++]),
                  model);
    assert_ok(graph_flatten(graph, &request, arena, &flat), model);
    assert_ordered(flat.graph);
    int count = flat.graph->count;
    for (int i = 0; i < count; i++)
        assert_false(strstr(flat.graph->nodes[i]->op_name, "PartitionedCall") != NULL);
    assert_ok(graph_infer(flat.graph), model);
    graph_finish(flat.graph);
    return count;
}

/* A signature is callable if it names all its tensors; composite tensors are not supported. */
static bool is_callable(const Tensorflow__SignatureDef *signature)
{
    for (size_t i = 0; i < signature->n_inputs; i++)
        if (signature->inputs[i]->value->encoding_case != TENSORFLOW__TENSOR_INFO__ENCODING_NAME)
            return false;
    for (size_t i = 0; i < signature->n_outputs; i++)
        if (signature->outputs[i]->value->encoding_case != TENSORFLOW__TENSOR_INFO__ENCODING_NAME)
            return false;
    return signature->n_outputs > 0 && signature->n_inputs > 0;
}

static void check_model(const char *path, const char *model)
{
    struct arena *arena = arena_create(0);
    struct buffer file = { 0 };
    Tensorflow__SavedModel *saved = NULL;

    assert_ok(file_read(path, 0, &file), model);
    double start = now_ms();
    assert_ok(proto_unpack(&tensorflow__saved_model__descriptor,
                           (struct bytes){ file.data, file.size }, arena, &saved),
              model);
    double parsed = now_ms();
    for (size_t i = 0; i < saved->n_meta_graphs; i++) {
        const Tensorflow__MetaGraphDef *meta = saved->meta_graphs[i];
        struct graph *graph;
        size_t used = arena_used(arena);
        double before = now_ms();
        assert_ok(graph_from_proto(meta->graph_def, arena, true, &graph), model);
        double read = now_ms();
        size_t graph_bytes = arena_used(arena) - used;
        int nodes = 0;
        for (size_t k = 0; k < meta->n_signature_def; k++)
            if (is_callable(meta->signature_def[k]->value))
                nodes += flatten_signature(graph, meta->signature_def[k]->value, arena, model);
        double flat = now_ms();
        if (getenv("GRAPH_TIMES") != NULL)
            printf("%-60s %8zu bytes, %6d nodes: unpack %.2f ms, read %.2f ms (%zu kB), flatten "
                   "%.2f ms\n",
                   model, file.size, nodes, parsed - start, read - before, graph_bytes >> 10,
                   flat - read);
        round_trip(graph, meta->graph_def, arena, model);
        graph_finish(graph);
    }
    buffer_finish(&file);
    arena_destroy(arena);
}

static void every_graph_survives_a_round_trip_and_every_signature_flattens(void **state)
{
    (void)state;
    const char *models = models_directory();
    if (models == NULL)
        skip();
    DIR *directory = opendir(models);
    assert_non_null(directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s/1/saved_model.pb", models, entry->d_name);
        if (entry->d_name[0] == '.' || access(path, R_OK) != 0)
            continue;
        check_model(path, entry->d_name);
        count++;
    }
    closedir(directory);
    assert_true(count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_graph_survives_a_round_trip_and_every_signature_flattens),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
