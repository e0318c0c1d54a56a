#include "server/oip/infer_wire.h"

#include <stdio.h>

#include "base/text_print.h"
#include "proto/wire.h"
#include "server/oip/contents.h"
#include "server/oip/datatype.h"
#include "server/oip/raw.h"

/* Fields of ModelInferRequest, of its inputs and outputs, of a map's entry, of InferParameter. */
enum { MODEL = 1, VERSION = 2, ID = 3, PARAMETERS = 4, INPUTS = 5, OUTPUTS = 6, RAW_INPUTS = 7 };
enum { INPUT_NAME = 1, INPUT_DATATYPE = 2, INPUT_SHAPE = 3, INPUT_PARAMETERS = 4, CONTENTS = 5 };
enum { OUTPUT_NAME = 1, OUTPUT_PARAMETERS = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { BOOL_PARAM = 1, STRING_PARAM = 3 };
/* Fields of ModelInferResponse. */
enum { ANSWER_OUTPUTS = 5, ANSWER_RAW = 6 };

static struct status damaged(void)
{
    return status_error(STATUS_INTERNAL, "Failed to parse inference.ModelInferRequest");
}

/* ---- parameters ---- */

struct wire_parameter {
    struct bytes name, text;
    bool is_text, is_true;
};

static struct status read_value(struct bytes message, struct wire_parameter *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        out->is_text = wire_is(&field, STRING_PARAM, WIRE_BYTES);
        if (wire_is(&field, BOOL_PARAM, WIRE_VARINT))
            out->is_true = field.value != 0;
        else if (out->is_text)
            out->text = field.bytes;
    }
    return wire.damaged ? damaged() : status_ok();
}

static struct status read_parameter(struct bytes entry, struct wire_parameter *out)
{
    struct wire wire = wire_of(entry);
    struct wire_field field;
    *out = (struct wire_parameter){ .name = { "", 0 }, .text = { "", 0 } };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, ENTRY_KEY, WIRE_BYTES))
            out->name = field.bytes;
        else if (wire_is(&field, ENTRY_VALUE, WIRE_BYTES))
            TRY(read_value(field.bytes, out));
    }
    return wire.damaged ? damaged() : status_ok();
}

static struct status read_request_parameter(struct bytes entry, struct infer_request *out)
{
    struct wire_parameter parameter;
    TRY(read_parameter(entry, &parameter));
    bool names_signature = bytes_equal(parameter.name, bytes_of("signature_name"));
    if (names_signature && !parameter.is_text)
        return status_error(STATUS_INVALID_ARGUMENT, "'signature_name' is not a string");
    if (names_signature)
        out->signature_name = parameter.text;
    else if (bytes_equal(parameter.name, bytes_of("binary_data_output")))
        out->binary |= parameter.is_true;
    return status_ok();
}

/* For a tensor: refuses unimplemented parameters, which must not be ignored. */
static struct status check_parameter(struct bytes entry)
{
    struct wire_parameter parameter;
    TRY(read_parameter(entry, &parameter));
    if (bytes_equal(parameter.name, bytes_of("shared_memory_region")))
        return status_error(STATUS_UNIMPLEMENTED, "tensors in shared memory");
    if (bytes_equal(parameter.name, bytes_of("classification")))
        return status_error(STATUS_UNIMPLEMENTED, "the classification extension");
    return status_ok();
}

/* ---- inputs and outputs ---- */

struct wire_input {
    struct bytes name, datatype, contents;
    bool has_contents;
    int rank;
};

/* The request, while it is read. */
struct infer_wire_reader {
    struct arena *arena;
    struct infer_request *out;
    struct bytes *inputs, *raw; /* messages */
    int raw_count;
};

static struct status add_dim(int64_t dims[SHAPE_RANK_TENSORFLOW], int *rank, uint64_t dim)
{
    if (*rank == SHAPE_RANK_TENSORFLOW)
        return shape_check_rank(*rank + 1);
    dims[(*rank)++] = (int64_t)dim;
    return status_ok();
}

static struct status read_dims(const struct wire_field *field, int64_t dims[SHAPE_RANK_TENSORFLOW],
                               int *rank)
{
    if (field->type == WIRE_VARINT)
        return add_dim(dims, rank, field->value);
    if (field->type != WIRE_BYTES)
        return damaged();
    const char *at = field->bytes.data, *end = at + field->bytes.size;
    while (at < end) {
        uint64_t dim;
        if (!varint_get(&at, end, &dim))
            return damaged();
        TRY(add_dim(dims, rank, dim));
    }
    return status_ok();
}

