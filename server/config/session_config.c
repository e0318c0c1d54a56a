#include "server/config/session_config.h"

#include "base/arena.h"
#include "base/file.h"
#include "proto/text.h"
#include "server/config/config_fields.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define NO_GPU         "this server has no GPU"
#define NO_XLA         "this server has no XLA"
#define ON             TENSORFLOW__REWRITER_CONFIG__TOGGLE__ON
#define OFF            TENSORFLOW__REWRITER_CONFIG__TOGGLE__OFF
#define REWRITE        "graph_options.rewrite_options."
#define OPTIMIZER      "graph_options.optimizer_options."

/* Everything runs on one device, on this host, so placement options have no effect. A plan is
 * pruned, folded and fused (core/runtime/plan), in the precision of the model. */
static const struct config_field rows[] = {
    { "intra_op_parallelism_threads", FIELD_ANY, NULL },
    { "inter_op_parallelism_threads", FIELD_ANY, NULL },
    { "device_count", FIELD_ANY, NULL }, /* the most devices of a type, of which there is one */
    { "device_filters", FIELD_ANY, NULL },
    { "placement_period", FIELD_ANY, NULL },
    { "allow_soft_placement", FIELD_ANY, NULL },
    { "isolate_session_state", FIELD_ANY, NULL }, /* versions share no variables */
    { "gpu_options", FIELD_ANY, NO_GPU },
    { "pluggable_device_options", FIELD_ANY, NO_GPU },
    { "graph_options.enable_recv_scheduling", FIELD_ANY, NULL },   /* nothing is sent */
    { "graph_options.enable_bfloat16_sendrecv", FIELD_ANY, NULL }, /* or received */
    { "graph_options.place_pruned_graph", FIELD_ANY, NULL },
    { OPTIMIZER "do_constant_folding", FIELD_ANY, NULL },
    { OPTIMIZER "do_function_inlining", FIELD_ANY, NULL },
    { OPTIMIZER "global_jit_level", TENSORFLOW__OPTIMIZER_OPTIONS__GLOBAL_JIT_LEVEL__OFF, NULL },
    { OPTIMIZER "global_jit_level", FIELD_ANY, NO_XLA },
    { OPTIMIZER "cpu_global_jit", FIELD_ANY, NO_XLA },
    { REWRITE "constant_folding", ON, NULL },
    { REWRITE "remapping", ON, NULL },
    { REWRITE "debug_stripper", OFF, NULL },
    { REWRITE "layout_optimizer", OFF, NULL },
    { REWRITE "memory_optimization", TENSORFLOW__REWRITER_CONFIG__MEM_OPT_TYPE__NO_MEM_OPT, NULL },
    { REWRITE "pin_to_host_optimization", FIELD_ANY, NULL },
    { REWRITE "scoped_allocator_optimization", OFF, NULL },
    { REWRITE "auto_mixed_precision", OFF, NULL },
    { REWRITE "auto_mixed_precision_mkl", OFF, NULL },
    { REWRITE "auto_mixed_precision_cpu", OFF, NULL },
    { REWRITE "auto_mixed_precision_onednn_bfloat16", OFF, NULL },
    { REWRITE "use_plugin_optimizers", OFF, NULL },
    { REWRITE "disable_tfg_optimizer", 1, NULL },
    { "experimental.optimize_for_static_graph", FIELD_ANY, NULL }, /* a loaded graph stays */
    { "experimental.disable_output_partition_graphs", FIELD_ANY, NULL },
    { "experimental.mlir_bridge_rollout",
      TENSORFLOW__CONFIG_PROTO__EXPERIMENTAL__MLIR_BRIDGE_ROLLOUT__MLIR_BRIDGE_ROLLOUT_DISABLED,
      NULL },
    { "experimental.finalize_function_library_runtime", FIELD_ANY, NULL },
    { "experimental.finalize_resource_manager", FIELD_ANY, NULL },
};

struct status session_config_read(const Tensorflow__ConfigProto *message,
                                  struct session_config *out)
{
    TRY(config_fields_check(message, rows, COUNT(rows)));
    out->intra_op_threads = message->intra_op_parallelism_threads;
    return status_ok();
}

struct status session_config_load(const char *path, struct session_config *out)
{
    struct arena *arena = arena_create(16 * FILE_BYTES_MAX);
    struct buffer text = { 0 };
    Tensorflow__ConfigProto *message;
    struct status status = file_read(path, FILE_BYTES_MAX, &text);
    if (status_is_ok(status))
        status = status_in(proto_text_read(&tensorflow__config_proto__descriptor,
                                           (struct bytes){ text.data, text.size },
                                           PROTO_TEXT_CHECK_UTF8, arena, &message),
                           "Invalid protobuf file: '%s'", path);
    if (status_is_ok(status))
        status = status_in(session_config_read(message, out), "'%s'", path);
    buffer_finish(&text);
    arena_destroy(arena);
    return status;
}
