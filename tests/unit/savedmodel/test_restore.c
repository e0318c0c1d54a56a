/* Tests which value of the checkpoint each variable gets. The model is from
 * tests/golden/savedmodel/two_towers.py. Models that TensorFlow does not write are made from it by
 * changing the message. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/message.h"
#include "proto/saved_model.pb-c.h"
#include "savedmodel/load.h"
#include "support/directory.h"
#include "support/test_group.h"

#define GOLDEN "tests/golden/savedmodel/two_towers"

/* Runs a signature with x = [0, 10]. */
static struct status answer_of(struct savedmodel *model, const char *name, float out[2])
{
    const float x[2] = { 0, 10 };
    const struct shape shape = shape_of(2);
    const struct tensor feed = tensor_borrow(DT_FLOAT, &shape, x);
    const struct plan *plan;
    struct tensor fetch;
    const struct signature *signature = savedmodel_signature(model, bytes_of(name));
    assert_non_null(signature);
    TRY(savedmodel_plan(model, signature, &plan));
    struct run *run = run_create(0);
    struct status status = plan_run(plan, run, &feed, &fetch);
    if (status_is_ok(status)) {
        assert_int_equal(fetch.size, 2);
        memcpy(out, fetch.data, 2 * sizeof *out);
        tensor_release(&fetch);
    }
    run_destroy(run);
    return status;
}

static void objects_of_one_name_keep_their_own_values(void **state)
{
    (void)state;
    const float user[2] = { 1, 11 }, item[2] = { 100, 110 };
    float got[2];
    struct savedmodel *model;
    assert_ok(savedmodel_load(GOLDEN, NULL, &model));
    assert_ok(answer_of(model, SIGNATURE_DEFAULT, got));
    assert_memory_equal(got, user, sizeof user);
    assert_ok(answer_of(model, "item", got));
    assert_memory_equal(got, item, sizeof item);
    savedmodel_destroy(model);
}

/* ---- changed models ---- */

static void copy_file(const char *name)
{
    struct buffer content = { 0 };
    assert_ok(file_read(file_join(arena, GOLDEN, name), 0, &content));
    assert_ok(file_write(in(name), (struct bytes){ content.data, content.size }));
    buffer_finish(&content);
}

/* Applies `change` to the model's meta graph and loads the result. */
static struct status load_changed(void (*change)(Tensorflow__MetaGraphDef *meta),
                                  struct savedmodel **out)
{
    struct buffer file = { 0 };
    ProtobufCMessage *message;
    assert_ok(file_make_directories(in("variables")));
    copy_file("variables/variables.index");
    copy_file("variables/variables.data-00000-of-00001");
    assert_ok(file_read(GOLDEN "/saved_model.pb", 0, &file));
    assert_ok(proto_unpack(&tensorflow__saved_model__descriptor,
                           (struct bytes){ file.data, file.size }, arena, &message));
    change(((Tensorflow__SavedModel *)message)->meta_graphs[0]);
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = arena_alloc(arena, size + 1);
    protobuf_c_message_pack(message, packed);
    assert_ok(file_write(in("saved_model.pb"), (struct bytes){ (char *)packed, size }));
    struct status status = savedmodel_load(directory, NULL, out);
    buffer_finish(&file);
    return status;
}

static Tensorflow__NodeDef *find_node(Tensorflow__GraphDef *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_node; i++)
        if (strcmp(graph->node[i]->name, name) == 0)
            return graph->node[i];
    fail_msg("no node '%s'", name);
    return NULL;
}

static Tensorflow__SavedConcreteFunction *find_function(Tensorflow__MetaGraphDef *meta,
                                                        const char *part)
{
    Tensorflow__SavedObjectGraph *objects = meta->object_graph_def;
    for (size_t i = 0; i < objects->n_concrete_functions; i++)
        if (strstr(objects->concrete_functions[i]->key, part) != NULL)
            return objects->concrete_functions[i]->value;
    fail_msg("no function '%s'", part);
    return NULL;
}

static void set_shape(Tensorflow__NodeDef *handle, int64_t dim)
{
    for (size_t i = 0; i < handle->n_attr; i++)
        if (strcmp(handle->attr[i]->key, "shape") == 0)
            handle->attr[i]->value->shape->dim[0]->size = dim;
}

