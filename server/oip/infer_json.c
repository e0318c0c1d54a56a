#include "server/oip/infer_json.h"

#include "base/characters.h"
#include "base/text_print.h"
#include "server/json/check.h"
#include "server/json/string.h"
#include "server/oip/datatype.h"
#include "server/oip/elements.h"
#include "server/oip/raw.h"

/* Reads unchecked text. On any failure, the text is checked as a whole (diagnose), so a failure
 * need not distinguish grammar errors. */
struct infer_json_reader {
    const char *at;
    const char *end;     /* of the JSON text; zero bytes or binary data follow */
    struct bytes binary; /* the bytes after the text that belong to no input yet */
    struct arena *arena;
};

/* An input, while its members are read. */
struct json_input {
    struct bytes name;
    enum dtype dtype;
    bool has_shape, has_data, has_binary;
    struct shape shape;
    const char *data; /* its data, if they precede the members that they depend on */
    struct tensor tensor;
    uint64_t binary_size;
};

struct json_member {
    const char *name;
    struct status (*read)(struct infer_json_reader *reader,
                          void *object); /* at the value; moves past it */
};

static struct status not_json(void)
{
    return status_error(STATUS_INVALID_ARGUMENT, "the body is not a JSON object");
}

static struct status kind_error(const char *member, const char *kind)
{
    return status_error(STATUS_INVALID_ARGUMENT, "'%s' is not %s", member, kind);
}

static struct status skip_value(struct infer_json_reader *reader)
{
    struct json_error error;
    reader->at = json_check(reader->at, &error);
    return reader->at != NULL ? status_ok() : not_json();
}

static struct status read_string(struct infer_json_reader *reader, const char *member,
                                 struct bytes *out)
{
    const char *end = *reader->at == '"' ? json_string_end(reader->at) : NULL;
    if (end == NULL)
        return kind_error(member, "a string");
    TRY(json_string_read(reader->at, reader->arena, out));
    reader->at = end;
    return status_ok();
}

static struct status read_bool(struct infer_json_reader *reader, const char *member, bool *out)
{
    const char *word = *reader->at == 't' ? "true" : "false";
    if (strncmp(reader->at, word, strlen(word)) != 0)
        return kind_error(member, "true or false");
    *out = *word == 't';
    reader->at += strlen(word);
    return status_ok();
}

static struct status read_uint64(struct infer_json_reader *reader, const char *member,
                                 uint64_t *out)
{
    struct json_number number;
    const char *end = json_number_read(reader->at, &number);
    if (end == NULL || !json_number_uint64(&number, out))
        return kind_error(member, "an integer that is not negative");
    reader->at = end;
    return status_ok();
}

/* ---- objects and lists ---- */

static struct status read_member(struct infer_json_reader *reader,
                                 const struct json_member *members, void *object)
{
    struct bytes name;
    TRY(read_string(reader, "the name of a member", &name));
    reader->at = json_space(reader->at);
    if (*reader->at != ':')
        return not_json();
    reader->at = json_space(reader->at + 1);
    for (const struct json_member *member = members; member->name != NULL; member++)
        if (bytes_equal(name, bytes_of(member->name)))
            return member->read(reader, object);
    return skip_value(reader);
}

/* At the comma or the closing bracket after a value. *more: at the next value. */
static struct status read_comma(struct infer_json_reader *reader, char bracket, bool *more)
{
    reader->at = json_space(reader->at);
    *more = *reader->at == ',';
    if (!*more && *reader->at != bracket)
        return not_json();
    reader->at++;
    if (*more)
        reader->at = json_space(reader->at);
    return status_ok();
}

/* At the opening bracket. *more: at the first value. */
static struct status open_bracket(struct infer_json_reader *reader, const char *bracket,
                                  const char *what, bool *more)
{
    if (*reader->at != bracket[0])
        return kind_error(what, bracket[0] == '{' ? "an object" : "a list");
    reader->at = json_space(reader->at + 1);
    *more = *reader->at != bracket[1];
    if (!*more)
        reader->at++;
    return status_ok();
}

static struct status read_object(struct infer_json_reader *reader, const char *what,
                                 const struct json_member *members, void *object)
{
    bool more;
    TRY(open_bracket(reader, "{}", what, &more));
    while (more) {
        TRY(read_member(reader, members, object));
        TRY(read_comma(reader, '}', &more));
    }
    return status_ok();
}

/* Ensures room for one more element in an array that doubles, because the client chooses its
 * size. */
static struct status append(struct arena *arena, void *array, int count, size_t size)
{
    void **data = array, *grown;
    if ((count & (count - 1)) != 0 || count == 1) /* room for 2, 4, 8, … */
        return status_ok();
    TRY(arena_reserve(arena, (count == 0 ? 2 : 2 * (size_t)count) * size, &grown));
    if (count > 0)
        memcpy(grown, *data, (size_t)count * size);
    *data = grown;
    return status_ok();
}

/* ---- inputs ---- */

