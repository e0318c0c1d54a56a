/* Checkpoints that TensorFlow wrote with tests/golden/bundle/make_bundles.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/message.h"
#include "proto/tensor.pb-c.h"
#include "storage/bundle.h"
#include "storage/bundle_writer.h"
#include "storage/table_writer.h"
#include "support/directory.h"
#include "tensor/tensor_proto.h"

#define GOLDEN(name) "tests/golden/bundle/" name

static struct bundle *opened(const char *prefix)
{
    struct bundle *bundle;
    assert_ok(bundle_open(prefix, &bundle));
    return bundle;
}

static void every_type_is_read_and_written_byte_for_byte(void **state)
{
    (void)state;
    struct bundle *bundle = opened(GOLDEN("types"));
    struct bundle_writer *writer;
    assert_ok(bundle_writer_open(in("types"), &writer));
    assert_true(bundle_count(bundle) >= 51);
    for (size_t i = 0; i < bundle_count(bundle); i++) {
        const struct bundle_entry *entry = bundle_at(bundle, i);
        struct tensor tensor;
        assert_ok(bundle_read(bundle, entry->name, &tensor));
        assert_int_equal(tensor.dtype, entry->dtype);
        assert_true(shape_equal(&tensor.shape, &entry->shape));
        assert_ok(bundle_writer_add(writer, entry->name, &tensor));
        tensor_release(&tensor);
    }
    bundle_close(bundle);
    assert_ok(bundle_writer_commit(writer));
    assert_same_file(in("types.index"), GOLDEN("types.index"));
    assert_same_file(in("types.data-00000-of-00001"), GOLDEN("types.data-00000-of-00001"));
}

static void values_are_tensorflows(void **state)
{
    (void)state;
    struct bundle *bundle = opened(GOLDEN("types"));
    struct tensor tensor;
    assert_ok(bundle_read(bundle, "t/float64", &tensor));
    assert_memory_equal(tensor_doubles(&tensor), ((double[]){ 0, 1, 2 }), 24);
    tensor_release(&tensor);
    assert_ok(bundle_read(bundle, "t/bfloat16", &tensor));
    assert_memory_equal(tensor.data, ((uint16_t[]){ 0, 0x3f80, 0x4000 }), 6);
    tensor_release(&tensor);
    assert_ok(bundle_read(bundle, "t/string", &tensor));
    assert_true(bytes_equal(tensor_strings(&tensor)[2], (struct bytes){ "x\0yz", 4 }));
    tensor_release(&tensor);
    assert_ok(bundle_read(bundle, "s/scalar", &tensor));
    assert_int_equal(tensor.shape.rank, 0);
    assert_true(bytes_equal(tensor_strings(&tensor)[0], bytes_of("alone")));
    tensor_release(&tensor);
    bundle_close(bundle);
}

static void assert_floats(struct tensor *tensor, const char *shape, const float *expected)
{
    assert_string_equal(shape_text(&tensor->shape), shape);
    assert_memory_equal(tensor_floats(tensor), expected, tensor_bytes(tensor));
    tensor_release(tensor);
}

static void slices_are_put_together(void **state)
{
    (void)state;
    struct bundle *bundle = opened(GOLDEN("slices"));
    struct tensor tensor;
    float all[24];
    for (int i = 0; i < 24; i++)
        all[i] = (float)i;
    assert_int_equal(bundle_count(bundle), 4); /* does not count the slices */
    assert_ok(bundle_read(bundle, "emb", &tensor));
    assert_floats(&tensor, "[6,4]", all);
    assert_ok(bundle_restore(bundle, "emb", "6 4 1,2:-", DT_FLOAT, &tensor));
    assert_floats(&tensor, "[2,4]", all + 4);
    assert_ok(bundle_restore(bundle, "emb", "6 4 3,2:0,2", DT_FLOAT, &tensor));
    assert_floats(&tensor, "[2,2]", (float[]){ 12, 13, 16, 17 });
    assert_ok(bundle_read(bundle, "words", &tensor));
    assert_true(bytes_equal(tensor_strings(&tensor)[0], bytes_of("w0")));
    assert_true(bytes_equal(tensor_strings(&tensor)[3], bytes_of("w3")));
    tensor_release(&tensor);
    assert_fails_naming(bundle_read(bundle, "hole", &tensor), STATUS_INVALID_ARGUMENT,
                        "Does not have sufficient slices for partitioned tensor hole to restore in "
                        "slice_spec: -");
    assert_ok(bundle_restore(bundle, "hole", "4 0,2", DT_FLOAT, &tensor));
    assert_floats(&tensor, "[2]", (float[]){ 0, 0 });
    bundle_close(bundle);
}

