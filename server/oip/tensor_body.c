#include "server/oip/tensor_body.h"

#include <errno.h>
#include <stdlib.h>

#include "server/oip/datatype.h"
#include "server/oip/raw.h"
#include "tensor/npy.h"

static struct status only_input(const struct signature *signature,
                                const struct signature_tensor **out)
{
    if (signature->inputs_count != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a body of one tensor, but the signature '%s' has %d inputs",
                            signature->name, signature->inputs_count);
    *out = &signature->inputs[0];
    return status_ok();
}

static struct status make_request(const struct signature_tensor *wanted,
                                  const struct tensor *tensor, struct arena *arena,
                                  struct infer_request *out)
{
    struct infer_input *input = ARENA_NEW(arena, struct infer_input);
    *input = (struct infer_input){ bytes_of(wanted->key), *tensor };
    *out = (struct infer_request){ .inputs = input, .inputs_count = 1 };
    return status_ok();
}

/* ---- raw elements ---- */

static struct status parse_shape(const char *text, struct shape *out)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = 0;
    for (const char *at = text; *at != '\0';) {
        char *end;
        errno = 0;
        long long dim = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (dim < 0 || errno == ERANGE || rank == SHAPE_RANK_TENSORFLOW ||
            (*end != '\0' && (*end != ',' || end[1] == '\0')))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the shape '%.64s' is not a list of dimensions such as 2,3", text);
        dims[rank++] = dim;
        at = *end == ',' ? end + 1 : end;
    }
    return shape_check_any(rank, dims, out);
}

static struct status shape_error(const struct signature_tensor *wanted, size_t size)
{
    return status_error(
        STATUS_INVALID_ARGUMENT,
        "input '%s' is of type %s and of shape %s: the shape of a body of %zu bytes "
        "does not follow, so the request must give it",
        wanted->key, dtype_name(wanted->dtype),
        wanted->has_shape ? shape_text(&wanted->shape) : "<unknown>", size);
}

/* The body is a single string: an image, or an Example. */
static struct status one_string(const struct signature_tensor *wanted, struct bytes body,
                                struct arena *arena, struct tensor *out)
{
    struct shape shape = wanted->has_shape && wanted->shape.rank >= 0 ? wanted->shape : shape_of(1);
    struct bytes *element = ARENA_NEW(arena, struct bytes);
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] >= 0 && shape.dims[i] != 1)
            return shape_error(wanted, body.size);
        shape.dims[i] = 1;
    }
    *element = body;
    *out = tensor_borrow(DT_STRING, &shape, element);
    return status_ok();
}

/* The size of the elements determines the unknown dimension. */
static struct status infer_shape(const struct signature_tensor *wanted, size_t size,
                                 struct shape *out)
{
    size_t width = dtype_file_size(wanted->dtype), known = 1;
    int unknown = -1;
    if (width == 0 || !wanted->has_shape || wanted->shape.rank < 0)
        return shape_error(wanted, size);
    *out = wanted->shape;
    for (int i = 0; i < out->rank; i++) {
        if (out->dims[i] < 0 && unknown >= 0)
            return shape_error(wanted, size);
        if (out->dims[i] < 0)
            unknown = i;
        else if (__builtin_mul_overflow(known, (size_t)out->dims[i], &known))
            return shape_error(wanted, size);
    }
    if (unknown < 0)
        return status_ok(); /* raw_read checks the size */
    if (known == 0 || size / width % known != 0)
        return shape_error(wanted, size);
    out->dims[unknown] = (int64_t)(size / width / known);
    return status_ok();
}

struct status tensor_body_read_raw(struct bytes body, const char *shape_text,
                                   const struct signature *signature, struct arena *arena,
                                   struct infer_request *out)
{
    const struct signature_tensor *wanted;
    struct shape shape;
    struct tensor tensor;
    TRY(only_input(signature, &wanted));
    if (datatype_name(wanted->dtype) == NULL)
        return status_error(STATUS_UNIMPLEMENTED, "raw elements of input '%s' of type %s",
                            wanted->key, dtype_enum_name(wanted->dtype));
    if (wanted->dtype == DT_STRING && shape_text == NULL) {
        TRY(one_string(wanted, body, arena, &tensor));
        return make_request(wanted, &tensor, arena, out);
    }
    TRY(shape_text != NULL ? parse_shape(shape_text, &shape)
                           : infer_shape(wanted, body.size, &shape));
    TRY(status_in(raw_read(body, wanted->dtype, &shape, arena, &tensor), "input '%s'",
                  wanted->key));
    return make_request(wanted, &tensor, arena, out);
}

/* ---- .npy files ---- */

struct status tensor_body_read_npy(struct bytes body, const struct signature *signature,
                                   struct arena *arena, struct infer_request *out)
{
    const struct signature_tensor *wanted;
    struct npy_header header;
    struct tensor tensor;
    size_t front;
    TRY(only_input(signature, &wanted));
    TRY(npy_header_size(body, &front));
    if (front > body.size)
        return status_error(STATUS_INVALID_ARGUMENT, ".npy: the header is cut short");
    TRY(npy_header_read((struct bytes){ body.data, front }, &header));
    struct bytes elements = { body.data + header.size, body.size - header.size };
    TRY(status_in(raw_read(elements, header.dtype, &header.shape, arena, &tensor), "input '%s'",
                  wanted->key));
    return make_request(wanted, &tensor, arena, out);
}

struct status tensor_body_npy_size(const struct tensor *tensor, size_t *out)
{
    size_t front = npy_front_size(tensor->dtype, &tensor->shape);
    if (front == 0)
        return status_error(STATUS_UNIMPLEMENTED, "a .npy file of type %s",
                            dtype_name(tensor->dtype));
    *out = front + tensor_bytes(tensor);
    return status_ok();
}

void tensor_body_put_npy(const struct tensor *tensor, struct buffer *out)
{
    npy_put_front(tensor->dtype, &tensor->shape, out);
    raw_put(tensor, out);
}

const char *tensor_body_shape_text(const struct shape *shape, struct arena *arena)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = shape_unpack(shape, dims);
    const char *text = "";
    for (int i = 0; i < rank; i++)
        text = arena_printf(arena, "%s%s%lld", text, i > 0 ? "," : "", (long long)dims[i]);
    return text;
}
