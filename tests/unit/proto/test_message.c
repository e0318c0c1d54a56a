#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <string.h>

#include "proto/depth.h"
#include "proto/message.h"
#include "proto/saved_model.pb-c.h"
#include "support/models.h"
#include "support/test_group.h"

static void unknown_fields_survive(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    /* VersionDef {producer: 7}, then the undeclared field 1000: "abc" */
    struct bytes bytes = { "\x08\x07\xc2\x3e\x03"
                           "abc",
                           8 };
    Tensorflow__VersionDef *version;
    assert_int_equal(
        proto_unpack(&tensorflow__version_def__descriptor, bytes, arena, &version).code, STATUS_OK);
    assert_int_equal(version->producer, 7);
    struct buffer buffer = { 0 };
    proto_pack(version, &buffer);
    assert_int_equal(buffer.size, bytes.size);
    assert_memory_equal(buffer.data, bytes.data, bytes.size);
    buffer_finish(&buffer);
    arena_destroy(arena);
}

/* `levels` nested messages: a TensorInfo in a CompositeTensor in a TensorInfo, and so on. */
static struct buffer nested(int levels)
{
    struct buffer whole = { 0 };
    for (int i = 1; i < levels; i++) {
        struct buffer outer = { 0 };
        char size[VARINT_MAX];
        buffer_append_char(&outer, i % 2 ? 0x12 : 0x2a); /* components = 2, composite_tensor = 5 */
        buffer_append(&outer, size, varint_put(size, whole.size));
        buffer_append(&outer, whole.data, whole.size);
        buffer_finish(&whole);
        whole = outer;
    }
    return whole;
}

static struct status unpack_nested(int levels)
{
    struct buffer buffer = nested(levels);
    struct arena *arena = arena_create(0);
    void *info;
    const ProtobufCMessageDescriptor *outermost =
        levels % 2 ? &tensorflow__tensor_info__descriptor
                   : &tensorflow__tensor_info__composite_tensor__descriptor;
    struct status status =
        proto_unpack(outermost, (struct bytes){ buffer.data, buffer.size }, arena, &info);
    buffer_finish(&buffer);
    arena_destroy(arena);
    return status;
}

static void a_hundred_levels_pass_and_one_more_does_not(void **state)
{
    (void)state;
    assert_int_equal(unpack_nested(PROTO_DEPTH_MAX).code, STATUS_OK);
    assert_int_equal(unpack_nested(PROTO_DEPTH_MAX + 1).code, STATUS_INVALID_ARGUMENT);
    assert_int_equal(unpack_nested(12000).code, STATUS_INVALID_ARGUMENT);
}

static const struct row {
    const char *label;
    struct bytes bytes;
} damaged[] = {
    { "a tag cut short", { "\x80", 1 } },
    { "a varint cut short", { "\x08\xff", 2 } },
    { "a length past the end", { "\x12\x05 ab", 4 } },
    { "a group", { "\x0b\x0c", 2 } },
    { "field number 0", { "\x00\x01", 2 } },
    { "a length of 2^63", { "\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10 } },
    { "the wrong wire type", { "\x10\x05", 2 } },
};

static void damage_is_internal(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    void *model;
    struct status status =
        proto_unpack(&tensorflow__saved_model__descriptor, row->bytes, arena, &model);
    assert_int_equal(status.code, STATUS_INTERNAL);
    assert_non_null(strstr(status.message, "Failed to parse tensorflow.SavedModel"));
    arena_destroy(arena);
}

static void the_arenas_limit_holds(void **state)
{
    (void)state;
    static char text[20000];
    struct buffer buffer = { 0 };
    char size[VARINT_MAX];
    buffer_append_char(&buffer, 0x22); /* tensor_content */
    buffer_append(&buffer, size, varint_put(size, sizeof text));
    buffer_append(&buffer, text, sizeof text);
    struct arena *arena = arena_create(10000);
    void *tensor;
    assert_int_equal(proto_unpack(&tensorflow__tensor_proto__descriptor,
                                  (struct bytes){ buffer.data, buffer.size }, arena, &tensor)
                         .code,
                     STATUS_RESOURCE_EXHAUSTED);
    arena_destroy(arena);
    buffer_finish(&buffer);
}

static struct buffer read_all(const char *path)
{
    struct buffer buffer = { 0 };
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    buffer.capacity = buffer.size = (size_t)ftell(file);
    buffer.data = zalloc(buffer.size);
    rewind(file);
    assert_int_equal(fread(buffer.data, 1, buffer.size, file), buffer.size);
    fclose(file);
    return buffer;
}

/* The first write may reorder fields, so the test compares the first write with a second one. */
static void real_models_survive_a_round_trip(void **state)
{
    (void)state;
    const char *directory = models_directory();
    if (directory == NULL)
        skip();
    glob_t found = { 0 };
    for (int depth = 0; depth < 5; depth++) {
        char pattern[4096];
        snprintf(pattern, sizeof pattern, "%s/%.*ssaved_model.pb", directory, 2 * depth,
                 "*/*/*/*/*/");
        glob(pattern, depth ? GLOB_APPEND : 0, NULL, &found);
    }
    assert_true(found.gl_pathc >= 60);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct arena *arena = arena_create(0);
        struct buffer in = read_all(found.gl_pathv[i]), out = { 0 }, again = { 0 };
        Tensorflow__SavedModel *model;
        assert_int_equal(proto_unpack(&tensorflow__saved_model__descriptor,
                                      (struct bytes){ in.data, in.size }, arena, &model)
                             .code,
                         STATUS_OK);
        assert_int_equal(model->saved_model_schema_version, 1);
        assert_int_equal(model->base.n_unknown_fields, 0);
        proto_pack(model, &out);
        assert_in_range(out.size, in.size - in.size / 50, in.size);
        assert_int_equal(proto_unpack(&tensorflow__saved_model__descriptor,
                                      (struct bytes){ out.data, out.size }, arena, &model)
                             .code,
                         STATUS_OK);
        proto_pack(model, &again);
        assert_int_equal(again.size, out.size);
        assert_memory_equal(again.data, out.data, out.size);
        buffer_finish(&in);
        buffer_finish(&out);
        buffer_finish(&again);
        arena_destroy(arena);
    }
    print_message("%zu models\n", found.gl_pathc);
    globfree(&found);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(unknown_fields_survive),
        cmocka_unit_test(a_hundred_levels_pass_and_one_more_does_not),
        cmocka_unit_test(the_arenas_limit_holds),
        cmocka_unit_test(real_models_survive_a_round_trip),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, damaged, label, damage_is_internal);
    return test_group_run(&group, "message", NULL, NULL);
}
