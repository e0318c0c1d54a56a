#include "savedmodel/save_graph.h"

static struct tensor strings(int count, const struct bytes *values)
{
    struct shape shape = shape_of(count);
    return tensor_borrow(DT_STRING, &shape, values);
}

static struct endpoint text_const(struct builder *b, const char *name, const char *text)
{
    const struct shape scalar = shape_scalar();
    struct bytes value = bytes_of(text);
    struct tensor tensor = tensor_borrow(DT_STRING, &scalar, &value);
    return build_const(b, name, &tensor);
}

/* An initial value that VariableDef must name, although no loader runs it. It is a Fill, so that
 * the file does not contain zeros. */
static void add_initialiser(struct builder *b, const struct saved_variable *variable,
                            struct endpoint handle)
{
    struct arena *arena = b->graph->arena;
    int32_t dims[SHAPE_RANK_MAX];
    for (int i = 0; i < variable->shape.rank; i++)
        dims[i] = (int32_t)variable->shape.dims[i];
    struct tensor zero;
    const struct shape scalar = shape_scalar();
    struct status status = tensor_create(variable->dtype, &scalar, &zero);
    if (!status_is_ok(status)) {
        b->status = status_keep(arena, status);
        return;
    }
    memset(zero.data, 0, tensor_bytes(&zero));
    const char *prefix = arena_printf(arena, "%s/Initializer/zeros", variable->name);
    struct endpoint shape = build_const_ints(b, arena_printf(arena, "%s/shape_as_tensor", prefix),
                                             variable->shape.rank, dims);
    struct endpoint value = build_const(b, arena_printf(arena, "%s/Const", prefix), &zero);
    tensor_release(&zero);
    struct endpoint fill = build_binary(b, "Fill", prefix, shape, value);
    build_node(b, "AssignVariableOp", arena_printf(arena, "%s/Assign", variable->name), 2,
               (struct endpoint[]){ handle, fill }, 0, NULL, NULL);
    const char *read = arena_printf(arena, "%s/Read/ReadVariableOp", variable->name);
    if (graph_find(b->graph, read) == NULL)
        build(b, "ReadVariableOp", read, 1, &handle,
              (struct attr[]){ attr_type("dtype", variable->dtype), ATTR_END });
}

static struct endpoint *with_values(const struct builder *b, struct endpoint file,
                                    struct endpoint names, struct endpoint specs, int count,
                                    const struct endpoint *reads)
{
    struct endpoint *inputs = ARENA_ARRAY(b->graph->arena, struct endpoint, count + 3);
    inputs[0] = file;
    inputs[1] = names;
    inputs[2] = specs;
    for (int i = 0; i < count; i++)
        inputs[3 + i] = reads[i];
    return inputs;
}

static void add_save_v2(struct builder *b, struct endpoint prefix, struct endpoint names,
                        struct endpoint specs, int count, const struct endpoint *reads,
                        const enum dtype *dtypes)
{
    struct node *save = build_node(
        b, "SaveV2", "save/SaveV2", count + 3, with_values(b, prefix, names, specs, count, reads),
        0, NULL, (struct attr[]){ attr_types(b, "dtypes", count, dtypes), ATTR_END });
    build_node(b, "Identity", "save/control_dependency", 1, &prefix, 1, &save, NULL);
}

/* One shard, as a sharded saver of TensorFlow 1 has it on one device. */
static void add_save_v1(struct builder *b, struct endpoint prefix, struct endpoint names,
                        struct endpoint specs, int count, const struct endpoint *reads,
                        const enum dtype *dtypes)
{
    const struct endpoint shards = build_named_int(b, "save/num_shards", 1);
    const struct endpoint shard[] = { prefix, build_named_int(b, "save/ShardedFilename/shard", 0),
                                      shards };
    struct endpoint file = build(b, "ShardedFilename", "save/ShardedFilename", 3, shard, NULL);
    struct node *save = build_node(b, "SaveSlices", "save/SaveSlices", count + 3,
                                   with_values(b, file, names, specs, count, reads), 0, NULL,
                                   (struct attr[]){ attr_types(b, "T", count, dtypes), ATTR_END });
    struct node *saved =
        build_node(b, "Identity", "save/control_dependency", 1, &file, 1, &save, NULL);
    build_node(b, "ShardedFilespec", "save/ShardedFilespec", 2,
               (struct endpoint[]){ prefix, shards }, 1, &saved, NULL);
}