static struct status read_input(struct bytes message, struct wire_input *out,
                                int64_t dims[SHAPE_RANK_TENSORFLOW])
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    *out = (struct wire_input){ .name = { "", 0 }, .datatype = { "", 0 }, .contents = { "", 0 } };
    while (wire_next(&wire, &field)) {
        if (field.number == INPUT_SHAPE) {
            TRY(read_dims(&field, dims, &out->rank));
        } else if (wire_is(&field, INPUT_NAME, WIRE_BYTES)) {
            out->name = field.bytes;
        } else if (wire_is(&field, INPUT_DATATYPE, WIRE_BYTES)) {
            out->datatype = field.bytes;
        } else if (wire_is(&field, INPUT_PARAMETERS, WIRE_BYTES)) {
            TRY(check_parameter(field.bytes));
        } else if (wire_is(&field, CONTENTS, WIRE_BYTES)) {
            out->contents = field.bytes;
            out->has_contents = true;
        }
    }
    return wire.damaged ? damaged() : status_ok();
}

/* `raw`: of this input; NULL: the message has no raw contents. */
static struct status make_input(struct infer_wire_reader *reader, const struct wire_input *input,
                                const int64_t *dims, const struct bytes *raw, struct tensor *out)
{
    enum dtype dtype = DT_INVALID;
    struct shape shape;
    TRY(datatype_parse(input->datatype, &dtype));
    TRY(shape_check_any(input->rank, dims, &shape));
    if (raw == NULL)
        return contents_read(input->contents, dtype, &shape, reader->arena, out);
    if (input->has_contents)
        return status_error(STATUS_INVALID_ARGUMENT, "both contents and raw_input_contents");
    return raw_read(*raw, dtype, &shape, reader->arena, out);
}

static struct status read_inputs(struct infer_wire_reader *reader)
{
    struct infer_request *out = reader->out;
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    struct wire_input input;
    for (int i = 0; i < out->inputs_count; i++) {
        const struct bytes *raw = reader->raw_count > 0 ? &reader->raw[i] : NULL;
        TRY(read_input(reader->inputs[i], &input, dims));
        struct status status = make_input(reader, &input, dims, raw, &out->inputs[i].tensor);
        if (!status_is_ok(status))
            return status_in(status, "input '%s'", text_print_name(bytes_first(input.name, 256)));
        out->inputs[i].name = input.name;
    }
    return status_ok();
}

static struct status read_output(struct bytes message, struct infer_output *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    *out = (struct infer_output){ .name = { "", 0 } };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, OUTPUT_NAME, WIRE_BYTES))
            out->name = field.bytes;
        else if (wire_is(&field, OUTPUT_PARAMETERS, WIRE_BYTES))
            TRY(check_parameter(field.bytes));
    }
    return wire.damaged ? damaged() : status_ok();
}

/* ---- the request ---- */

/* Counts the repeated fields and allocates arrays for them. */
static struct status make_room(struct bytes message, struct infer_wire_reader *reader)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    size_t inputs = 0, outputs = 0, raw = 0;
    void *room[4];
    while (wire_next(&wire, &field)) {
        inputs += wire_is(&field, INPUTS, WIRE_BYTES);
        outputs += wire_is(&field, OUTPUTS, WIRE_BYTES);
        raw += wire_is(&field, RAW_INPUTS, WIRE_BYTES);
    }
    if (wire.damaged)
        return damaged();
    if (raw > 0 && raw != inputs)
        return status_error(STATUS_INVALID_ARGUMENT, "%zu raw_input_contents for %zu inputs", raw,
                            inputs);
    TRY(arena_reserve(reader->arena, inputs * sizeof(struct bytes), &room[0]));
    TRY(arena_reserve(reader->arena, raw * sizeof(struct bytes), &room[1]));
    TRY(arena_reserve(reader->arena, inputs * sizeof(struct infer_input), &room[2]));
    TRY(arena_reserve(reader->arena, outputs * sizeof(struct infer_output), &room[3]));
    reader->inputs = room[0];
    reader->raw = room[1];
    reader->out->inputs = room[2];
    reader->out->outputs = room[3];
    return status_ok();
}

