#include <math.h>
#include <stdlib.h>

#include "fuzz/op_maker.h"

static const int64_t odd_integers[] = {
    -1,  -2,  INT32_MIN, INT32_MAX, INT64_MIN,        INT64_MAX,
    255, 256, 32768,     65536,     (int64_t)1 << 31, (int64_t)1 << 40
};
static const double odd_numbers[] = { -0.0, 1e-40, -1e30, 1e300, 3.5, -127.5, 0.5, 1e10 };
static const char *const strings[] = { "",           "a",        "12",  "-3.5", "1e400", "aGVsbG8",
                                       "B\xc3\xa4r", "\xff\xfe", " x ", "NHWC", "SAME",  "a,b" };

int64_t choose_odd_integer(struct choices *c)
{
    return odd_integers[choose(c, COUNT(odd_integers))];
}

int64_t choose_integer(struct choices *c)
{
    return one_in(c, 12) ? choose_odd_integer(c) : choose(c, 4);
}

double choose_number(struct choices *c)
{
    switch (choose(c, 12)) {
    case 0:
        return odd_numbers[choose(c, COUNT(odd_numbers))];
    case 1:
        return (double)NAN;
    case 2:
        return one_in(c, 2) ? (double)INFINITY : (double)-INFINITY;
    default:
        return choose(c, 9) - 4;
    }
}

const char *choose_string(struct choices *c)
{
    return strings[choose(c, COUNT(strings))];
}

static void store_bits(struct choices *c, enum dtype dtype, void *at)
{
    uint64_t bits = one_in(c, 8) ? choose_bits(c) : (uint64_t)choose_integer(c);
    float number = (float)choose_number(c);
    double wide = choose_number(c);
    uint16_t half = dtype == DT_HALF ? float_to_half(number) : float_to_bfloat16(number);
    size_t size = dtype_size(dtype);
    if (dtype == DT_STRING) {
        struct bytes string = bytes_of(choose_string(c));
        memcpy(at, &string, sizeof string);
    } else if (dtype == DT_BOOL) {
        *(bool *)at = bits & 1;
    } else if (dtype == DT_DOUBLE || dtype == DT_COMPLEX128) {
        for (size_t i = 0; i < size; i += sizeof wide)
            memcpy((char *)at + i, &wide, sizeof wide);
    } else if (dtype == DT_FLOAT || dtype == DT_COMPLEX64) {
        for (size_t i = 0; i < size; i += sizeof number)
            memcpy((char *)at + i, &number, sizeof number);
    } else if (size == 2 && dtype_is_floating(dtype)) {
        memcpy(at, &half, sizeof half);
    } else {
        memcpy(at, &bits, size < sizeof bits ? size : sizeof bits);
    }
}

/* ---- shapes ---- */

struct shape choose_shape(struct choices *c)
{
    static const int64_t dims[] = { 1, 2, 3, 4, 2, 3, 0, 5 };
    struct shape shape = { .rank = choose(c, 6) };
    if (one_in(c, 24)) /* large, so that a write past a small buffer is noticed */
        return shape_of(3000);
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = dims[choose(c, COUNT(dims))];
    return shape;
}

static struct shape choose_input_shape(struct op_maker *maker)
{
    struct choices *c = maker->choices;
    struct shape shape = maker->shape;
    switch (choose(c, 16)) {
    case 0:
        return choose_shape(c);
    case 1:
        return shape_scalar();
    case 2:
        return shape_of(choose(c, 5));
    case 3: /* for broadcasting */
        if (shape.rank > 0)
            shape.dims[choose(c, shape.rank)] = 1;
        return shape;
    case 4: /* a bias, or another parameter per channel */
        return shape.rank > 0 ? shape_of(shape.dims[shape.rank - 1]) : shape;
    default:
        return shape;
    }
}

/* ---- tensors that suit the name of an argument ---- */