static void a_slice_of_a_whole_tensor_is_cut_out(void **state)
{
    (void)state;
    struct bundle *bundle = opened(GOLDEN("types"));
    struct tensor tensor;
    assert_ok(bundle_restore(bundle, "t/float32", "3 1,2", DT_FLOAT, &tensor));
    assert_floats(&tensor, "[2]", (float[]){ 1, 2 });
    assert_ok(bundle_restore(bundle, "t/string", "3 2,1", DT_STRING, &tensor));
    assert_true(bytes_equal(tensor_strings(&tensor)[0], (struct bytes){ "x\0yz", 4 }));
    tensor_release(&tensor);
    bundle_close(bundle);
}

static void two_shards_are_read(void **state)
{
    (void)state;
    struct bundle *bundle = opened(GOLDEN("shards"));
    struct tensor tensor;
    assert_ok(bundle_read(bundle, "a", &tensor));
    assert_floats(&tensor, "[2]", (float[]){ 1, 2 });
    assert_ok(bundle_read(bundle, "b", &tensor));
    assert_int_equal(tensor_int64s(&tensor)[1], 4);
    tensor_release(&tensor);
    bundle_close(bundle);
}

static void a_missing_shard_matters_only_to_its_tensors(void **state)
{
    (void)state;
    struct buffer bytes = { 0 };
    assert_ok(file_read(GOLDEN("shards.index"), 0, &bytes));
    assert_ok(file_write(in("s.index"), (struct bytes){ bytes.data, bytes.size }));
    bytes.size = 0;
    assert_ok(file_read(GOLDEN("shards.data-00001-of-00002"), 0, &bytes));
    assert_ok(file_write(in("s.data-00001-of-00002"), (struct bytes){ bytes.data, bytes.size }));
    buffer_finish(&bytes);
    struct bundle *bundle = opened(in("s"));
    struct tensor tensor;
    assert_fails_naming(bundle_read(bundle, "a", &tensor), STATUS_NOT_FOUND,
                        "s.data-00000-of-00002");
    assert_ok(bundle_read(bundle, "b", &tensor));
    tensor_release(&tensor);
    bundle_close(bundle);
}

static void variants_come_as_their_messages(void **state)
{
    (void)state;
    struct bundle *bundle = opened(GOLDEN("variant"));
    struct tensor tensor;
    Tensorflow__VariantTensorDataProto *list;
    assert_int_equal(bundle_find(bundle, "list")->dtype, DT_VARIANT);
    assert_ok(bundle_read(bundle, "list", &tensor));
    assert_ok(proto_unpack(&tensorflow__variant_tensor_data_proto__descriptor,
                           tensor_strings(&tensor)[0], arena, &list));
    assert_string_equal(list->type_name, "tensorflow::TensorList");
    assert_int_equal(list->n_tensors, 2);
    tensor_release(&tensor);
    bundle_close(bundle);
}

static void format_v1_is_read_through_the_same_door(void **state)
{
    (void)state;
    const char *prefixes[] = { GOLDEN("v1-?"
                                      "?"
                                      "?"
                                      "?"
                                      "?-of-00002"),
                               GOLDEN("v1-*") };
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        struct bundle *bundle = opened(prefixes[i]);
        struct tensor tensor;
        assert_int_equal(bundle_count(bundle), 3);
        assert_ok(bundle_restore(bundle, "a", "", DT_FLOAT, &tensor));
        assert_floats(&tensor, "[2]", (float[]){ 0.5f, 2 });
        assert_ok(bundle_read(bundle, "s", &tensor));
        assert_true(bytes_equal(tensor_strings(&tensor)[1], (struct bytes){ "a\0b", 3 }));
        tensor_release(&tensor);
        assert_ok(bundle_read(bundle, "emb", &tensor));
        for (int k = 0; k < 8; k++)
            assert_int_equal(tensor_int32s(&tensor)[k], k);
        tensor_release(&tensor);
        assert_fails_naming(bundle_read(bundle, "x", &tensor), STATUS_NOT_FOUND,
                            "Key x not found in checkpoint");
        bundle_close(bundle);
    }
    struct bundle *half = opened(GOLDEN("v1-00000-of-00002"));
    struct tensor tensor;
    assert_fails_naming(bundle_read(half, "emb", &tensor), STATUS_INVALID_ARGUMENT,
                        "sufficient slices");
    bundle_close(half);
}