static struct status read_field(struct infer_wire_reader *reader, uint32_t number,
                                struct bytes bytes)
{
    struct infer_request *out = reader->out;
    switch (number) {
    case MODEL:
        out->model_name = bytes;
        return status_ok();
    case VERSION:
        out->model_version = bytes;
        return status_ok();
    case ID:
        out->id = bytes;
        return status_ok();
    case PARAMETERS:
        return read_request_parameter(bytes, out);
    case INPUTS:
        reader->inputs[out->inputs_count++] = bytes;
        return status_ok();
    case OUTPUTS:
        return read_output(bytes, &out->outputs[out->outputs_count++]);
    case RAW_INPUTS:
        reader->raw[reader->raw_count++] = bytes;
        return status_ok();
    default:
        return status_ok();
    }
}

struct status infer_wire_read(struct bytes message, struct arena *arena, struct infer_request *out)
{
    struct infer_wire_reader reader = { .arena = arena, .out = out };
    struct wire wire = wire_of(message);
    struct wire_field field;
    struct bytes none = { "", 0 };
    *out = (struct infer_request){
        .model_name = none, .model_version = none, .id = none, .signature_name = none
    };
    TRY(make_room(message, &reader));
    while (wire_next(&wire, &field))
        if (field.type == WIRE_BYTES)
            TRY(read_field(&reader, field.number, field.bytes));
    out->binary |= reader.raw_count > 0 || out->inputs_count == 0;
    return read_inputs(&reader);
}

/* ---- the answer ---- */

static bool is_raw(const struct infer_answer *answer, const struct tensor *outputs)
{
    bool raw = answer->raw;
    for (int i = 0; i < answer->choices_count && !raw; i++)
        raw = !contents_can_put(outputs[answer->choices[i].output].dtype);
    return raw;
}

static void put_shape(const struct shape *shape, struct buffer *out)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = shape_unpack(shape, dims);
    if (rank == 0)
        return;
    size_t opened = wire_open(out, INPUT_SHAPE);
    for (int i = 0; i < rank; i++) {
        buffer_reserve(out, VARINT_MAX);
        out->size += varint_put(out->data + out->size, (uint64_t)dims[i]);
    }
    wire_close(out, opened);
}

static void put_output(const char *key, const struct tensor *output, bool raw, struct buffer *out)
{
    size_t opened = wire_open(out, ANSWER_OUTPUTS);
    wire_put_bytes(out, INPUT_NAME, bytes_of(key));
    wire_put_bytes(out, INPUT_DATATYPE, bytes_of(datatype_name(output->dtype)));
    put_shape(&output->shape, out);
    if (!raw) {
        wire_put_head(out, CONTENTS, contents_size(output));
        contents_put(output, out);
    }
    wire_close(out, opened);
}

size_t infer_wire_size_max(const struct infer_answer *answer, const struct tensor *outputs)
{
    size_t size = answer->model_name.size + answer->id.size + 128;
    bool raw = is_raw(answer, outputs);
    for (int i = 0; i < answer->choices_count; i++) {
        const struct tensor *output = &outputs[answer->choices[i].output];
        size_t elements = raw ? (size_t)raw_size(output) : contents_size(output);
        size += strlen(answer->signature->outputs[answer->choices[i].output].key) +
                SHAPE_RANK_TENSORFLOW * VARINT_MAX + 128;
        if (__builtin_add_overflow(size, elements, &size))
            return SIZE_MAX;
    }
    return size;
}

void infer_wire_put(const struct infer_answer *answer, const struct tensor *outputs,
                    struct buffer *out)
{
    char version[24];
    bool raw = is_raw(answer, outputs);
    snprintf(version, sizeof version, "%lld", (long long)answer->version);
    wire_put_bytes(out, MODEL, answer->model_name);
    wire_put_bytes(out, VERSION, bytes_of(version));
    if (answer->id.size > 0)
        wire_put_bytes(out, ID, answer->id);
    for (int i = 0; i < answer->choices_count; i++) {
        int output = answer->choices[i].output;
        put_output(answer->signature->outputs[output].key, &outputs[output], raw, out);
    }
    for (int i = 0; raw && i < answer->choices_count; i++) {
        const struct tensor *output = &outputs[answer->choices[i].output];
        wire_put_head(out, ANSWER_RAW, (size_t)raw_size(output));
        raw_put(output, out);
    }
}
