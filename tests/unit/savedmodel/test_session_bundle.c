/* The format session_bundle: what is written, what is read, and conversions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/message.h"
#include "proto/meta_graph.pb-c.h"
#include "proto/session_bundle.pb-c.h"
#include "savedmodel/collections_proto.h"
#include "savedmodel/convert.h"
#include "savedmodel/load.h"
#include "savedmodel/save.h"
#include "support/directory.h"

typedef Tensorflow__MetaGraphDef meta_graph;
typedef Tensorflow__Serving__Signature legacy_signature;

/* ---- a model: y = softmax(x · w), which predicts x -> y and classifies x -> y ---- */

static const float w_value[4] = { 1, 2, 3, 4 };

static struct status source_begin(struct value_source *source, const char *name)
{
    (void)source;
    return strcmp(name, "w") == 0 ? status_ok() : status_error(STATUS_NOT_FOUND, "%s", name);
}

struct one_chunk {
    struct value_source source;
    bool given;
};

static struct status source_next(struct value_source *source, struct bytes *chunk)
{
    struct one_chunk *one = (struct one_chunk *)source;
    *chunk = (struct bytes){ (const char *)w_value, one->given ? 0 : sizeof w_value };
    one->given = true;
    return status_ok();
}

static void write_model(const char *path, enum savedmodel_format format)
{
    struct graph *graph = graph_create(arena);
    struct builder b = builder_init(graph);
    struct shape square = shape_of(2, 2);
    struct one_chunk values = { { .begin = source_begin, .next = source_next }, false };

    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 2));
    struct endpoint handle =
        build(&b, "VarHandleOp", "w", 0, NULL,
              (struct attr[]){ attr_type("dtype", DT_FLOAT), attr_shape("shape", &square),
                               attr_text("shared_name", "w"), ATTR_END });
    struct endpoint w = build(&b, "ReadVariableOp", "read", 1, &handle,
                              (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
    build_binary(&b, "AddV2", "y", build_binary(&b, "MatMul", "product", x, w),
                 build_const_float(&b, 1));
    build_node(&b, "NoOp", "init", 0, NULL, 0, NULL, NULL);
    assert_ok(builder_status(&b));

    const struct shape rows = shape_of(-1, 2);
    struct signature_tensor in = { "inputs", "x:0", DT_FLOAT, .has_shape = true, .shape = rows };
    struct signature_tensor image = { "images", "x:0", DT_FLOAT, .has_shape = true, .shape = rows };
    struct signature_tensor out = { "scores", "y:0", DT_FLOAT, .has_shape = true, .shape = rows };
    struct signature signatures[] = {
        { SIGNATURE_DEFAULT, SIGNATURE_CLASSIFY, &in, &out, 1, 1 },
        { "predict_images", SIGNATURE_PREDICT, &image, &out, 1, 1 },
    };
    struct saved_variable variable = { "w", DT_FLOAT, square, true };
    struct saved_asset asset = { "asset:0", "names/list.txt", bytes_of("a\nb\n") };
    build_placeholder(&b, "asset", DT_STRING, shape_scalar());
    struct saved_model model = { .format = format,
                                 .graph = graph,
                                 .signatures = signatures,
                                 .signatures_count = 2,
                                 .variables = &variable,
                                 .variables_count = 1,
                                 .init_op = "init",
                                 .assets = &asset,
                                 .assets_count = 1 };
    assert_ok(savedmodel_write(path, &model, &values.source));
    graph_finish(graph);
}

static meta_graph *read_meta(const char *path)
{
    struct buffer file = { 0 };
    meta_graph *meta;
    assert_ok(file_read(file_join(arena, path, "export.meta"), 0, &file));
    assert_ok(proto_unpack(&tensorflow__meta_graph_def__descriptor,
                           (struct bytes){ file.data, file.size }, arena, &meta));
    buffer_finish(&file);
    return meta;
}

static void write_meta(const char *path, const meta_graph *meta)
{
    struct buffer packed = { 0 };
    proto_pack(meta, &packed);
    assert_ok(file_write(file_join(arena, path, "export.meta"),
                         (struct bytes){ packed.data, packed.size }));
    buffer_finish(&packed);
}

static void assert_signature_answers(struct savedmodel *model, const char *name, const char *method)
{
    const float x[2] = { 1, 10 }, want[2] = { 32, 43 };
    const struct shape shape = shape_of(1, 2);
    struct tensor feed = tensor_borrow(DT_FLOAT, &shape, x), fetch;
    const struct signature *signature = savedmodel_signature(model, bytes_of(name));
    const struct plan *plan;
    assert_non_null(signature);
    assert_string_equal(signature->method, method);
    assert_int_equal(signature->inputs[0].dtype, DT_FLOAT);
    assert_string_equal(shape_text(&signature->inputs[0].shape), "[?,2]");
    assert_ok(savedmodel_plan(model, signature, &plan));
    struct run *run = run_create(0);
    assert_ok(plan_run(plan, run, &feed, &fetch));
    assert_memory_equal(fetch.data, want, sizeof want);
    tensor_release(&fetch);
    run_destroy(run);
}

/* Loads the directory and asks these signatures; NULL ends them. */
static void assert_answers(const char *path, const char *const *names_and_methods)
{
    struct savedmodel *model;
    int count = 0;
    assert_ok(savedmodel_load(path, NULL, &model));
    for (; names_and_methods[2 * count] != NULL; count++)
        assert_signature_answers(model, names_and_methods[2 * count],
                                 names_and_methods[2 * count + 1]);
    assert_int_equal(savedmodel_signatures_count(model), count);
    savedmodel_destroy(model);
}

/* ---- writing ---- */

static void it_has_the_files_and_the_collections_of_the_format(void **state)
{
    (void)state;
    struct file_list files;
    Tensorflow__Serving__Signatures *signatures;
    Tensorflow__Serving__AssetFile *asset;
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    assert_ok(file_list(in("1"), arena, &files));
    assert_int_equal(files.count, 3);
    assert_true(file_exists(in("1/export.meta")));
    assert_true(file_exists(in("1/export-00000-of-00001")));
    assert_true(file_exists(in("1/assets/names/list.txt")));

    const meta_graph *meta = read_meta(in("1"));
    assert_int_equal(meta->meta_info_def->n_tags, 0);
    assert_string_equal(meta->saver_def->filename_tensor_name, "save/Const:0");
    assert_string_equal(meta->saver_def->save_tensor_name, "save/ShardedFilespec:0");
    assert_string_equal(meta->saver_def->restore_op_name, "save/restore_all");
    assert_true(meta->saver_def->sharded);
    assert_int_equal(meta->saver_def->version,
                     TENSORFLOW__SAVER_DEF__CHECKPOINT_FORMAT_VERSION__V1);
    assert_int_equal(meta->n_asset_file_def, 0);
    assert_null(collection_find(meta, "saved_model_main_op"));
    assert_null(collection_find(meta, "saved_model_assets"));

    const Tensorflow__CollectionDef *found = collection_find(meta, "serving_init_op");
    assert_int_equal(found->node_list->n_value, 1);
    assert_string_equal(found->node_list->value[0], "init");
    found = collection_find(meta, "serving_assets");
    assert_int_equal(collection_messages_count(found), 1);
    assert_ok(
        collection_message(found, 0, &tensorflow__serving__asset_file__descriptor, arena, &asset));
    assert_string_equal(asset->filename, "names/list.txt");
    assert_string_equal(asset->tensor_binding->tensor_name, "asset:0");

    found = collection_find(meta, "serving_signatures");
    assert_int_equal(collection_messages_count(found), 1);
    assert_string_equal(found->any_list->value[0]->type_url,
                        "type.googleapis.com/tensorflow.serving.Signatures");
    assert_ok(collection_message(found, 0, &tensorflow__serving__signatures__descriptor, arena,
                                 &signatures));
    const Tensorflow__Serving__ClassificationSignature *classify =
        signatures->default_signature->classification_signature;
    assert_string_equal(classify->input->tensor_name, "x:0");
    assert_null(classify->classes);
    assert_string_equal(classify->scores->tensor_name, "y:0");
    assert_int_equal(signatures->n_named_signatures, 2);
    const Tensorflow__Serving__GenericSignature *generic =
        signatures->named_signatures[0]->value->generic_signature;
    assert_string_equal(signatures->named_signatures[0]->key, "inputs");
    assert_string_equal(generic->map[0]->key, "images");
    assert_string_equal(generic->map[0]->value->tensor_name, "x:0");
    assert_string_equal(signatures->named_signatures[1]->key, "outputs");
}

static void ops_that_tensorflow_1_lacks_are_replaced(void **state)
{
    (void)state;
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    const Tensorflow__GraphDef *graph = read_meta(in("1"))->graph_def;
    for (size_t i = 0; i < graph->n_node; i++) {
        if (strcmp(graph->node[i]->name, "y") == 0)
            assert_string_equal(graph->node[i]->op, "Add");
        assert_string_not_equal(graph->node[i]->op, "AddV2");
    }
}

/* ---- reading ---- */

static const char *const all_signatures[] = { "predict_images", SIGNATURE_PREDICT,
                                              SIGNATURE_DEFAULT, SIGNATURE_CLASSIFY, NULL };

static void what_is_written_loads_and_answers(void **state)
{
    (void)state;
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    assert_answers(in("1"), all_signatures);
}

/* TensorFlow's exporter wrote only the collection. */
static void an_old_file_has_its_default_signature_and_predict(void **state)
{
    (void)state;
    const char *const names[] = { SIGNATURE_DEFAULT, SIGNATURE_CLASSIFY, "predict",
                                  SIGNATURE_PREDICT, NULL };
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    meta_graph *meta = read_meta(in("1"));
    meta->n_signature_def = 0;
    write_meta(in("1"), meta);
    assert_answers(in("1"), names);
}

/* The graph does not know this shape; the signature of the SavedModel did. */
static void a_signature_of_both_kinds_keeps_its_shapes(void **state)
{
    (void)state;
    struct savedmodel *model;
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    meta_graph *meta = read_meta(in("1"));
    for (size_t i = 0; i < meta->n_signature_def; i++)
        meta->signature_def[i]->value->outputs[0]->value->tensor_shape->dim[0]->size = 77;
    write_meta(in("1"), meta);
    assert_ok(savedmodel_load(in("1"), NULL, &model));
    for (int i = 0; i < savedmodel_signatures_count(model); i++)
        assert_string_equal(shape_text(&savedmodel_signature_at(model, i)->outputs[0].shape),
                            "[77,2]");
    savedmodel_destroy(model);
}

/* Replaces the signatures of the file, after `change`. */
static void change_signatures(void (*change)(Tensorflow__Serving__Signatures *signatures))
{
    Tensorflow__Serving__Signatures *signatures;
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    meta_graph *meta = read_meta(in("1"));
    assert_ok(collection_message(collection_find(meta, "serving_signatures"), 0,
                                 &tensorflow__serving__signatures__descriptor, arena, &signatures));
    change(signatures);
    meta->n_signature_def = 0;
    collection_remove(meta, "serving_signatures");
    const ProtobufCMessage *message = &signatures->base;
    collection_add_messages(meta, "serving_signatures", 1, &message, arena);
    write_meta(in("1"), meta);
}

static void drop_default(Tensorflow__Serving__Signatures *signatures)
{
    signatures->default_signature = NULL;
}

static void without_a_default_signature_the_named_ones_are_served(void **state)
{
    (void)state;
    const char *const names[] = { SIGNATURE_DEFAULT, SIGNATURE_PREDICT, NULL };
    change_signatures(drop_default);
    assert_answers(in("1"), names);
}

static void use_regression(Tensorflow__Serving__Signatures *signatures)
{
    static Tensorflow__Serving__RegressionSignature regression;
    tensorflow__serving__regression_signature__init(&regression);
    legacy_signature *signature = signatures->default_signature;
    regression.input = signature->classification_signature->input;
    regression.output = signature->classification_signature->scores;
    signature->type_case = TENSORFLOW__SERVING__SIGNATURE__TYPE_REGRESSION_SIGNATURE;
    signature->regression_signature = &regression;
    signatures->n_named_signatures = 0;
}

static void a_regression_signature_regresses(void **state)
{
    (void)state;
    const char *const names[] = { SIGNATURE_DEFAULT, SIGNATURE_REGRESS, NULL };
    change_signatures(use_regression);
    assert_answers(in("1"), names);
}

static void use_generic(Tensorflow__Serving__Signatures *signatures)
{
    signatures->default_signature = signatures->named_signatures[0]->value;
}

static void drop_outputs(Tensorflow__Serving__Signatures *signatures)
{
    signatures->default_signature = NULL;
    signatures->n_named_signatures = 1;
}

static void use_classification(Tensorflow__Serving__Signatures *signatures)
{
    signatures->named_signatures[1]->value = signatures->default_signature;
    signatures->default_signature = NULL;
}

static void signatures_without_a_meaning_are_refused(void **state)
{
    (void)state;
    const struct {
        void (*change)(Tensorflow__Serving__Signatures *signatures);
        enum status_code code;
        const char *text;
    } rows[] = {
        { use_generic, STATUS_UNIMPLEMENTED, "Only classification and regression" },
        { drop_outputs, STATUS_INVALID_ARGUMENT, "both `inputs` and `outputs` exist" },
        { use_classification, STATUS_INVALID_ARGUMENT, "if they are GenericSignatures" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct savedmodel *model;
        change_signatures(rows[i].change);
        assert_fails_naming(savedmodel_load(in("1"), NULL, &model), rows[i].code, rows[i].text);
        assert_ok(file_remove_tree(in("1")));
    }
}

/* export.meta of a graph with `clear_devices` holds the graph twice: with devices and without. */
static void the_serving_graph_replaces_the_other(void **state)
{
    (void)state;
    struct savedmodel *model;
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    meta_graph *meta = read_meta(in("1"));
    const ProtobufCMessage *graph = &meta->graph_def->base;
    collection_add_messages(meta, "serving_graph", 1, &graph, arena);
    for (size_t i = 0; i < meta->graph_def->n_node; i++)
        meta->graph_def->node[i]->device = (char *)"/job:ps/task:0";
    meta->graph_def->n_node--; /* it does not even hold together */
    write_meta(in("1"), meta);
    assert_ok(savedmodel_load(in("1"), NULL, &model));
    for (int i = 0; i < savedmodel_graph(model)->count; i++) {
        const char *device = savedmodel_graph(model)->nodes[i]->device;
        assert_true(device == NULL || device[0] == '\0');
    }
    savedmodel_destroy(model);
    assert_answers(in("1"), all_signatures);
}

static Tensorflow__NodeDef *node_named(const meta_graph *meta, const char *name)
{
    for (size_t i = 0; i < meta->graph_def->n_node; i++) {
        if (strcmp(meta->graph_def->node[i]->name, name) == 0)
            return meta->graph_def->node[i];
    }
    fail_msg("no node %s", name);
    return NULL;
}

/* The saver of the first versions: RestoreSlice(pattern, name, specification) of each variable. */
static void use_restore_slice(meta_graph *meta, const char *op)
{
    Tensorflow__NodeDef *restore = node_named(meta, "save/RestoreV2");
    const char *const names[] = { "save/RestoreV2/tensor_names",
                                  "save/RestoreV2/shape_and_slices" };
    restore->op = (char *)op;
    for (size_t i = 0; i < restore->n_attr; i++) {
        if (strcmp(restore->attr[i]->key, "dtypes") == 0) {
            restore->attr[i]->key = (char *)"dt";
            restore->attr[i]->value->value_case = TENSORFLOW__ATTR_VALUE__VALUE_TYPE;
            restore->attr[i]->value->type = TENSORFLOW__DATA_TYPE__DT_FLOAT;
        }
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        Tensorflow__NodeDef *constant = node_named(meta, names[i]);
        for (size_t k = 0; k < constant->n_attr; k++)
            if (strcmp(constant->attr[k]->key, "value") == 0)
                constant->attr[k]->value->tensor->tensor_shape->n_dim = 0;
    }
    if (strcmp(op, "Restore") == 0)
        restore->n_input = 2;
}

static void the_restore_ops_of_the_first_versions_are_read(void **state)
{
    (void)state;
    const char *const ops[] = { "RestoreSlice", "Restore" };
    for (size_t i = 0; i < COUNT(ops); i++) {
        struct savedmodel *model;
        write_model(in("1"), FORMAT_SESSION_BUNDLE);
        meta_graph *meta = read_meta(in("1"));
        use_restore_slice(meta, ops[i]);
        write_meta(in("1"), meta);
        assert_answers(in("1"), all_signatures);

        node_named(meta, "save/RestoreV2")->input[1] = (char *)"save/Const";
        write_meta(in("1"), meta);
        assert_fails_naming(savedmodel_load(in("1"), NULL, &model), STATUS_UNIMPLEMENTED,
                            "node 'save/RestoreV2' (Restore");
        assert_ok(file_remove_tree(in("1")));
    }
}

static void the_variables_may_be_one_file_or_of_format_v2(void **state)
{
    (void)state;
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    assert_ok(file_rename(in("1/export-00000-of-00001"), in("1/export")));
    assert_answers(in("1"), all_signatures);

    struct savedmodel *model;
    assert_ok(file_rename(in("1/export"), in("1/moved")));
    assert_fails_naming(savedmodel_load(in("1"), NULL, &model), STATUS_NOT_FOUND,
                        "Failed to find any matching files for");

    write_model(in("v2"), FORMAT_SAVED_MODEL);
    assert_ok(file_rename(in("v2/variables/variables.index"), in("1/export.index")));
    assert_ok(file_rename(in("v2/variables/variables.data-00000-of-00001"),
                          in("1/export.data-00000-of-00001")));
    assert_answers(in("1"), all_signatures);
}

static void damaged_collections_are_data_loss(void **state)
{
    (void)state;
    const char *const names[] = { "serving_signatures", "serving_assets" };
    struct savedmodel *model;
    for (size_t i = 0; i < COUNT(names); i++) {
        write_model(in("1"), FORMAT_SESSION_BUNDLE);
        meta_graph *meta = read_meta(in("1"));
        collection_find(meta, names[i])->any_list->value[0]->value.len--;
        write_meta(in("1"), meta);
        assert_fails_naming(savedmodel_load(in("1"), NULL, &model), STATUS_DATA_LOSS, names[i]);
        assert_ok(file_remove_tree(in("1")));
    }
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    meta_graph *meta = read_meta(in("1"));
    Tensorflow__CollectionDef__AnyList *list =
        collection_find(meta, "serving_signatures")->any_list;
    list->value = (Google__Protobuf__Any *[]){ list->value[0], list->value[0] };
    list->n_value = 2;
    write_meta(in("1"), meta);
    assert_fails_naming(
        savedmodel_load(in("1"), NULL, &model), STATUS_FAILED_PRECONDITION,
        "Expected exactly one message in collection 'serving_signatures', there are 2");
}

static void every_prefix_of_the_file_is_refused_or_loads(void **state)
{
    (void)state;
    struct buffer file = { 0 };
    write_model(in("1"), FORMAT_SESSION_BUNDLE);
    assert_ok(file_read(in("1/export.meta"), 0, &file));
    for (size_t size = 0; size < file.size; size += 7) {
        struct savedmodel *model;
        assert_ok(file_write(in("1/export.meta"), (struct bytes){ file.data, size }));
        if (status_is_ok(savedmodel_load(in("1"), NULL, &model)))
            savedmodel_destroy(model);
    }
    buffer_finish(&file);
}

/* ---- converting ---- */

static const char *const serve[] = { "serve" };

static struct status convert(const char *from, const char *to, enum savedmodel_format format)
{
    const struct savedmodel_conversion conversion = { in(from), in(to), format, serve, 1 };
    return savedmodel_convert(&conversion);
}

static void a_model_converted_both_ways_is_the_same(void **state)
{
    (void)state;
    write_model(in("new"), FORMAT_SAVED_MODEL);
    write_model(in("legacy"), FORMAT_SESSION_BUNDLE);
    assert_ok(convert("new", "old/00000001", FORMAT_SESSION_BUNDLE));
    assert_answers(in("old/00000001"), all_signatures);
    assert_same_file(in("old/00000001/export-00000-of-00001"), in("legacy/export-00000-of-00001"));
    assert_same_file(in("old/00000001/assets/names/list.txt"), in("new/assets/names/list.txt"));

    assert_ok(convert("old/00000001", "again", FORMAT_SAVED_MODEL));
    assert_answers(in("again"), all_signatures);
    assert_same_file(in("again/variables/variables.index"), in("new/variables/variables.index"));
    assert_same_file(in("again/variables/variables.data-00000-of-00001"),
                     in("new/variables/variables.data-00000-of-00001"));
    assert_same_file(in("again/assets/names/list.txt"), in("new/assets/names/list.txt"));
}

static void a_conversion_that_fails_leaves_nothing(void **state)
{
    (void)state;
    struct file_list files;
    write_model(in("new"), FORMAT_SAVED_MODEL);
    assert_fails_naming(convert("new", "to", FORMAT_SAVED_MODEL), STATUS_INVALID_ARGUMENT,
                        "is a saved_model already");
    assert_fails_naming(convert("none", "to", FORMAT_SAVED_MODEL), STATUS_NOT_FOUND,
                        "does not appear to contain a SavedModel");
    assert_ok(file_make_directories(in("taken/1")));
    assert_ok(file_write(in("taken/file"), bytes_of("x")));
    assert_fails_naming(convert("new", "taken", FORMAT_SESSION_BUNDLE), STATUS_ALREADY_EXISTS,
                        "is not empty");
    const char *const train[] = { "train" };
    const struct savedmodel_conversion other = { in("new"), in("to"), FORMAT_SESSION_BUNDLE, train,
                                                 1 };
    assert_fails_naming(savedmodel_convert(&other), STATUS_NOT_FOUND, "{ train }");
    assert_ok(file_write(in("new/variables/variables.data-00000-of-00001"), bytes_of("short")));
    assert_fails_naming(convert("new", "to", FORMAT_SESSION_BUNDLE), STATUS_OUT_OF_RANGE,
                        "variable 'w'");
    assert_ok(file_list(directory, arena, &files));
    assert_int_equal(files.count, 2); /* new, taken */
}

/* Loaders of a session_bundle always restore; those of a SavedModel only what is there. */
static void a_model_without_a_checkpoint_has_no_saver_afterwards(void **state)
{
    (void)state;
    write_model(in("new"), FORMAT_SAVED_MODEL);
    assert_ok(file_remove_tree(in("new/variables")));
    assert_ok(convert("new", "old", FORMAT_SESSION_BUNDLE));
    assert_null(read_meta(in("old"))->saver_def);
    assert_false(file_exists(in("old/export-00000-of-00001")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(it_has_the_files_and_the_collections_of_the_format),
        TEST_IN_DIRECTORY(ops_that_tensorflow_1_lacks_are_replaced),
        TEST_IN_DIRECTORY(what_is_written_loads_and_answers),
        TEST_IN_DIRECTORY(an_old_file_has_its_default_signature_and_predict),
        TEST_IN_DIRECTORY(a_signature_of_both_kinds_keeps_its_shapes),
        TEST_IN_DIRECTORY(without_a_default_signature_the_named_ones_are_served),
        TEST_IN_DIRECTORY(a_regression_signature_regresses),
        TEST_IN_DIRECTORY(signatures_without_a_meaning_are_refused),
        TEST_IN_DIRECTORY(the_serving_graph_replaces_the_other),
        TEST_IN_DIRECTORY(the_restore_ops_of_the_first_versions_are_read),
        TEST_IN_DIRECTORY(the_variables_may_be_one_file_or_of_format_v2),
        TEST_IN_DIRECTORY(damaged_collections_are_data_loss),
        TEST_IN_DIRECTORY(every_prefix_of_the_file_is_refused_or_loads),
        TEST_IN_DIRECTORY(a_model_converted_both_ways_is_the_same),
        TEST_IN_DIRECTORY(a_conversion_that_fails_leaves_nothing),
        TEST_IN_DIRECTORY(a_model_without_a_checkpoint_has_no_saver_afterwards),
    };
    return cmocka_run_group_tests_name("session_bundle", tests, NULL, NULL);
}