static void add_restore_half(struct builder *b, struct endpoint prefix, struct endpoint names,
                             struct endpoint specs, int count, const struct endpoint *handles,
                             const enum dtype *dtypes)
{
    struct arena *arena = b->graph->arena;
    struct node *restore =
        build_node(b, "RestoreV2", "save/RestoreV2", 3, (struct endpoint[]){ prefix, names, specs },
                   0, NULL, (struct attr[]){ attr_types(b, "dtypes", count, dtypes), ATTR_END });
    struct node **assigns = ARENA_ARRAY(arena, struct node *, count);
    for (int i = 0; i < count; i++) {
        struct endpoint value = { restore, i };
        value = build_unary(b, "Identity", arena_printf(arena, "save/Identity_%d", i + 1), value);
        assigns[i] =
            build_node(b, "AssignVariableOp", arena_printf(arena, "save/AssignVariableOp_%d", i), 2,
                       (struct endpoint[]){ handles[i], value }, 0, NULL, NULL);
    }
    build_node(b, "NoOp", "save/restore_all", 0, NULL, count, assigns, NULL);
}

static const struct save_layout {
    const char *names, *specs, *save_tensor;
    void (*add_save_half)(struct builder *b, struct endpoint prefix, struct endpoint names,
                          struct endpoint specs, int count, const struct endpoint *reads,
                          const enum dtype *dtypes);
} layouts[] = {
    [FORMAT_SAVED_MODEL] = { "save/SaveV2/tensor_names", "save/SaveV2/shape_and_slices",
                             "save/control_dependency:0", add_save_v2 },
    [FORMAT_SESSION_BUNDLE] = { "save/SaveSlices/tensor_names", "save/SaveSlices/shapes_and_slices",
                                "save/ShardedFilespec:0", add_save_v1 },
};

struct status save_graph_add(struct graph *graph, enum savedmodel_format format,
                             const struct saved_variable *variables, int count,
                             struct save_names *out)
{
    const struct save_layout *layout = &layouts[format];
    struct builder b = builder_init(graph);
    struct arena *arena = graph->arena;
    struct endpoint *handles = ARENA_ARRAY(arena, struct endpoint, count);
    struct endpoint *reads = ARENA_ARRAY(arena, struct endpoint, count);
    enum dtype *dtypes = ARENA_ARRAY(arena, enum dtype, count);
    struct bytes *keys = ARENA_ARRAY(arena, struct bytes, count);
    struct bytes *whole = ARENA_ARRAY(arena, struct bytes, count);

    for (int i = 0; i < count; i++) {
        TRY(graph_endpoint(graph, variables[i].name, &handles[i]));
        add_initialiser(&b, &variables[i], handles[i]);
        TRY(builder_status(&b));
        TRY(graph_endpoint(graph, arena_printf(arena, "%s/Read/ReadVariableOp", variables[i].name),
                           &reads[i]));
        dtypes[i] = variables[i].dtype;
        keys[i] = bytes_of(variables[i].name);
        whole[i] = (struct bytes){ "", 0 };
    }
    struct tensor key_tensor = strings(count, keys), spec_tensor = strings(count, whole);
    const struct shape scalar = shape_scalar();
    struct attr shape[] = { attr_shape("shape", &scalar), ATTR_END };
    struct endpoint model = text_const(&b, "save/filename/input", "model");
    struct endpoint filename =
        build(&b, "PlaceholderWithDefault", "save/filename", 1, &model, shape);
    struct endpoint prefix = build(&b, "PlaceholderWithDefault", "save/Const", 1, &filename, shape);
    struct endpoint names = build_const(&b, layout->names, &key_tensor);
    struct endpoint specs = build_const(&b, layout->specs, &spec_tensor);
    layout->add_save_half(&b, prefix, names, specs, count, reads, dtypes);
    names = build_const(&b, "save/RestoreV2/tensor_names", &key_tensor);
    specs = build_const(&b, "save/RestoreV2/shape_and_slices", &spec_tensor);
    add_restore_half(&b, prefix, names, specs, count, handles, dtypes);
    *out = (struct save_names){ "save/Const:0", layout->save_tensor, "save/restore_all",
                                format == FORMAT_SESSION_BUNDLE };
    return builder_status(&b);
}