static struct status read_input_name(struct infer_json_reader *reader, void *input)
{
    return read_string(reader, "name", &((struct json_input *)input)->name);
}

static struct status read_datatype(struct infer_json_reader *reader, void *input)
{
    struct bytes name;
    TRY(read_string(reader, "datatype", &name));
    return datatype_parse(name, &((struct json_input *)input)->dtype);
}

static struct status read_dimension(struct infer_json_reader *reader, uint64_t *out)
{
    int size = (int)strspn(reader->at, "+-.0123456789Ee");
    const char *text = reader->at;

    if (status_is_ok(read_uint64(reader, "shape", out)))
        return status_ok();
    if (size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "shape has a dimension that is no number");
    return status_error(STATUS_INVALID_ARGUMENT,
                        "shape has the dimension %.*s, expected an integer from 0 on",
                        size < 24 ? size : 24, text);
}

static struct status read_shape(struct infer_json_reader *reader, void *context)
{
    struct json_input *input = context;
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = 0;
    bool more;
    TRY(open_bracket(reader, "[]", "shape", &more));
    while (more) {
        uint64_t dim;
        TRY(read_dimension(reader, &dim));
        if (dim > INT64_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "shape has the dimension %llu, expected at most %lld",
                                (unsigned long long)dim, (long long)INT64_MAX);
        if (rank == SHAPE_RANK_TENSORFLOW)
            return status_error(STATUS_INVALID_ARGUMENT, "shape has more than %d dimensions",
                                SHAPE_RANK_TENSORFLOW);
        dims[rank++] = (int64_t)dim;
        TRY(read_comma(reader, ']', &more));
    }
    input->has_shape = true;
    return shape_check_any(rank, dims, &input->shape);
}

static struct status read_elements(struct infer_json_reader *reader, struct json_input *input)
{
    size_t left = (size_t)(reader->end - reader->at);
    return elements_read(&reader->at, left, input->dtype, &input->shape, reader->arena,
                         &input->tensor);
}

static struct status read_data(struct infer_json_reader *reader, void *context)
{
    struct json_input *input = context;
    input->has_data = true;
    if (input->dtype != DT_INVALID && input->has_shape)
        return read_elements(reader, input);
    input->data = reader->at;
    return skip_value(reader);
}

static struct status refuse_shared_memory(struct infer_json_reader *reader, void *object)
{
    (void)reader, (void)object;
    return status_error(STATUS_UNIMPLEMENTED, "tensors in shared memory");
}

static struct status refuse_classification(struct infer_json_reader *reader, void *object)
{
    (void)reader, (void)object;
    return status_error(STATUS_UNIMPLEMENTED, "the classification extension");
}

static struct status read_binary_size(struct infer_json_reader *reader, void *context)
{
    struct json_input *input = context;
    input->has_binary = true;
    return read_uint64(reader, "binary_data_size", &input->binary_size);
}

static const struct json_member input_parameters[] = {
    { "binary_data_size", read_binary_size },
    { "shared_memory_region", refuse_shared_memory },
    { NULL, NULL },
};

static struct status read_input_parameters(struct infer_json_reader *reader, void *input)
{
    return read_object(reader, "parameters", input_parameters, input);
}

static const struct json_member input_members[] = {
    { "name", read_input_name },   { "shape", read_shape },
    { "datatype", read_datatype }, { "parameters", read_input_parameters },
    { "data", read_data },         { NULL, NULL },
};

/* Takes the input's part of the binary data. */
static struct status take_binary(struct infer_json_reader *reader, struct json_input *input)
{
    if (input->has_data)
        return status_error(STATUS_INVALID_ARGUMENT, "both data and binary_data_size");
    if (input->binary_size > reader->binary.size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "binary_data_size is %llu, but %zu bytes are left after the JSON "
                            "object, whose size is in the header Inference-Header-Content-Length",
                            (unsigned long long)input->binary_size, reader->binary.size);
    struct bytes raw = { reader->binary.data, (size_t)input->binary_size };
    reader->binary.data += raw.size;
    reader->binary.size -= raw.size;
    return raw_read(raw, input->dtype, &input->shape, reader->arena, &input->tensor);
}

/* All members are read. */
static struct status finish_input(struct infer_json_reader *reader, struct json_input *input)
{
    const char *after = reader->at;
    if (input->dtype == DT_INVALID || !input->has_shape)
        return status_error(STATUS_INVALID_ARGUMENT, "no %s",
                            input->has_shape ? "datatype" : "shape");
    if (input->has_binary)
        return take_binary(reader, input);
    if (!input->has_data)
        return status_error(STATUS_INVALID_ARGUMENT, "neither data nor binary_data_size");
    if (input->data == NULL)
        return status_ok();
    reader->at = input->data;
    TRY(read_elements(reader, input));
    reader->at = after;
    return status_ok();
}

static struct status in_input(struct status status, const struct json_input *input, int number)
{
    if (input->name.size > 0)
        return status_in(status, "input '%s'", text_print_name(bytes_first(input->name, 256)));
    return status_in(status, "input %d, which has no name so far", number);
}

