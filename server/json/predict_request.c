
#include "base/text_print.h"
#include "server/json/body.h"
#include "server/json/check.h"
#include "server/json/dump.h"
#include "server/json/predict.h"
#include "server/json/string.h"
#include "server/json/tensor.h"
#include "server/json/walk.h"

struct predict_reader {
    struct bytes body;
    struct signature_finder *finder;
    struct arena *arena;
    const struct signature *signature;
    struct json_tensor *inputs; /* one per input of the signature */
    struct shape *shapes;       /* of each input; if the body has rows, the shape of one row */
    bool *present;
};

static struct status use_signature(struct predict_reader *reader, struct bytes name)
{
    TRY(reader->finder->find(reader->finder, name, &reader->signature));
    int count = reader->signature->inputs_count;
    reader->inputs = ARENA_ARRAY(reader->arena, struct json_tensor, count);
    reader->shapes = ARENA_ARRAY(reader->arena, struct shape, count);
    reader->present = ARENA_ARRAY(reader->arena, bool, count);
    return status_ok();
}

static int find_input(const struct signature *signature, struct bytes key)
{
    for (int i = 0; i < signature->inputs_count; i++)
        if (bytes_equal(key, bytes_of(signature->inputs[i].key)))
            return i;
    return -1;
}

/* Clears the inputs. In most bodies a number and its comma take four bytes or more. */
static void clear_inputs(struct predict_reader *reader)
{
    int count = reader->signature->inputs_count;
    for (int i = 0; i < count; i++) {
        json_tensor_init(&reader->inputs[i], reader->arena, reader->signature->inputs[i].dtype,
                         reader->body.size / 4 / (size_t)count + 8);
        reader->present[i] = false;
    }
}

/* ---- one pass over typical text; NULL: it is not typical ---- */

/* Skips a name without escapes, and its colon. Returns the start of the value. */
static const char *scan_name(const char *at, struct bytes *name)
{
    if (*at != '"')
        return NULL;
    const char *end = json_string_end(at);
    if (end == NULL)
        return NULL;
    *name = (struct bytes){ at + 1, (size_t)(end - at) - 2 };
    if (memchr(name->data, '\\', name->size) != NULL)
        return NULL;
    end = json_space(end);
    return *end == ':' ? json_space(end + 1) : NULL;
}

/* Moves from the end of a member to the next name or to the closing brace. */
static const char *scan_comma(const char *at)
{
    at = json_space(at);
    if (*at == ',') {
        at = json_space(at + 1);
        return *at == '"' ? at : NULL;
    }
    return *at == '}' ? at : NULL;
}

/* Parses an object whose members are inputs, each at most once. Returns its end. *count: the
 * number of members. */
static const char *scan_members(struct predict_reader *reader, const char *at, bool first_row,
                                int *count)
{
    *count = 0;
    for (at = json_space(at + 1); *at != '}';) {
        struct bytes name;
        struct shape shape;
        at = scan_name(at, &name);
        int i = at == NULL ? -1 : find_input(reader->signature, name);
        if (i < 0 || reader->present[i])
            return NULL;
        at = json_tensor_read(&reader->inputs[i], at, &shape);
        if (at == NULL || (!first_row && !shape_equal(&shape, &reader->shapes[i])))
            return NULL;
        reader->shapes[i] = shape;
        reader->present[i] = true;
        ++*count;
        at = scan_comma(at);
        if (at == NULL)
            return NULL;
    }
    return at + 1;
}

static const char *scan_rows_of_objects(struct predict_reader *reader, const char *at,
                                        int64_t *rows)
{
    int count = reader->signature->inputs_count, given;
    at = json_space(at + 1);
    for (*rows = 0;; ++*rows) {
        if (*at != '{')
            return NULL;
        memset(reader->present, 0, (size_t)count * sizeof *reader->present);
        at = scan_members(reader, at, *rows == 0, &given);
        if (at == NULL || given != count)
            return NULL;
        at = json_space(at);
        if (*at == ']')
            break;
        if (*at != ',')
            return NULL;
        at = json_space(at + 1);
    }
    ++*rows;
    return at + 1;
}