enum role role_of(const char *name)
{
    static const struct {
        const char *name;
        enum role role;
    } roles[] = {
        { "axis", ROLE_AXIS },
        { "dim", ROLE_AXIS },
        { "dimension", ROLE_AXIS },
        { "split_dim", ROLE_AXIS },
        { "concat_dim", ROLE_AXIS },
        { "reduction_indices", ROLE_AXIS },
        { "k", ROLE_SCALAR },
        { "depth", ROLE_SCALAR },
        { "num_segments", ROLE_SCALAR },
        { "num", ROLE_SCALAR },
        { "index", ROLE_SCALAR },
        { "num_elements", ROLE_SCALAR },
        { "start", ROLE_SCALAR },
        { "stop", ROLE_SCALAR },
        { "limit", ROLE_SCALAR },
        { "delta", ROLE_SCALAR },
        { "on_value", ROLE_SCALAR },
        { "off_value", ROLE_SCALAR },
        { "default_value", ROLE_SCALAR },
        { "init_value", ROLE_SCALAR },
        { "padding_value", ROLE_SCALAR },
        { "constant_values", ROLE_SCALAR },
        { "shape", ROLE_DIMS },
        { "dims", ROLE_DIMS },
        { "begin", ROLE_DIMS },
        { "end", ROLE_DIMS },
        { "strides", ROLE_DIMS },
        { "window_dimensions", ROLE_DIMS },
        { "window_strides", ROLE_DIMS },
        { "base_dilations", ROLE_DIMS },
        { "window_dilations", ROLE_DIMS },
        { "multiples", ROLE_DIMS },
        { "size_splits", ROLE_DIMS },
        { "block_shape", ROLE_DIMS },
        { "element_shape", ROLE_DIMS },
        { "input_sizes", ROLE_DIMS },
        { "filter_sizes", ROLE_DIMS },
        { "dense_shape", ROLE_DIMS },
        { "input_shape", ROLE_DIMS },
        { "output_shape", ROLE_DIMS },
        { "new_shape", ROLE_DIMS },
        { "orig_input_shape", ROLE_DIMS },
        { "perm", ROLE_PERMUTATION },
        { "paddings", ROLE_PADS },
        { "padding", ROLE_PADS },
        { "crops", ROLE_PADS },
        { "seed", ROLE_PAIR },
        { "size", ROLE_PAIR },
    };
    for (size_t i = 0; i < COUNT(roles); i++)
        if (strcmp(roles[i].name, name) == 0)
            return roles[i].role;
    return ROLE_ANY;
}

static struct shape shape_of_role(struct op_maker *maker, enum role role)
{
    int rank = maker->shape.rank;
    if (one_in(maker->choices, 10))
        return choose_shape(maker->choices);
    switch (role) {
    case ROLE_AXIS:
    case ROLE_SCALAR:
        return shape_scalar();
    case ROLE_DIMS:
    case ROLE_PERMUTATION:
        return shape_of(rank);
    case ROLE_PADS:
        return shape_of(rank, 2);
    case ROLE_PAIR:
        return shape_of(2);
    default:
        return choose_input_shape(maker);
    }
}

static int64_t integer_of_role(struct op_maker *maker, enum role role, int64_t i)
{
    struct choices *c = maker->choices;
    int rank = maker->shape.rank;
    if (role == ROLE_ANY || one_in(c, 20))
        return choose_integer(c);
    switch (role) {
    case ROLE_AXIS:
        return rank > 0 ? choose(c, 2 * rank) - rank : 0;
    case ROLE_DIMS:
        return one_in(c, 2) && i < rank ? maker->shape.dims[i] : choose(c, 4);
    case ROLE_PERMUTATION:
        return rank > 0 ? (i + 1) % rank : 0;
    default:
        return choose(c, 4);
    }
}

void choose_element(struct choices *choices, struct tensor *tensor, int64_t i)
{
    store_bits(choices, tensor->dtype,
               (char *)tensor->data + (size_t)i * dtype_size(tensor->dtype));
}

struct tensor make_tensor_of_shape(struct op_maker *maker, enum dtype dtype,
                                   const struct shape *shape, enum role role)
{
    struct tensor tensor = tensor_borrow(dtype, shape, NULL);
    bool is_plain = dtype_is_integer(dtype) && role != ROLE_ANY;
    size_t size = dtype_size(dtype);
    tensor.data = malloc(tensor_bytes(&tensor) + (tensor.size == 0));
    for (int64_t i = 0; i < tensor.size; i++) {
        int64_t value = is_plain ? integer_of_role(maker, role, i) : 0;
        if (is_plain)
            memcpy((char *)tensor.data + (size_t)i * size, &value, size);
        else
            choose_element(maker->choices, &tensor, i);
    }
    return tensor;
}

struct tensor make_tensor(struct op_maker *maker, enum dtype dtype, enum role role)
{
    struct shape shape = shape_of_role(maker, role);
    return make_tensor_of_shape(maker, dtype, &shape, role);
}
