#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire.h"
#include "server/oip/infer_wire.h"
#include "unit/oip/words.h"
#include "support/arena.h"
#include "support/test_group.h"

/* An input with a shape of one dimension. `contents` NULL: none. */
static void put_input(struct buffer *out, const char *name, const char *datatype, uint64_t dim,
                      const struct buffer *contents)
{
    size_t input = wire_open(out, 5);
    wire_put_bytes(out, 1, bytes_of(name));
    wire_put_bytes(out, 2, bytes_of(datatype));
    wire_put_varint(out, 3, dim);
    if (contents != NULL)
        wire_put_bytes(out, 5, (struct bytes){ contents->data, contents->size });
    wire_close(out, input);
}

static void put_parameter(struct buffer *out, uint32_t map, const char *name, uint32_t choice,
                          const char *text)
{
    size_t entry = wire_open(out, map);
    wire_put_bytes(out, 1, bytes_of(name));
    size_t value = wire_open(out, 2);
    if (text != NULL)
        wire_put_bytes(out, choice, bytes_of(text));
    else
        wire_put_varint(out, choice, 1);
    wire_close(out, value);
    wire_close(out, entry);
}

/* Reads the message, frees it, and tells what it says or why not. */
static const char *words(struct buffer *message)
{
    struct infer_request request;
    char *kept = arena_memdup(arena, message->size > 0 ? message->data : "", message->size);
    struct bytes bytes = { kept, message->size };
    buffer_finish(message);
    struct status status = infer_wire_read(bytes, arena, &request);
    return status_is_ok(status) ? request_words(&request, arena)
                                : arena_strdup(arena, status.message);
}

static void reads_raw_contents_in_the_order_of_the_inputs(void **state)
{
    (void)state;
    struct buffer message = { 0 };
    wire_put_bytes(&message, 1, bytes_of("m"));
    wire_put_bytes(&message, 2, bytes_of("7"));
    wire_put_bytes(&message, 3, bytes_of("42"));
    put_parameter(&message, 4, "signature_name", 3, "s");
    put_input(&message, "x", "INT16", 2, NULL);
    put_input(&message, "y", "BYTES", 1, NULL);
    size_t output = wire_open(&message, 6);
    wire_put_bytes(&message, 1, bytes_of("p"));
    wire_close(&message, output);
    wire_put_bytes(&message, 7, (struct bytes){ "\x01\x00\xff\xff", 4 });
    wire_put_bytes(&message, 7,
                   (struct bytes){ "\x02\x00\x00\x00"
                                   "ab",
                                   6 });
    assert_string_equal(words(&message),
                        "x INT16 [2] 1 -1; y BYTES [1] ab -> p id 42 signature s binary");
}