/* INVALID_ARGUMENT: the shape has SHAPE_RANK_TENSORFLOW dimensions already. */
static struct status prepend_dimension(struct shape *shape, int64_t dim)
{
    int64_t dims[1 + SHAPE_RANK_TENSORFLOW] = { dim };
    return shape_check_any(1 + shape_unpack(shape, dims + 1), dims, shape);
}

static const char *scan_instances(struct predict_reader *reader, const char *at)
{
    if (*at != '[')
        return NULL;
    const char *first = json_space(at + 1);
    const struct signature *signature = reader->signature;
    bool string = signature->inputs_count == 1 && signature->inputs[0].dtype == DT_STRING;
    if (*first == '{' && !string) {
        int64_t rows;
        at = scan_rows_of_objects(reader, at, &rows);
        for (int i = 0; at != NULL && i < signature->inputs_count; i++) {
            if (!status_is_ok(prepend_dimension(&reader->shapes[i], rows)))
                return NULL;
        }
        return at;
    }
    /* A list of elements of equal shape is a tensor with one more dimension. */
    if (*first == ']' || signature->inputs_count != 1)
        return NULL;
    return json_tensor_read(&reader->inputs[0], at, &reader->shapes[0]);
}

static const char *scan_inputs(struct predict_reader *reader, const char *at)
{
    const struct signature *signature = reader->signature;
    int given;
    if (*at != '{') {
        return signature->inputs_count != 1
                   ? NULL
                   : json_tensor_read(&reader->inputs[0], at, &reader->shapes[0]);
    }
    at = scan_members(reader, at, true, &given);
    return given == signature->inputs_count ? at : NULL;
}

/* Parses the members of the body. Gives up on anything unusual. */
static const char *scan_body(struct predict_reader *reader, bool *rows)
{
    struct bytes name, signature_name = { "", 0 };
    struct json_error error;
    bool named = false, found = false;
    const char *at = json_space(reader->body.data);
    if (*at != '{')
        return NULL;
    for (at = json_space(at + 1); *at != '}';) {
        at = scan_name(at, &name);
        if (at == NULL)
            return NULL;
        if (bytes_equal(name, bytes_of("signature_name"))) {
            const char *end = *at == '"' && !named && !found ? json_string_end(at) : NULL;
            if (end == NULL)
                return NULL; /* the signature's name may also follow the tensors */
            signature_name = (struct bytes){ at + 1, (size_t)(end - at) - 2 };
            named = true;
            if (memchr(signature_name.data, '\\', signature_name.size) != NULL)
                return NULL;
            at = end;
        } else if (bytes_equal(name, bytes_of("instances")) ||
                   bytes_equal(name, bytes_of("inputs"))) {
            if (found || !status_is_ok(use_signature(reader, signature_name)) ||
                reader->signature->inputs_count == 0)
                return NULL;
            clear_inputs(reader);
            found = true;
            *rows = name.data[2] == 's';
            at = *rows ? scan_instances(reader, at) : scan_inputs(reader, at);
        } else {
            at = json_check(at, &error);
        }
        if (at == NULL || (at = scan_comma(at)) == NULL)
            return NULL;
    }
    return found ? at + 1 : NULL;
}

/* ---- step by step ---- */

static bool is_plain_object(const char *at)
{
    const char *text;
    return *at == '{' && !json_is_base64(at, &text);
}

/* INVALID_ARGUMENT: more dimensions than TensorFlow allows. `rows`: 1 if the value is an element of
 * `instances`, which have one more dimension. */
static struct status check_rank(const struct predict_reader *reader, int input, const char *at,
                                int rows)
{
    int rank = json_tensor_rank(at) + rows;
    if (rank <= SHAPE_RANK_TENSORFLOW)
        return status_ok();
    return status_in(shape_check_rank(rank), "input '%s'", reader->signature->inputs[input].key);
}