static void every_prefix_of_a_v1_file_is_data_loss(void **state)
{
    (void)state;
    struct buffer bytes = { 0 };
    assert_ok(file_read(GOLDEN("v1-00000-of-00002"), 0, &bytes));
    for (size_t size = 0; size < bytes.size; size++) {
        struct bundle *bundle;
        assert_ok(file_write(in("v1"), (struct bytes){ bytes.data, size }));
        assert_int_equal(bundle_open(in("v1"), &bundle).code, STATUS_DATA_LOSS);
    }
    buffer_finish(&bytes);
}

static void an_index_of_many_blocks_has_tensorflows_bytes(void **state)
{
    (void)state;
    struct bundle_writer *writer;
    struct buffer index = { 0 }, expected = { 0 };
    struct shape scalar = shape_scalar();
    assert_ok(bundle_writer_open(in("many"), &writer));
    for (int i = 0; i < 20000; i++) {
        char name[32];
        float value = (float)i;
        snprintf(name, sizeof name, "tensor/%05d", i);
        assert_ok(bundle_writer_begin(writer, name, DT_FLOAT, &scalar));
        assert_ok(bundle_writer_append(writer, &value, sizeof value));
        assert_ok(bundle_writer_end(writer));
    }
    assert_ok(bundle_writer_commit(writer));
    assert_ok(file_read(in("many.index"), 0, &index));
    assert_ok(file_read(GOLDEN("many.crc32c"), 0, &expected));
    buffer_append_char(&expected, '\0');
    char text[64];
    snprintf(text, sizeof text, "%08x %zu\n", crc32c(0, index.data, index.size), index.size);
    assert_string_equal(text, expected.data);
    buffer_finish(&index);
    buffer_finish(&expected);
}

static void put_message(struct table_writer *table, const char *key, const void *message)
{
    struct buffer buffer = { 0 };
    proto_pack(message, &buffer);
    assert_ok(table_writer_add(table, bytes_of(key), (struct bytes){ buffer.data, buffer.size }));
    buffer_finish(&buffer);
}

static void put_entry(struct table_writer *table, const char *key, enum dtype dtype, int64_t offset,
                      struct bytes data, uint32_t crc)
{
    Tensorflow__BundleEntryProto entry = TENSORFLOW__BUNDLE_ENTRY_PROTO__INIT;
    struct shape shape = shape_of(2);
    entry.dtype = (Tensorflow__DataType)dtype;
    entry.shape = shape_to_proto(&shape, arena);
    entry.offset = offset;
    entry.size = (int64_t)data.size;
    entry.crc32c = crc32c_mask(crc);
    put_message(table, key, &entry);
}

