#include "server/json/tensor.h"

#include "base/base64.h"
#include "base/json_number.h"
#include "server/json/dump.h"
#include "server/json/string.h"
#include "server/json/walk.h"

void json_tensor_init(struct json_tensor *tensor, struct arena *arena, enum dtype dtype,
                      size_t expected_count)
{
    *tensor = (struct json_tensor){ .arena = arena, .dtype = dtype, .capacity = expected_count };
}

static bool grow(struct json_tensor *tensor, size_t count)
{
    size_t size = dtype_size(tensor->dtype);
    size_t capacity = tensor->capacity < count ? 2 * count : tensor->capacity;
    void *data;
    if (size == 0 || !status_is_ok(arena_reserve(tensor->arena, capacity * size, &data))) {
        tensor->full = size != 0;
        return false;
    }
    if (tensor->count > 0)
        memcpy(data, tensor->data, tensor->count * size);
    tensor->data = data;
    tensor->capacity = capacity;
    return true;
}

/* Ensures room for one more element. */
static inline bool ensure(struct json_tensor *tensor)
{
    return (tensor->data != NULL && tensor->count < tensor->capacity) ||
           grow(tensor, tensor->count + 1);
}

/* Any JSON number is a valid float or double. */
static const char *read_real(struct json_tensor *tensor, const char *at)
{
    struct json_number number;
    const char *end = json_number_read(at, &number);
    if (end == NULL)
        return NULL;
    double value = json_number_double(&number);
    if (json_number_is_too_big(&number, value))
        return NULL;
    if (tensor->dtype == DT_FLOAT)
        ((float *)tensor->data)[tensor->count++] = (float)value;
    else
        ((double *)tensor->data)[tensor->count++] = value;
    return end;
}

/* Integers narrower than 32 bits are truncated without a check, as in TensorFlow. */
static bool store_integer(struct json_tensor *tensor, const struct json_number *number)
{
    size_t i = tensor->count;
    int64_t value = 0;
    uint64_t wide = 0;
    bool is_unsigned = tensor->dtype == DT_UINT64 || tensor->dtype == DT_UINT32;
    if (is_unsigned ? !json_number_uint64(number, &wide) : !json_number_int64(number, &value))
        return false;
    if (!is_unsigned && tensor->dtype != DT_INT64 && (value < INT32_MIN || value > INT32_MAX))
        return false;
    switch (tensor->dtype) {
    case DT_INT64:
        ((int64_t *)tensor->data)[i] = value;
        break;
    case DT_INT32:
        ((int32_t *)tensor->data)[i] = (int32_t)value;
        break;
    case DT_INT16:
        ((int16_t *)tensor->data)[i] = (int16_t)value;
        break;
    case DT_INT8:
        ((int8_t *)tensor->data)[i] = (int8_t)value;
        break;
    case DT_UINT8:
        ((uint8_t *)tensor->data)[i] = (uint8_t)value;
        break;
    case DT_UINT32:
        if (wide > UINT32_MAX)
            return false;
        ((uint32_t *)tensor->data)[i] = (uint32_t)wide;
        break;
    default:
        ((uint64_t *)tensor->data)[i] = wide;
    }
    tensor->count++;
    return true;
}

static const char *read_integer(struct json_tensor *tensor, const char *at)
{
    struct json_number number;
    const char *end = json_number_read(at, &number);
    return end != NULL && store_integer(tensor, &number) ? end : NULL;
}

static const char *read_bool(struct json_tensor *tensor, const char *at)
{
    bool value = *at == 't';
    const char *word = value ? "true" : "false";
    size_t size = strlen(word);
    if (strncmp(at, word, size) != 0)
        return NULL;
    ((bool *)tensor->data)[tensor->count++] = value;
    return at + size;
}

/* Finds the string in `{"b64": "…"}`; NULL for any other object. *end: the end of the object. */
static const char *open_base64(const char *at, const char **end)
{
    at = json_string_match(json_space(at + 1), "b64");
    if (at == NULL)
        return NULL;
    at = json_space(at);
    if (*at != ':')
        return NULL;
    const char *text = json_space(at + 1);
    if (*text != '"' || (at = json_string_end(text)) == NULL)
        return NULL;
    at = json_space(at);
    *end = at + 1;
    return *at == '}' ? text : NULL;
}