/* Reads an element of `instances`, which must have the shape of the first one. */
static struct status read_element(struct predict_reader *reader, int input, const char *at,
                                  bool first)
{
    struct json_tensor *tensor = &reader->inputs[input];
    struct shape shape, *expected = &reader->shapes[input];
    size_t before = tensor->count;
    TRY(json_tensor_read_checked(tensor, at, &shape));
    if (first)
        *expected = shape;
    if ((int64_t)(tensor->count - before) != shape_size(expected))
        return status_error(STATUS_INVALID_ARGUMENT, "Expecting tensor size: %lld but got: %zu",
                            (long long)shape_size(expected), tensor->count - before);
    if (!shape_equal(expected, &shape))
        return status_error(STATUS_INVALID_ARGUMENT, "Expecting shape %s but got: %s",
                            shape_text(expected), shape_text(&shape));
    return status_ok();
}

/* As in TensorFlow Serving, any inner failure except memory becomes INVALID_ARGUMENT. */
static struct status wrap(struct status inner, int64_t element, const struct bytes *key)
{
    if (status_is_ok(inner) || inner.code == STATUS_RESOURCE_EXHAUSTED)
        return inner;
    if (key == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Failed to process element: %lld of 'instances' list. Error: %s: %s",
                            (long long)element, status_code_name(inner.code), inner.message);
    return status_error(
        STATUS_INVALID_ARGUMENT,
        "Failed to process element: %lld key: %s of 'instances' list. Error: %s: %s",
        (long long)element, text_print_name(*key), status_code_name(inner.code), inner.message);
}

static struct status keys_error(const struct predict_reader *reader, const char *object,
                                int64_t element)
{
    struct buffer names = { 0 };
    for (int i = 0; i < reader->signature->inputs_count; i++) {
        buffer_append_text(&names, i == 0 ? "" : ",");
        buffer_append_text(&names, reader->signature->inputs[i].key);
    }
    buffer_append_char(&names, '\0');
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT,
                     "Failed to process element: %lld of 'instances' list. JSON object: %s keys "
                     "must be equal to: %s",
                     (long long)element, json_dump(object, reader->arena), names.data);
    buffer_finish(&names);
    return status;
}

/* If several members have one name, the first counts. */
static struct status read_object_row(struct predict_reader *reader, const char *object,
                                     int64_t element)
{
    int count = reader->signature->inputs_count, given = 0;
    memset(reader->present, 0, (size_t)count * sizeof *reader->present);
    for (const char *at = json_first(object); at != NULL; at = json_next_member(at)) {
        struct bytes key;
        TRY(json_string_read(at, reader->arena, &key));
        int i = find_input(reader->signature, key);
        if (i < 0)
            return wrap(status_error(STATUS_INVALID_ARGUMENT,
                                     "JSON object: does not have named input: %s",
                                     text_print_name(key)),
                        element, &key);
        if (reader->present[i])
            continue;
        reader->present[i] = true;
        given++;
        if (element == 0)
            TRY(check_rank(reader, i, json_member_value(at), 1));
        TRY(wrap(read_element(reader, i, json_member_value(at), element == 0), element, &key));
    }
    return given == count ? status_ok() : keys_error(reader, object, element);
}

static struct status read_instances(struct predict_reader *reader, const char *object,
                                    const char *list)
{
    if (*list != '[')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "JSON Value: %s Expecting 'instances' to be an list/array",
                            json_dump(object, reader->arena));
    const char *first = json_first(list);
    if (first == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "JSON Value: %s No values in 'instances' array",
                            json_dump(object, reader->arena));
    bool objects = is_plain_object(first);
    int count = reader->signature->inputs_count;
    if (!objects && count > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "instances is a plain list, but expecting list of objects as multiple "
                            "input tensors required as per tensorinfo_map");
    if (!objects)
        TRY(check_rank(reader, 0, first, 1));
    int64_t element = 0;
    for (const char *at = first; at != NULL; at = json_next(at), element++) {
        if (is_plain_object(at) != objects)
            return status_error(STATUS_INVALID_ARGUMENT,
                                objects
                                    ? "Expecting object but got list at item %lld of input list"
                                    : "Expecting value/list but got object at item %lld of input "
                                      "list",
                                (long long)element);
        if (objects)
            TRY(read_object_row(reader, at, element));
        else
            TRY(wrap(read_element(reader, 0, at, element == 0), element, NULL));
    }
    for (int i = 0; i < count; i++)
        TRY(prepend_dimension(&reader->shapes[i], element));
    return status_ok();
}