static const struct contents_row {
    const char *datatype;
    uint32_t field;
    const char *packed, *words;
    size_t size;
    uint64_t dim;
} contents_rows[] = {
    { "BOOL", 1, "\x01\x00", "x BOOL [2] 1 0", 2, 2 },
    { "INT8", 2, "\x80\xff\xff\xff\xff\xff\xff\xff\xff\x01", "x INT8 [1] -128", 10, 1 },
    { "INT64", 3, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x05", "x INT64 [2] -1 5", 11, 2 },
    { "UINT16", 4, "\xff\xff\x03", "x UINT16 [1] 65535", 3, 1 },
    { "UINT64", 5, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "x UINT64 [1] 18446744073709551615",
      10, 1 },
    { "FP32", 6, "\x00\x00\xc0\x3f", "x FP32 [1] 1.5", 4, 1 },
    { "FP64", 7, "\x00\x00\x00\x00\x00\x00\xf8\x3f", "x FP64 [1] 1.5", 8, 1 },
    { "BYTES", 8, "abc", "x BYTES [1] abc", 3, 1 },
    { "FP32", 6, "", "x FP32 []", 0, 0 }, /* a dimension that is not written: rank 0 */
    { "BOOL", 1, "\x02", "input 'x': element 0 is 2, which BOOL does not hold", 1, 1 },
    { "INT8", 2, "\x80\x01", "input 'x': element 0 is 128, which INT8 does not hold", 2, 1 },
    { "UINT8", 4, "\x80\x02", "input 'x': element 0 is 256, which UINT8 does not hold", 2, 1 },
    { "INT32", 2, "\x01\x01\x01",
      "input 'x': the contents have more or fewer than the 2 elements of the shape", 3, 2 },
    { "FP32", 6, "\x00\x00\xc0\x3f",
      "input 'x': the contents have more or fewer than the 9000000000000000000 elements of the "
      "shape",
      4, 9000000000000000000 },
    { "FP32", 6, "\x00\x00\xc0", "input 'x': Failed to parse inference.InferTensorContents", 3, 1 },
    { "FP32", 7, "\x00\x00\xc0\x3f", "input 'x': contents of another datatype than FP32", 4, 1 },
    { "FP16", 6, "\x00\x00\xc0\x3f", "input 'x': FP16 must be sent as raw contents", 4, 1 },
    { "FP33", 6, "\x00\x00\xc0\x3f", "input 'x': datatype 'FP33' is none of", 4, 1 },
};

static void reads_contents(void **state)
{
    const struct contents_row *row = *state;
    struct buffer message = { 0 }, contents = { 0 };
    if (row->size > 0)
        wire_put_bytes(&contents, row->field, (struct bytes){ row->packed, row->size });
    put_input(&message, "x", row->datatype, row->dim, &contents);
    buffer_finish(&contents);
    const char *got = words(&message);
    if (row->size == 0) /* one element is wanted */
        assert_string_equal(got, "input 'x': the contents have more or fewer than the 1 elements "
                                 "of the shape");
    else
        assert_memory_equal(got, row->words, strlen(row->words));
}

static void a_nul_does_not_end_the_name_of_an_input(void **state)
{
    (void)state;
    struct buffer message = { 0 };
    size_t input = wire_open(&message, 5);
    wire_put_bytes(&message, 1, (struct bytes){ "x\0y", 3 });
    wire_put_bytes(&message, 2, bytes_of("FP33"));
    wire_close(&message, input);
    assert_non_null(strstr(words(&message), "input 'x\\000y': datatype 'FP33'"));
}

static void refuses_fewer_raw_contents_than_inputs(void **state)
{
    (void)state;
    struct buffer message = { 0 };
    put_input(&message, "x", "INT16", 2, NULL);
    put_input(&message, "y", "INT16", 2, NULL);
    wire_put_bytes(&message, 7, (struct bytes){ "\x01\x00\xff\xff", 4 });
    assert_string_equal(words(&message), "1 raw_input_contents for 2 inputs");
}

static void refuses_both_kinds_of_contents(void **state)
{
    (void)state;
    struct buffer message = { 0 }, contents = { 0 };
    wire_put_bytes(&contents, 6, (struct bytes){ "\0\0\0\0", 4 });
    put_input(&message, "x", "FP32", 1, &contents);
    wire_put_bytes(&message, 7, (struct bytes){ "\0\0\0\0", 4 });
    buffer_finish(&contents);
    assert_string_equal(words(&message), "input 'x': both contents and raw_input_contents");
}

static void refuses_what_it_does_not_implement(void **state)
{
    (void)state;
    struct buffer message = { 0 };
    size_t input = wire_open(&message, 5);
    put_parameter(&message, 4, "shared_memory_region", 3, "r");
    wire_close(&message, input);
    assert_string_equal(words(&message), "tensors in shared memory");
    size_t output = wire_open(&message, 6);
    put_parameter(&message, 2, "classification", 2, NULL);
    wire_close(&message, output);
    assert_string_equal(words(&message), "the classification extension");
}

/* Whole fields stay after every cut, so that a prefix is refused or reads as another request. */
static void survives_every_prefix(void **state)
{
    (void)state;
    struct buffer message = { 0 };
    struct infer_request request;
    put_input(&message, "x", "INT16", 2, NULL);
    wire_put_bytes(&message, 7, (struct bytes){ "\x01\x00\xff\xff", 4 });
    for (size_t size = 0; size < message.size; size++) {
        char *prefix = malloc(size + 1);
        memcpy(prefix, message.data, size);
        struct status status = infer_wire_read((struct bytes){ prefix, size }, arena, &request);
        assert_true(!status_is_ok(status) || size == 0);
        free(prefix);
    }
    buffer_finish(&message);
}

/* ---- answers ---- */

static struct signature_tensor output_names[] = { { .key = "p", .tensor_name = "p:0" },
                                                  { .key = "q", .tensor_name = "q:0" } };
static const struct signature answering = { .name = "s",
                                            .outputs = output_names,
                                            .outputs_count = 2 };
static const struct infer_choice choices[] = { { 0, false }, { 1, false } };

/* An answer has the fields of a request, but for the numbers of the outputs and the raw contents,
 * so it is read back as one. */
static const char *answer_words(const struct tensor *outputs, bool raw)
{
    struct infer_answer answer = { .model_name = bytes_of("m"),
                                   .id = bytes_of("42"),
                                   .version = 3,
                                   .signature = &answering,
                                   .choices = choices,
                                   .choices_count = 2,
                                   .raw = raw };
    struct buffer out = { 0 }, again = { 0 };
    size_t most = infer_wire_size_max(&answer, outputs);
    infer_wire_put(&answer, outputs, &out);
    assert_true(out.size <= most);
    struct wire wire = wire_of((struct bytes){ out.data, out.size });
    struct wire_field field;
    while (wire_next(&wire, &field))
        wire_put_bytes(&again, field.number == 6 ? 7 : field.number, field.bytes);
    assert_false(wire.damaged);
    buffer_finish(&out);
    return words(&again);
}

static void writes_raw_contents(void **state)
{
    (void)state;
    static const float numbers[] = { 1, 0.5f };
    static const struct bytes texts[] = { { "abc", 3 }, { "", 0 } };
    struct shape matrix = shape_of(2, 1), two = shape_of(2);
    struct tensor outputs[] = { tensor_borrow(DT_FLOAT, &matrix, numbers),
                                tensor_borrow(DT_STRING, &two, texts) };
    assert_string_equal(answer_words(outputs, true),
                        "p FP32 [2,1] 1 0.5; q BYTES [2] abc  id 42 binary");
    assert_string_equal(answer_words(outputs, false), "p FP32 [2,1] 1 0.5; q BYTES [2] abc  id 42");
}

static void writes_every_datatype_in_both_forms(void **state)
{
    (void)state;
    static const enum dtype dtypes[] = { DT_BOOL,   DT_INT8,   DT_UINT8,   DT_INT16,  DT_UINT16,
                                         DT_INT32,  DT_UINT32, DT_INT64,   DT_UINT64, DT_FLOAT,
                                         DT_DOUBLE, DT_HALF,   DT_BFLOAT16 };
    static const uint64_t bits[] = { 0x0101010101010101, 0xffffffffffffffff, 0x3f803f803f803f80 };
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        for (size_t j = dtypes[i] == DT_BOOL ? 0 : 1; j < (dtypes[i] == DT_BOOL ? 1 : COUNT(bits));
             j++) {
            struct shape one = shape_of(1);
            struct tensor tensor = tensor_borrow(dtypes[i], &one, &bits[j]);
            struct tensor outputs[] = { tensor, tensor };
            char *raw = arena_strdup(arena, answer_words(outputs, true));
            const char *typed = answer_words(outputs, false);
            assert_memory_equal(raw, typed, strlen(raw) - strlen(" binary"));
        }
    }
}

static void an_output_without_repeated_field_makes_the_answer_raw(void **state)
{
    (void)state;
    static const uint16_t half[] = { 0x3e00 };
    static const float number[] = { 2 };
    struct shape one = shape_of(1);
    struct tensor outputs[] = { tensor_borrow(DT_HALF, &one, half),
                                tensor_borrow(DT_FLOAT, &one, number) };
    assert_string_equal(answer_words(outputs, false), "p FP16 [1] 1.5; q FP32 [1] 2 id 42 binary");
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(reads_raw_contents_in_the_order_of_the_inputs),
        cmocka_unit_test(a_nul_does_not_end_the_name_of_an_input),
        cmocka_unit_test(refuses_fewer_raw_contents_than_inputs),
        cmocka_unit_test(refuses_both_kinds_of_contents),
        cmocka_unit_test(refuses_what_it_does_not_implement),
        cmocka_unit_test(survives_every_prefix),
        cmocka_unit_test(writes_raw_contents),
        cmocka_unit_test(writes_every_datatype_in_both_forms),
        cmocka_unit_test(an_output_without_repeated_field_makes_the_answer_raw),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, contents_rows, words, reads_contents);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "infer_wire", arena_setup, arena_teardown);
}