static const char *read_string(struct json_tensor *tensor, const char *at)
{
    const char *end = NULL, *text = at;
    struct bytes value;
    struct status status;
    if (*at == '{')
        text = open_base64(at, &end);
    else
        end = *at == '"' ? json_string_end(at) : NULL;
    if (text == NULL || end == NULL)
        return NULL;
    TRY_OR(fail, json_string_read(text, tensor->arena, &value));
    if (text != at)
        TRY_OR(fail, base64_decode(value, tensor->arena, &value));
    ((struct bytes *)tensor->data)[tensor->count++] = value;
    return end;

fail:
    tensor->full = status.code == STATUS_RESOURCE_EXHAUSTED;
    return NULL;
}

/* Reads one element; NULL if it is not of this dtype. */
static const char *read_leaf(struct json_tensor *tensor, const char *at)
{
    if (!ensure(tensor))
        return NULL;
    switch (tensor->dtype) {
    case DT_FLOAT:
    case DT_DOUBLE:
        return read_real(tensor, at);
    case DT_INT32:
    case DT_INT64:
    case DT_INT16:
    case DT_INT8:
    case DT_UINT8:
    case DT_UINT32:
    case DT_UINT64:
        return read_integer(tensor, at);
    case DT_BOOL:
        return read_bool(tensor, at);
    case DT_STRING:
        return read_string(tensor, at);
    default:
        return NULL;
    }
}

/* Reads elements and the commas between them. Returns the position after them. *count: the
 * number of elements. */
static const char *read_floats(struct json_tensor *tensor, const char *at, int64_t *count)
{
    for (;;) {
        size_t got;
        if (!ensure(tensor))
            return NULL;
        at = json_floats_read(at, (float *)tensor->data + tensor->count,
                              tensor->capacity - tensor->count, &got);
        tensor->count += got;
        *count += (int64_t)got;
        if (at == NULL || *at != ',')
            return at;
        at = json_space(at + 1);
    }
}

static const char *read_run(struct json_tensor *tensor, const char *at, int64_t *count)
{
    *count = 0;
    if (tensor->dtype == DT_FLOAT)
        return read_floats(tensor, at, count);
    for (;;) {
        at = read_leaf(tensor, at);
        if (at == NULL)
            return NULL;
        ++*count;
        at = json_space(at);
        if (*at != ',')
            return at;
        at = json_space(at + 1);
    }
}

/* The open lists, and the shape so far. The first element sets the rank; the first list of each
 * level that closes sets its dimension. */
struct lists {
    int depth, rank; /* rank < 0: not known yet */
    int64_t counts[SHAPE_RANK_TENSORFLOW], dims[SHAPE_RANK_TENSORFLOW];
};

/* Closes lists at `at`. Returns the start of the next value or, if the outermost list has
 * closed, its end; NULL if sizes differ. */
static const char *close_lists(struct lists *lists, const char *at)
{
    while (*at == ']') {
        int level = --lists->depth;
        if (lists->dims[level] < 0)
            lists->dims[level] = lists->counts[level];
        else if (lists->dims[level] != lists->counts[level])
            return NULL;
        at++;
        if (level == 0)
            return at;
        lists->counts[level - 1]++;
        at = json_space(at);
    }
    return *at == ',' ? json_space(at + 1) : NULL;
}

static const char *read_lists(struct json_tensor *tensor, struct lists *lists, const char *at)
{
    do {
        while (*at == '[') {
            if (lists->depth == (lists->rank < 0 ? SHAPE_RANK_TENSORFLOW : lists->rank))
                return NULL;
            if (lists->rank < 0)
                lists->dims[lists->depth] = -1;
            lists->counts[lists->depth++] = 0;
            at = json_space(at + 1);
        }
        if (lists->rank < 0)
            lists->rank = lists->depth;
        if (lists->depth != lists->rank)
            return NULL;
        if (*at != ']') {
            at = read_run(tensor, at, &lists->counts[lists->depth - 1]);
            if (at == NULL)
                return NULL;
        }
        at = close_lists(lists, at);
    } while (at != NULL && lists->depth > 0);
    return at;
}