/* Finds the values of all inputs in one pass, because an object may have many members. If
 * several members have one name, the first counts. */
static struct status find_values(struct predict_reader *reader, const char *object,
                                 const char **values)
{
    for (const char *at = json_first(object); at != NULL; at = json_next_member(at)) {
        struct bytes key;
        TRY(json_string_read(at, reader->arena, &key));
        int i = find_input(reader->signature, key);
        if (i >= 0 && values[i] == NULL)
            values[i] = json_member_value(at);
    }
    return status_ok();
}

static struct status read_inputs(struct predict_reader *reader, const char *value)
{
    const struct signature *signature = reader->signature;
    if (!is_plain_object(value)) {
        if (signature->inputs_count > 1)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "inputs is a plain value/list, but expecting an object as multiple "
                                "input tensors required as per tensorinfo_map");
        TRY(check_rank(reader, 0, value, 0));
        return json_tensor_read_checked(&reader->inputs[0], value, &reader->shapes[0]);
    }
    const char **values = ARENA_ARRAY(reader->arena, const char *, signature->inputs_count);
    TRY(find_values(reader, value, values));
    for (int i = 0; i < signature->inputs_count; i++) {
        if (values[i] == NULL)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Missing named input: %s in 'inputs' object.",
                                signature->inputs[i].key);
        TRY(check_rank(reader, i, values[i], 0));
        TRY(json_tensor_read_checked(&reader->inputs[i], values[i], &reader->shapes[i]));
    }
    return status_ok();
}

static struct status read_signature(struct predict_reader *reader, const char *object)
{
    struct bytes name;
    TRY(json_body_signature_name(object, reader->arena, &name));
    TRY(use_signature(reader, name));
    if (reader->signature->inputs_count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Failed to get input map for signature: %s",
                            name.size ? text_print_name(name) : "DEFAULT");
    clear_inputs(reader);
    return status_ok();
}

static struct status read_body(struct predict_reader *reader, bool *rows)
{
    const char *object, *instances, *inputs;
    TRY(json_body_object(reader->body, reader->arena, &object));
    TRY(read_signature(reader, object));
    TRY(json_body_member(object, "instances", reader->arena, &instances));
    TRY(json_body_member(object, "inputs", reader->arena, &inputs));
    if (instances != NULL && inputs != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "JSON Value: %s Not formatted correctly expecting only one of 'inputs' "
                            "or 'instances' keys to exist ",
                            json_dump(object, reader->arena));
    if (instances == NULL && inputs == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "Missing 'inputs' or 'instances' key");
    *rows = instances != NULL;
    return *rows ? read_instances(reader, object, instances) : read_inputs(reader, inputs);
}

struct status predict_request_read(struct bytes body, struct signature_finder *finder,
                                   struct arena *arena, struct predict_request *out)
{
    struct predict_reader reader = { .body = body, .finder = finder, .arena = arena };
    bool rows = false;
    if (scan_body(&reader, &rows) == NULL)
        TRY(read_body(&reader, &rows));
    int count = reader.signature->inputs_count;
    *out = (struct predict_request){ reader.signature, rows,
                                     ARENA_ARRAY(arena, struct tensor, count) };
    for (int i = 0; i < count; i++)
        out->inputs[i] = json_tensor_finish(&reader.inputs[i], &reader.shapes[i]);
    return status_ok();
}