static struct status read_inputs(struct infer_json_reader *reader, void *context)
{
    struct infer_request *request = context;
    bool more;
    TRY(open_bracket(reader, "[]", "inputs", &more));
    while (more) {
        struct json_input input = { .dtype = DT_INVALID };
        int number = request->inputs_count;
        TRY(in_input(read_object(reader, "an input", input_members, &input), &input, number));
        TRY(in_input(finish_input(reader, &input), &input, number));
        TRY(append(reader->arena, &request->inputs, number, sizeof *request->inputs));
        request->inputs[request->inputs_count++] = (struct infer_input){ input.name, input.tensor };
        TRY(read_comma(reader, ']', &more));
    }
    return status_ok();
}

/* ---- outputs ---- */

static struct status read_output_name(struct infer_json_reader *reader, void *output)
{
    return read_string(reader, "name", &((struct infer_output *)output)->name);
}

static struct status read_output_binary(struct infer_json_reader *reader, void *output)
{
    bool binary = false;
    TRY(read_bool(reader, "binary_data", &binary));
    ((struct infer_output *)output)->form = binary ? INFER_FORM_BINARY : INFER_FORM_JSON;
    return status_ok();
}

static const struct json_member output_parameters[] = {
    { "binary_data", read_output_binary },
    { "classification", refuse_classification },
    { "shared_memory_region", refuse_shared_memory },
    { NULL, NULL },
};

static struct status read_output_parameters(struct infer_json_reader *reader, void *output)
{
    return read_object(reader, "parameters", output_parameters, output);
}

static const struct json_member output_members[] = {
    { "name", read_output_name },
    { "parameters", read_output_parameters },
    { NULL, NULL },
};

static struct status read_outputs(struct infer_json_reader *reader, void *context)
{
    struct infer_request *request = context;
    bool more;
    TRY(open_bracket(reader, "[]", "outputs", &more));
    while (more) {
        struct infer_output output = { .form = INFER_FORM_DEFAULT };
        int number = request->outputs_count;
        TRY(status_in(read_object(reader, "an output", output_members, &output), "output %d",
                      number));
        TRY(append(reader->arena, &request->outputs, number, sizeof output));
        request->outputs[request->outputs_count++] = output;
        TRY(read_comma(reader, ']', &more));
    }
    return status_ok();
}

/* ---- the request ---- */

static struct status read_id(struct infer_json_reader *reader, void *request)
{
    return read_string(reader, "id", &((struct infer_request *)request)->id);
}

static struct status read_signature_name(struct infer_json_reader *reader, void *request)
{
    return read_string(reader, "signature_name",
                       &((struct infer_request *)request)->signature_name);
}

static struct status read_binary_output(struct infer_json_reader *reader, void *request)
{
    return read_bool(reader, "binary_data_output", &((struct infer_request *)request)->binary);
}

static const struct json_member request_parameters[] = {
    { "signature_name", read_signature_name },
    { "binary_data_output", read_binary_output },
    { NULL, NULL },
};

static struct status read_request_parameters(struct infer_json_reader *reader, void *request)
{
    return read_object(reader, "parameters", request_parameters, request);
}

static const struct json_member request_members[] = {
    { "id", read_id },
    { "parameters", read_request_parameters },
    { "inputs", read_inputs },
    { "outputs", read_outputs },
    { NULL, NULL },
};

static struct status read_request(struct infer_json_reader *reader, struct infer_request *out)
{
    reader->at = json_space(reader->at);
    TRY(read_object(reader, "the body", request_members, out));
    while (reader->at < reader->end && is_one_of(*reader->at, " \n\r\t"))
        reader->at++;
    if (reader->at != reader->end)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the JSON object ends %s the size that the header "
                            "Inference-Header-Content-Length or Content-Length gives",
                            reader->at < reader->end ? "before" : "after");
    if (reader->binary.size > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%zu bytes of binary data belong to no input's binary_data_size",
                            reader->binary.size);
    return status_ok();
}

/* Reports the position of a grammar error, otherwise the reader's failure. */
static struct status diagnose(struct bytes body, struct arena *arena, struct status status)
{
    struct json_error error;
    if (status_is_ok(status) || status.code == STATUS_RESOURCE_EXHAUSTED)
        return status;
    status = status_keep(arena, status);
    return json_check(body.data, &error) == NULL ? json_error_status(body.data, &error) : status;
}

struct status infer_json_read(struct bytes body, size_t json_size, struct arena *arena,
                              struct infer_request *out)
{
    *out = (struct infer_request){ .id = { "", 0 }, .signature_name = { "", 0 } };
    if (json_size == INFER_JSON_ALL)
        json_size = body.size;
    if (json_size > body.size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Inference-Header-Content-Length is %zu, but the body has %zu bytes",
                            json_size, body.size);
    struct infer_json_reader reader = { .at = body.data,
                                        .end = body.data + json_size,
                                        .binary = { body.data + json_size, body.size - json_size },
                                        .arena = arena };
    return diagnose(body, arena, read_request(&reader, out));
}