const char *json_tensor_read(struct json_tensor *tensor, const char *at, struct shape *shape)
{
    struct lists lists; /* 4 KB, of which few levels are used */
    if (*at != '[') {
        *shape = shape_scalar();
        return read_leaf(tensor, at);
    }
    lists.depth = 0;
    lists.rank = -1;
    at = read_lists(tensor, &lists, at);
    if (at != NULL && !status_is_ok(shape_check_any(lists.rank, lists.dims, shape)))
        return NULL;
    return at;
}

static bool has_json_form(enum dtype dtype)
{
    return (DTYPES(dtype) &
            (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) | DTYPES(DT_INT64) |
             DTYPES(DT_INT16) | DTYPES(DT_INT8) | DTYPES(DT_UINT8) | DTYPES(DT_UINT32) |
             DTYPES(DT_UINT64) | DTYPES(DT_BOOL) | DTYPES(DT_STRING))) != 0;
}

static struct status leaf_error(struct json_tensor *tensor, const char *at)
{
    const char *text;
    if (tensor->full)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "the request's tensors are over the limit of memory");
    const char *dump = json_dump(at, tensor->arena);
    if (*at != '{' && !has_json_form(tensor->dtype))
        return status_error(STATUS_UNIMPLEMENTED, "Conversion of JSON Value: %s to type: %s", dump,
                            dtype_name(tensor->dtype));
    if (tensor->dtype == DT_STRING && json_is_base64(at, &text))
        return status_error(STATUS_INVALID_ARGUMENT, "Unable to base64 decode");
    if (tensor->dtype == DT_STRING && *at == '{')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "JSON Value: %s not formatted correctly for base64 data", dump);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "JSON Value: %s Type: %s is not of expected type: %s", dump,
                        json_type_name(at), dtype_name(tensor->dtype));
}

int json_tensor_rank(const char *at)
{
    int rank = 0;
    for (at = json_space(at); *at == '[' && rank <= SHAPE_RANK_TENSORFLOW; rank++)
        at = json_space(at + 1);
    return rank;
}

/* Takes the shape from the first element of each level; there are at most SHAPE_RANK_MAX levels. */
static void find_shape(const char *at, struct shape *out)
{
    *out = shape_scalar();
    while (at != NULL && *at == '[') {
        out->dims[out->rank++] = (int64_t)json_list_size(at);
        at = json_first(at);
    }
}

/* The depth of the recursion is at most the rank. */
static struct status read_level(struct json_tensor *tensor, const char *at, int level,
                                const struct shape *shape)
{
    if (*at != '[') {
        if (level != shape->rank)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "JSON Value: %s found at incorrect level: %d in the JSON DOM. "
                                "Expected at level: %d",
                                json_dump(at, tensor->arena), level + 1, shape->rank);
        return read_leaf(tensor, at) != NULL ? status_ok() : leaf_error(tensor, at);
    }
    if (level >= shape->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Encountered list at unexpected level: %d expected < %d", level,
                            shape->rank);
    int64_t size = (int64_t)json_list_size(at);
    if (size != shape->dims[level])
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "Encountered list at unexpected size: %lld at level: %d expected size: %lld",
            (long long)size, level, (long long)shape->dims[level]);
    for (const char *element = json_first(at); element != NULL; element = json_next(element))
        TRY(read_level(tensor, element, level + 1, shape));
    return status_ok();
}

/* Reads many levels in one pass: read_level would count the members of every list again. */
static struct status read_deep(struct json_tensor *tensor, const char *at, struct shape *shape)
{
    size_t before = tensor->count;
    if (json_tensor_read(tensor, at, shape) != NULL)
        return status_ok();
    if (tensor->full)
        return leaf_error(tensor, at);
    return status_error(
        STATUS_INVALID_ARGUMENT,
        "Expecting %d levels of lists of equal sizes with elements of type: %s, but "
        "that ends after %zu elements",
        json_tensor_rank(at), dtype_name(tensor->dtype), tensor->count - before);
}

struct status json_tensor_read_checked(struct json_tensor *tensor, const char *at,
                                       struct shape *shape)
{
    if (json_tensor_rank(at) > SHAPE_RANK_MAX)
        return read_deep(tensor, at, shape);
    find_shape(at, shape);
    return read_level(tensor, at, 0, shape);
}

struct tensor json_tensor_finish(const struct json_tensor *tensor, const struct shape *shape)
{
    static const max_align_t nothing;
    return tensor_borrow(tensor->dtype, shape, tensor->data ? tensor->data : (char *)&nothing);
}
