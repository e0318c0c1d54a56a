/* export.meta files, read as a loader does. If one is a model, the target converts it to the
 * SavedModel form, back, and forth again, as `savedmodel convert` does. */
#include <stddef.h>
#include <stdint.h>

#include "proto/message.h"
#include "proto/meta_graph.pb-c.h"
#include "savedmodel/meta_proto.h"
#include "savedmodel/session_bundle_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const tags[] = { "serve" };
static const struct model_file kind = { "export.meta", FORMAT_SESSION_BUNDLE, false };

static void convert(struct bytes bytes, struct arena *arena)
{
    Tensorflow__MetaGraphDef *meta;
    struct buffer packed = { 0 };
    if (status_is_ok(meta_choose(bytes, &kind, tags, 1, arena, &meta)) &&
        status_is_ok(session_bundle_downgrade(meta, arena))) {
        proto_pack(meta, &packed);
        status_ignore(
            meta_choose((struct bytes){ packed.data, packed.size }, &kind, tags, 1, arena, &meta));
    }
    buffer_finish(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create(0);
    struct bytes bytes = { (const char *)data, size };
    struct meta meta;
    status_ignore(meta_read(bytes, &kind, "model", tags, 1, arena, &meta));
    meta_finish(&meta);
    convert(bytes, arena);
    arena_destroy(arena);
    return 0;
}