/* Built by hand, because no available machine writes big-endian bundles. */
static void big_endian_bundles_are_read(void **state)
{
    (void)state;
    struct buffer data = { 0 };
    buffer_append(&data, "\x3f\0\0\0\x40\x40\0\0", 8); /* floats 0.5 and 3 */
    uint32_t floats_crc = crc32c(0, data.data, 8);

    /* The strings "ab" and "". Their sizes are varints, but the sizes' checksum is computed over
     * big-endian integers and stored in big-endian order. */
    uint32_t crc = crc32c(0, "\0\0\0\2\0\0\0\0", 8), masked = crc32c_mask(crc);
    char stored[4] = { (char)(masked >> 24), (char)(masked >> 16), (char)(masked >> 8),
                       (char)masked };
    buffer_append(&data, "\2\0", 2);
    buffer_append(&data, stored, 4);
    buffer_append(&data, "ab", 2);
    crc = crc32c(crc32c(crc, stored, 4), "ab", 2);

    struct file_writer file;
    struct table_writer table;
    Tensorflow__BundleHeaderProto header = TENSORFLOW__BUNDLE_HEADER_PROTO__INIT;
    header.num_shards = 1;
    header.endianness = TENSORFLOW__BUNDLE_HEADER_PROTO__ENDIANNESS__BIG;
    assert_ok(file_writer_open(in("b.index"), &file));
    table_writer_init(&table, &file);
    put_message(&table, "", &header);
    put_entry(&table, "f", DT_FLOAT, 0, (struct bytes){ data.data, 8 }, floats_crc);
    put_entry(&table, "s", DT_STRING, 8, (struct bytes){ data.data + 8, 8 }, crc);
    assert_ok(table_writer_end(&table));
    table_writer_finish(&table);
    assert_ok(file_writer_finish(&file));
    assert_ok(file_write(in("b.data-00000-of-00001"), (struct bytes){ data.data, data.size }));
    buffer_finish(&data);

    struct bundle *bundle = opened(in("b"));
    struct tensor tensor;
    assert_ok(bundle_read(bundle, "f", &tensor));
    assert_floats(&tensor, "[2]", (float[]){ 0.5f, 3 });
    assert_ok(bundle_read(bundle, "s", &tensor));
    assert_true(bytes_equal(tensor_strings(&tensor)[0], bytes_of("ab")));
    tensor_release(&tensor);
    bundle_close(bundle);
}

/* Opens a bundle that consists of only a header with this version. */
static struct status open_version(int min_consumer, int bad_consumer)
{
    struct file_writer file;
    struct table_writer table;
    struct bundle *bundle;
    Tensorflow__BundleHeaderProto header = TENSORFLOW__BUNDLE_HEADER_PROTO__INIT;
    Tensorflow__VersionDef version = TENSORFLOW__VERSION_DEF__INIT;
    version.producer = 3;
    version.min_consumer = min_consumer;
    version.n_bad_consumers = bad_consumer ? 1 : 0;
    version.bad_consumers = &bad_consumer;
    header.num_shards = 1;
    header.version = &version;
    unlink(in("h.index"));
    assert_ok(file_writer_open(in("h.index"), &file));
    table_writer_init(&table, &file);
    put_message(&table, "", &header);
    assert_ok(table_writer_end(&table));
    table_writer_finish(&table);
    assert_ok(file_writer_finish(&file));
    struct status status = bundle_open(in("h"), &bundle);
    if (status_is_ok(status))
        bundle_close(bundle);
    return status;
}

static void versions_that_exclude_us_are_refused(void **state)
{
    (void)state;
    assert_ok(open_version(1, 0));
    assert_fails_naming(open_version(2, 0), STATUS_INVALID_ARGUMENT, "needs a reader of version 2");
    assert_fails_naming(open_version(0, 1), STATUS_INVALID_ARGUMENT,
                        "disallows readers of version 1");
    assert_ok(open_version(0, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(every_type_is_read_and_written_byte_for_byte),
        TEST_IN_DIRECTORY(values_are_tensorflows),
        TEST_IN_DIRECTORY(slices_are_put_together),
        TEST_IN_DIRECTORY(a_slice_of_a_whole_tensor_is_cut_out),
        TEST_IN_DIRECTORY(two_shards_are_read),
        TEST_IN_DIRECTORY(a_missing_shard_matters_only_to_its_tensors),
        TEST_IN_DIRECTORY(variants_come_as_their_messages),
        TEST_IN_DIRECTORY(format_v1_is_read_through_the_same_door),
        TEST_IN_DIRECTORY(every_prefix_of_a_v1_file_is_data_loss),
        TEST_IN_DIRECTORY(an_index_of_many_blocks_has_tensorflows_bytes),
        TEST_IN_DIRECTORY(big_endian_bundles_are_read),
        TEST_IN_DIRECTORY(versions_that_exclude_us_are_refused),
    };
    return cmocka_run_group_tests_name("golden checkpoints", tests, NULL, NULL);
}