static void set_dtype(Tensorflow__NodeDef *handle, Tensorflow__DataType dtype)
{
    for (size_t i = 0; i < handle->n_attr; i++)
        if (strcmp(handle->attr[i]->key, "dtype") == 0)
            handle->attr[i]->value->type = dtype;
}

/* Both signatures' functions get one handle, which the object graph binds to two variables. */
static void share_handle(Tensorflow__MetaGraphDef *meta)
{
    Tensorflow__NodeDef *call = find_node(meta->graph_def, "StatefulPartitionedCall_1");
    call->input[1] = find_node(meta->graph_def, "StatefulPartitionedCall")->input[1];
}

static void drop_bound_inputs(Tensorflow__MetaGraphDef *meta)
{
    find_function(meta, "signature_wrapper_ask_item")->n_bound_inputs = 0;
}

static int32_t many_objects[4] = { 2, 2, 2, 2 };

static void bind_too_much(Tensorflow__MetaGraphDef *meta)
{
    Tensorflow__SavedConcreteFunction *function = find_function(meta, "signature_wrapper_ask_item");
    function->bound_inputs = many_objects;
    function->n_bound_inputs = COUNT(many_objects);
}

static void declare_other_shape(Tensorflow__MetaGraphDef *meta)
{
    set_shape(find_node(meta->graph_def, "offset"), 3);
}

static void declare_other_dtype(Tensorflow__MetaGraphDef *meta)
{
    set_dtype(find_node(meta->graph_def, "offset"), TENSORFLOW__DATA_TYPE__DT_INT32);
}

/* Makes the restore function read another key into a variable that no signature needs. */
static void ask_for_other_key(Tensorflow__MetaGraphDef *meta)
{
    Tensorflow__FunctionDefLibrary *library = meta->graph_def->library;
    for (size_t i = 0; i < library->n_function; i++) {
        Tensorflow__FunctionDef *function = library->function[i];
        if (strstr(function->signature->name, "traced_restore") == NULL)
            continue;
        for (size_t k = 0; k < function->n_node_def; k++) {
            Tensorflow__NodeDef *node = function->node_def[k];
            if (strstr(node->name, "tensor_names") == NULL)
                continue;
            for (size_t a = 0; a < node->n_attr; a++)
                if (strcmp(node->attr[a]->key, "value") == 0)
                    node->attr[a]->value->tensor->string_val[0] =
                        (ProtobufCBinaryData){ 4, (uint8_t *)"none" };
        }
    }
}

static const struct refused {
    const char *label;
    void (*change)(Tensorflow__MetaGraphDef *meta);
    enum status_code code;
    const char *text;
} refused[] = {
    { "a handle that two variables claim", share_handle, STATUS_DATA_LOSS,
      "variable 'offset': the object graphs give it two values of the checkpoint" },
    { "more bound inputs than the call has", bind_too_much, STATUS_DATA_LOSS,
      "node 'StatefulPartitionedCall' has 2 inputs, the object graph binds 4" },
    { "a value of another shape", declare_other_shape, STATUS_INVALID_ARGUMENT,
      "variable 'offset' has shape [3], its value in the checkpoint [2]" },
    { "a value of another dtype", declare_other_dtype, STATUS_INVALID_ARGUMENT,
      "variable 'offset' is int32, its value in the checkpoint float" },
    { "a key that the checkpoint lacks", ask_for_other_key, STATUS_NOT_FOUND,
      "Key none not found in checkpoint" },
};

static void is_refused(void **state)
{
    const struct refused *row = *state;
    struct savedmodel *model;
    struct status status = load_changed(row->change, &model);
    if (status.code != row->code || strstr(status.message, row->text) == NULL)
        fail_msg("%s: %s %s", row->label, status_code_name(status.code), status.message);
}

/* As in TensorFlow Serving, the variable stays uninitialized and only its readers fail. */
static void an_untied_handle_gets_nobodys_value(void **state)
{
    (void)state;
    float got[2];
    struct savedmodel *model;
    assert_ok(load_changed(drop_bound_inputs, &model));
    assert_ok(answer_of(model, SIGNATURE_DEFAULT, got));
    struct status status = answer_of(model, "item", got);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "Could not find variable offset."));
    savedmodel_destroy(model);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(objects_of_one_name_keep_their_own_values),
        cmocka_unit_test(an_untied_handle_gets_nobodys_value),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, refused, label, is_refused);
    return test_group_run(&group, "restore", directory_setup, directory_teardown);
}
