/* --platform_config_file and --tensorflow_session_config_file: any text gives an error or settings
 * that hold. */
#include <stddef.h>
#include <stdint.h>

#include "proto/session_config.pb-c.h"
#include "proto/text.h"
#include "server/config/platform_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = { (const char *)data, size };
    struct arena *arena = arena_create(0);
    struct platform_config config;
    if (status_is_ok(platform_config_read(text, arena, &config)) &&
        (config.saved_model_tags == NULL || config.batching.rows_max < 1))
        __builtin_trap();
    Tensorflow__ConfigProto *message;
    struct session_config session;
    if (status_is_ok(
            proto_text_read(&tensorflow__config_proto__descriptor, text, 0, arena, &message)) &&
        status_is_ok(session_config_read(message, &session)) &&
        session.intra_op_threads != message->intra_op_parallelism_threads)
        __builtin_trap();
    arena_destroy(arena);
    return 0;
}
